"""Stored orders of names: the same as computed ones, never stale, and enough to list events without ICU."""

from collections.abc import Sequence

import icu
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, update

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.i18n.collation import ICU_VERSION, collation_key
from fieldgate.i18n.languages import Language
from fieldgate.reference.name_orders import NameOrder, name_order_rows, ordered_ids
from fieldgate.reference.queries import TOPIC
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore
from fieldgate.reference.tables import countries, name_orders

NAMES = st.dictionaries(st.integers(1, 300), st.text(min_size=1, max_size=12), max_size=12)


@pytest.fixture
def store(database: AsyncDatabase) -> ReferenceStore:
    return ReferenceStore(database, DataVersions(database))


def _by_collation(data: ReferenceData, language: Language) -> Sequence[int]:
    return sorted(
        data.countries,
        key=lambda number: (
            collation_key(data.country_records.name(language, number), language),
            number,
        ),
    )


def _stored(language: Language, names: dict[int, str]) -> NameOrder:
    records = [
        {"id": number, "names": {"en": name}, "original_language": "en"}
        for number, name in names.items()
    ]
    row = next(
        row for row in name_order_rows("countries", records) if row["language"] == language.value
    )
    return NameOrder(row["digest"], row["ids"])


@given(names=NAMES, language=st.sampled_from(Language))
def test_stored_order_is_the_computed_one(names: dict[int, str], language: Language) -> None:
    stored = _stored(language, names)
    assert list(ordered_ids(names, language, stored)) == list(ordered_ids(names, language, None))
    assert ordered_ids(names, language, stored) is stored.ids


def test_stored_orders_are_of_the_installed_icu() -> None:
    """If this fails: set the new version."""
    assert icu.ICU_VERSION == ICU_VERSION


async def test_names_without_a_stored_order_are_ordered(
    database: AsyncDatabase, store: ReferenceStore
) -> None:
    """The stored order is for other names, or there is none."""
    async with database.transaction() as connection:
        await connection.execute(
            update(countries).where(countries.c.id == 14).values(names={"en": "Zz"})
        )
        await DataVersions(database).bump(connection, TOPIC)
    data = await store.current()
    assert data.country_records.by_name(Language.ENGLISH)[-1] == 14
    async with database.transaction() as connection:
        await connection.execute(delete(name_orders))
        await DataVersions(database).bump(connection, TOPIC)
    data = await store.current()
    assert data.country_records.by_name(Language.FRENCH) == _by_collation(data, Language.FRENCH)
