"""Which columns a table has, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from fieldgate_client.errors import UnknownName

MAX_SUGGESTIONS = 5
_MAX_NAME_CHARS = 100  # of suggestions: names come from servers


class ColumnChoice(msgspec.Struct, frozen=True):
    """Only the columns `chosen`, in this order. If it is empty: all columns, and those of `leading` first.

    A name is a column, or a group: `countries` is all columns that begin with `countries.`.
    """

    chosen: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()

    def selects(self, column: str) -> bool:
        return not self.chosen or any(belongs_to(column, name) for name in self.chosen)

    def lead(self, columns: list[str]) -> list[str]:
        """All columns, in the order of a table without chosen columns."""
        if not self.leading:
            return columns
        first = [name for name in self.leading if name in columns]
        return [*first, *(name for name in columns if name not in first)]


ALL_COLUMNS = ColumnChoice()


def choose_columns(names: Sequence[str] | None) -> tuple[str, ...]:
    """The names that a caller gave, without repetitions."""
    if names is None:
        return ()
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError('columns must be a list of names, such as ["id", "name"].')
    if not names:
        raise ValueError("columns is empty. Leave it out for all columns.")
    return (*dict.fromkeys(names),)


def belongs_to(column: str, name: str) -> bool:
    return column == name or column.startswith(f"{name}.")


def unknown_columns(names: Iterable[str], columns: Sequence[str]) -> UnknownName:
    """The exception for names that are none of the columns."""
    sentences: list[str] = []
    suggestions: list[str] = []
    for name in names:
        similar = _similar(name, columns)
        suggestions += similar
        hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
        sentences.append(f"The records have no column {name[:_MAX_NAME_CHARS]!r}.{hint}")
    return UnknownName(" ".join(sentences), suggestions=(*dict.fromkeys(suggestions),))


def _similar(name: str, columns: Sequence[str]) -> list[str]:
    """Columns and groups with similar names, and columns whose names contain this one."""
    from difflib import get_close_matches

    groups = [column.partition(".")[0] for column in columns]
    by_name: dict[str, str] = {}
    for each in [*columns, *groups]:
        if len(each) <= _MAX_NAME_CHARS:
            by_name.setdefault(_folded(each), each)
    folded = _folded(name[:_MAX_NAME_CHARS])
    close = get_close_matches(folded, by_name, n=MAX_SUGGESTIONS, cutoff=0.6)
    last = folded.rpartition(".")[2]
    containing = [each for each in by_name if len(last) > 2 and last in each]
    exact = [each for each in containing if each.rpartition(".")[2] == last]
    found = dict.fromkeys([*close, *exact, *containing])
    return [by_name[each] for each in found][:MAX_SUGGESTIONS]


def _folded(name: str) -> str:
    return name.casefold().replace(" ", "_").replace("-", "_")
