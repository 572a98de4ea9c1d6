"""Loading events from files: all file formats, invalid records, and fields a file does not have."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.events.document_templates import build_list_template
from fieldgate.events.documents import TemplateRenderer
from fieldgate.events.event_writer import BulkWriteResult
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import CSV, NDJSON, EventSerializer
from fieldgate.events.ingest.bulk_write import PendingRecord, WriteFailure, write_records
from fieldgate.events.ingest.file_loader import LoadOptions, load, read_records
from fieldgate.events.model import Appeal, Event
from fieldgate.events.store import EventStore
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData
from fieldgate.reference.store import ReferenceStore
from tests.events.event_service import EVENTS, make_event
from tests.events.record_rows import to_rows

encode = msgspec.json.encode
LISTED_EVENTS = [event for event in EVENTS if event.parent_event is None]


async def as_records(
    reference: ReferenceStore, language: Language = Language.ENGLISH
) -> list[bytes]:
    renderer = TemplateRenderer(await reference.current(), language)
    return [renderer.render(build_list_template(event), FULL_SCOPE) for event in LISTED_EVENTS]


class FileLoading:
    def __init__(self, database: AsyncDatabase, folder: Path) -> None:
        self.store = EventStore(database, DataVersions(database))
        self.reference = ReferenceStore(database, DataVersions(database))
        self.folder = folder
        self.failures: list[str] = []

    async def load(
        self, *contents: bytes, language: Language = Language.ENGLISH
    ) -> BulkWriteResult:
        paths = []
        for index, content in enumerate(contents):
            path = self.folder / f"{index}.dat"
            path.write_bytes(content)
            paths.append(str(path))
        records = (record for path in paths for record in read_records(path))
        options = LoadOptions(language)
        return (
            await load(self.store, self.reference, records, options, self._record_failure)
        ).written

    def _record_failure(self, failure: WriteFailure) -> None:
        self.failures.append(str(failure).removeprefix(f"{self.folder}/"))

    async def stored(self) -> dict[int, Event]:
        async with self.store.writer() as writer:
            return await writer.load(
                [event.id for event in LISTED_EVENTS] + list(range(2000, 6000))
            )


@pytest.fixture
def loader(database: AsyncDatabase, tmp_path: Path) -> FileLoading:
    return FileLoading(database, tmp_path)


def page(records: list[bytes]) -> bytes:
    return b'{"count":%d,"next":null,"previous":null,"results":[%s]}' % (
        len(records),
        b",".join(records),
    )


def encoder(serializer: EventSerializer, **options: Any) -> Callable[[list[bytes]], bytes]:
    context = FileContext(
        language=Language.ENGLISH, reference_data=ReferenceData([], []), **options
    )
    encode_page = serializer.page_encoder(context)
    assert encode_page is not None
    return lambda records: encode_page(records, None, None)


def csv_encoder(**options: Any) -> Callable[[list[bytes]], bytes]:
    encode = encoder(CSV, **options)
    return lambda records: encode([encode_csv(to_rows(records, Language.ENGLISH))])


as_csv, as_ndjson = csv_encoder(), encoder(NDJSON)
FILE_KINDS: dict[str, Callable[[list[bytes]], bytes]] = {
    "page": page,
    "indented page": lambda records: msgspec.json.format(page(records)),
    "pages by line": lambda records: page(records[:50]) + b"\n" + page(records[50:]) + b"\n",
    "array": lambda records: b"[" + b",".join(records) + b"]",
    "ndjson": as_ndjson,
    "csv": as_csv,
    "csv of Excel": csv_encoder(with_bom=True),
    "csv with hashtags": csv_encoder(with_hashtags=True, with_bom=True),
    "gz": lambda records: gzip.compress(as_ndjson(records)),
    "csv.gz": lambda records: gzip.compress(as_csv(records)),
}


@pytest.mark.parametrize("kind", FILE_KINDS)
async def test_every_file_format(loader: FileLoading, kind: str) -> None:
    content = FILE_KINDS[kind](await as_records(loader.reference))
    assert await loader.load(content) == BulkWriteResult(created=len(LISTED_EVENTS))
    stored = await loader.stored()
    assert len(stored) == len(LISTED_EVENTS)
    assert stored[101].name == {"en": "=Two countries"}
    assert stored[101].countries == (84, 123)
    assert (stored[102].slug, stored[102].glide, stored[102].ifrc_severity_level) == (
        "south-sudan",
        "DR-2026-000102-SSD",
        2,
    )
    assert stored[1].visibility == 1, "the default where a list does not show it"
    assert await loader.load(content) == BulkWriteResult(unchanged=len(LISTED_EVENTS)), (
        "loading it again changes nothing"
    )


@pytest.mark.parametrize("kind", ["page", "csv"])
async def test_fields_missing_in_a_file_are_kept(loader: FileLoading, kind: str) -> None:
    await loader.store.upsert(LISTED_EVENTS)
    before = await loader.stored()
    for language in Language:
        content = FILE_KINDS[kind](await as_records(loader.reference, language))
        assert await loader.load(content, language=language) == BulkWriteResult(
            unchanged=len(LISTED_EVENTS)
        )
    assert await loader.stored() == before
    assert loader.failures == []


def record(id_: int, **fields: Any) -> dict[str, Any]:
    return {"id": id_, "name": f"Flood {id_}", "disaster_start_date": "2026-01-01", **fields}


async def test_invalid_records_are_reported_and_skipped(loader: FileLoading) -> None:
    lines = [
        encode(record(2000)),
        b'{"id": 2001,',
        encode(record(2002, glide="x" * 19, countries=[99999])),
        b"5",
        encode({"name": "x"}),
        encode(record(2003, slug="a")),
        encode(record(2004, slug="a")),
        encode(record(2000, num_affected=5)),
    ]
    result = await loader.load(b"\n".join(lines))
    assert result == BulkWriteResult(created=2, changed=1, failed=5)
    assert str(result) == "created 2, changed 1, unchanged 0, failed 5"
    assert loader.failures == [
        "0.dat, record 2: This line is not valid JSON.",
        "0.dat, record 4: This is not a record.",
        "0.dat, record 5: id: A whole number is needed.",
        "0.dat, record 3 (event 2002): countries.0: There is no country 99999.",
        f"0.dat, record 3 (event 2002): glide: “{'x' * 19}” is not valid. Enter text of at most 18 characters.",
        "0.dat, record 7 (event 2004): slug: Another event already has the slug a.",
    ]
    stored = await loader.stored()
    assert set(stored) == {2000, 2003}
    assert stored[2000].num_affected == 5, "the second record updates the first"


async def test_texts_of_csv_are_those_that_were_exported(loader: FileLoading) -> None:
    name = "a;=1+1;'=2\t=3|-4\n- 5"
    await loader.load(
        encode_csv([["id", "name", "disaster_start_date"], [2000, name, "2026-01-02"]])
    )
    assert (await loader.stored())[2000].name == {"en": name}


async def test_csv_does_not_change_appeals(loader: FileLoading) -> None:
    appeal = Appeal(id=1, aid="x", atype=0, status=0)
    await loader.store.upsert([make_event(1, appeals=(appeal,), visibility=2)])
    table = b"id;name;disaster_start_date;appeals.id;num_affected\r\n1;Flood 1;2026-01-02;1, 2;7\r\n\r\n2;a;b;c;d;e\r\n"
    assert await loader.load(table) == BulkWriteResult(changed=1, failed=1)
    stored = (await loader.stored())[1]
    assert (stored.appeals, stored.num_affected, stored.visibility) == ((appeal,), 7, 2)
    assert loader.failures == ["0.dat, record 2: There are more cells than columns."]


async def test_taken_slugs_do_not_block_other_records(database: AsyncDatabase) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert([make_event(id_, slug=f"s{id_}") for id_ in range(1, 31)])
    parsed: list[int] = []
    failures: list[str] = []

    def pending(id_: int, slug: str) -> PendingRecord:
        def parse(_: Event | None) -> Event:
            parsed.append(id_)
            return make_event(id_, slug=slug)

        return PendingRecord(id_, f"event {id_}", parse)

    swapped = [pending(1, "s2"), pending(2, "s1")]
    # 3 wants the slug of 4, and 4 that of 5, which keeps it.
    blocked = [pending(3, "s4"), pending(4, "s5")]
    taken = [pending(id_ + 100, f"s{id_}") for id_ in range(6, 31)]
    result = await write_records(
        store,
        [*swapped, *blocked, *taken, pending(500, "free")],
        lambda failure: failures.append(failure.location),
    )
    assert result == BulkWriteResult(created=1, changed=2, failed=27)
    assert len(parsed) == len(set(parsed)) == 30, "each is parsed once"
    assert sorted(failures) == sorted(
        ["event 3", "event 4", *(f"event {id_ + 100}" for id_ in range(6, 31))]
    )
    holders = [await store.find(slug) for slug in ("s1", "s2", "s3", "s4", "free")]
    assert [each and each.event.id for each in holders] == [2, 1, 3, 4, 500]
