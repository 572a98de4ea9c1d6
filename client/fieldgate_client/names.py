"""Filters by name: `countries=["KEN", "Chad"]`, `type="Flood"`, `region="Africa"`, `severity="red"`.

The server filters by numbers. Names are looked up in its own lists, in the language of the client and in English, and
kept for the life of the client.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from fieldgate_client.errors import AmbiguousName, InvalidRequest, UnknownName, UnsupportedByServer
from fieldgate_client.list_query import empty_filter

MAX_SUGGESTIONS = 3
MAX_COMPARED_CHARS = 1000  # Unicode sorts a row of accents in quadratic time
_COUNTRY_RECORD = 1  # other records of the list of countries are clusters, regions and offices

# Reads a whole list in a language: path, language.
ReadList = Callable[[str, str], Awaitable[list[dict[str, Any]]]]
IsFieldgate = Callable[[], Awaitable[bool]]


class NameFilter(msgspec.Struct, frozen=True):
    """How a filter by name is written for the server."""

    kind: str
    path: str  # of the list with the names; empty: `_SEVERITIES`
    names: tuple[str, ...]  # fields of a record with names and codes; the first is its title
    one: str  # the parameter for one value
    several: str
    only_fieldgate: tuple[str, ...] = ()  # parameters that IFRC GO ignores


_COUNTRY = NameFilter(
    "country", "country/", ("name", "iso3", "iso"), "countries__in", "countries__in"
)
_REGION = NameFilter("region", "region/", ("region_name", "label"), "regions__in", "regions__in")
_TYPE = NameFilter(
    "disaster type", "disaster_type/", ("name",), "dtype", "dtype__in", ("dtype__in",)
)
_SEVERITY = NameFilter(
    *("severity", "", ("name",), "ifrc_severity_level", "ifrc_severity_level__in"),
    ("ifrc_severity_level", "ifrc_severity_level__in"),
)
NAME_FILTERS = {
    "country": _COUNTRY,
    "countries": _COUNTRY,
    "region": _REGION,
    "regions": _REGION,
    "type": _TYPE,
    "types": _TYPE,
    "severity": _SEVERITY,
    "severities": _SEVERITY,
}
_SEVERITIES = [{"id": 0, "name": "yellow"}, {"id": 1, "name": "orange"}, {"id": 2, "name": "red"}]


class NameList:
    """The ids of the records of one list in one language, by name and by code."""

    def __init__(self, records: Iterable[Mapping[str, Any]], kind: NameFilter) -> None:
        self.titles: dict[int, str] = {}  # as people know them, with the code
        self._ids: dict[str, list[int]] = {}
        self._countries: set[int] = set()  # not clusters or offices
        for record in records:
            number = record.get("id")
            if not isinstance(number, int):
                continue
            texts = [
                text
                for field in kind.names
                if isinstance(text := record.get(field), str) and text.strip()
            ]
            code = f" ({record['iso3']})" if record.get("iso3") else ""
            self.titles[number] = f"{texts[0]}{code}" if texts else str(number)
            if record.get("record_type", _COUNTRY_RECORD) == _COUNTRY_RECORD:
                self._countries.add(number)
            for text in dict.fromkeys(map(_folded, texts)):
                self._ids.setdefault(text, []).append(number)

    def find(self, text: str) -> list[int]:
        """The records with this code or name. A country comes before an office of the same name."""
        found = self._ids.get(_folded(text), [])
        return [number for number in found if number in self._countries] or found

    def suggest(self, text: str) -> list[str]:
        """Titles of records with similar names, or with names that have a word with this beginning."""
        folded = _folded(text)
        containing = (
            [name for name in self._ids if f" {folded}" in f" {_words(name)}"] if folded else []
        )
        names = [*containing, *get_close_matches(folded, self._ids, n=MAX_SUGGESTIONS, cutoff=0.6)]
        return [self.titles[number] for name in names for number in self._ids[name]]


class NameResolver:
    def __init__(self, read_list: ReadList, is_fieldgate: IsFieldgate, language: str) -> None:
        self._read_list = read_list
        self._is_fieldgate = is_fieldgate
        self._languages = [*dict.fromkeys([language or "en", "en"])]
        self._lists: dict[str, list[NameList]] = {"": [NameList(_SEVERITIES, _SEVERITY)]}
        self._lock = asyncio.Lock()

    async def resolve(self, filters: Mapping[str, list[Any]]) -> list[tuple[str, str]]:
        """Query parameters for filters by name."""
        values: dict[NameFilter, dict[int, None]] = {}
        for name, given in filters.items():
            kind = NAME_FILTERS[name]
            for each in given:
                values.setdefault(kind, {}).update(dict.fromkeys(await self._ids(kind, each)))
        parameters = []
        for kind, ids in values.items():
            parameter = kind.one if len(ids) == 1 else kind.several
            if parameter in kind.only_fieldgate and not await self._is_fieldgate():
                raise UnsupportedByServer(
                    f"This server cannot filter by {'several values of ' if kind.one != parameter else ''}{kind.kind}: "
                    "it would return everything. Filter the records yourself."
                )
            parameters.append((parameter, ",".join(map(str, ids))))
        return parameters

    async def _ids(self, kind: NameFilter, value: Any) -> list[int]:
        """The ids of a value: an id, a code, a name, or several of these separated by commas."""
        if isinstance(value, int) and not isinstance(value, bool):
            return [value]
        if not isinstance(value, str):
            raise InvalidRequest(f"{value!r} is not a {kind.kind}: give its id, code or name.")
        if value.isascii() and value.strip().isdigit():
            return [int(value)]
        lists = await self._names(kind)
        titles, found = next(
            ((each.titles, ids) for each in lists if (ids := each.find(value))), ({}, [])
        )
        if len(found) == 1:
            return found
        if found:
            named = tuple(f"{titles[number]}, id {number}" for number in found)
            raise AmbiguousName(
                f"The server has several records of the {kind.kind} {value!r}: {'; '.join(named)}. Give the id.",
                suggestions=named,
            )
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if parts and "," in value:  # a name can have a comma itself
            return [number for part in parts for number in await self._ids(kind, part)]
        similar = tuple(dict.fromkeys(title for each in lists for title in each.suggest(value)))[
            :MAX_SUGGESTIONS
        ]
        hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
        raise UnknownName(f"The server knows no {kind.kind} {value!r}.{hint}", suggestions=similar)

    async def _names(self, kind: NameFilter) -> list[NameList]:
        async with self._lock:
            if kind.path not in self._lists:
                self._lists[kind.path] = [
                    NameList(await self._read_list(kind.path, language), kind)
                    for language in self._languages
                ]
        return self._lists[kind.path]


def split_filters(filters: Mapping[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Filters by name, each with a list of values, and the others."""
    names, others = {}, {}
    for name, value in filters.items():
        if name not in NAME_FILTERS:
            others[name] = value
        elif value is not None:
            is_one = isinstance(value, str) or not isinstance(value, Iterable)
            names[name] = [value] if is_one else [*value]
            if not names[name] or any(
                isinstance(each, str) and not each.strip() for each in names[name]
            ):
                raise empty_filter(name)
    return names, others


def _folded(text: str) -> str:
    """Without accents and case: people write Cote d'Ivoire."""
    decomposed = unicodedata.normalize(
        "NFKD", text[:MAX_COMPARED_CHARS].replace("’", "'").strip().casefold()
    )
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _words(text: str) -> str:
    return "".join(character if character.isalnum() else " " for character in text)
