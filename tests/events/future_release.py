"""A test version of a later release, with one more field of list records, facet, filter and language.

    python -m tests.events.future_release DATABASE_URL ACTION [NUMBER...]

It changes modules before others import from them, so it runs in a process of its own.
"""

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import httpx
import msgspec
from msgspec import Meta

FORMAT = 2
NEW_LANGUAGE = "pt"


def _import_with_new_language() -> None:
    """Load the list of languages from its source, with one more line."""
    name = "fieldgate.i18n.languages"
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    last = '    SPANISH = "es"\n'
    assert last in source
    module = ModuleType(name)
    module.__spec__, module.__file__ = spec, spec.origin
    sys.modules[name] = module
    exec(compile(source.replace(last, f'{last}    PORTUGUESE = "{NEW_LANGUAGE}"\n'), spec.origin, "exec"), vars(module))


def _add_catalog() -> None:
    from fieldgate.i18n import catalogs

    locale = Path(tempfile.mkdtemp()) / "locale"
    shutil.copytree(catalogs.LOCALE_DIR, locale)
    folder = locale / NEW_LANGUAGE / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "fieldgate.po").write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n')
    catalogs.LOCALE_DIR = locale


def _add_field_and_filter() -> None:
    from fieldgate.events import derived, document_templates, facets
    from fieldgate.events.model import Event
    from fieldgate.events.search import filters

    derived.EVENT_FORMAT = FORMAT
    fields_before = document_templates.list_fields
    document_templates.list_fields = lambda event: {**fields_before(event), "report_count": len(event.field_reports)}

    def report_count(event: Event) -> tuple[int]:
        return (len(event.field_reports),)

    facet = facets.register_facet(facets.Facet("report_count", "r", report_count, since=FORMAT))

    class FutureFilters(filters.EventFilters, frozen=True, kw_only=True):
        report_count: Annotated[int, Meta(description="Number of field reports.")] | None = None

    filters.INDEX_FILTERS["report_count"] = filters.equal_to(facet)
    filters.EventFilters = FutureFilters  # type: ignore[misc]


_import_with_new_language()
_add_catalog()
_add_field_and_filter()

from sqlalchemy import select  # noqa: E402

from fieldgate.app import build_app  # noqa: E402
from fieldgate.db import Database, DataVersions  # noqa: E402
from fieldgate.events.model import Event, unpack  # noqa: E402
from fieldgate.events.reindex import event_rebuilder  # noqa: E402
from fieldgate.events.store import EventStore  # noqa: E402
from fieldgate.events.tables import documents, events  # noqa: E402
from fieldgate.i18n.languages import Language  # noqa: E402
from fieldgate.settings import Settings  # noqa: E402
from tests.events.upgrade_checks import list_records, record_digests  # noqa: E402

PATH = "/api/v2/event/"


async def look(database: Database, client: httpx.AsyncClient, edited_ids: Sequence[int]) -> dict[str, Any]:
    """What the service answers, and which records are wrong."""
    filtered = await client.get(PATH, params={"report_count": 1})
    translated = await client.get(PATH, params={"report_count": 1}, headers={"accept-language": "fr"})
    known = await client.get(PATH, params={"is_featured": "false", "limit": 1})
    return {
        "filtered": {
            "status": filtered.status_code,
            "retry_after": filtered.headers.get("retry-after"),
            "count": filtered.json().get("count"),
            "detail": [each.json().get("detail") for each in (filtered, translated)],
        },
        "known_filter": known.status_code,
        "ready": (await client.get("/readyz")).json(),
        "digests": await record_digests(database, frozenset(edited_ids)),
        "wrong_ids": await _wrong_ids(database),
        "old_documents": await _count_old_documents(database),
    }


async def _wrong_ids(database: Database) -> list[int]:
    """Events whose record lacks the new field, or the right text in the new language."""
    async with database.read_transaction() as connection:
        rows = (await connection.execute(select(events.c.id, events.c.packed))).all()
    stored = {row.id: unpack(row.packed) for row in rows}
    wrong = []
    async for encoded in list_records(database, Language(NEW_LANGUAGE)):
        record = msgspec.json.decode(encoded)
        event = stored[record["id"]]
        expected = len(event.field_reports), _in_new_language(event.name, event), _in_new_language(event.summary, event)
        if (record["report_count"], record["name"], record["summary"]) != expected:
            wrong.append(event.id)
    return wrong


def _in_new_language(texts: dict[str, str], event: Event) -> str:
    for code in (NEW_LANGUAGE, event.original_language, "en", "fr", "es", "ar"):
        if texts.get(code):
            return texts[code]
    return ""


async def _count_old_documents(database: Database) -> int:
    async with database.read_transaction() as connection:
        return len((await connection.execute(select(documents.c.id).where(documents.c.format != FORMAT))).all())


async def look_without_rebuild(database: Database, edited_ids: Sequence[int]) -> dict[str, Any]:
    app = build_app(Settings(database_url=_address(database), access_log=False))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000") as client:
        return await look(database, client, edited_ids)


async def serve_until_rebuilt(database: Database, edited_ids: Sequence[int]) -> dict[str, Any]:
    """What the service answers after its background task has rebuilt everything."""
    app = build_app(Settings(database_url=_address(database), access_log=False))
    transport = httpx.ASGITransport(app)
    async with app.lifespan(), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        while "rebuilding" in (await client.get("/readyz")).json():
            await asyncio.sleep(0.05)
        return await look(database, client, edited_ids)


async def rebuild_until_killed(database: Database, count: int) -> None:
    def on_progress(done: int, total: int) -> None:
        if done >= count:
            os.kill(os.getpid(), signal.SIGKILL)

    await event_rebuilder(database, DataVersions(database)).run(on_progress=on_progress)


async def edit(database: Database, ids: Sequence[int]) -> None:
    """Give events a name in the new language, and no field reports."""
    async with EventStore(database, DataVersions(database)).writer() as writer:
        found = await writer.load(ids)
        name = {"en": "Edited", NEW_LANGUAGE: "Editado"}
        await writer.upsert([msgspec.structs.replace(event, name=name, field_reports=()) for event in found.values()])


def _address(database: Database) -> str:
    drivername = "sqlite" if database.is_sqlite else "postgresql"
    return database.url.set(drivername=drivername).render_as_string(hide_password=False)


async def main(address: str, action: str, *numbers: str) -> None:
    database = Database(address)
    given = list(map(int, numbers))
    actions = {"look": look_without_rebuild, "serve": serve_until_rebuilt, "edit": edit}
    result = await (rebuild_until_killed(database, *given) if action == "rebuild" else actions[action](database, given))
    await database.close()
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
