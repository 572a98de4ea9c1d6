"""Countries and disaster types pulled from a remote server."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from typing import Any, TypeVar

import msgspec

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.sync.event_records import RecordByLanguage
from fieldgate.events.sync.remote import (
    Record,
    RemoteError,
    RemoteServer,
    gather_or_cancel,
    valid_id,
)
from fieldgate.events.writes import lock_events, update_regions
from fieldgate.i18n.languages import Language
from fieldgate.reference.parsing import InvalidReferenceRecord, parse_country, parse_disaster_type
from fieldgate.reference.queries import list_only, load_reference, save_reference
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData

COUNTRIES_PATH, TYPES_PATH = "country/", "disaster_type/"
# Of one list, which is held in memory; the live system has about 200 countries.
MAX_REFERENCE_RECORDS = 5_000

Reference = TypeVar("Reference", Country, DisasterType)


class ReferenceSync:
    """Writes countries and disaster types of a remote server.

    `english_first` is true for servers that fall back to English, not to the original language of a text.
    """

    def __init__(self, remote: RemoteServer, database: Database, *, english_first: bool) -> None:
        self._remote = remote
        self._database = database
        self._english_first = english_first
        self._listed: dict[int, RecordByLanguage] = {}  # the countries of the remote server
        self._known: ReferenceData  # as stored here

    async def pull(self) -> tuple[int, int]:
        """Pull all countries and disaster types. Returns how many of each changed."""
        self._listed = await self._fetch_all(COUNTRIES_PATH)
        types = await self._fetch_all(TYPES_PATH)
        self._known = await asyncio.to_thread(self._database.read, load_reference)
        known_count = sum(country.is_listed for country in self._known.countries.values())
        changed = await self._save(self._listed, types)
        # A server that lists only a few countries is not one to follow.
        if 2 * len(self._listed) >= known_count:
            await asyncio.to_thread(
                self._database.write,
                lambda transaction: list_only(transaction, self._listed.keys()),
            )
        return changed

    async def update_from_events(self, events: Iterable[RecordByLanguage]) -> ReferenceData:
        """Add or update what events show and the lists lack: deprecated countries, and fields of listed ones.

        IFRC GO shows the size of households only in the countries of events.
        """
        countries: dict[int, RecordByLanguage] = defaultdict(dict)
        types: dict[int, RecordByLanguage] = defaultdict(dict)
        for by_language in events:
            for language, record in by_language.items():
                for id_, country in _countries_in(record):
                    listed = self._listed.get(id_, {}).get(language, {})
                    before = countries[id_].get(language, {})
                    countries[id_][language] = {**before, **country, **listed}
                dtype = record.get("dtype")
                type_id = valid_id(dtype)
                if dtype and type_id is not None and type_id not in self._known.types:
                    types[type_id][language] = dtype
        await self._save(countries, types)
        return self._known

    async def _fetch_all(self, path: str) -> dict[int, RecordByLanguage]:
        """A whole list in all languages, each read on its own: it is ordered by name."""
        lists = await gather_or_cancel(self._fetch(path, language) for language in Language)
        merged: dict[int, RecordByLanguage] = defaultdict(dict)
        for language, records in zip(Language, lists, strict=True):
            for id_, record in records.items():
                merged[id_][language] = record
        return dict(merged)

    async def _fetch(self, path: str, language: Language) -> dict[int, Record]:
        query = self._remote.list_of(path, language)
        fetched: dict[int, Record] = {}
        async with aclosing(query.walk().pages()) as pages:
            async for page in pages:
                fetched.update(_with_ids(query.decode(page)))
                if len(fetched) > MAX_REFERENCE_RECORDS:
                    raise RemoteError(
                        f"{path} has more than {MAX_REFERENCE_RECORDS} records. Is this the right server?"
                    )
        return fetched

    async def _save(
        self, countries: Mapping[int, RecordByLanguage], types: Mapping[int, RecordByLanguage]
    ) -> tuple[int, int]:
        new_countries = self._changed(countries, self._known.countries, parse_country)
        new_types = self._changed(types, self._known.types, parse_disaster_type)
        if not new_countries and not new_types:
            return 0, 0
        old_regions = {country.id: country.region for country in self._known.countries.values()}
        have_moved = any(
            old_regions.get(country.id, country.region) != country.region
            for country in new_countries
        )

        def write(transaction: WriteTransaction) -> tuple[int, int]:
            lock_events(transaction)
            changed_countries = save_reference(transaction, Country, new_countries)
            changed_types = save_reference(transaction, DisasterType, new_types)
            if have_moved:
                update_regions(transaction)
            return changed_countries, changed_types

        changed = await asyncio.to_thread(self._database.write, write)
        self._known = await asyncio.to_thread(self._database.read, load_reference)
        return changed

    def _changed(
        self,
        records: Mapping[int, RecordByLanguage],
        known: Mapping[int, Reference],
        parse: Callable[..., Reference],
    ) -> list[Reference]:
        """Those that differ. An invalid one is skipped: each event that refers to it reports it as missing."""
        changed = []
        for id_, by_language in records.items():
            before = known.get(id_)
            by_code = {language.value: record for language, record in by_language.items()}
            with suppress(InvalidReferenceRecord):
                record = parse(by_code, before, english_first=self._english_first)
                if isinstance(record, Country):
                    was_listed = isinstance(before, Country) and before.is_listed
                    is_listed = was_listed or id_ in self._listed
                    record = msgspec.structs.replace(record, is_listed=is_listed)
                if record != before:
                    changed.append(record)
        return changed


def _countries_in(record: Record) -> Iterator[tuple[int, Record]]:
    """The country records in an event and in its field reports."""
    for owner in (record, *_items(record.get("field_reports"))):
        yield from _with_ids(_items(owner.get("countries")))
    yield from _with_ids(_items(record.get("countries_for_preview")))


def _items(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _with_ids(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    for record in records:
        id_ = valid_id(record)
        if id_ is not None:
            yield id_, record
