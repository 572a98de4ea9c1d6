"""What is stored of synchronizations: the progress of a run, and the server that each event was pulled from."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
from fieldgate_client.walk import Pass
from sqlalchemy import Boolean, Row, bindparam, or_, select, update

from fieldgate.db import ReadTransaction, WriteTransaction, upsert
from fieldgate.events.tables import events, sources, syncs
from fieldgate.events.writes import batches

DETAIL_MAX_AGE = timedelta(days=7)  # then a detail record is requested again, changed or not

_STATE = select(syncs).where(
    syncs.c.source == bindparam("source"), syncs.c.with_token == bindparam("with_token")
)
_SOURCES = select(sources).where(sources.c.id.in_(bindparam("ids", expanding=True)))
_FORGET_DETAILS = (
    update(sources).where(sources.c.source == bindparam("server")).values(detail_at=None)
)
_DELETABLE = (
    select(events.c.id, events.c.parent_event, sources.c.detail_at)
    .join_from(events, sources, sources.c.id == events.c.id)
    .where(
        sources.c.source == bindparam("source"),
        or_(~sources.c.with_token, bindparam("with_token", type_=Boolean)),
    )
    .order_by(events.c.id)
)


class SyncState(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    with_token: bool
    finished: datetime | None = None  # start of the last complete run, by the server's clock
    began: datetime | None = None  # start of the run under way
    since: datetime | None = None  # it pulls what changed since then; None: everything
    is_full: bool = False  # it requests all details
    position: Pass | None = None  # how far it has read and saved the list
    failing: frozenset[int] = frozenset()  # ids of events to request again

    @property
    def is_contiguous(self) -> bool:
        """Whether this run leaves no gap: it pulls everything, or everything since the last complete run."""
        return self.since is None or (self.finished is not None and self.since <= self.finished)


class EventSource(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    source: str
    with_token: bool = False
    detail_at: datetime | None = None
    detail_version: str = ""  # `updated_at` of the record whose details were requested

    def has_detail(self, version: str, now: datetime) -> bool:
        """Whether the details of this version of the record are known, and not too old."""
        return self.detail_version == version and not is_due(self.detail_at, now)


def load_state(transaction: ReadTransaction, source: str, with_token: bool) -> SyncState:
    parameters = {"source": source, "with_token": with_token}
    row = transaction.execute(_STATE, parameters).mappings().first()
    if row is None:
        return SyncState(source=source, with_token=with_token)
    position = None
    with suppress(msgspec.ValidationError):  # of another release: the list is read from its start
        position = msgspec.json.decode(row["position"], type=Pass | None)
    failing = frozenset(map(int, row["failing"].split()))
    return SyncState(**{**row, "position": position, "failing": failing})


def save_state(transaction: WriteTransaction, state: SyncState) -> None:
    values = {
        **msgspec.structs.asdict(state),
        "position": msgspec.json.encode(state.position).decode(),
        "failing": " ".join(map(str, sorted(state.failing))),
    }
    transaction.execute(upsert(transaction.connection.dialect, syncs), values)


def load_sources(transaction: ReadTransaction, ids: Sequence[int]) -> dict[int, EventSource]:
    """The sources of those events that were pulled from any server."""
    known: dict[int, EventSource] = {}
    for batch in batches(ids):
        rows = transaction.execute(_SOURCES, {"ids": batch})
        known.update({row["id"]: EventSource(**row) for row in rows.mappings()})
    return known


def save_sources(transaction: WriteTransaction, rows: Sequence[EventSource]) -> None:
    if rows:
        values = [msgspec.structs.asdict(row) for row in rows]
        transaction.execute(upsert(transaction.connection.dialect, sources), values)


def forget_details(transaction: WriteTransaction, source: str) -> None:
    """Let a full run request all detail records of a source again."""
    transaction.execute(_FORGET_DETAILS, {"server": source})


def deletable_events(
    transaction: ReadTransaction, state: SyncState
) -> Sequence[Row[tuple[int, int | None, datetime | None]]]:
    """The events that a run may delete: of this source, and shown by a token only if this run has one."""
    parameters = {"source": state.source, "with_token": state.with_token}
    return transaction.execute(_DELETABLE, parameters).all()


def is_due(detail_at: datetime | None, now: datetime) -> bool:
    return detail_at is None or now - detail_at >= DETAIL_MAX_AGE
