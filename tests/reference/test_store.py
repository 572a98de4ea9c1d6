"""Data of the migration, caching and upserts, on both databases."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.i18n.languages import Language
from fieldgate.reference.queries import TOPIC, save_reference
from fieldgate.reference.reference_data import Country, DisasterType
from fieldgate.reference.store import ReferenceStore


@pytest.fixture
def store(database: AsyncDatabase) -> ReferenceStore:
    return ReferenceStore(database, DataVersions(database))


async def _put(database: AsyncDatabase, *rows: Any) -> int:
    return await database.in_write(
        lambda transaction: save_reference(transaction, type(rows[0]), rows)
    )


async def test_migration_inserts_countries(store: ReferenceStore) -> None:
    directory = await store.current()
    known = {14: "AFG", 27: "BGD", 84: "IND", 85: "IDN", 123: "NPL", 180: "SUR", 290: "SSD"}
    for number, iso3 in known.items():
        country = directory.country_by_iso3(iso3)
        assert country is not None
        assert country.id == number
    countries = [each for each in directory.countries.values() if each.record_type == 1]
    assert len(countries) == 244
    assert sum(1 for each in countries if each.independent) == 197
    assert {each.id for each in countries if each.is_deprecated} == {11, 223}
    for field in ("iso", "iso3"):
        codes = [getattr(each, field) for each in countries]
        assert max(Counter(codes).values()) == 1, "a code belongs to one country"
        assert all(code.isascii() and code.isupper() for code in codes)
    without_region = {each.iso for each in countries if each.region is None}
    assert without_region == {"AQ", "BV", "GS", "HM", "IO", "TF"}, "nobody lives there"
    assert {each.fdrs for each in countries if each.fdrs} == {
        f"D{each.iso}001" for each in countries if each.fdrs
    }


async def test_migration_inserts_disaster_types(store: ReferenceStore) -> None:
    directory = await store.current()
    numbers = [
        1,
        2,
        4,
        5,
        6,
        7,
        8,
        11,
        12,
        13,
        14,
        15,
        19,
        20,
        21,
        23,
        24,
        27,
        54,
        57,
        62,
        66,
        67,
        68,
    ]
    assert list(directory.types) == numbers
    assert directory.type_records.name(Language.ENGLISH, 27) == "Pluvial/Flash Flood"
    assert directory.type_records.name(Language.FRENCH, 2) == "Séisme"


async def test_names_are_unique_in_every_language(store: ReferenceStore) -> None:
    directory = await store.current()
    for language in Language:
        for names in (
            [directory.country_records.name(language, number) for number in directory.countries],
            [directory.type_records.name(language, number) for number in directory.types],
        ):
            assert all(names)
            assert len(set(names)) == len(names), language


async def test_another_process_sees_a_change(database_url: str, database: AsyncDatabase) -> None:
    other = AsyncDatabase(database_url)
    there = ReferenceStore(other, DataVersions(other))
    assert (await there.current()).countries.get(900) is None
    await _put(database, Country(id=900, names={"en": "Newland"}))
    assert (await there.current()).country_records.name(Language.ARABIC, 900) == "Newland"
    await other.close()


async def test_upsert_writes_only_differences(
    database: AsyncDatabase, store: ReferenceStore
) -> None:
    changes = DataVersions(database)
    directory = await store.current()
    assert await _put(database, *directory.countries.values()) == 0
    assert await _put(database, *directory.types.values()) == 0
    assert await changes.version(TOPIC) == 0
    nepal = directory.countries[123]
    richer = msgspec.structs.replace(
        nepal, average_household_size=4.3, society_names={"en": "A society"}
    )
    assert await _put(database, *{**directory.countries, 123: richer}.values()) == 1
    first = await changes.version(TOPIC)
    assert first > 0
    assert await _put(database, richer, richer) == 0
    assert (await store.current()).countries.get(123) == richer
    flood = DisasterType(
        id=12, names={"en": "Flood"}, summaries={"fr": "De l’eau"}, original_language="fr"
    )
    assert await _put(database, flood, DisasterType(id=99, names={"en": "New"})) == 2
    assert await changes.version(TOPIC) > first
    assert (await store.current()).types.get(12) == flood
    assert len((await store.current()).types) == 25
