"""Stored orders of names: the same as computed ones, never stale, and enough to list events without ICU."""

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import icu
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from fieldgate.db import Database, DataVersions
from fieldgate.i18n.collation import ICU_VERSION, collation_key
from fieldgate.i18n.languages import Language
from fieldgate.reference.name_orders import NameOrder, name_order_rows, ordered_ids
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.store import ReferenceStore
from fieldgate.reference.tables import countries, name_orders
from tests.databases import address_of

NAMES = st.dictionaries(st.integers(1, 300), st.text(min_size=1, max_size=12), max_size=12)


@pytest.fixture
def store(database: Database) -> ReferenceStore:
    return ReferenceStore(database, DataVersions(database))


def _by_collation(data: ReferenceData, language: Language) -> Sequence[int]:
    return sorted(
        data.countries, key=lambda number: (collation_key(data.country_name(language, number), language), number)
    )


def _stored(language: Language, names: dict[int, str]) -> NameOrder:
    records = [{"id": number, "names": {"en": name}, "original_language": "en"} for number, name in names.items()]
    row = next(row for row in name_order_rows("countries", records) if row["language"] == language.value)
    return NameOrder(row["digest"], row["ids"])


@given(names=NAMES, language=st.sampled_from(Language))
def test_stored_order_is_the_computed_one(names: dict[int, str], language: Language) -> None:
    stored = _stored(language, names)
    assert list(ordered_ids(names, language, stored)) == list(ordered_ids(names, language, None))
    assert ordered_ids(names, language, stored) is stored.ids


async def test_new_databases_and_writes_store_an_order_that_is_used(
    database: Database, store: ReferenceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the order was computed")

    async def check() -> None:
        expected = ReferenceData((data := await store.current()).countries.values(), data.types.values())
        orders = [(expected.countries_by_name(each), expected.types_by_name(each)) for each in Language]
        for language in Language:
            assert expected.countries_by_name(language) == _by_collation(expected, language)
        with monkeypatch.context() as patch:
            patch.setattr("fieldgate.reference.name_orders.collation_key", refuse)
            loaded = (await store.reload())[1]
            assert [(loaded.countries_by_name(each), loaded.types_by_name(each)) for each in Language] == orders

    await store.store_name_orders()
    await check()
    async with database.transaction() as connection:
        await store.upsert_countries(connection, [Country(id=900, names={"en": "Ñew", "fr": "Éden"})])
        await store.upsert_disaster_types(connection, [DisasterType(id=99, names={"en": "Åvalanche"})])
    await check()


def test_stored_orders_are_of_the_installed_icu() -> None:
    """If this fails: set the new version."""
    assert icu.ICU_VERSION == ICU_VERSION


async def test_names_without_a_stored_order_are_ordered(database: Database, store: ReferenceStore) -> None:
    """The stored order is for other names, or there is none."""
    async with database.transaction() as connection:
        await connection.execute(update(countries).where(countries.c.id == 14).values(names={"en": "Zz"}))
    data = (await store.reload())[1]
    assert data.countries_by_name(Language.ENGLISH)[-1] == 14
    async with database.transaction() as connection:
        await connection.execute(delete(name_orders))
    data = (await store.reload())[1]
    assert data.countries_by_name(Language.FRENCH) == _by_collation(data, Language.FRENCH)


async def test_reference_data_is_ordered_without_icu(database: Database, store: ReferenceStore) -> None:
    """In a process of its own, because the tests load it."""
    await store.store_name_orders()
    script = """
import asyncio, sys
from fieldgate.db import Database, DataVersions
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore

async def main():
    database = Database(sys.argv[1])
    data = await ReferenceStore(database, DataVersions(database)).current()
    for language in Language:
        assert len(data.countries_by_name(language)) > 200 and data.types_by_name(language)
    await database.close()

asyncio.run(main())
print("icu" in sys.modules)
"""
    url = address_of(database)
    arguments = [sys.executable, "-c", script, url]
    output = await asyncio.to_thread(subprocess.run, arguments, check=True, capture_output=True, text=True)
    assert output.stdout.strip() == "False"
