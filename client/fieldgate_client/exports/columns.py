"""The columns of a table, found while the rows arrive."""

from __future__ import annotations

from collections.abc import Mapping

from fieldgate_client.errors import ExportLimit
from fieldgate_client.exports.flatten import Row

MAX_COLUMNS = 16_384  # as in Excel. It also bounds memory, whatever field names a server sends.


class Columns:
    """A column stands after the one that it followed in its record, so that columns of an object stay together.

    A field that is null or empty in one record and an object in another has a column of its own at first. It is left
    out at the end if it stayed empty. `expected` are the columns of a typed list: they are used for lists and objects
    that are empty in all records, and for a list without records.
    """

    def __init__(self, expected: Mapping[str, object] | None = None) -> None:
        self.found: list[str] = []  # in the order in which they were found: only grows
        self._known: set[str] = set()
        self._ordered: list[str] = []
        self._empty: set[str] = set()  # without a value so far
        self._expected = [*(expected or ())]

    def add(self, row: Row) -> None:
        if not row.keys() <= self._known:
            self._add_names(row)
        if self._empty:
            self._empty -= {name for name in self._empty if row.get(name) is not None}

    def ordered(self) -> list[str]:
        """The columns of the table."""
        parents = {name[:end] for name in self._known for end in _dots(name)}
        columns: list[str] = []
        for name in self._ordered:
            if name not in self._empty:
                columns.append(name)
            elif name not in parents:
                columns += [each for each in self._expected if each.startswith(f"{name}.")] or [name]
        return columns or self._expected

    def _add_names(self, row: Row) -> None:
        position = 0
        for name in row:
            if name in self._known:
                position = self._ordered.index(name) + 1
            else:
                self._ordered.insert(position, name)
                self.found.append(name)
                self._known.add(name)
                self._empty.add(name)
                position += 1
        if len(self.found) > MAX_COLUMNS:
            raise ExportLimit(
                f"The records have more than {MAX_COLUMNS:,} different fields, too many for the columns of a table. "
                "to_ndjson keeps all of them."
            )


def _dots(name: str) -> list[int]:
    return [place for place, character in enumerate(name) if character == "."]
