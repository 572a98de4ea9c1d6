"""Which columns a table has, in which order, found while the rows arrive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import inspect

from fieldgate_client.errors import ExportLimit, UnknownName
from fieldgate_client.exports.flatten import Row

MAX_COLUMNS = 16_384  # as in Excel. It also bounds memory, whatever field names a server sends.
MAX_SUGGESTIONS = 5
_MAX_NAME_CHARS = 100  # of suggestions: names come from servers

ExpectedColumns = dict[str, type]  # the columns of a typed list, with the types of their values
_SCALARS: dict[type, type] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.DateTimeType: datetime,
}


class Columns:
    """Columns are in the order in which they were found; those of an object stay together.

    A field that is null or empty in one record and an object in another has a column of its own at first. It is left
    out at the end if it stayed empty. `expected` are used for lists and objects that are empty in all records, and for
    a list without records.

    If columns are chosen, the table has these, in their order; otherwise all, and those of `leading` first. A chosen
    name is a column, or a group: `countries` is all columns that begin with `countries.`. It must be in a record or
    expected. What cannot be known may be chosen: fields of an object that is null or empty in all records, and fields
    of a list without records.
    """

    def __init__(
        self, expected: Iterable[str] = (), chosen: Sequence[str] | None = None, leading: Sequence[str] = ()
    ) -> None:
        self._has_value: dict[str, bool] = {}  # by the names of all columns
        self._expected = [*expected]
        self._chosen = check_chosen(chosen)
        self._leading = leading

    def add(self, row: Row) -> None:
        known = self._has_value
        for name, value in row.items():
            if value is not None:
                known[name] = True
            elif name not in known:
                known[name] = False
        if len(known) > MAX_COLUMNS:
            raise ExportLimit(
                f"The records have more than {MAX_COLUMNS:,} different fields, too many for the columns of a table. "
                "to_ndjson keeps all of them."
            )

    def complete(self) -> list[str]:
        """The columns of the table when all records are there. Raises `UnknownName` for chosen columns that are not."""
        columns = self._all()
        if not self._chosen:
            first = [name for name in self._leading if name in columns]
            return [*dict.fromkeys([*first, *columns])]
        selected = {name: self._select(name, columns) for name in self._chosen}
        if unknown := [name for name, found in selected.items() if not found]:
            raise _unknown_columns(unknown, [*dict.fromkeys([*columns, *self._expected])])
        return [*dict.fromkeys(column for found in selected.values() for column in found)]

    def _select(self, name: str, columns: list[str]) -> list[str]:
        """The columns that a chosen name stands for."""
        for names in (columns, self._expected):
            if found := [each for each in names if each == name or each.startswith(f"{name}.")]:
                return found
        is_possible = any(self._has_value.get(parent) is False and parent in columns for parent in _parents(name))
        return [name] if is_possible or not (columns or self._expected) else []

    def _all(self) -> list[str]:
        parents = {parent for name in self._has_value for parent in _parents(name)}
        groups: dict[str, list[str]] = {}
        for name, has_value in self._has_value.items():
            group = groups.setdefault(name.partition(".")[0], [])
            if has_value:
                group.append(name)
            elif name not in parents:
                group += [each for each in self._expected if each.startswith(f"{name}.")] or [name]
        return [name for group in groups.values() for name in group] or self._expected


def check_chosen(names: Sequence[str] | None) -> tuple[str, ...]:
    """The names that a caller gave, without repetitions."""
    if names is None:
        return ()
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError('columns must be a list of names, such as ["id", "name"].')
    if not names:
        raise ValueError("columns is empty. Leave it out for all columns.")
    return (*dict.fromkeys(names),)


def expected_columns(record_type: Any, *, is_flat: bool = True) -> ExpectedColumns:
    """The columns of a typed list. Empty for lists of dicts."""
    if not (isinstance(record_type, type) and issubclass(record_type, msgspec.Struct)):
        return {}
    info = inspect.type_info(record_type)
    columns: ExpectedColumns = {}
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        name, kind = field.encode_name, _without_none(field.type)
        is_list = isinstance(kind, inspect.ListType)
        inner = kind.item_type if isinstance(kind, inspect.ListType) else kind
        if isinstance(inner, inspect.StructType) and is_flat:
            for each in inner.fields:  # values of lists are joined
                columns[f"{name}.{each.encode_name}"] = str if is_list else _scalar(_without_none(each.type))
        else:
            columns[name] = object if is_list and not is_flat else str if is_list else _scalar(inner)
    return columns


def _without_none(kind: inspect.Type) -> inspect.Type:
    if not isinstance(kind, inspect.UnionType):
        return kind
    others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
    return others[0] if len(others) == 1 else kind


def _scalar(kind: inspect.Type) -> type:
    return str if isinstance(kind, inspect.StrType) else _SCALARS.get(type(kind), object)


def _parents(name: str) -> list[str]:
    return [name[:place] for place, character in enumerate(name) if character == "."]


def _unknown_columns(names: Iterable[str], columns: Sequence[str]) -> UnknownName:
    """The exception for names that are none of the columns."""
    sentences: list[str] = []
    suggestions: list[str] = []
    for name in names:
        similar = _similar(name[:_MAX_NAME_CHARS], columns)
        suggestions += similar
        hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
        sentences.append(f"The records have no column {name[:_MAX_NAME_CHARS]!r}.{hint}")
    return UnknownName(" ".join(sentences), suggestions=(*dict.fromkeys(suggestions),))


def _similar(name: str, columns: Sequence[str]) -> list[str]:
    """Columns and groups with similar names, and columns whose names contain this one."""
    by_name: dict[str, str] = {}
    for each in [*columns, *(column.partition(".")[0] for column in columns)]:
        if len(each) <= _MAX_NAME_CHARS:
            by_name.setdefault(_folded(each), each)
    folded = _folded(name)
    last = folded.rpartition(".")[2]
    containing = [each for each in by_name if len(last) > 2 and last in each]
    containing.sort(key=lambda each: each.rpartition(".")[2] != last)
    found = [*get_close_matches(folded, by_name, n=MAX_SUGGESTIONS, cutoff=0.6), *containing]
    return [by_name[each] for each in dict.fromkeys(found)][:MAX_SUGGESTIONS]


def _folded(name: str) -> str:
    return name.casefold().replace(" ", "_").replace("-", "_")
