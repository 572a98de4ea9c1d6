"""The tables that are derived from packed events, for reading: index rows, documents and words.

They are written with each event. When their format changes (`EVENT_FORMAT`), `fieldgate migrate` writes them again.
"""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.db import AsyncDatabase, DataVersions, Timestamp, insert_rows
from fieldgate.events.documents import build_document
from fieldgate.events.facets import EVENT_FORMAT, event_facets, event_figures
from fieldgate.events.model import Event, unpack
from fieldgate.events.tables import (
    TOPIC,
    WHOLE_TOPIC,
    documents,
    event_format,
    events,
    index_rows,
    words,
)
from fieldgate.reference.reference_data import fold_text

REBUILD_BATCH_SIZE = 500  # events of one transaction
NAME_SEPARATOR = "\x1f"

ProgressCallback = Callable[[int, int], None]  # events done, events in all


class OtherEventFormat(Exception):
    """The derived tables have another format than that of this release."""

    def __init__(self) -> None:
        super().__init__(
            "Stored events have another format than that of this release. Stop the service and run: fieldgate migrate"
        )


def index_row(event: Event, version: int) -> dict[str, Any]:
    return {
        "id": event.id,
        "version": version,
        "parent_event": event.parent_event,
        "start": Timestamp.pack(event.disaster_start_date),
        "created": Timestamp.pack(event.created_at),
        "updated": Timestamp.pack(event.updated_at),
        "facets": event_facets(event),
        **event_figures(event)._asdict(),
    }


def document_row(event: Event) -> dict[str, Any]:
    return {"id": event.id, "document": build_document(event)}


def glide_key(glide: str) -> str:
    """A GLIDE number in upper case. Only ASCII changes, as the number has no other letters, and keeps its length."""
    return glide.encode().upper().decode()


def word_row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "names": NAME_SEPARATOR.join(dict.fromkeys(map(fold_text, event.name.values()))),
        "glide": glide_key(event.glide),
        "appeal_codes": ","
        + ",".join(appeal.code.upper() for appeal in event.appeals if appeal.code)
        + ",",
    }


async def insert_derived_rows(
    connection: AsyncConnection, written: Sequence[tuple[Event, int]]
) -> None:
    """Insert the rows of events, which are given with the data version that wrote them."""
    await insert_rows(
        connection, index_rows, [index_row(event, version) for event, version in written]
    )
    await insert_rows(connection, documents, [document_row(event) for event, _ in written])
    await insert_rows(connection, words, [word_row(event) for event, _ in written])


async def delete_derived_rows(connection: AsyncConnection, ids: Sequence[int]) -> None:
    for table in (index_rows, documents, words):
        await connection.execute(table.delete().where(table.c.id.in_(ids)))


async def check_format(connection: AsyncConnection) -> None:
    """Raise `OtherEventFormat` if the tables have another format. The first writer records its own."""
    found = (await connection.execute(select(event_format.c.format))).scalar()
    if found is None:
        await connection.execute(insert(event_format).values(format=EVENT_FORMAT))
    elif found != EVENT_FORMAT:
        raise OtherEventFormat


async def has_other_format(database: AsyncDatabase) -> bool:
    """Whether the tables must be written again before this release can use them."""
    return await database.scalar(select(event_format.c.format)) not in (None, EVENT_FORMAT)


async def rebuild_derived_tables(
    database: AsyncDatabase,
    data_versions: DataVersions,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> int:
    """Write all rows again, while no process serves. Returns the number of events. After a crash, run it again."""
    total: int = await database.scalar(select(func.count()).select_from(events))
    done, last_id = 0, -1
    while True:
        async with database.transaction() as connection:
            following = select(events.c.id, events.c.version, events.c.packed).where(
                events.c.id > last_id
            )
            rows = (
                await connection.execute(following.order_by(events.c.id).limit(REBUILD_BATCH_SIZE))
            ).all()
            if not rows:
                await data_versions.bump(connection, TOPIC, WHOLE_TOPIC)
                await connection.execute(update(event_format).values(format=EVENT_FORMAT))
                return done
            await delete_derived_rows(connection, [row.id for row in rows])
            await insert_derived_rows(
                connection, [(unpack(row.packed), row.version) for row in rows]
            )
        done, last_id = done + len(rows), rows[-1].id
        on_progress(done, total)
