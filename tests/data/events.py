"""Events of a test: loaded as `fieldgate events load` loads a file, written and deleted by HTTP."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from click.testing import Result
from sqlalchemy import select

from fieldgate.events.model import Event, unpack
from fieldgate.events.tables import event_contents
from tests.conftest import Service
from tests.data.commands import run_command
from tests.data.sql import UsesDatabase, first_value, write_sql

PATH = "/api/v2/event/"


async def load_events(
    database: str | Service,
    events: Iterable[Event],
    *,
    is_demo: bool = False,
    replaces_demo: bool = False,
) -> None:
    """Create or replace events. With `replaces_demo`, demo events are deleted first."""
    options = ["--demo"] * is_demo + ["--replace-demo"] * replaces_demo
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.ndjson"
        file.write_bytes(b"\n".join([msgspec.json.encode(to_record(event)) for event in events]))
        done = await load_files(database, file, options=options)
    assert done.exit_code == 0, done.output
    with write_sql(database, "events"):
        pass  # a running service answers with these events from now on


async def load_files(
    database: str | UsesDatabase, *files: Path, options: Sequence[str] = ()
) -> Result:
    """Run `fieldgate events load`."""
    return await run_command(database, "events", "load", *options, *map(str, files))


def to_record(value: Any) -> Any:
    """The event, or a part of it, as it is sent: all fields by the names that records have."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return {
            "translation_module_original_language" if name == "original_language" else name: (
                to_record(fields[name])
            )
            for name in fields
            if name != "demo"
        }
    if isinstance(value, tuple):
        return [to_record(item) for item in value]
    return value


async def superuser(service: Service) -> dict[str, str]:
    """The headers of a new superuser, who may write events."""
    return {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}


async def delete_events(service: Service, ids: Iterable[int]) -> None:
    """Delete events by HTTP."""
    headers = await superuser(service)
    for id_ in ids:
        response = await service.request("DELETE", f"{PATH}{id_}/", headers=headers)
        assert response.status_code == 204, response.text


def stored_event(database: str | Service, id_: int) -> Event | None:
    """The event as it was written, in all languages."""
    query = select(event_contents.c.content).where(event_contents.c.id == id_)
    content = first_value(database, query)
    return None if content is None else unpack(bytes(content))
