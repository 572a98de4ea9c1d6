"""The events of the measurement: made up by our generator, and handed to the peer as the public sees them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fieldgate.db import Database, DataVersions
from fieldgate.events.demo.generator import demo_events
from fieldgate.events.document_templates import TemplateRenderer, build_detail_template, build_list_template
from fieldgate.events.model import Event, Visibility
from fieldgate.events.visibility import PUBLIC_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore


class ListedEvent(msgspec.Struct, frozen=True):
    """What walks over the list need to know of an event."""

    id: int
    countries: frozenset[int]
    regions: frozenset[int]


class _EventRecords(msgspec.Struct):
    """A line of the file: the record of an event in lists, and the one it has alone."""

    listed: msgspec.Raw
    alone: msgspec.Raw


def export_events(data: Path, count: int, file: Path) -> list[ListedEvent]:
    """Write the records of all demo events in public lists, for the peer to load; the newest is told first."""
    directory = asyncio.run(_load_reference_data(data))
    reader = TemplateRenderer(directory, Language.ENGLISH)
    listed = []
    with file.open("wb") as lines:
        for event in _public_events(count, directory):
            records = [
                msgspec.Raw(reader.render(made, PUBLIC_SCOPE))
                for made in (build_list_template(event), build_detail_template(event))
            ]
            lines.write(msgspec.json.encode(_EventRecords(*records)) + b"\n")
            regions = {directory.countries[each].region for each in event.countries}
            listed.append(ListedEvent(event.id, frozenset(event.countries), frozenset(regions - {None})))  # type: ignore[arg-type]
    return listed[::-1]


def _public_events(count: int, directory: ReferenceData) -> Iterator[Event]:
    for event in demo_events(count, directory):
        if event.visibility == Visibility.PUBLIC and event.parent_event is None:
            yield event


async def _load_reference_data(data: Path) -> ReferenceData:
    database = Database(f"sqlite:///{data / 'fieldgate.db'}")
    try:
        return await ReferenceStore(database, DataVersions(database)).current()
    finally:
        await database.close()
