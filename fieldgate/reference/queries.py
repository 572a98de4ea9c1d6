"""Queries and writes of countries and disaster types: functions that take a transaction."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec
from sqlalchemy import bindparam, select, update

from fieldgate.db import ReadTransaction, WriteTransaction, upsert
from fieldgate.reference.name_orders import NameOrder, name_order_rows
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from fieldgate.reference.tables import countries, disaster_types, name_orders

TOPIC = "reference"

_COUNTRIES = select(countries).order_by(countries.c.id)
_TYPES = select(disaster_types).order_by(disaster_types.c.id)
_ORDERS = select(name_orders)
_UNLIST_OTHERS = (
    update(countries)
    .where(countries.c.is_listed & countries.c.id.not_in(bindparam("ids", expanding=True)))
    .values(is_listed=False)
)


def load_reference(transaction: ReadTransaction) -> ReferenceData:
    """All countries and disaster types."""
    orders = transaction.execute(_ORDERS).all()
    return ReferenceData(
        [Country(**row) for row in transaction.execute(_COUNTRIES).mappings()],
        [DisasterType(**row) for row in transaction.execute(_TYPES).mappings()],
        {(row.table_name, row.language): NameOrder(row.digest, row.ids) for row in orders},
    )


def save_reference(
    transaction: WriteTransaction,
    kind: type[Country | DisasterType],
    rows: Iterable[msgspec.Struct],
) -> int:
    """Insert or update countries or disaster types. Return how many changed."""
    table = countries if kind is Country else disaster_types
    held: dict[int, dict[str, Any]] = {
        row["id"]: dict(row) for row in transaction.execute(select(table)).mappings()
    }
    new = {values["id"]: values for values in map(msgspec.structs.asdict, rows)}
    changed = [values for id_, values in new.items() if held.get(id_) != values]
    if changed:
        dialect = transaction.connection.dialect
        transaction.execute(upsert(dialect, table), changed)
        orders = name_order_rows(table.name, {**held, **new}.values())
        transaction.execute(upsert(dialect, name_orders), orders)
        transaction.changed(TOPIC)
    return len(changed)


def list_only(transaction: WriteTransaction, ids: Collection[int]) -> None:
    """Take countries out of the list that have other ids. They are still found by id."""
    if transaction.execute(_UNLIST_OTHERS, {"ids": sorted(ids)}).rowcount:
        transaction.changed(TOPIC)


def store_name_orders(transaction: WriteTransaction) -> None:
    """Store the orders of names of a new database, so that processes need not compute them."""
    for table in (countries, disaster_types):
        records = transaction.execute(select(table)).mappings()
        rows = name_order_rows(table.name, records)
        transaction.execute(upsert(transaction.connection.dialect, name_orders), rows)
