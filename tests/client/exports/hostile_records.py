"""Records with values that formats and their libraries stumble over."""

from typing import Any

LONG_TEXT = "é" * 40_000
HOSTILE: list[dict[str, Any]] = [
    {"id": 1, "text": "=1+1", "mixed": 1, "number": 1, "when": "2021-03-04T10:20:30Z"},
    {"id": 2, "text": "+cmd|' /C calc'!A0", "mixed": "two", "number": 2**70, "when": None},
    {"id": 3, "text": "@SUM(A1)", "mixed": True, "number": -1, "when": "2021-03-05"},
    {
        "id": 4,
        "text": "-1",
        "mixed": None,
        "number": 2**53 + 1,
        "when": "2021-03-05T00:00:00.5+01:00",
    },
    {"id": 5, "text": "\t=1", "mixed": 1.5, "number": 0, "when": None},
    {"id": 6, "text": "a\x00b\x01c\x0b\x1f\x7f\ufffe", "mixed": [1, 2], "number": 1, "when": None},
    {"id": 7, "text": LONG_TEXT, "mixed": {"a": 1}, "number": 1, "when": None},
    {
        "id": 8,
        "text": 'quotes " and, commas\r\nand lines\rthere\n',
        "mixed": [],
        "number": 1,
        "when": None,
    },
    {
        "id": 9,
        "text": "https://evil.example/",
        "mixed": "",
        "number": 1,
        "when": None,
        "=HYPERLINK(1)": "x",
    },
    {
        "id": 10,
        "text": "_x000D_ \U0001f600 \u2028 مرحبا",
        "mixed": "'=1",
        "number": 1,
        "when": None,
        "late": {"x": 1},
    },
    {
        "id": 11,
        "text": "＝1+1",
        "mixed": '"',
        "number": 1,
        "when": None,
        "late": {"x": 2, "y": [3, 4]},
    },
    {},
]
