"""`python -m benchmarks.imports`: forms from POST to `complete`, beside a bare pyxform; many small ones; long lists."""

import asyncio
import io
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import click
from openpyxl import Workbook
from pyxform.xls2xform import convert
from rich.console import Console
from rich.table import Table
from sqlalchemy import insert, select

from benchmarks.contenders import Contender
from benchmarks.load import put_load, require_wrk
from benchmarks.processes import free_port, output_of, serving
from benchmarks.work import Work
from fieldgate.accounts.tables import users
from fieldgate.assets.tables import files
from fieldgate.db import Database, new_uid, now
from fieldgate.imports.tables import imports

QUESTIONS = 2000
SMALL_FORMS = 100
LONG_LIST = 10_000
PATIENCE = 300  # seconds an import may take before the run is given up

PROGRAM = str(Path(sys.executable).with_name("fieldgate"))


def form(questions: int) -> bytes:
    """A form of so many questions in two languages, with lists, groups and conditions as real ones have them."""
    book = Workbook()
    survey, choices = book.active, book.create_sheet("choices")
    survey.title = "survey"
    survey.append(["type", "name", "label::English (en)", "label::French (fr)", "relevant", "constraint", "required"])
    for number in range(questions):
        kind = ("text", "integer", "select_one yes_no", "geopoint")[number % 4]
        relevant = f"${{q{number - 1}}} != ''" if number % 7 == 3 else None
        constraint = ". >= 0" if kind == "integer" else None
        survey.append([kind, f"q{number}", f"Question {number}", f"Question no {number}", relevant, constraint, "yes"])
    choices.append(["list_name", "name", "label::English (en)", "label::French (fr)"])
    choices.append(["yes_no", "yes", "Yes", "Oui"])
    choices.append(["yes_no", "no", "No", "Non"])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


class Client:
    """Sends files and waits for what comes of them."""

    def __init__(self, contender: Contender) -> None:
        self._base = f"http://127.0.0.1:{contender.port}/api/v2/imports/"
        self._headers = {"Authorization": f"Token {contender.token}"}

    def send(self, book: bytes) -> str:
        boundary = uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="form.xlsx"\r\n\r\n'
        body = head.encode() + book + f"\r\n--{boundary}--\r\n".encode()
        headers = {**self._headers, "Content-Type": f"multipart/form-data; boundary={boundary}"}
        with urllib.request.urlopen(urllib.request.Request(self._base, body, headers)) as answer:
            return str(json.load(answer)["url"])

    def wait(self, url: str) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with urllib.request.urlopen(urllib.request.Request(url, headers=self._headers)) as answer:
                record = json.load(answer)
            if record["status"] == "complete":
                return
            if record["status"] == "error":
                raise click.ClickException(f"An import failed: {record['messages']}")
            time.sleep(0.005)
        raise click.ClickException(f"An import did not end within {PATIENCE} s.")


@contextmanager
def fieldgate(folder: Path, *, workers: int) -> Iterator[Contender]:
    """Us with one process for HTTP, one worker beside it and as many more as asked for; on all cores."""
    data = ("--data", str(folder))
    output_of([PROGRAM, "user", "create", "bench", "--password-stdin", *data], given=uuid4().hex)
    token = output_of([PROGRAM, "token", "create", "bench", *data])
    port = free_port()
    command = [PROGRAM, "serve", "--port", str(port), *data]
    with serving(command, port=port, core=None, environment={}):
        more = workers - 1
        if more:
            with serving([PROGRAM, "worker", *data], port=port, core=None, environment={}):
                yield Contender("fieldgate", port, token)
        else:
            yield Contender("fieldgate", port, token)


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def large_form(client: Client, folder: Path, rounds: int) -> tuple[float, float, float]:
    """Seconds of a bare conversion and of ours, and the ratio, medians of interleaved rounds."""
    book = form(QUESTIONS)
    path = folder / "form.xlsx"
    path.write_bytes(book)
    bare, ours = [], []
    for _ in range(rounds):
        bare.append(timed(lambda: convert(xlsform=path)))
        ours.append(timed(lambda: client.wait(client.send(book))))
    ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
    return statistics.median(bare), statistics.median(ours), statistics.median(ratios)


def small_forms(client: Client) -> float:
    """Small forms per second, from the first POST to the last one complete."""
    book = form(10)

    def through() -> None:
        with ThreadPoolExecutor(8) as pool:
            for url in list(pool.map(client.send, [book] * SMALL_FORMS)):
                client.wait(url)

    return SMALL_FORMS / timed(through)


async def fill(folder: Path, count: int) -> None:
    """Give the user so many finished imports, straight into the database: they are only to be listed."""
    database = Database(f"sqlite:///{folder / 'fieldgate.db'}")
    async with database.transaction() as connection:
        user = (await connection.execute(select(users.c.id))).scalar_one()
        file = (await connection.execute(select(files.c.id).limit(1))).scalar_one()
        common = {"user_id": user, "status": "complete", "filename": "form.xlsx", "file_id": file, "name": "form",
                  "is_library": False, "desired_type": "", "messages": {"updated": []}, "attempts": 1}  # fmt: skip
        rows = [{**common, "uid": new_uid("i"), "created_at": now(), "finished_at": now()} for _ in range(count)]
        await connection.execute(insert(imports), rows)
    await database.close()


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 50), help="Rounds of the large form.")
def main(rounds: int) -> None:
    """Measure imports: a large form beside a bare pyxform, many small ones through two workers, and long lists."""
    require_wrk()
    table = Table("work", "figure", title="Imports")
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name, fieldgate(Path(name), workers=2) as ours:
        client = Client(ours)
        client.wait(client.send(form(3)))  # the worker has its libraries loaded, as it has for all but its first file
        bare, mine, ratio = large_form(client, Path(name), rounds)
        table.add_row(f"{QUESTIONS} questions, bare pyxform", f"{bare:.2f} s")
        table.add_row(f"{QUESTIONS} questions, POST to complete", f"{mine:.2f} s ({ratio:.2f} times)")
        table.add_row(f"{SMALL_FORMS} small forms, two workers", f"{small_forms(client):.1f} forms/s")
        work = Work(name="imports list", path="/api/v2/imports/", signed_in=True)
        few = put_load(work, ours, seconds=3, core=1).rate
        asyncio.run(fill(Path(name), LONG_LIST))
        many = put_load(work, ours, seconds=3, core=1).rate
        table.add_row(f"list of {SMALL_FORMS + rounds + 1} imports, page of 50", f"{few:.0f} requests/s")
        table.add_row(f"list of {LONG_LIST + SMALL_FORMS + rounds + 1} imports, page of 50", f"{many:.0f} requests/s")
    Console().print(table)


if __name__ == "__main__":
    main()
