"""From a file to an asset: in this process, in processes of their own, and when those are killed."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.accounts.store import AccountStore, NewUser
from fieldgate.assets.tables import assets, versions
from fieldgate.db import Changes, Database
from fieldgate.http.bodies import UploadedFile
from fieldgate.imports import sandbox
from fieldgate.imports.intake import wanted
from fieldgate.imports.records import ImportRequest
from fieldgate.imports.store import ImportStore
from fieldgate.imports.worker import MOST_ATTEMPTS, Worker
from fieldgate.settings import Settings
from tests.conftest import Service, Start
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/imports/"


class Desk:
    """A user of a running service, and a worker beside it."""

    def __init__(self, service: Service, headers: dict[str, str], worker: Worker) -> None:
        self.service = service
        self.headers = headers
        self.worker = worker

    async def send(self, book: bytes, **fields: Any) -> str:
        name = fields.pop("filename", "household.xlsx")
        answer = await self.service.client.post(PATH, headers=self.headers, files={"file": (name, book)}, data=fields)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["url"])

    async def get(self, url: str, **headers: str) -> dict[str, Any]:
        answer = await self.service.get(url, headers={**self.headers, **headers})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def done(self, book: bytes, **fields: Any) -> dict[str, Any]:
        """The record of an import after a worker has seen to it."""
        url = await self.send(book, **fields)
        assert await self.worker.work_once()
        return await self.get(url)

    async def asset(self, record: dict[str, Any], key: str = "created") -> dict[str, Any]:
        return await self.get(f"/api/v2/assets/{record['messages'][key][0]['uid']}/")


@pytest.fixture
def desk_at(start: Start, database_url: str) -> Any:
    @asynccontextmanager
    async def open_desk(**chosen: Any) -> AsyncIterator[Desk]:
        async with start(database_url=database_url, **chosen) as service:
            headers = {"Authorization": f"Token {await service.token()}"}
            yield Desk(service, headers, Worker(Settings(**chosen), service.database))

    return open_desk


@pytest.fixture
async def desk(desk_at: Any) -> AsyncIterator[Desk]:
    async with desk_at() as opened:
        yield opened


async def test_a_survey_becomes_an_asset(desk: Desk) -> None:
    record = await desk.done(xlsx())
    assert record["status"] == "complete"
    [made] = record["messages"]["created"]
    assert set(made) == {"uid", "kind", "summary", "owner__username"}
    assert made["kind"] == "asset"
    assert made["summary"] == {
        "geo": False,
        "labels": ["What is your name?", "How old are you?"],
        "columns": made["summary"]["columns"],
        "languages": [],
        "row_count": 2,
        "default_translation": None,
    }
    assert {"type", "name", "label"} <= set(made["summary"]["columns"])
    asset = await desk.asset(record)
    assert (asset["asset_type"], asset["name"], asset["version_count"]) == ("survey", "household", 1)
    assert [row["type"] for row in asset["content"]["survey"]] == ["text", "integer"]
    xform = await desk.service.get(asset["xform_link"], headers=desk.headers)
    assert xform.headers["Content-Type"].startswith("application/xml")
    assert "<h:html" in xform.text


async def test_the_settings_of_a_form_are_honoured(desk: Desk) -> None:
    settings = (("form_title", "form_id", "version"), ("Visit", "visit_1", "7"))
    asset = await desk.asset(await desk.done(xlsx(survey=SURVEY, settings=settings), name="another"))
    assert asset["name"] == "Visit"


async def test_a_destination_is_replaced_and_older_versions_stay(desk: Desk) -> None:
    first = await desk.done(xlsx())
    uid = first["messages"]["created"][0]["uid"]
    longer = xlsx(survey=(*SURVEY, ("note", "thanks", "Thank you")))
    second = await desk.done(longer, destination=f"https://kf.example/api/v2/assets/{uid}/", filename="second.xlsx")
    assert second["messages"]["updated"][0]["uid"] == uid
    assert "created" not in second["messages"]
    asset = await desk.asset(first)
    assert (asset["version_count"], asset["name"], len(asset["content"]["survey"])) == (2, "household", 3)
    listed = await desk.get(asset["versions"])
    assert [(version["number"], version["filename"]) for version in listed["results"]] == [
        (2, "second.xlsx"),
        (1, "household.xlsx"),
    ]
    old = await desk.get(listed["results"][1]["url"])
    assert len(old["content"]["survey"]) == 2
    file = await desk.service.get(listed["results"][0]["file"], headers=desk.headers)
    assert file.content == longer
    assert file.headers["Content-Disposition"] == "attachment; filename*=UTF-8''second.xlsx"
    assert (await desk.get("/api/v2/assets/"))["count"] == 1, "replaced, not duplicated"


async def test_blocks_and_questions(desk: Desk) -> None:
    block = await desk.asset(await desk.done(xlsx(), library="true"))
    question = await desk.asset(await desk.done(xlsx(survey=SURVEY[:2]), library="true"))
    template = await desk.asset(await desk.done(xlsx(), desired_type="template"))
    assert [each["asset_type"] for each in (block, question, template)] == ["block", "question", "template"]
    assert block["xform_link"] is None
    assert block["content"]["settings"] == {}


LIBRARY = (
    ("block", "type", "name", "label", "tag:health"),
    ("intro", "text", "name", "Your name", None),
    ("intro", "integer", "age", "Your age", None),
    (None, "text", "village", "Your village", "yes"),
)


async def test_a_library_becomes_a_collection(desk: Desk) -> None:
    record = await desk.done(xlsx(library=LIBRARY), library="true", name="Basics")
    [made] = record["messages"]["created"]
    assert (made["kind"], "summary" in made) == ("collection", False)
    listed = (await desk.get("/api/v2/assets/?ordering=name"))["results"]
    kinds = sorted((asset["asset_type"], asset["parent"] is not None) for asset in listed)
    assert kinds == [("block", True), ("collection", False), ("question", True)]
    question = next(asset for asset in listed if asset["asset_type"] == "question")
    assert question["tag_string"] == "health"
    collection = next(asset for asset in listed if asset["asset_type"] == "collection")
    assert collection["name"] == "Basics"
    for field in ("destination", "assetUid"):
        into = await desk.service.client.post(
            PATH, headers=desk.headers, files={"file": ("x.xlsx", xlsx())}, data={field: collection["uid"]}
        )
        assert (into.status_code, list(into.json())) == (400, [field])
    refused = await desk.done(xlsx(library=LIBRARY))
    assert (refused["status"], refused["messages"]["error_type"]) == ("error", "library_not_asked")


async def test_a_form_that_does_not_compile_is_refused_with_every_problem(desk: Desk) -> None:
    broken = xlsx(
        survey=(
            ("type", "name", "label", "relevant"),
            ("text", "1st", "A", None),
            ("florb", "b", "B", None),
            ("text", "c", "C", "${nope} = 1"),
        ),
        choices=(("list_name", "name", "label"), ("colour", None, "Red")),
    )
    url = await desk.send(broken)
    await desk.worker.work_once()
    record = await desk.get(url)
    assert record["status"] == "error"
    messages = record["messages"]
    assert messages["updated"] == []
    assert isinstance(messages["error"], str)
    rows = {problem["row"] for problem in messages["problems"]}
    assert rows >= {2, 3, 4}
    for problem in messages["problems"]:
        assert set(problem) == {"sheet", "row", "column", "code", "message"}
    page = (await desk.service.get(f"{url}?format=api", headers=desk.headers)).text
    shown = re.findall(r'<tr><td>(\w+)</td><td class="number">(\d+)</td>', page)
    told = [*messages["problems"], *messages.get("warnings", [])]
    assert shown == [(problem["sheet"], str(problem["row"])) for problem in told], "in the same order"
    assert (shown[0][0], shown[len(messages["problems"]) - 1][0]) == ("survey", "choices")
    french = await desk.get(url, **{"Accept-Language": "fr"})
    assert french["messages"]["error"] != messages["error"], "said in the language of whoever reads it"
    assert (await desk.get("/api/v2/assets/"))["count"] == 0


async def test_a_destination_that_went_away_in_between(desk: Desk) -> None:
    uid = (await desk.done(xlsx()))["messages"]["created"][0]["uid"]
    url = await desk.send(xlsx(), destination=uid)
    gone = await desk.service.client.delete(f"/api/v2/assets/{uid}/", headers=desk.headers)
    assert gone.status_code == 204
    await desk.worker.work_once()
    assert (await desk.get(url))["messages"]["error_type"] == "destination_gone"


def _bomb(size: int) -> bytes:
    """Memory without end, as a parser can be made to take it."""
    return b"x" * size


def _spin(_: bytes) -> None:
    while True:
        pass


def _crash(_: bytes) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("work", "argument"), [(_bomb, 2**31), (_spin, b""), (_crash, b"")], ids=["memory", "time", "crash"]
)
def test_a_process_with_limits_ends_alone(work: Any, argument: Any) -> None:
    limits = sandbox.Limits(memory=2**30, seconds=1)
    with pytest.raises(sandbox.Died):
        sandbox._in_process(work, (argument,), limits)


async def test_too_many_attempts_end_in_an_error(desk: Desk, database_url: str) -> None:
    url = await desk.send(xlsx())
    from datetime import timedelta

    store = ImportStore(desk.service.database, Changes(desk.service.database))
    for _ in range(MOST_ATTEMPTS):
        assert await store.claim(timedelta(0)) is not None
    await desk.worker.work_once()
    record = await desk.get(url)
    assert (record["status"], record["messages"]["error_type"]) == ("error", "gave_up")


async def test_workers_killed_at_work_lose_nothing(tmp_path: Path, database_url: str, database: Database) -> None:
    """kill -9 of workers again and again: every import ends, with exactly one asset each."""
    store = ImportStore(database, Changes(database))
    number = await AccountStore(database, Changes(database)).create_user(NewUser(username="a", password_hash="x"))
    sent = [
        await store.take(number, wanted(ImportRequest(file=UploadedFile(f"f{n}.xlsx", xlsx())), 10**9), None)
        for n in range(12)
    ]
    environment = {**os.environ, "FIELDGATE_DATABASE_URL": database_url, "FIELDGATE_IMPORT_LEASE": "1s"}
    import sys

    async def begin() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fieldgate", "worker", env=environment, stderr=asyncio.subprocess.DEVNULL
        )

    async def left() -> int:
        from fieldgate.imports.tables import imports

        async with database.reading() as connection:
            query = select(imports.c.id).where(imports.c.status == "processing")
            return len((await connection.execute(query)).all())

    workers = [await begin() for _ in range(2)]
    kills = 0
    while (remaining := await left()) > 0:
        if kills < 3 and remaining < len(sent) - 2 * kills:
            workers[kills % 2].kill()
            await workers[kills % 2].wait()
            workers[kills % 2] = await begin()
            kills += 1
        await asyncio.sleep(0.05)
    for worker in workers:
        worker.terminate()
        await worker.wait()
    assert kills == 3
    async with database.reading() as connection:
        made = (await connection.execute(select(assets.c.name))).scalars().all()
        assert sorted(made) == sorted(f"f{n}" for n in range(12))
        assert len((await connection.execute(select(versions.c.id))).all()) == 12


async def test_the_page_of_an_import_shows_what_was_read(desk: Desk) -> None:
    good = await desk.done(xlsx(), name="Household")
    page = (await desk.service.get(f"{good['url']}?format=api", headers=desk.headers)).text
    for text in ("The file was imported.", "What is your name?", "<dd>2</dd>"):
        assert text in page
    bad = await desk.done(xlsx(survey=(("type", "name", "label"), ("florb", "b", "<b>B</b>"))))
    page = (await desk.service.get(f"{bad['url']}?format=api", headers=desk.headers)).text
    assert re.search(r'<tr><td>survey</td><td class="number">2</td><td dir="auto">type</td>', page)
    waiting = await desk.send(xlsx())
    page = (await desk.service.get(f"{waiting}?format=api", headers=desk.headers)).text
    assert 'http-equiv="refresh"' in page
