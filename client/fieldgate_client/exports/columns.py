"""The columns of a table, found while the rows arrive."""

from __future__ import annotations

from collections.abc import Mapping

from fieldgate_client.errors import ExportLimit
from fieldgate_client.exports.column_choice import ALL_COLUMNS, ColumnChoice, belongs_to, unknown_columns
from fieldgate_client.exports.flatten import Row

MAX_COLUMNS = 16_384  # as in Excel. It also bounds memory, whatever field names a server sends.


class Columns:
    """A column stands after the one that it followed in its record. Columns of an object stay together.

    A field that is null or empty in one record and an object in another has a column of its own at first. It is left
    out at the end if it stayed empty. `expected` are the columns of a typed list: they are used for lists and objects
    that are empty in all records, and for a list without records.

    Chosen columns must be in a record or expected. What cannot be known may be chosen: fields of an object that is null
    or empty in all records, and fields of a list without records.
    """

    def __init__(self, expected: Mapping[str, object] | None = None, choice: ColumnChoice = ALL_COLUMNS) -> None:
        self._known: dict[str, None] = {}  # in the order in which they were found
        self._groups: dict[str, list[str]] = {}  # columns of an object in their order, by the name before the dot
        self._roots: list[str] = []  # these names, in their order
        self._empty: set[str] = set()  # without a value so far
        self._expected = [*(expected or ())]
        self._choice = choice

    def add(self, row: Row) -> None:
        if not row.keys() <= self._known.keys():
            self._add_names(row)
        if self._empty:
            self._empty -= {name for name in self._empty if row.get(name) is not None}

    def filled(self) -> list[str]:
        """The columns of the table with a value so far, in the order in which they were found."""
        return [name for name in self._known if name not in self._empty and self._choice.selects(name)]

    def ordered(self) -> list[str]:
        """The columns of the table, as far as they are known."""
        columns = self._all()
        if not self._choice.chosen:
            return self._choice.lead(columns)
        return [*dict.fromkeys(each for name in self._choice.chosen for each in self._select(name, columns))]

    def complete(self) -> list[str]:
        """The columns of the table when all records are there. Raises `UnknownName` for chosen columns that are not."""
        columns = self._all()
        unknown = [name for name in self._choice.chosen if not self._select(name, columns)]
        if unknown:
            raise unknown_columns(unknown, [*dict.fromkeys([*columns, *self._expected])])
        return self.ordered()

    def _select(self, name: str, columns: list[str]) -> list[str]:
        """The columns that a chosen name stands for."""
        for names in (columns, self._expected):
            if found := [each for each in names if belongs_to(each, name)]:
                return found
        parents = [name[:end] for end in _dots(name)]
        is_possible = any(parent in self._empty and parent in columns for parent in parents)
        return [name] if is_possible or not (columns or self._expected) else []

    def _all(self) -> list[str]:
        parents = {name[:end] for name in self._known for end in _dots(name)}
        columns: list[str] = []
        for name in [name for root in self._roots for name in self._groups[root]]:
            if name not in self._empty:
                columns.append(name)
            elif name not in parents:
                columns += [each for each in self._expected if each.startswith(f"{name}.")] or [name]
        return columns or self._expected

    def _add_names(self, row: Row) -> None:
        before: str | None = None
        before_root: str | None = None
        for name in row:
            root = name.partition(".")[0]
            if name not in self._known:
                if root not in self._groups:
                    self._groups[root] = []
                    _insert_after(self._roots, before_root, root)
                group = self._groups[root]
                _insert_after(group, before if before_root == root else group[-1] if group else None, name)
                self._known[name] = None
                self._empty.add(name)
            before, before_root = name, root
        if len(self._known) > MAX_COLUMNS:
            raise ExportLimit(
                f"The records have more than {MAX_COLUMNS:,} different fields, too many for the columns of a table. "
                "to_ndjson keeps all of them."
            )


def _insert_after(names: list[str], before: str | None, name: str) -> None:
    if not names or before == names[-1]:
        names.append(name)
    else:
        names.insert(0 if before is None else names.index(before) + 1, name)


def _dots(name: str) -> list[int]:
    return [place for place, character in enumerate(name) if character == "."]
