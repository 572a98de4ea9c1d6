"""The measured events: demo events, written for the peer as public records."""

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
    """What walks need to know about an event."""

    id: int
    countries: frozenset[int]
    regions: frozenset[int]


class _EventRecords(msgspec.Struct):
    """A line of the file: the list record and the detail record of an event."""

    listed: msgspec.Raw
    alone: msgspec.Raw


def export_events(data: Path, count: int, file: Path) -> list[ListedEvent]:
    """Write the records of all publicly listed demo events for the peer. Returns the events, newest first."""
    reference_data = asyncio.run(_load_reference_data(data))
    renderer = TemplateRenderer(reference_data, Language.ENGLISH)
    listed = []
    with file.open("wb") as lines:
        for event in _public_events(count, reference_data):
            records = [
                msgspec.Raw(renderer.render(template, PUBLIC_SCOPE))
                for template in (build_list_template(event), build_detail_template(event))
            ]
            lines.write(msgspec.json.encode(_EventRecords(*records)) + b"\n")
            regions = {reference_data.countries[each].region for each in event.countries}
            listed.append(ListedEvent(event.id, frozenset(event.countries), frozenset(regions - {None})))  # type: ignore[arg-type]
    return listed[::-1]


def _public_events(count: int, reference_data: ReferenceData) -> Iterator[Event]:
    for event in demo_events(count, reference_data):
        if event.visibility == Visibility.PUBLIC and event.parent_event is None:
            yield event


async def _load_reference_data(data: Path) -> ReferenceData:
    database = Database(f"sqlite:///{data / 'fieldgate.db'}")
    try:
        return await ReferenceStore(database, DataVersions(database)).current()
    finally:
        await database.close()
