"""Cells of CSV that are safe to open in a spreadsheet: text that looks like a formula gets an apostrophe before it.

Spreadsheets can be told to split at semicolons, tabs or bars, which Excel does in many languages. Quotes in the middle
of what they then take as a cell mean nothing, and a line break ends the row. So the apostrophe is also written after
separators and line breaks within a text. What has apostrophes there already gets one more, so that `unescape_formula`
restores every text. Cells with separators are quoted for spreadsheets that split at commas and semicolons alike.

The service writes its CSV with these functions, too.
"""

from __future__ import annotations

import re

# Some spreadsheets leave out white space, control characters and characters without width at the start of a cell. In
# some languages Excel also takes the wide signs.
_IGNORED = r"\s\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff'"
_SIGN = r"[=+\-@＝＋－＠﹦﹢﹣﹫]"
_SEPARATOR = re.compile(r"[;|\t\r\n]")
_FORMULA = re.compile(
    rf"(?!'*-[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z)(?:'*[\t\r\n]|[{_IGNORED}]*{_SIGN})"
)
# From its first character on: a search from each of them would take quadratic time.
_BEFORE_SIGN = re.compile(rf'(?<![{_IGNORED};|"])[{_IGNORED};|"]*{_SIGN}')
_QUOTED = re.compile(r'[",;|\t\r\n]')


def encode_text(text: str) -> str:
    """A text as a cell, with quotes if it needs them."""
    text = escape_formula(text)
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def escape_formula(text: str) -> str:
    """The text as a spreadsheet shows it, whatever it splits at. Negative numbers stay as they are."""
    if _SEPARATOR.search(text):
        text = _BEFORE_SIGN.sub(lambda found: _SEPARATOR.sub(r"\g<0>'", found[0]), text)
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_formula(cell: str) -> str:
    """Undo the escaping of `escape_formula`."""
    if cell[:1] == "'" and _FORMULA.match(cell, 1):
        cell = cell[1:]
    if _SEPARATOR.search(cell):
        cell = _BEFORE_SIGN.sub(lambda found: re.sub(r"([;|\t\r\n])'", r"\1", found[0]), cell)
    return cell
