"""Countries and disaster types pulled from a remote server."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from fieldgate.db import AsyncDatabase
from fieldgate.events.sync.page_reader import PageReader, Record, RecordByLanguage, record_id
from fieldgate.events.sync.remote import RemoteError
from fieldgate.reference.parsing import InvalidReferenceRecord, parse_country, parse_disaster_type
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.store import ReferenceStore

COUNTRIES_PATH, TYPES_PATH = "country/", "disaster_type/"
MAX_REFERENCE_RECORDS = (
    5_000  # of one list, which is held in memory; the live system has about 200 countries
)


class ReferenceSync:
    """Writes countries and disaster types of a remote server.

    `english_first` is true for servers that fall back to English, not to the original language of a text.
    """

    def __init__(
        self,
        database: AsyncDatabase,
        store: ReferenceStore,
        reader: PageReader,
        *,
        english_first: bool,
    ) -> None:
        self._database = database
        self._store = store
        self._reader = reader
        self._english_first = english_first
        self._listed: dict[int, RecordByLanguage] = {}  # the list of countries of the remote server
        self._listed_types: dict[int, RecordByLanguage] = {}
        self.is_outdated = False  # events, which are read later, show other names than the lists

    async def pull(self) -> tuple[int, int]:
        """Pull all countries and disaster types. Returns how many of each changed."""
        countries = await self._fetch_all(COUNTRIES_PATH, {})
        is_complete = not self._reader.list_changed
        types = await self._fetch_all(TYPES_PATH, {})
        self._listed = {record_id(by_language): by_language for by_language in countries}
        self._listed_types = {record_id(by_language): by_language for by_language in types}
        self.is_outdated = False
        changed = await self._upsert(countries, types)
        known = [
            country
            for country in (await self._store.current()).countries.values()
            if country.is_listed
        ]
        # A server that lists only a few countries is not one to follow.
        if is_complete and 2 * len(self._listed) >= len(known):
            async with self._database.transaction() as connection:
                await self._store.list_only(connection, self._listed.keys())
        return changed

    async def update_from_events(self, events: Iterable[RecordByLanguage]) -> ReferenceData:
        """Add or update what events show and the lists lack: deprecated countries, and fields of listed ones.

        IFRC GO shows the size of households only in the countries of events.
        """
        reference_data = await self._store.current()
        countries: dict[int, RecordByLanguage] = defaultdict(dict)
        types: dict[int, RecordByLanguage] = defaultdict(dict)
        for by_language in events:
            for language, record in by_language.items():
                for country in _countries_in(record):
                    listed = self._listed.get(country["id"], {}).get(language, {})
                    known = countries[country["id"]].get(language, {})
                    countries[country["id"]][language] = {**known, **country, **listed}
                    self._compare_names(country, listed)
                dtype = record.get("dtype")
                if not isinstance(dtype, dict) or not isinstance(dtype.get("id"), int):
                    continue
                self._compare_names(
                    dtype, self._listed_types.get(dtype["id"], {}).get(language, {})
                )
                if dtype["id"] not in reference_data.types:
                    types[dtype["id"]][language] = dtype
        if countries or types:
            await self._upsert(countries.values(), types.values())
        return await self._store.current()

    def _compare_names(self, shown: Record, listed: Record) -> None:
        if listed and shown.get("name", listed.get("name")) != listed.get("name"):
            self.is_outdated = True

    async def _fetch_all(self, path: str, parameters: Mapping[str, str]) -> list[RecordByLanguage]:
        """Fetch a whole list. It is ordered by name, so a record can be on different pages in different languages."""
        records: dict[int, RecordByLanguage] = defaultdict(dict)
        async for page in self._reader.pages(path, parameters):
            for id_, by_language in page.records.items():
                records[id_] |= by_language
            if len(records) > MAX_REFERENCE_RECORDS:
                raise RemoteError(
                    f"{path} has more than {MAX_REFERENCE_RECORDS} records. Is this the right server?"
                )
        return list(records.values())

    async def _upsert(
        self, countries: Iterable[RecordByLanguage], types: Iterable[RecordByLanguage]
    ) -> tuple[int, int]:
        reference_data = await self._store.current()
        new_countries: list[Country] = []
        new_types: list[DisasterType] = []
        # An invalid record is skipped: each event that refers to it reports it as missing.
        for by_language in countries:
            before = reference_data.countries.get(record_id(by_language))
            with suppress(InvalidReferenceRecord):
                country = parse_country(
                    _by_code(by_language), before, english_first=self._english_first
                )
                is_listed = country.id in self._listed or (before is not None and before.is_listed)
                country = msgspec.structs.replace(country, is_listed=is_listed)
                new_countries += [country] if country != before else []
        for by_language in types:
            known = reference_data.types.get(record_id(by_language))
            with suppress(InvalidReferenceRecord):
                dtype = parse_disaster_type(
                    _by_code(by_language), known, english_first=self._english_first
                )
                new_types += [dtype] if dtype != known else []
        if not new_countries and not new_types:
            return 0, 0
        async with self._database.transaction() as connection:
            return (
                await self._store.upsert(connection, Country, new_countries),
                await self._store.upsert(connection, DisasterType, new_types),
            )


def _countries_in(record: Record) -> list[Record]:
    """The country records in an event and in its field reports."""
    countries = _objects(record.get("countries")) + _objects(record.get("countries_for_preview"))
    for report in _objects(record.get("field_reports")):
        countries += _objects(report.get("countries"))
    return [country for country in countries if isinstance(country.get("id"), int)]


def _objects(value: Any) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _by_code(by_language: RecordByLanguage) -> dict[str, Record]:
    return {language.value: record for language, record in by_language.items()}
