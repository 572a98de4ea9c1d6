"""`since=`: what changed, what was deleted, and from when to ask next time."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from fieldgate_client.errors import FieldgateError
from fieldgate_client.list_query import ChangesUnknown, parse_since

from tests.client.event_stand_in import CYCLONE, FLOOD, START, EventStandIn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        (date(2026, 3, 1), datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T12:00:00Z", NOON),
        (" 2026-03-01 14:00:00+02:00 ", NOON),
        ("2026-03-01T12:00:00.123456789Z", NOON + timedelta(microseconds=123457)),
        (datetime(2026, 3, 1, 12), NOON),
        (datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=-3))), NOON),
    ],
)
def test_times(value: str | date, expected: datetime) -> None:
    assert parse_since(value) == expected


@pytest.mark.parametrize("value", ["", "yesterday", "2026-13-01", "2026-03-01T25:00", "1772366400"])
def test_texts_that_are_no_time(value: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_since(value)


async def test_what_changed_and_what_was_deleted() -> None:
    server = EventStandIn()
    for id_ in range(1, 8):
        server.put(id_, FLOOD if id_ < 6 else CYCLONE)
    async with server.client() as client:
        first = client.events(dtype=FLOOD)
        assert [event.id async for event in first] == [5, 4, 3, 2, 1]
        assert first.next_since < START
        server.clock += timedelta(hours=1)
        since = server.clock
        server.put(2)
        server.put(6, CYCLONE)
        server.delete(4)
        changed = client.events(since=since, dtype=FLOOD)
        with pytest.raises(FieldgateError, match="after the first page"):
            changed.next_since  # noqa: B018
        assert [event.id async for event in changed] == [2]
        assert START < changed.next_since < server.clock - timedelta(minutes=4)
        assert [(each.id, each.deleted_at) for each in await changed.deleted()] == [(4, since)]
        assert await changed.count() == 1
        assert "updated_at__gte=2026-03-01T01:" in repr(changed)


async def test_servers_that_ignore_the_filter_are_refused() -> None:
    """IFRC GO returns all events then, which must not pass for what changed."""
    server = EventStandIn(is_fieldgate=False)
    server.put(1)
    async with server.client() as client:
        with pytest.raises(ChangesUnknown, match=r"http://events.example cannot tell what changed"):
            await client.events(since="2026-01-01").count()


async def test_misuse() -> None:
    async with EventStandIn().client() as client:
        with pytest.raises(FieldgateError, match="lists of changes"):
            await client.events().deleted()
        with pytest.raises(ValueError, match="the same filter"):
            client.events(since="2026-01-01", updated_at__gte="2025-01-01")
        with pytest.raises(TypeError, match="not int"):
            client.events(since=20260101)  # type: ignore[arg-type]
