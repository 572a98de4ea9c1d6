"""A sheet with a parsed header row: cells are looked up by column key, whatever the spelling of the header.

table = SheetTable.from_sheet("survey", sheet)
table.rows[0].text("label")
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

import msgspec

from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    COLUMN_ALIASES,
    COLUMNS_BY_SHEET,
    KOBO_COLUMNS,
    LIBRARY,
    PASSTHROUGH_PREFIXES,
    TRANSLATABLE_COLUMNS,
    UNLISTED_TRANSLATABLE_COLUMNS,
    straighten_dashes,
    to_snake_case,
)
from fieldgate.imports.xlsform.workbook_reader import Sheet
from fieldgate.imports.xlsform.xml_names import is_xml_name

TAG_PREFIX = "tag::"  # of the key of a column with tags, followed by the tag

_TAG_HEADER = re.compile(r"tag\s*::?\s*(\S.*)", re.IGNORECASE)

MAX_BLANK_ROWS = 60  # more of them end a sheet

FIRST_DATA_ROW = 2  # pyxform's number of the first row after the header, wherever the header is


Place = tuple[str, int, str]  # sheet, row and column


class SheetColumn(msgspec.Struct, frozen=True):
    """`header` is the author's spelling, `key` the canonical one. A translated column also has a language."""

    header: str
    key: str
    language: str | None = None
    known: bool = True
    index: int = 0  # in the sheet

    @property
    def pyxform_header(self) -> str:
        """The header that pyxform knows."""
        return self.key if self.language is None else f"{self.key}::{self.language}"


class Cell(msgspec.Struct, frozen=True):
    column: SheetColumn
    text: str


class SheetRow:
    """The filled cells of one row."""

    __slots__ = ("_by_key", "cells", "number")

    def __init__(self, number: int, cells: list[Cell]) -> None:
        self.number = number
        self.cells = cells
        self._by_key: dict[str, Cell] = {}
        for cell in cells:
            self._by_key.setdefault(cell.column.key, cell)

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def text(self, key: str) -> str | None:
        cell = self._by_key.get(key)
        return None if cell is None else cell.text


class SheetTable(msgspec.Struct, eq=False):
    """Blank rows are kept, so that rows can be counted, but many of them end the sheet.

    `headerless_row` is the first with a value without a header, `ignored_row` the first filled row after the end.
    """

    kind: str
    sheet_name: str
    header_row: int
    columns: list[SheetColumn]
    rows: list[SheetRow]
    headerless_row: int | None
    ignored_row: int | None = None

    @classmethod
    def from_sheet(cls, kind: str, sheet: Sheet) -> "SheetTable":
        """Parse a sheet. The first filled row is the header."""
        start = next(
            (index for index, (_, texts) in enumerate(sheet.rows) if any(texts)), len(sheet.rows)
        )
        header_row, headers = sheet.rows[start] if start < len(sheet.rows) else (1, [])
        columns = parse_headers(kind, headers)
        rows = [
            SheetRow(number, _cells(columns, texts)) for number, texts in sheet.rows[start + 1 :]
        ]
        end = _end_of_data(rows)
        headerless_row = next(
            (
                number
                for number, texts in sheet.rows[start + 1 :][:end]
                if _has_headerless_value(columns, texts)
            ),
            None,
        )
        ignored_row = next((row.number for row in rows[end:] if row.cells), None)
        known_columns = [column for column in columns if column is not None]
        return cls(
            kind, sheet.name, header_row, known_columns, rows[:end], headerless_row, ignored_row
        )

    def with_rows(self, rows: list[SheetRow]) -> "SheetTable":
        """The same sheet with other rows."""
        return msgspec.structs.replace(self, rows=rows)

    def filled_rows(self) -> Iterator[SheetRow]:
        return (row for row in self.rows if row.cells)

    def has_column(self, key: str) -> bool:
        return any(column.key == key for column in self.columns)

    def header(self, key: str) -> str:
        """The author's header of a column, or its key if the sheet does not have it."""
        return next((column.header for column in self.columns if column.key == key), key)

    def place(self, row: SheetRow, key: str) -> Place:
        """The place of an issue."""
        return self.sheet_name, row.number, self.header(key)


def parse_headers(kind: str, headers: list[str]) -> list[SheetColumn | None]:
    """One column per header, None for an empty one. A single colon is a separator only in sheets without `::`."""
    separator = "::" if any("::" in header for header in headers) else ":"
    columns = (
        _parse_header(kind, " ".join(header.split()), separator) if header else None
        for header in headers
    )
    return [
        column and msgspec.structs.replace(column, index=index)
        for index, column in enumerate(columns)
    ]


def _parse_header(kind: str, header: str, separator: str) -> SheetColumn:
    aliases, known = COLUMN_ALIASES.get(kind, {}), COLUMNS_BY_SHEET.get(kind)
    whole = _canonical_name(header, aliases)
    if known is None or whole in known:
        return SheetColumn(header, whole)
    if kind == LIBRARY and (tag := _TAG_HEADER.fullmatch(header)):
        return SheetColumn(header, f"{TAG_PREFIX}{tag[1]}")
    parts = _split_header(header, separator)
    for length in range(min(2, len(parts)), 0, -1):
        key = _canonical_name("::".join(parts[:length]), aliases)
        if key in known and len(parts) == length:
            return SheetColumn(header, key)
        if key in known and key in TRANSLATABLE_COLUMNS and len(parts) == length + 1:
            return SheetColumn(header, key, parts[length])
        if key in UNLISTED_TRANSLATABLE_COLUMNS and len(parts) == length + 1:
            return SheetColumn(header, f"{key}::{parts[length]}")
    if len(parts) > 1 and to_snake_case(parts[0]) in PASSTHROUGH_PREFIXES:
        # After a single colon the rest is one name with a prefix: `bind:odk:length` sets `odk:length`.
        key = f"{to_snake_case(parts[0])}::{separator.join(parts[1:])}"
        return SheetColumn(header, aliases.get(to_snake_case(key), key))
    return SheetColumn(header, header, known=False)


def _split_header(header: str, separator: str) -> list[str]:
    """The parts of a header. As in pyxform, the colon of `jr:constraintMsg` never separates."""
    parts = [part.strip() for part in header.split(separator)]
    if "jr" in parts[:-1]:
        prefix = parts.index("jr")
        parts[prefix : prefix + 2] = [f"jr:{parts[prefix + 1]}"]
    return parts


def is_compiled(column: SheetColumn, kind: str) -> bool:
    """Whether the column is compiled. In choices, the author's own columns become elements, and none an attribute."""
    if column.key in KOBO_COLUMNS:
        return False
    if kind != CHOICES:
        return True
    prefix, separator, _ = column.key.partition("::")
    if separator and prefix in PASSTHROUGH_PREFIXES:
        return False
    return column.known or (is_xml_name(column.key) and ":" not in column.key)


def _canonical_name(header: str, aliases: dict[str, str]) -> str:
    name = straighten_dashes(to_snake_case(header))
    return aliases.get(name, name)


def _end_of_data(rows: list[SheetRow]) -> int:
    """How many rows belong to the sheet. As in pyxform and KoboToolbox, rows far below the others are leftovers."""
    blank = 0
    for index, row in enumerate(rows):
        blank = 0 if row.cells else blank + 1
        if blank > MAX_BLANK_ROWS:
            return index + 1
    return len(rows)


def _has_headerless_value(columns: list[SheetColumn | None], texts: list[str]) -> bool:
    return any(text and column is None for column, text in zip_longest(columns, texts))


def _cells(columns: list[SheetColumn | None], texts: list[str]) -> list[Cell]:
    return [
        Cell(column, text)
        for column, text in zip(columns, texts, strict=False)
        if column is not None and text
    ]
