"""Form content as sheets, and sheets as a workbook."""

import io
import zipfile
from datetime import UTC, datetime
from typing import Any

import pytest
from openpyxl import load_workbook

from fieldgate.assets.workbook_downloads import (
    MAX_CELL_CHARS,
    XLSX_SUFFIX,
    TooLargeForWorkbook,
    as_workbook,
    write_workbook,
)
from fieldgate.assets.workbook_sheets import ContentSheet, MalformedContent, content_sheets
from tests.imports.workbooks import xlsx

CREATED = datetime(2026, 11, 15, tzinfo=UTC)


def test_all_sheets() -> None:
    sheets = content_sheets(
        {
            "survey": [{"type": "note"}],
            "choices": [{"list_name": "l", "$autovalue": "1", "label": ["One"]}],
            "settings": {"id_string": "x", "kobo--lock_all": True},
            "external_choices": [{"list_name": "x", "label::A": "t"}],
            "entities": [],
            "osm": [{"list_name": "o", "label": "O"}],
            "kobo--locking-profiles": [
                {"name": "flexible", "restrictions": ["question_delete"]},
                {"name": "strict", "restrictions": ["choice_add", "question_delete"]},
                {"name": "free", "restrictions": []},
            ],
            "translations": ["A"],
        },
        "Title",
    )
    assert [(sheet.name, sheet.headers, sheet.rows) for sheet in sheets[1:]] == [
        (
            "choices",
            ["list_name", "label::A", "name"],
            [{"list_name": "l", "label::A": "One", "name": "1"}],
        ),
        (
            "settings",
            ["form_title", "id_string", "kobo--lock_all"],
            [{"form_title": "Title", "id_string": "x", "kobo--lock_all": "true"}],
        ),
        ("external_choices", ["list_name", "label::A"], [{"list_name": "x", "label::A": "t"}]),
        ("entities", [], []),
        ("osm", ["list_name", "label"], [{"list_name": "o", "label": "O"}]),
        (
            "kobo--locking-profiles",
            ["restriction", "flexible", "strict", "free"],
            [
                {"restriction": "choice_add", "strict": "locked"},
                {"restriction": "question_delete", "flexible": "locked", "strict": "locked"},
            ],
        ),
    ]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"survey": [{}, {"type": "text", "name": {"a": 1}}]}, ("survey", 3, "name")),
        ({"survey": [{"relevant": ["x"]}]}, ("survey", 2, "relevant")),
        ({"survey": [{"label": [["x"]]}]}, ("survey", 2, "label")),
        ({"survey": [{"label": ["x", "y"]}], "translations": ["A"]}, ("survey", 2, "label")),
        ({"survey": [{"tags": ["x"]}]}, ("survey", 2, "tags")),
        ({"survey": [{" ": "x"}]}, ("survey", 2, None)),
        ({"survey": {}}, ("survey", None, None)),
        ({"choices": [1]}, ("choices", None, None)),
        ({"settings": "x"}, ("settings", None, None)),
        ({"settings": [1]}, ("settings", None, None)),
        ({"osm": None, "entities": "x"}, ("entities", None, None)),
        ({"translations": ["A", "A"]}, (None, None, "translations")),
        ({"translations": "A"}, (None, None, "translations")),
        ({"translations": [["A"]]}, (None, None, "translations")),
    ],
)
def test_malformed_content(content: dict[str, Any], place: tuple[object, ...]) -> None:
    with pytest.raises(MalformedContent) as malformed:
        content_sheets(content)
    assert [problem[1:] for problem in malformed.value.problems] == [place]


def test_cells_are_text_and_bytes_are_equal() -> None:
    texts = [
        "=1+1",
        '=cmd|" /C calc"!A0',
        "+1",
        "-1",
        "@x",
        "{=1}",
        "http://example.org",
        "007",
        "TRUE",
        "1e5",
        "'x",
    ]
    sheets = [
        ContentSheet("survey", ["type", "=1"], [{"type": text, "=1": text} for text in texts])
    ]
    data = write_workbook(sheets, CREATED)
    rows = load_workbook(io.BytesIO(data))["survey"].iter_rows()
    assert [[(cell.value, cell.data_type, cell.hyperlink) for cell in row] for row in rows] == [
        [("type", "s", None), ("=1", "s", None)],
        *([(text, "s", None)] * 2 for text in texts),
    ]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert all(b"<f>" not in archive.read(name) for name in archive.namelist())
        assert str(CREATED.date()) in archive.read("docProps/core.xml").decode()
    assert write_workbook(sheets, CREATED) == data


def test_limits_of_excel() -> None:
    fits = ContentSheet("survey", ["a"], [{"a": "x" * MAX_CELL_CHARS}])
    assert (
        load_workbook(io.BytesIO(write_workbook([fits], CREATED)))["survey"]["A2"].value
        == "x" * MAX_CELL_CHARS
    )
    for sheet in (
        ContentSheet("survey", ["a"], [{}, {"a": "x" * (MAX_CELL_CHARS + 1)}]),
        ContentSheet("survey", [str(number) for number in range(16_385)], []),
        ContentSheet("survey", ["x" * (MAX_CELL_CHARS + 1)], []),
        ContentSheet("survey", ["a"], [{}] * 1_048_576),
    ):
        with pytest.raises(TooLargeForWorkbook):
            write_workbook([sheet], CREATED)


CONTENT_TYPES = "[Content_Types].xml"


def _with_broken_part(data: bytes, compression: int) -> bytes:
    """The same archive with unreadable bytes in the part that tells what kind of file it is."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(written, "w", compression) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
        part = target.getinfo(CONTENT_TYPES)
    start = (
        part.header_offset + 30 + len(CONTENT_TYPES) + (4 if compression == zipfile.ZIP_LZMA else 0)
    )
    broken = bytearray(written.getvalue())
    broken[start : start + part.compress_size // 2] = b"\xff" * (part.compress_size // 2)
    return bytes(broken)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_broken_archive_is_not_sent(compression: int) -> None:
    """Our reader does not need the part, so the file could be imported."""
    data = _with_broken_part(xlsx(survey=[["type", "name"], ["text", "a"]]), compression)
    assert as_workbook(data, XLSX_SUFFIX) is None
