"""The filters that clients send most are answered from an index, on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Select, text

from fieldgate.db import Database, ReadTransaction
from fieldgate.events.filters import EventFilters, ordering_terms
from fieldgate.events.orders import DEFAULT_ORDER
from fieldgate.events.reader import list_query
from fieldgate.events.records import Viewer
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.reference.queries import load_reference

# Filters, and an index that answers them.
USED: dict[str, tuple[dict[str, Any], str]] = {
    "no filter": ({}, "ix_events_list"),
    "region": ({"regions__in": (0,)}, "ix_events_list"),
    "country": ({"countries__in": (123,)}, "event_countries"),
    "country by code": ({"countries__iso3": "NPL"}, "event_countries"),
    "disaster type": ({"dtype": 12}, "ix_events_list"),
    "severity": ({"ifrc_severity_level": 2}, "ix_events_list"),
    "since": ({"disaster_start_date__gte": datetime(2026, 9, 1, tzinfo=UTC)}, "ix_events_list"),
    "changed since": ({"updated_at__gte": datetime(2026, 9, 1, tzinfo=UTC)}, "ix_events_"),
    "GLIDE number": ({"glide": "FL-2020-000001-NPL"}, "ix_events_glide"),
    "id": ({"id": 7}, "primary key|pk_events"),
}


@pytest.fixture
def synchronous(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    yield database
    database.close()


@pytest.mark.parametrize("kind", USED)
async def test_filter_uses_an_index(synchronous: Database, kind: str) -> None:
    values, index = USED[kind]
    filters = EventFilters(**values)

    def read_plan(transaction: ReadTransaction) -> str:
        reference_data = load_reference(transaction)
        viewer = Viewer(Language.ENGLISH, PUBLIC_SCOPE, reference_data)
        terms = ordering_terms(filters.ordering) or DEFAULT_ORDER
        return plan_of(transaction, list_query(filters, viewer, terms).limit(50))

    plan = synchronous.read(read_plan).lower()
    assert any(name in plan for name in index.split("|")), plan


def plan_of(transaction: ReadTransaction, query: Select[Any]) -> str:
    """What the database would do. PostgreSQL reads a short table as a whole unless it is told not to."""
    dialect = transaction.connection.dialect
    sql = str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    explain = "EXPLAIN QUERY PLAN "
    if dialect.name == "postgresql":
        transaction.execute(text("SET LOCAL enable_seqscan = off"))
        explain = "EXPLAIN "
    rows = transaction.connection.exec_driver_sql(explain + sql).all()
    return "\n".join(str(row[-1]) for row in rows)
