"""Writes of events: their columns, countries and contents, and the record of those that leave the lists.

    lock_events(transaction)
    result = save_events(transaction, [event])

Everything that is stored about an event follows from the event: `_event_row` says how.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import BindParameter, Select, bindparam, select, update

from fieldgate.db import ReadTransaction, Timestamp, WriteTransaction, insert_rows_sync, upsert
from fieldgate.db.tables import topic_versions
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.tables import (
    TOPIC,
    deleted,
    event_contents,
    event_countries,
    events,
    sources,
)
from fieldgate.events.visibility import Audience
from fieldgate.i18n.folding import fold_text
from fieldgate.reference.tables import countries

BATCH_SIZE = 500  # values of one statement
MAX_CENTS = 2**53  # of one event, about 90 trillion francs; more is a mistake
SEPARATOR = "\x1f"  # of the names in `search_text`

_LOCK = select(topic_versions.c.version).where(topic_versions.c.topic == TOPIC).with_for_update()
_IDS: BindParameter[Any] = bindparam("ids", expanding=True)
_STORED = (
    select(events.c.id, events.c.version, events.c.is_demo, event_contents.c.content)
    .join_from(events, event_contents, events.c.id == event_contents.c.id)
    .where(events.c.id.in_(_IDS))
)
_BY_SLUG = select(events.c.slug, events.c.id).where(
    events.c.slug.in_(bindparam("slugs", expanding=True))
)
_FIRST_AND_LAST = select(
    select(events.c.is_demo).order_by(events.c.id).limit(1).scalar_subquery(),
    select(events.c.is_demo).order_by(events.c.id.desc()).limit(1).scalar_subquery(),
)
_ALL_REGIONS: Select[Any] = select(countries.c.id, countries.c.region)
_REGIONS: Select[Any] = _ALL_REGIONS.where(countries.c.id.in_(_IDS))
_RECORDED_DELETIONS = select(deleted).where(deleted.c.id.in_(_IDS))
_FREE_SLUGS = update(events).where(events.c.id.in_(_IDS)).values(slug=None)

Value = TypeVar("Value")


class BulkWriteResult(msgspec.Struct):
    """How many records were created, changed, left unchanged, skipped or deleted."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    deleted: int = 0

    def add(self, other: "BulkWriteResult") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        counts = {name: getattr(self, name) for name in self.__struct_fields__}
        return ", ".join(
            f"{name} {count}" for name, count in counts.items() if count or name != "deleted"
        )


class SlugTaken(Exception):
    """Another event has this slug."""


class StoredEvent(NamedTuple):
    """An event with what its next write needs to know."""

    event: Event
    version: int
    is_demo: bool
    content: bytes


def lock_events(transaction: WriteTransaction) -> None:
    """Let one transaction at a time write events: first, so that what it reads then is what it changes.

    SQLite has one writer anyway.
    """
    if transaction.connection.dialect.name != "sqlite":
        transaction.execute(_LOCK)


def load_events(transaction: ReadTransaction, ids: Sequence[int]) -> dict[int, Event]:
    """The stored events, by id."""
    return {id_: stored.event for id_, stored in load_stored(transaction, ids).items()}


def load_stored(transaction: ReadTransaction, ids: Sequence[int]) -> dict[int, StoredEvent]:
    """The same with what `save_events` needs, which reads it again otherwise."""
    stored: dict[int, StoredEvent] = {}
    for batch in batches(ids):
        for row in transaction.execute(_STORED, {"ids": batch}):
            content = bytes(row.content)
            stored[row.id] = StoredEvent(unpack(content), row.version, row.is_demo, content)
    return stored


def ids_by_slug(transaction: ReadTransaction, slugs: Sequence[str]) -> dict[str, int]:
    """The ids of the events with these slugs."""
    ids: dict[str, int] = {}
    for batch in batches(slugs):
        rows = transaction.execute(_BY_SLUG, {"slugs": batch})
        ids.update({row.slug: row.id for row in rows})
    return ids


def save_events(
    transaction: WriteTransaction,
    new: Sequence[Event],
    *,
    is_demo: bool | None = None,
    stored: Mapping[int, StoredEvent] | None = None,
) -> BulkWriteResult:
    """Create or replace events. Unchanged ones are not written.

    Without `is_demo` an event keeps its flag, and a new event gets that of the existing ones: they never mix. `stored`
    are those of `load_stored` in this transaction.
    """
    if stored is None:
        stored = load_stored(transaction, [event.id for event in new])
    demo_ids = {event.id for event in new} if is_demo else set[int]()
    if is_demo is None:
        demo_ids = _demo_ids(transaction, new, stored)
    changes: list[tuple[Event, StoredEvent | None]] = []
    for event in new:
        if event.id in demo_ids:
            event = msgspec.structs.replace(event, demo=True)
        before = stored.get(event.id)
        if before is None or before.content != pack(event):
            changes.append((event, before))
    result = BulkWriteResult(unchanged=len(new) - len(changes))
    if changes:
        _write(transaction, changes, demo_ids)
        result.changed = len([before for _, before in changes if before is not None])
        result.created = len(changes) - result.changed
    return result


def delete_events(transaction: WriteTransaction, ids: Sequence[int]) -> int:
    """Delete events. Returns how many there were."""
    before = load_events(transaction, ids)
    if before:
        _record_deletions(transaction, [(event, None) for event in before.values()])
        _delete_rows(transaction, list(before))
        transaction.changed(TOPIC)
    return len(before)


def delete_demo_events(transaction: WriteTransaction) -> int:
    """Delete the demo events, without a record of their deletion."""
    demo_ids = list(transaction.execute(select(events.c.id).where(events.c.is_demo)).scalars())
    if demo_ids:
        _delete_rows(transaction, demo_ids)
        for batch in batches(demo_ids):
            transaction.execute(deleted.delete().where(deleted.c.id.in_(batch)))
        transaction.changed(TOPIC)
    return len(demo_ids)


def update_regions(transaction: WriteTransaction) -> None:
    """Write the regions of all events again, after countries moved to another region."""
    known = transaction.execute(_ALL_REGIONS)
    regions = {row.id: row.region for row in known}
    bits: dict[int, int] = {}
    in_countries: Select[Any] = select(event_countries.c.event_id, event_countries.c.country_id)
    for row in transaction.execute(in_countries):
        bits[row.event_id] = bits.get(row.event_id, 0) | region_bits([regions.get(row.country_id)])
    held = transaction.execute(select(events.c.id, events.c.regions)).all()
    changed = [
        {"event_id": row.id, "new_regions": bits.get(row.id, 0)}
        for row in held
        if row.regions != bits.get(row.id, 0)
    ]
    if changed:
        statement = (
            update(events)
            .where(events.c.id == bindparam("event_id"))
            .values(regions=bindparam("new_regions"))
        )
        transaction.execute(statement, changed)
        transaction.changed(TOPIC)


def region_bits(regions: Iterable[int | None]) -> int:
    """Regions as bits: bit 0 for region 0."""
    bits = 0
    for region in regions:
        if region is not None and 0 <= region < 31:
            bits |= 1 << region
    return bits


def glide_key(glide: str) -> str:
    """A GLIDE number in upper case. Only ASCII changes, as the number has no other letters, and keeps its length."""
    return glide.encode().upper().decode()


def batches(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Parts of a sequence that are short enough for one statement."""
    for start in range(0, len(values), BATCH_SIZE):
        yield values[start : start + BATCH_SIZE]


def _demo_ids(
    transaction: ReadTransaction, new: Sequence[Event], stored: Mapping[int, StoredEvent]
) -> set[int]:
    """The demo events among these: existing ones keep their flag, new ones get that of the first and last event.

    An event that shows `demo` because another server says so is not one that `--replace-demo` may delete.
    """
    are_all_demo = False
    if any(event.id not in stored for event in new):
        are_all_demo = set(transaction.execute(_FIRST_AND_LAST).one()) == {True}
    demo_ids = set()
    for event in new:
        if stored[event.id].is_demo if event.id in stored else are_all_demo:
            demo_ids.add(event.id)
    return demo_ids


def _write(
    transaction: WriteTransaction,
    changes: Sequence[tuple[Event, StoredEvent | None]],
    demo_ids: set[int],
) -> None:
    _free_slugs(transaction, changes)
    new = [event for event, _ in changes]
    regions = _load_regions(transaction, new)
    clock = Timestamp.pack(transaction.now)
    rows = []
    for event, before in changes:
        version = clock if before is None else max(clock, before.version + 1)
        row = _event_row(event, version, regions)
        rows.append({**row, "is_demo": event.id in demo_ids})
    dialect = transaction.connection.dialect
    transaction.execute(upsert(dialect, events), rows)
    contents = [{"id": event.id, "content": pack(event)} for event in new]
    transaction.execute(upsert(dialect, event_contents), contents)
    _write_countries(transaction, changes)
    _record_deletions(
        transaction,
        [(None if before is None else before.event, event) for event, before in changes],
    )
    transaction.changed(TOPIC)


def _free_slugs(
    transaction: WriteTransaction, changes: Sequence[tuple[Event, StoredEvent | None]]
) -> None:
    """Let events exchange their slugs. Raise `SlugTaken` if an event that is not written has one of them."""
    renamed = [event for event, before in changes if event.slug != (before and before.event.slug)]
    holders = ids_by_slug(transaction, [event.slug for event in renamed if event.slug is not None])
    new_slugs = {event.id: event.slug for event, _ in changes}
    for slug, holder in holders.items():
        if new_slugs.get(holder, slug) == slug:
            raise SlugTaken(slug)
    given_up = [event.id for event in renamed if event.id in set(holders.values())]
    for batch in batches(given_up):
        transaction.execute(_FREE_SLUGS, {"ids": batch})


def _load_regions(transaction: ReadTransaction, new: Sequence[Event]) -> dict[int, int | None]:
    """The region of each country of some events."""
    country_ids = sorted({country for event in new for country in event.countries})
    regions: dict[int, int | None] = {}
    for batch in batches(country_ids):
        rows = transaction.execute(_REGIONS, {"ids": batch})
        regions.update({row.id: row.region for row in rows})
    return regions


def _event_row(event: Event, version: int, regions: Mapping[int, int | None]) -> dict[str, Any]:
    """The columns of an event."""
    codes = [appeal.code.upper() for appeal in event.appeals if appeal.code]
    texts = [*event.name.values(), event.glide, *codes]
    return {
        "id": event.id,
        "version": version,
        "slug": event.slug,
        "parent_event": event.parent_event,
        "visibility": int(event.visibility),
        "dtype": event.dtype,
        "ifrc_severity_level": event.ifrc_severity_level,
        "is_featured": event.is_featured,
        "is_featured_region": event.is_featured_region,
        "auto_generated_source": event.auto_generated_source,
        "glide": glide_key(event.glide) or None,
        "disaster_start_date": event.disaster_start_date,
        "created_at": event.created_at,
        "updated_at": event.updated_at,
        "num_affected": event.num_affected,
        "regions": region_bits(regions.get(country) for country in event.countries),
        "appeal_types": region_bits(appeal.atype for appeal in event.appeals),
        "appeal_codes": f",{','.join(codes)}," if codes else "",
        "appeals": len(event.appeals),
        "requested_cents": sum_cents(appeal.amount_requested for appeal in event.appeals),
        "funded_cents": sum_cents(appeal.amount_funded for appeal in event.appeals),
        "search_text": SEPARATOR.join(dict.fromkeys(map(fold_text, filter(None, texts)))),
    }


def sum_cents(amounts: Iterable[float]) -> int:
    """The sum of amounts, each rounded to the cent: sums of integers do not depend on their order."""
    return _to_cents(sum(_to_cents(amount * 100) for amount in amounts))


def _to_cents(cents: float) -> int:
    return round(max(-MAX_CENTS, min(cents, MAX_CENTS)))


def _write_countries(
    transaction: WriteTransaction, changes: Sequence[tuple[Event, StoredEvent | None]]
) -> None:
    moved = [
        event for event, before in changes if event.countries != (before and before.event.countries)
    ]
    moved_ids = {event.id for event in moved}
    old_ids = [before.event.id for _, before in changes if before and before.event.id in moved_ids]
    for batch in batches(old_ids):
        transaction.execute(event_countries.delete().where(event_countries.c.event_id.in_(batch)))
    rows = [
        {"country_id": country, "event_id": event.id}
        for event in moved
        for country in sorted(set(event.countries))
    ]
    insert_rows_sync(transaction.connection, event_countries, rows)


def _delete_rows(transaction: WriteTransaction, ids: Sequence[int]) -> None:
    columns = (events.c.id, event_contents.c.id, event_countries.c.event_id, sources.c.id)
    for batch in batches(ids):
        for column in columns:
            transaction.execute(column.table.delete().where(column.in_(batch)))


# Deletions


def _record_deletions(
    transaction: WriteTransaction, changes: Sequence[tuple[Event | None, Event | None]]
) -> None:
    """Record events that left the lists, or are hidden from some of the callers who saw them."""
    ids = [(before or after).id for before, after in changes if before or after]  # type: ignore[union-attr]
    recorded = _load_deletions(transaction, ids)
    new: dict[int, tuple[Audience, Audience | None]] = {}
    for id_, (before, after) in zip(ids, changes, strict=True):
        audience = _list_audience(before)
        if (
            after is None and before is not None
        ):  # also if it was in no list: it was found by its id
            audience = Audience.of(before.visibility, before.countries)
        if id_ in recorded:
            audience = recorded[id_][0] | audience if audience else recorded[id_][0]
        kept = _list_audience(after)
        if audience is not None and not (kept is not None and kept.includes(audience)):
            new[id_] = audience, kept
    for batch in batches([id_ for id_ in recorded if new.get(id_) != recorded[id_]]):
        transaction.execute(deleted.delete().where(deleted.c.id.in_(batch)))
    rows = [
        {
            "id": id_,
            "deleted_at": transaction.now,
            "visibility": audience.visibility,
            "countries": _join_ids(audience.countries),
            "kept_visibility": kept.visibility if kept else None,
            "kept_countries": _join_ids(kept.countries) if kept else None,
        }
        for id_, (audience, kept) in new.items()
        if recorded.get(id_) != (audience, kept)
    ]
    if rows:
        transaction.execute(deleted.insert(), rows)


def _load_deletions(
    transaction: ReadTransaction, ids: Sequence[int]
) -> dict[int, tuple[Audience, Audience | None]]:
    """Who saw events that were deleted or hidden, and who still sees them."""
    recorded: dict[int, tuple[Audience, Audience | None]] = {}
    for batch in batches(ids):
        for row in transaction.execute(_RECORDED_DELETIONS, {"ids": batch}):
            kept = None
            if row.kept_visibility is not None:
                kept = _parse_audience(row.kept_visibility, row.kept_countries)
            recorded[row.id] = _parse_audience(row.visibility, row.countries), kept
    return recorded


def _list_audience(event: Event | None) -> Audience | None:
    """Who sees an event in lists; None for an event that is not in lists."""
    if event is None or event.parent_event is not None:
        return None
    return Audience.of(event.visibility, event.countries)


def _join_ids(ids: Iterable[int]) -> str:
    return "," + ",".join(map(str, sorted(ids))) + ","


def _parse_audience(visibility: int, countries: str) -> Audience:
    return Audience.of(visibility, (int(id_) for id_ in countries.split(",") if id_))
