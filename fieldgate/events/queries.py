"""Queries of events: functions that take a transaction. `reader.py` has the lists."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, func, or_, select

from fieldgate.db import ReadTransaction
from fieldgate.events.model import Event, Visibility, unpack
from fieldgate.events.tables import deleted, event_contents, events
from fieldgate.events.visibility import ViewerScope
from fieldgate.pagination import MAX_LIMIT, PageRequest

_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_CONTENTS: Select[Any] = select(event_contents.c.id, event_contents.c.content).where(
    event_contents.c.id.in_(_IDS)
)
_BY_ID = select(event_contents.c.content).where(event_contents.c.id == bindparam("id"))
_BY_SLUG = (
    select(event_contents.c.content)
    .join_from(events, event_contents, events.c.id == event_contents.c.id)
    .where(events.c.slug == bindparam("slug"))
)
_ANY_DEMO = select(events.c.id).where(events.c.is_demo).limit(1)
_ANY_REAL = select(events.c.id).where(~events.c.is_demo).limit(1)


def has_demo_events(transaction: ReadTransaction) -> bool:
    return transaction.execute(_ANY_DEMO).first() is not None


def has_real_events(transaction: ReadTransaction) -> bool:
    return transaction.execute(_ANY_REAL).first() is not None


def find_event(transaction: ReadTransaction, key: int | str) -> Event | None:
    """The event with this id or slug."""
    if isinstance(key, str):
        content = transaction.execute(_BY_SLUG, {"slug": key}).scalar()
    elif key < 2**63:
        content = transaction.execute(_BY_ID, {"id": key}).scalar()
    else:
        content = None
    return None if content is None else unpack(content)


def list_deleted(
    transaction: ReadTransaction, since: datetime | None, scope: ViewerScope, page: PageRequest
) -> tuple[int, Sequence[tuple[int, datetime]]]:
    """Events that a caller could see in lists and no longer can, oldest deletion first, and how many there are."""
    is_kept = and_(deleted.c.kept_visibility.is_not(None), _was_visible(scope, "kept_"))
    query = select(deleted.c.id, deleted.c.deleted_at).where(_was_visible(scope), ~is_kept)
    if since is not None:
        query = query.where(deleted.c.deleted_at >= since)
    counted = query.with_only_columns(func.count(), maintain_column_froms=True)
    count: int = transaction.execute(counted).scalar_one()
    ordered = query.order_by(deleted.c.deleted_at, deleted.c.id)
    rows = transaction.execute(ordered.limit(page.limit).offset(page.offset)).all()
    return count, [(row.id, row.deleted_at) for row in rows]


def load_contents(transaction: ReadTransaction, ids: Sequence[int]) -> dict[int, bytes]:
    contents: dict[int, bytes] = {}
    for start in range(0, len(ids), MAX_LIMIT):
        rows = transaction.execute(_CONTENTS, {"ids": ids[start : start + MAX_LIMIT]})
        contents.update({row.id: row.content for row in rows})
    return contents


def _was_visible(scope: ViewerScope, prefix: str = "") -> ColumnElement[bool]:
    """Whether a caller could see a deleted event, or still sees it with `kept_` as the prefix."""
    visibility = deleted.c[prefix + "visibility"]
    countries = deleted.c[prefix + "countries"]
    seen: ColumnElement[bool] = visibility.in_(sorted(scope.levels))
    for country in scope.countries:
        of_society = and_(visibility == Visibility.SOCIETIES, countries.contains(f",{country},"))
        seen = or_(seen, of_society)
    return seen
