"""Loading events from files: all file formats, invalid records, and fields a file does not have."""

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fieldgate.events.ingest import file_loader
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import Appeal, Event
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.settings import Settings
from tests.conftest import Service, run_service
from tests.data.events import PATH, load_events, load_files, stored_event, superuser
from tests.events.event_service import EVENTS, make_event

encode = msgspec.json.encode
LISTED_EVENTS = [event for event in EVENTS if event.parent_event is None]
ALL_UNCHANGED = f"created 0, changed 0, unchanged {len(LISTED_EVENTS)}, failed 0"


class FileLoading:
    """A database into which files are loaded."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self.database_url = database_url
        self.folder = folder
        self.failures: list[str] = []

    async def load(self, *contents: bytes, language: Language = Language.ENGLISH) -> str:
        """Load files, and return what the command counted."""
        paths = []
        for index, content in enumerate(contents):
            path = self.folder / f"{index}.dat"
            path.write_bytes(content)
            paths.append(path)
        done = await load_files(self.database_url, *paths, options=("--language", language.value))
        self.failures = [line.removeprefix(f"{self.folder}/") for line in done.stderr.splitlines()]
        return done.stdout.splitlines()[0]

    def stored(self, id_: int) -> Event:
        event = stored_event(self.database_url, id_)
        assert event is not None
        return event

    def all_stored(self) -> list[Event | None]:
        return [stored_event(self.database_url, event.id) for event in LISTED_EVENTS]


@pytest.fixture
def loader(database_url: str, tmp_path: Path) -> FileLoading:
    return FileLoading(database_url, tmp_path)


class Source:
    """A service with the listed events, whose files are loaded."""

    def __init__(self, service: Service, headers: dict[str, str]) -> None:
        self._service = service
        self._headers = headers

    async def get(self, query: str, language: Language = Language.ENGLISH) -> bytes:
        headers = {**self._headers, "Accept-Language": language.value}
        response = await self._service.get(f"{PATH}?{query}", headers=headers)
        assert response.status_code == 200, response.text
        return response.content


@pytest.fixture(scope="module")
async def source(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Source]:
    settings = Settings(data=tmp_path_factory.mktemp("source"), access_log=False)
    async with run_service(settings) as service:
        await load_events(service, LISTED_EVENTS)
        yield Source(service, await superuser(service))


ALL = "limit=1000"


async def pages_by_line(source: Source) -> bytes:
    return b"\n".join([await source.get("limit=50"), await source.get("limit=1000&offset=50"), b""])


async def as_array(source: Source) -> bytes:
    return encode(msgspec.json.decode(await source.get(ALL))["results"])


FILE_KINDS: dict[str, Callable[[Source], Awaitable[bytes]]] = {
    "page": lambda source: source.get(ALL),
    "indented page": lambda source: _indented(source),
    "pages by line": pages_by_line,
    "array": as_array,
    "ndjson": lambda source: source.get(f"{ALL}&format=ndjson"),
    "csv": lambda source: source.get(f"{ALL}&format=csv"),
    "csv of Excel": lambda source: source.get(f"{ALL}&format=csv&bom=true"),
    "csv with hashtags": lambda source: _with_hashtags(source),
    "gz": lambda source: _compressed(source, "ndjson"),
    "csv.gz": lambda source: _compressed(source, "csv"),
}


async def _indented(source: Source) -> bytes:
    return msgspec.json.format(await source.get(ALL))


async def _with_hashtags(source: Source) -> bytes:
    """A table with a row of HXL below its header, as some tools make it."""
    header, rest = (await source.get(f"{ALL}&format=csv")).split(b"\r\n", 1)
    hashtags = b",".join([b"#meta"] * len(header.split(b",")))
    return b"\r\n".join([header, hashtags, rest])


async def _compressed(source: Source, kind: str) -> bytes:
    return gzip.compress(await source.get(f"{ALL}&format={kind}"))


@pytest.mark.parametrize("kind", FILE_KINDS)
async def test_every_file_format(loader: FileLoading, source: Source, kind: str) -> None:
    content = await FILE_KINDS[kind](source)
    counts = f"created {len(LISTED_EVENTS)}, changed 0, unchanged 0, failed 0"
    assert await loader.load(content) == counts
    assert None not in loader.all_stored()
    assert loader.stored(101).name == {"en": "=Two countries"}
    assert loader.stored(101).countries == (84, 123)
    event = loader.stored(102)
    assert (event.slug, event.glide, event.ifrc_severity_level) == (
        "south-sudan",
        "DR-2026-000102-SSD",
        2,
    )
    assert loader.stored(1).visibility == 1, "the default where a list does not show it"
    assert await loader.load(content) == ALL_UNCHANGED, "loading it again changes nothing"


@pytest.mark.parametrize("query", [ALL, f"{ALL}&format=csv"])
async def test_fields_missing_in_a_file_are_kept(
    loader: FileLoading, source: Source, query: str
) -> None:
    await load_events(loader.database_url, LISTED_EVENTS)
    before = loader.all_stored()
    for language in Language:
        content = await source.get(query, language)
        assert await loader.load(content, language=language) == ALL_UNCHANGED
        assert loader.failures == []
    assert loader.all_stored() == before


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
    assert result == "created 2, changed 1, unchanged 0, failed 5"
    assert loader.failures == [
        "0.dat, record 2: This line is not valid JSON.",
        "0.dat, record 4: This is not a record.",
        "0.dat, record 5: id: A whole number is needed.",
        "0.dat, record 3 (event 2002): countries.0: There is no country 99999.",
        f"0.dat, record 3 (event 2002): glide: “{'x' * 19}” is not valid. Enter text of at most 18 characters.",
        "0.dat, record 7 (event 2004): slug: Another event already has the slug a.",
    ]
    stored = [id_ for id_ in range(2000, 2006) if stored_event(loader.database_url, id_)]
    assert stored == [2000, 2003]
    assert loader.stored(2000).num_affected == 5, "the second record updates the first"


async def test_texts_of_csv_are_those_that_were_exported(loader: FileLoading) -> None:
    name = "a;=1+1;'=2\t=3|-4\n- 5"
    await loader.load(
        encode_csv([["id", "name", "disaster_start_date"], [2000, name, "2026-01-02"]])
    )
    assert loader.stored(2000).name == {"en": name}


async def test_csv_does_not_change_appeals(loader: FileLoading) -> None:
    appeal = Appeal(id=1, aid="x", atype=0, status=0)
    await load_events(loader.database_url, [make_event(1, appeals=(appeal,), visibility=2)])
    table = b"id;name;disaster_start_date;appeals.id;num_affected\r\n1;Flood 1;2026-01-02;1, 2;7\r\n\r\n2;a;b;c;d;e\r\n"
    assert await loader.load(table) == "created 0, changed 1, unchanged 0, failed 1"
    stored = loader.stored(1)
    assert (stored.appeals, stored.num_affected, stored.visibility) == ((appeal,), 7, 2)
    assert loader.failures == ["0.dat, record 2: There are more cells than columns."]


async def test_taken_slugs_do_not_block_other_records(
    loader: FileLoading, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load_events(
        loader.database_url, [make_event(id_, slug=f"s{id_}") for id_ in range(1, 31)]
    )
    parsed: list[int] = []

    def counted_parse(values: dict[str, Any], *more: Any) -> Event:
        parsed.append(values["id"])
        return parse_event(values, *more)

    monkeypatch.setattr(file_loader, "parse_event", counted_parse)
    swapped = [record(1, slug="s2"), record(2, slug="s1")]
    # 3 wants the slug of 4, and 4 that of 5, which keeps it.
    blocked = [record(3, slug="s4"), record(4, slug="s5")]
    taken = [record(id_ + 100, slug=f"s{id_}") for id_ in range(6, 31)]
    lines = map(encode, [*swapped, *blocked, *taken, record(500, slug="free")])
    result = await loader.load(b"\n".join(lines))
    assert result == "created 1, changed 2, unchanged 0, failed 27"
    assert len(parsed) == len(set(parsed)) == 30, "each is parsed once"
    failed = {line.partition("(")[2].partition(")")[0] for line in loader.failures}
    assert failed == {"event 3", "event 4", *(f"event {id_ + 100}" for id_ in range(6, 31))}
    slugs = {id_: loader.stored(id_).slug for id_ in (1, 2, 3, 4, 500)}
    assert slugs == {1: "s2", 2: "s1", 3: "s3", 4: "s4", 500: "free"}
