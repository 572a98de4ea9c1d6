"""`python -m benchmarks.counting`: count the cost of a request in ways that do not depend on the machine.

Requests are made in this process over ASGI. For each are counted:

- Python instructions of Fieldgate and its libraries, without the event loop and other threads;
- statements sent to SQLite, on any connection;
- peak memory: the most newly allocated bytes. A page that is copied once more shows here.

The smallest of several repetitions counts. `make test` compares the counts with `tests/hot_paths.json`; `--renew`
writes that file.
"""

import asyncio
import os
import platform
import secrets
import sqlite3
import sys
import tempfile
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import USER
from benchmarks.forms import BOUNDARY, form, multipart
from benchmarks.import_data import add_imports
from benchmarks.processes import CHECKOUT, PROGRAM, output_of
from benchmarks.sharing_data import VIEW_PERMISSION, add_assets, add_members, share_asset
from benchmarks.walks import ASSETS, EVENTS, IMPORTS, PERMISSIONS, SUMMARY
from benchmarks.work import EFFECTS
from fieldgate.app import build_app
from fieldgate.http.application import Application
from fieldgate.settings import Settings

EXPECTED_FILE = CHECKOUT / "tests" / "hot_paths.json"
DEMO_EVENTS = 500
COUNTED_ASSETS = 200
MEMBER_COUNT = 50
WARM_UPS, REPETITIONS = 5, 5
NOT_FOUND = 404
CLIENT = ("192.0.2.1", 50000)  # another machine: requests from this one are not counted for rate limits

# Sent for each request where the WAL index cannot be mapped: on systems other than Linux.
UNCOUNTED_STATEMENT = "PRAGMA data_version"

# Tolerances. Differences between machines are far below them; a loop that runs twice, or a page that is copied once
# more, is above.
MARGINS = {"instructions": 0.05, "statements": 0.0, "memory": 0.15}
SLACK = {"instructions": 0, "statements": 0, "memory": 1024}  # small responses need little memory

_LOOP_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("asyncio", "concurrent", "uvloop"))
_LOOP_FILES = ("selectors.py", "threading.py", "tracemalloc.py", "counting.py")


class Counts(msgspec.Struct, frozen=True):
    instructions: int
    statements: int
    memory: int


class Expected(msgspec.Struct, frozen=True):
    """The committed figures. Instructions are comparable on the same Python version only."""

    python: str
    counts: dict[str, Counts]


class HotPath(msgspec.Struct, frozen=True):
    """A frequent request. `path` and `body` give those of its n-th repetition; with a body it is a POST."""

    name: str
    path: Callable[[int], str]
    is_signed_in: bool = False
    is_conditional: bool = False
    body: Callable[[int], bytes] | None = None
    content_type: str = "application/json"
    status: int = 200


def hot_paths(asset_uid: str) -> Sequence[HotPath]:
    """`asset_uid` is the uid of an asset of the user that is shared with `MEMBER_COUNT` members."""
    sharing = f"/api/v2/assets/{asset_uid}/permission-assignments/"
    return (
        HotPath("permission list, warm", lambda _: PERMISSIONS),
        HotPath("permission list, with a token", lambda _: PERMISSIONS, is_signed_in=True),
        HotPath("permission list, every URL new", lambda number: f"{PERMISSIONS}?fresh={number}"),
        HotPath("50 events, warm", lambda _: EVENTS),
        HotPath("50 events, cold", lambda number: f"{EVENTS}?limit=50&offset={7 * number + 1}"),
        HotPath("50 events as CSV, cold", lambda number: f"{EVENTS}?format=csv&limit=50&offset={7 * number + 1}"),
        HotPath("one event, cold", lambda number: f"{EVENTS}{number + 1}/"),
        HotPath("summary of events, cold", lambda number: f"{SUMMARY}?fresh={number}"),
        HotPath("imports list, token checked", lambda _: IMPORTS, is_signed_in=True),
        HotPath("imports list, cold", lambda number: f"{IMPORTS}?limit=50&offset={number}", is_signed_in=True),
        HotPath("assets list, token checked", lambda _: ASSETS, is_signed_in=True),
        HotPath("assets list, cold", lambda number: f"{ASSETS}?limit=50&offset={number}", is_signed_in=True),
        HotPath("one 304", lambda _: PERMISSIONS, is_conditional=True, status=304),
        HotPath("effects", lambda _: EFFECTS),
        HotPath("assignments of 50 users", lambda _: sharing, is_signed_in=True),
        HotPath("assignments of 50 users, cold", lambda number: f"{sharing}?fresh={number}", is_signed_in=True),
        HotPath(
            "explain",
            lambda number: f"{sharing}explain/?user=member{number}&permission={VIEW_PERMISSION}",
            is_signed_in=True,
        ),
        HotPath(
            "POST an assignment",
            lambda _: sharing,
            is_signed_in=True,
            body=lambda number: msgspec.json.encode(_assignment(number)),
            status=201,
        ),
        HotPath(
            "bulk assignment of 50 users",
            lambda _: f"{sharing}bulk/",
            is_signed_in=True,
            body=lambda number: msgspec.json.encode([_assignment(each, number) for each in range(MEMBER_COUNT)]),
        ),
        # Must be last, because it leaves imports behind.
        HotPath(
            "POST an import",
            lambda _: IMPORTS,
            is_signed_in=True,
            body=lambda _: multipart(form(10)),
            content_type=f"multipart/form-data; boundary={BOUNDARY}",
            status=201,
        ),
    )


def _assignment(member: int, repetition: int = 0) -> dict[str, str]:
    """An assignment that was not given by the repetition before."""
    permission = ("change_asset", "view_submissions")[repetition % 2]
    return {"user": f"/api/v2/users/member{member}/", "permission": f"/api/v2/permissions/{permission}/"}


def find_regressions(expected: Expected, found: Mapping[str, Counts], python: str) -> list[str]:
    """Describe each cost above its expected figure, and each path without figures. Lower costs are fine."""
    problems = [f"{name}: has no expected figures" for name in found if name not in expected.counts]
    for name, before in expected.counts.items():
        now = found.get(name)
        if now is None:
            problems.append(f"{name}: is no longer answered")
            continue
        for kind, margin in MARGINS.items():
            allowed, counted = getattr(before, kind), getattr(now, kind)
            is_comparable = kind != "instructions" or python == expected.python
            if is_comparable and counted > allowed * (1 + margin) + SLACK[kind]:
                problems.append(f"{name}: {counted} {kind}, expected {allowed}")
    return problems


def this_python() -> str:
    return ".".join(platform.python_version_tuple()[:2])


class ASGIClient:
    """Calls the application directly."""

    def __init__(self, application: Application, token: str) -> None:
        self._application = application
        self._token = token
        self.status = 0
        self.etag = b""

    def request(self, hot: HotPath, number: int, etag: bytes = b"") -> Callable[[], Any]:
        """Prepare a request."""
        path, _, query = hot.path(number).partition("?")
        headers = [(b"host", b"127.0.0.1"), (b"accept", b"application/json")]
        if hot.is_signed_in:
            headers.append((b"authorization", f"Token {self._token}".encode()))
        if etag:
            headers.append((b"if-none-match", etag))
        body = hot.body(number) if hot.body else b""
        if body:
            headers.append((b"content-type", hot.content_type.encode()))
            headers.append((b"content-length", str(len(body)).encode()))
        method = "POST" if body else "GET"
        scope = {
            "type": "http", "method": method, "scheme": "http", "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": headers, "client": CLIENT,
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        return lambda: self._application(scope, receive, self._receive_message)

    async def _receive_message(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.etag = dict(message["headers"]).get(b"etag", b"")


async def count_all(data: Path, token: str) -> dict[str, Counts]:
    """The counts of all hot paths this Fieldgate supports."""
    with trace_statements() as statements:
        async with run_application(data) as application:
            client = ASGIClient(application, token)
            paths = hot_paths(_find_asset(data))
            found = {hot.name: await _count_path(client, hot, statements) for hot in paths}
    return {name: counts for name, counts in found.items() if counts is not None}


def _find_asset(data: Path) -> str:
    with closing(sqlite3.connect(data / "fieldgate.db")) as connection:
        return str(connection.execute("SELECT uid FROM assets ORDER BY id DESC LIMIT 1").fetchone()[0])


@asynccontextmanager
async def run_application(data: Path) -> AsyncIterator[Application]:
    application = build_app(Settings(data=data, access_log=False))
    async with application.lifespan():
        yield application


async def _count_path(client: ASGIClient, hot: HotPath, statements: list[str]) -> Counts | None:
    etag = b""
    for number in range(WARM_UPS):
        await client.request(hot, number, etag)()
        etag = client.etag if hot.is_conditional else b""
    if client.status == NOT_FOUND:
        return None
    if client.status != hot.status:
        raise click.ClickException(f"{hot.name} returned {client.status}.")
    numbers = iter(range(WARM_UPS, WARM_UPS + 3 * REPETITIONS))
    instructions = [await count_instructions(client.request(hot, next(numbers), etag)) for _ in range(REPETITIONS)]
    statement_counts = []
    for _ in range(REPETITIONS):
        statements.clear()
        await client.request(hot, next(numbers), etag)()
        statement_counts.append(sum(statement != UNCOUNTED_STATEMENT for statement in statements))
    memory = [await peak_memory(client.request(hot, next(numbers), etag)) for _ in range(REPETITIONS)]
    return Counts(min(instructions), min(statement_counts), min(memory))


async def count_instructions(request: Callable[[], Any]) -> int:
    """Count the Python instructions of a request on this thread."""
    count = 0
    is_counted: dict[CodeType, bool] = {}

    def step(_frame: FrameType, event: str, _value: object) -> Any:
        nonlocal count
        if event == "opcode":
            count += 1
        return step

    def enter(frame: FrameType, _event: str, _value: object) -> Any:
        code = frame.f_code
        if code not in is_counted:
            is_counted[code] = not _is_event_loop_code(code.co_filename)
        if not is_counted[code]:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return step

    before = sys.gettrace()
    response = request()
    sys.settrace(enter)
    try:
        await response
    finally:
        sys.settrace(before)
    return count


def _is_event_loop_code(file: str) -> bool:
    """Whether the code belongs to the event loop, whose iterations depend on timing."""
    return file.endswith(_LOOP_FILES) or any(part in file for part in _LOOP_PACKAGES)


async def peak_memory(request: Callable[[], Any]) -> int:
    """The peak memory of a request, in bytes."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await request()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@contextmanager
def trace_statements() -> Iterator[list[str]]:
    """Record all statements of SQLite connections opened from now on."""
    sent: list[str] = []
    connect = sqlite3.connect

    def connect_and_count(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.set_trace_callback(sent.append)
        return connection

    # The engine for short writes uses the other name.
    sqlite3.connect = sqlite3.dbapi2.connect = connect_and_count  # type: ignore[assignment]
    try:
        yield sent
    finally:
        sqlite3.connect = sqlite3.dbapi2.connect = connect


def make_data(folder: Path) -> str:
    """Create a database with events and imports. Returns the token of the importing user."""
    data = ("--data", str(folder))
    output_of([PROGRAM, "events", "demo", str(DEMO_EVENTS), *data])
    output_of([PROGRAM, "user", "create", USER, "--password-stdin", *data], stdin=secrets.token_urlsafe())
    add_imports(f"sqlite:///{folder / 'fieldgate.db'}", USER)
    members = add_members(folder, MEMBER_COUNT)
    add_assets(folder, members[0], COUNTED_ASSETS, visible_to=USER)
    share_asset(folder, add_assets(folder, USER, 1))
    return output_of([PROGRAM, "token", "create", USER, *data])


@click.command()
@click.option("--renew", is_flag=True, help="Write the counts to tests/hot_paths.json.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="An existing data folder.")
@click.option("--token", default="", help="The token for that folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(renew: bool, data: Path | None, token: str, as_json: bool) -> None:
    """Count the cost of the hot paths and compare it with the expected figures."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
        if data is None:
            data = Path(name)
            token = make_data(data)
        found = asyncio.run(count_all(data, token))
    if as_json:
        click.echo(msgspec.json.encode(found))
        return
    if renew:
        expected = Expected(this_python(), found)
        EXPECTED_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(expected), indent=2) + b"\n")
    show(msgspec.json.decode(EXPECTED_FILE.read_bytes(), type=Expected), found)


def show(expected: Expected, found: Mapping[str, Counts]) -> None:
    table = Table("path", *MARGINS, title=f"One request, expected (Python {expected.python}) and counted")
    for name, counts in found.items():
        before = expected.counts.get(name)
        table.add_row(name, *(f"{getattr(before, kind, '-')} {getattr(counts, kind)}" for kind in MARGINS))
    Console().print(table)


if __name__ == "__main__":
    main()
