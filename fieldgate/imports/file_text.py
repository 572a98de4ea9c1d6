"""Text from files: its Unicode encoding by the first bytes, and texts cut to a length."""

import re
from typing import TypeVar

UTF_8, UTF_16 = "utf-8-sig", "utf-16"

_UTF_16_BOMS = (b"\xff\xfe", b"\xfe\xff")
# A form begins with Latin letters or a delimiter, so that every other byte of UTF-16 is zero.
_UTF_16_LE = re.compile(rb"(?:[\t\n\r -~]\0){4}")
_UTF_16_BE = re.compile(rb"(?:\0[\t\n\r -~]){4}")
_CONTROL_BYTES = bytes(set(range(32)) - set(b"\t\n\r"))


def unicode_encoding(data: bytes) -> str:
    """Return the encoding that text in Unicode has, with or without a mark at its start. Data may be something else."""
    if data.startswith(_UTF_16_BOMS):
        return UTF_16
    if _UTF_16_LE.match(data):
        return "utf-16-le"
    if _UTF_16_BE.match(data):
        return "utf-16-be"
    return UTF_8


def has_control_bytes(data: bytes) -> bool:
    """Whether the data has bytes that no text has in any code page."""
    return data.translate(None, _CONTROL_BYTES) != data


Text = TypeVar("Text", str, None, str | None)


def truncate(text: Text, max_chars: int) -> Text:
    """Return the text, cut and ended with an ellipsis if it is longer than `max_chars`."""
    return text[: max_chars - 1] + "…" if text is not None and len(text) > max_chars else text
