"""Filters by name: `countries=["KEN", "Chad"]`, `type="Flood"`, `region="Africa"`, `severity="red"`.

The server filters by numbers. Names are looked up in its own lists, in English and in the language of the client, and
kept for the life of the client.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fieldgate_client.errors import UnknownName

SEVERITIES = {"yellow": 0, "orange": 1, "red": 2}

# Reads a whole list in a language: path, language.
ReadList = Callable[[str, str], Awaitable[list[dict[str, Any]]]]


class NameFilter:
    """How a filter by name is written for the server."""

    def __init__(self, path: str, fields: tuple[str, ...], one: str, several: str, kind: str) -> None:
        self.path = path
        self.fields = fields  # of a record that people know it by
        self.one = one  # the parameter for one value
        self.several = several
        self.kind = kind


_COUNTRY = NameFilter("country/", ("iso3", "iso", "name"), "countries__in", "countries__in", "country")
_REGION = NameFilter("region/", ("region_name", "label"), "regions__in", "regions__in", "region")
_TYPE = NameFilter("disaster_type/", ("name",), "dtype", "dtype__in", "disaster type")
_SEVERITY = NameFilter("", (), "ifrc_severity_level", "ifrc_severity_level__in", "severity")
NAME_FILTERS = {
    "country": _COUNTRY,
    "countries": _COUNTRY,
    "region": _REGION,
    "regions": _REGION,
    "type": _TYPE,
    "types": _TYPE,
    "severity": _SEVERITY,
}


class NameResolver:
    def __init__(self, read_list: ReadList, language: str) -> None:
        import asyncio

        self._read_list = read_list
        self._languages = dict.fromkeys(["en", language or "en"])
        self._ids: dict[str, dict[str, int]] = {"": SEVERITIES}
        self._lock = asyncio.Lock()

    async def resolve(self, filters: dict[str, Any]) -> list[tuple[str, str]]:
        """Query parameters for filters by name."""
        parameters = []
        for name, value in filters.items():
            kind = NAME_FILTERS[name]
            wanted = [value] if isinstance(value, str | int) or not isinstance(value, Iterable) else [*value]
            ids = [await self._id(kind, each) for each in wanted]
            if wanted:
                parameters.append((kind.one if len(ids) == 1 else kind.several, ",".join(map(str, ids))))
        return parameters

    async def _id(self, kind: NameFilter, value: Any) -> int:
        if isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit()):
            return int(value)
        ids = await self._known(kind)
        found = ids.get(_folded(str(value)))
        if found is None:
            from difflib import get_close_matches

            similar = tuple(get_close_matches(_folded(str(value)), ids, n=3, cutoff=0.6))
            hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
            raise UnknownName(f"The server knows no {kind.kind} {value!r}.{hint}", suggestions=similar)
        return found

    async def _known(self, kind: NameFilter) -> dict[str, int]:
        async with self._lock:
            if kind.path not in self._ids:
                ids: dict[str, int] = {}
                for language in self._languages:
                    for record in await self._read_list(kind.path, language):
                        for field in kind.fields:
                            if isinstance(record.get(field), str) and isinstance(record.get("id"), int):
                                # A code or name that two records have belongs to the first, in the order of the list.
                                ids.setdefault(_folded(record[field]), record["id"])
                self._ids[kind.path] = ids
        return self._ids[kind.path]


def _folded(text: str) -> str:
    """Without accents and case: people write Cote d'Ivoire."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'").strip().casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))
