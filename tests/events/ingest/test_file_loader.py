"""`fieldgate events load`: every kind of file, what is wrong with a record, and that nothing is lost."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fieldgate.db import Database, DataVersions
from fieldgate.events.document_templates import TemplateRenderer, build_list_template
from fieldgate.events.export import serializers
from fieldgate.events.ingest.bulk_write import BulkWriteResult, PendingRecord, WriteFailure, write_records
from fieldgate.events.ingest.file_loader import load, read_records
from fieldgate.events.model import Appeal, Event
from fieldgate.events.store import EventStore
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore
from tests.events.event_service import EVENTS, make_event
from tests.processes import FIELDGATE_COMMAND, run_command

encode = msgspec.json.encode
SOME = [each for each in EVENTS if each.parent_event is None]


async def as_records(reference: ReferenceStore, language: Language = Language.ENGLISH) -> list[bytes]:
    reader = TemplateRenderer(await reference.current(), language)
    return [reader.render(build_list_template(each), FULL_SCOPE) for each in SOME]


class Loading:
    def __init__(self, database: Database, folder: Path) -> None:
        self.store = EventStore(database, DataVersions(database))
        self.reference = ReferenceStore(database, DataVersions(database))
        self.folder = folder
        self.told: list[str] = []

    async def load(self, *contents: bytes, language: Language = Language.ENGLISH) -> BulkWriteResult:
        names = []
        for number, content in enumerate(contents):
            path = self.folder / f"{number}.dat"
            path.write_bytes(content)
            names.append(str(path))
        found = (each for name in names for each in read_records(name))
        return await load(self.store, self.reference, found, language, self._tell)

    def _tell(self, failure: WriteFailure) -> None:
        self.told.append(str(failure).removeprefix(f"{self.folder}/"))

    async def held(self) -> dict[int, Event]:
        async with self.store.writer() as writing:
            return await writing.load([each.id for each in SOME] + list(range(2000, 6000)))


@pytest.fixture
def loading(database: Database, tmp_path: Path) -> Loading:
    return Loading(database, tmp_path)


def page(found: list[bytes]) -> bytes:
    return b'{"count":%d,"next":null,"previous":null,"results":[%s]}' % (len(found), b",".join(found))


KINDS: dict[str, Callable[[list[bytes]], bytes]] = {
    "page": page,
    "indented page": lambda found: msgspec.json.format(page(found)),
    "pages by line": lambda found: page(found[:50]) + b"\n" + page(found[50:]) + b"\n",
    "array": lambda found: b"[" + b",".join(found) + b"]",
    "ndjson": serializers.as_ndjson,
    "csv": serializers.as_csv,
    "csv of Excel": lambda found: b"\xef\xbb\xbf" + serializers.as_csv(found),
    "gz": lambda found: gzip.compress(serializers.as_ndjson(found)),
    "csv.gz": lambda found: gzip.compress(serializers.as_csv(found)),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_file(loading: Loading, kind: str) -> None:
    content = KINDS[kind](await as_records(loading.reference))
    assert await loading.load(content) == BulkWriteResult(created=len(SOME))
    held = await loading.held()
    assert len(held) == len(SOME)
    assert held[101].name == {"en": "=Two countries"}
    assert held[101].countries == (84, 123)
    assert (held[102].slug, held[102].glide, held[102].ifrc_severity_level) == ("south-sudan", "DR-2026-000102-SSD", 2)
    assert held[1].visibility == 1, "where a list does not tell"
    assert await loading.load(content) == BulkWriteResult(unchanged=len(SOME)), "once more changes nothing"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_file_does_not_carry_stays(loading: Loading, kind: str) -> None:
    await loading.store.upsert(SOME)
    before = await loading.held()
    for language in Language:
        content = KINDS[kind](await as_records(loading.reference, language))
        assert await loading.load(content, language=language) == BulkWriteResult(unchanged=len(SOME))
    assert await loading.held() == before
    assert loading.told == []


async def test_texts_of_another_language_are_added(loading: Loading) -> None:
    for language in Language:
        await loading.load(KINDS["page"](await as_records(loading.reference, language)), language=language)
    held = await loading.held()
    assert held[7].name == {"en": "Flood 7", "fr": "Inondation 7"}
    assert held[101].name == {"en": "=Two countries", "ar": "بلدان"}


def record(number: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": f"Flood {number}", "disaster_start_date": "2026-01-01", **more}


async def test_a_bad_record_is_told_and_the_others_are_written(loading: Loading) -> None:
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
    written = await loading.load(b"\n".join(lines))
    assert written == BulkWriteResult(created=2, changed=1, failed=5)
    assert str(written) == "created 2, changed 1, unchanged 0, failed 5"
    assert loading.told == [
        "0.dat, record 2: This line is not valid JSON.",
        "0.dat, record 4: This is no record, but a bare value.",
        "0.dat, record 5: id: A whole number is needed.",
        "0.dat, record 3 (event 2002): countries.0: There is no country 99999.",
        f"0.dat, record 3 (event 2002): glide: “{'x' * 19}” cannot be taken. Enter text of at most 18 characters.",
        "0.dat, record 7 (event 2004): slug: Another event has this name in addresses already: a.",
    ]
    held = await loading.held()
    assert set(held) == {2000, 2003}
    assert held[2000].num_affected == 5, "told twice, the second counts"


async def test_taken_slugs_do_not_make_the_others_wait(database: Database) -> None:
    store = EventStore(database, DataVersions(database))
    await store.upsert([make_event(number, slug=f"s{number}") for number in range(1, 31)])
    reads: list[int] = []
    told: list[str] = []

    def waiting(number: int, slug: str) -> PendingRecord:
        def read(_: Event | None) -> Event:
            reads.append(number)
            return make_event(number, slug=slug)

        return PendingRecord(number, f"event {number}", read)

    swapped = [waiting(1, "s2"), waiting(2, "s1")]
    # 3 would have the slug of 4, and 4 that of 5, which nobody gives up.
    stuck = [waiting(3, "s4"), waiting(4, "s5")]
    taken = [waiting(number + 100, f"s{number}") for number in range(6, 31)]
    written = await write_records(
        store, [*swapped, *stuck, *taken, waiting(500, "free")], lambda why: told.append(why.location)
    )
    assert written == BulkWriteResult(created=1, changed=2, failed=27)
    assert len(reads) == len(set(reads)) == 30, "each is read once"
    assert sorted(told) == sorted(["event 3", "event 4", *(f"event {number + 100}" for number in range(6, 31))])
    held = [await store.by_slug(slug) for slug in ("s1", "s2", "s3", "s4", "free")]
    assert [each and each.id for each in held] == [2, 1, 3, 4, 500]


async def test_a_slug_of_another_event_is_not_taken_away(loading: Loading) -> None:
    await loading.store.upsert([make_event(1, slug="floods")])
    written = await loading.load(encode([record(2000, slug="floods"), record(2001, slug="others")]))
    assert written == BulkWriteResult(created=1, failed=1)
    assert loading.told == [
        "0.dat, record 1 (event 2000): slug: Another event has this name in addresses already: floods."
    ]


async def test_thousands_are_written_a_thousand_at_a_time(loading: Loading, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    put = EventStore.writer

    def counted(store: EventStore) -> Any:
        sizes.append(1)
        return put(store)

    monkeypatch.setattr(EventStore, "writer", counted)
    lines = b"\n".join(encode(record(2000 + number)) for number in range(2500))
    assert await loading.load(lines) == BulkWriteResult(created=2500)
    assert len(sizes) == 3


async def test_a_table_changes_no_appeals(loading: Loading) -> None:
    appeal = Appeal(id=1, aid="x", atype=0, status=0)
    await loading.store.upsert([make_event(1, appeals=(appeal,), visibility=2)])
    table = b"id;name;disaster_start_date;appeals.id;num_affected\r\n1;Flood 1;2026-01-02;1, 2;7\r\n\r\n2;a;b;c;d;e\r\n"
    assert await loading.load(table) == BulkWriteResult(changed=1, failed=1)
    held = (await loading.held())[1]
    assert (held.appeals, held.num_affected, held.visibility) == ((appeal,), 7, 2)
    assert loading.told == ["0.dat, record 2: There are more cells than columns."]


def command(tmp_path: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [FIELDGATE_COMMAND, "events", "load", *arguments, "--data", tmp_path / "data"],
        input=stdin,
        capture_output=True,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(encode([record(1), record(2)]))
    (tmp_path / "two.ndjson.gz").write_bytes(gzip.compress(encode(record(3)) + b"\n" + encode(record(4, glide=5))))
    names = [str(tmp_path / "one.json"), str(tmp_path / "two.ndjson.gz")]
    status, output, errors = command(tmp_path, *names)
    assert (status, output) == (1, "created 3, changed 0, unchanged 0, failed 1\n")
    wrong = "glide: “5” cannot be taken. Enter text of at most 18 characters."
    assert errors == f"{names[1]}, record 2 (event 4): {wrong}\n"
    assert command(tmp_path, "-", stdin=encode(record(5))) == (0, "created 1, changed 0, unchanged 0, failed 0\n", "")
    assert command(tmp_path, "-", stdin=gzip.compress(encode(record(5))))[1].startswith("created 0, changed 0, unch")
    assert command(tmp_path, "-", stdin=b"")[1] == "created 0, changed 0, unchanged 0, failed 0\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{\n", "This is not valid JSON: "),
        (b"[1", "This is not valid JSON: "),
        (b"hello", "This is neither JSON nor a table of events, whose columns are: appeals.id, "),
        (b"id,name\n\xff", "cannot be read: 'utf-8' codec"),
        (b"\x1f\x8b\x08broken", "cannot be read: "),
        (None, "cannot be read: No such file or directory."),
    ],
)
def test_files_without_events(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    status, _, errors = command(tmp_path, str(tmp_path / "file"))
    assert status == 1
    assert errors.startswith(f"Error: {tmp_path / 'file'}")
    assert message in errors
    assert "Traceback" not in errors


async def test_real_events_do_not_mix_with_demo_events(tmp_path: Path) -> None:
    assert run_command("migrate", data=tmp_path / "data").returncode == 0
    database = Database(f"sqlite:///{tmp_path / 'data' / 'fieldgate.db'}")
    store = EventStore(database, DataVersions(database))
    await store.upsert([make_event(1), make_event(2)], is_demo=True)
    status, _, errors = command(tmp_path, "-", stdin=encode(record(1)))
    assert status == 1
    assert errors == "Error: This database has demo events. Delete them with --replace-demo.\n"
    status, output, _ = command(tmp_path, "-", "--replace-demo", stdin=encode(record(1)))
    assert (status, output) == (0, "deleted 2 demo events\ncreated 1, changed 0, unchanged 0, failed 0\n")
    assert not await store.has_demo()
    await database.close()
