"""A sheet whose header row has been understood: cells are asked for by column, in whatever spelling it was written.

table = Table.of("survey", grid)
table.rows[0].text("label")
"""

from collections.abc import Iterator
from itertools import zip_longest

import msgspec

from fieldgate.imports.xlsform.vocabulary import ALIASES, CHOICES, COLUMNS, LIVE_COLUMNS, PASSED_ON, TRANSLATABLE, snake
from fieldgate.imports.xlsform.workbook_reader import Grid
from fieldgate.imports.xlsform.xml_names import is_xml_name

FIRST_ROW = 2  # a compiler counts the rows of a sheet from here, wherever its header stands


class Column(msgspec.Struct, frozen=True):
    """`header` is the author's, `key` is ours; a translated column also has a language."""

    header: str
    key: str
    language: str | None = None
    known: bool = True

    @property
    def compiled(self) -> str:
        """The header under which a compiler of forms knows the column."""
        return self.key if self.language is None else f"{self.key}::{self.language}"


class Cell(msgspec.Struct, frozen=True):
    column: Column
    text: str


class Row:
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


class Table:
    """`sheet` is the name the author gave it; blank rows are kept, so that places can be counted.

    `beside` is the first row that has something in a column without a header.
    """

    def __init__(
        self,
        kind: str,
        sheet: str,
        header_row: int,
        columns: list[Column],
        rows: list[Row],
        beside: int | None,
    ) -> None:
        self.kind = kind
        self.sheet = sheet
        self.header_row = header_row
        self.columns = columns
        self.rows = rows
        self.beside = beside

    @classmethod
    def of(cls, kind: str, grid: Grid) -> "Table":
        """The first row with anything in it holds the headers."""
        start = next((index for index, (_, texts) in enumerate(grid.rows) if any(texts)), len(grid.rows))
        number, headers = grid.rows[start] if start < len(grid.rows) else (1, [])
        columns = understood(kind, headers)
        rows = [Row(place, _cells(columns, texts)) for place, texts in grid.rows[start + 1 :]]
        beside = next((place for place, texts in grid.rows[start + 1 :] if _has_more(columns, texts)), None)
        return cls(kind, grid.name, number, [column for column in columns if column is not None], rows, beside)

    def with_rows(self, rows: list[Row]) -> "Table":
        """The same sheet with other rows."""
        return Table(self.kind, self.sheet, self.header_row, self.columns, rows, self.beside)

    def filled(self) -> Iterator[Row]:
        return (row for row in self.rows if row.cells)

    def has(self, key: str) -> bool:
        return any(column.key == key for column in self.columns)

    def header(self, key: str) -> str:
        """What the author calls a column; the usual name where the sheet does not have it."""
        return next((column.header for column in self.columns if column.key == key), key)


def understood(kind: str, headers: list[str]) -> list[Column | None]:
    """One column per header, None where there is no header. Single colons separate only where no double ones do."""
    separator = "::" if any("::" in header for header in headers) else ":"
    return [_column(kind, " ".join(header.split()), separator) if header else None for header in headers]


def _column(kind: str, header: str, separator: str) -> Column:
    aliases, known = ALIASES.get(kind, {}), COLUMNS.get(kind)
    whole = _own_name(header, aliases)
    if known is None or whole in known:
        return Column(header, whole)
    parts = [part.strip() for part in header.split(separator)]
    for length in range(min(2, len(parts)), 0, -1):
        key = _own_name("::".join(parts[:length]), aliases)
        if key in known and len(parts) == length:
            return Column(header, key)
        if key in known and key in TRANSLATABLE and len(parts) == length + 1:
            return Column(header, key, parts[length])
    if len(parts) > 1 and snake(parts[0]) in PASSED_ON:
        return Column(header, "::".join([snake(parts[0]), *parts[1:]]))
    if len(parts) > 1 and snake(parts[0]) == "tag" and kind == "library":
        return Column(header, "::".join(["tag", *parts[1:]]))
    return Column(header, header, known=False)


def carried(column: Column, kind: str) -> bool:
    """Whether the compiled form holds the column: one of the author's own becomes an element of each choice."""
    if column.key in LIVE_COLUMNS:
        return False
    return column.known or kind != CHOICES or (is_xml_name(column.key) and ":" not in column.key)


def _own_name(header: str, aliases: dict[str, str]) -> str:
    name = snake(header)
    return aliases.get(name, name)


def _has_more(columns: list[Column | None], texts: list[str]) -> bool:
    return any(text and column is None for column, text in zip_longest(columns, texts))


def _cells(columns: list[Column | None], texts: list[str]) -> list[Cell]:
    return [Cell(column, text) for column, text in zip(columns, texts, strict=False) if column is not None and text]
