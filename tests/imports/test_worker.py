"""From an uploaded file to an asset: results, failures and killed workers."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from sqlalchemy import event, select
from sqlalchemy.engine import Engine

from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.store import AssetStore
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.db.log import log
from fieldgate.imports.leases import ImportLeases
from fieldgate.imports.sandbox import runner
from fieldgate.imports.worker import MAX_ATTEMPTS, ImportWorker
from fieldgate.permissions import rules
from fieldgate.settings import Settings
from tests.assets.sharing.sharing_team import SharingTeam, last_segment
from tests.assets.sharing.test_teams import TEAMS, create_team, held, share
from tests.conftest import Service
from tests.data.imports import all_imports, change_imports, end_leases, import_worker
from tests.data.sql import all_rows, write_sql
from tests.databases import wait_for_locks
from tests.imports.sandbox import failing_readers
from tests.imports.sandbox.fork_servers import killing_fork_servers
from tests.imports.workbooks import SURVEY, Rows, xlsx

PATH = "/api/v2/imports/"


class ImportHarness:
    """A user of a running service, and a worker on the same database."""

    def __init__(self, service: Service, headers: dict[str, str], worker: ImportWorker) -> None:
        self.service = service
        self.headers = headers
        self.worker = worker

    async def send(self, book: bytes, **fields: Any) -> str:
        name = fields.pop("filename", "household.xlsx")
        response = await self.service.client.post(
            PATH, headers=self.headers, files={"file": (name, book)}, data=fields
        )
        assert response.status_code == 201, response.text
        return str(response.json()["url"])

    async def get(self, url: str, **headers: str) -> dict[str, Any]:
        response = await self.service.get(url, headers={**self.headers, **headers})
        assert response.status_code == 200, response.text
        found: dict[str, Any] = response.json()
        return found

    async def import_workbook(self, book: bytes, **fields: Any) -> dict[str, Any]:
        """Send a workbook, process it and return the record of the import."""
        url = await self.send(book, **fields)
        assert await self.worker.process_one()
        return await self.get(url)

    async def asset(self, record: dict[str, Any], key: str = "created") -> dict[str, Any]:
        return await self.get(f"/api/v2/assets/{record['messages'][key][0]['uid']}/")


async def test_survey_becomes_an_asset(harness: ImportHarness) -> None:
    record = await harness.import_workbook(xlsx())
    assert record["status"] == "complete"
    [created] = record["messages"]["created"]
    assert set(created) == {"uid", "kind", "summary", "owner__username"}
    assert created["kind"] == "asset"
    assert created["summary"] == {
        "geo": False,
        "labels": ["What is your name?", "How old are you?"],
        "columns": created["summary"]["columns"],
        "languages": [],
        "row_count": 2,
        "default_translation": None,
    }
    assert {"type", "name", "label"} <= set(created["summary"]["columns"])
    asset = await harness.asset(record)
    assert (asset["asset_type"], asset["name"], asset["version_count"]) == (
        "survey",
        "household",
        1,
    )
    assert [row["type"] for row in asset["content"]["survey"]] == ["text", "integer"]
    xform = await harness.service.get(asset["xform_link"], headers=harness.headers)
    assert xform.headers["Content-Type"].startswith("application/xml")
    assert "<h:html" in xform.text


async def xform_names(
    harness: ImportHarness, asset: dict[str, Any]
) -> tuple[str | None, str | None, str | None]:
    """Return title, id and version of an asset's XForm."""
    xform = await harness.service.get(asset["xform_link"], headers=harness.headers)
    root = ElementTree.fromstring(xform.content)
    data = root.find(".//{http://www.w3.org/2002/xforms}instance/*")
    assert data is not None
    return (
        root.findtext(".//{http://www.w3.org/1999/xhtml}title"),
        data.get("id"),
        data.get("version"),
    )


async def test_xform_has_name_of_its_asset(harness: ImportHarness) -> None:
    first = await harness.asset(
        await harness.import_workbook(xlsx(), name="Household 2.0\tsurvey.xlsx")
    )
    assert first["name"] == "Household 2.0 survey"
    assert await xform_names(harness, first) == (
        "Household 2.0 survey",
        "household_2_0_survey",
        None,
    )
    await harness.import_workbook(xlsx(), filename="second.xlsx", destination=first["uid"])
    assert await xform_names(harness, first) == (
        "Household 2.0 survey",
        "household_2_0_survey",
        None,
    ), "it keeps its name"
    settings = (("form_id", "version"), ("visit_1", "7"))
    second = await harness.asset(
        await harness.import_workbook(
            xlsx(survey=SURVEY, settings=settings), name="استبيان \x01<1> & \ufffe"
        )
    )
    assert await xform_names(harness, second) == (second["name"], "visit_1", "7")
    titled = await harness.asset(
        await harness.import_workbook(
            xlsx(survey=SURVEY, settings=(("form_title",), ("Home Visit",)))
        )
    )
    assert await xform_names(harness, titled) == ("Home Visit", "home_visit", None)


async def test_renaming_an_asset_renames_its_xform(harness: ImportHarness) -> None:
    settings = (("form_title", "form_id"), ("Homes", "homes"))
    asset = await harness.asset(
        await harness.import_workbook(xlsx(survey=SURVEY, settings=settings))
    )
    assert (asset["name"], asset["content"]["settings"]) == ("Homes", {"id_string": "homes"})
    name = "Roofs & <walls> \\1"
    renamed = await harness.service.request(
        "PATCH", asset["url"], headers=harness.headers, json={"name": name}
    )
    assert renamed.status_code == 200
    assert (await xform_names(harness, asset))[0] == name


LOCKED: dict[str, Rows] = {
    "survey": [[*SURVEY[0], "kobo--locking-profile"], [*SURVEY[1], "strict"], SURVEY[2]],
    "settings": [["kobo—lock_all"], [True]],
    "kobo–locking-profiles": [["restriction", "strict"], ["choice_add", "locked"]],
}


async def test_locks_are_kept_in_forms_and_stripped_from_blocks(harness: ImportHarness) -> None:
    book = xlsx(**LOCKED)
    for asset_type in ("survey", "template"):
        asset = await harness.asset(await harness.import_workbook(book, desired_type=asset_type))
        profiles = [{"name": "strict", "restrictions": ["choice_add"]}]
        assert asset["content"]["kobo--locking-profiles"] == profiles
        assert asset["content"]["settings"] == {"kobo--lock_all": True}
        assert (asset["summary"]["lock_all"], asset["summary"]["lock_any"]) == (True, True)
    question = xlsx(**{**LOCKED, "survey": LOCKED["survey"][:2]})
    for data, asset_type in ((book, "block"), (question, "question")):
        asset = await harness.asset(await harness.import_workbook(data, library="true"))
        assert asset["asset_type"] == asset_type
        assert "kobo--" not in str(asset["content"])
        assert not {"lock_all", "lock_any"} & asset["summary"].keys()
        assert "kobo--locking-profile" not in asset["summary"]["columns"]


async def test_replacing_a_destination_keeps_older_versions(harness: ImportHarness) -> None:
    first = await harness.import_workbook(xlsx())
    uid = first["messages"]["created"][0]["uid"]
    longer = xlsx(survey=(*SURVEY, ("note", "thanks", "Thank you")))
    second = await harness.import_workbook(
        longer, destination=f"https://kf.example/api/v2/assets/{uid}/", filename="second.xlsx"
    )
    assert second["messages"]["updated"][0]["uid"] == uid
    assert "created" not in second["messages"]
    asset = await harness.asset(first)
    assert (asset["version_count"], asset["name"], len(asset["content"]["survey"])) == (
        2,
        "household",
        3,
    )
    listed = await harness.get(asset["versions"])
    assert [(version["number"], version["filename"]) for version in listed["results"]] == [
        (2, "second.xlsx"),
        (1, "household.xlsx"),
    ]
    old = await harness.get(listed["results"][1]["url"])
    assert len(old["content"]["survey"]) == 2
    file = await harness.service.get(listed["results"][0]["file"], headers=harness.headers)
    assert file.content == longer
    assert (
        file.headers["Content-Disposition"]
        == "attachment; filename=\"second.xlsx\"; filename*=UTF-8''second.xlsx"
    )
    assert (await harness.get("/api/v2/assets/"))["count"] == 1, "replaced, not duplicated"


LIBRARY = (
    ("block", "type", "name", "label", "tag:health"),
    ("intro", "text", "name", "Your name", None),
    ("intro", "integer", "age", "Your age", None),
    (None, "text", "village", "Your village", "yes"),
)


async def test_row_count_decides_between_block_and_question(harness: ImportHarness) -> None:
    one, notes = SURVEY[:2], (SURVEY[0], ("note", "a", "A"), ("note", "b", "B"))
    for survey, fields, expected in (
        (one, {"desired_type": "block"}, "question"),
        (SURVEY, {"desired_type": "question"}, "block"),
        (SURVEY, {"desired_type": "template"}, "template"),
        (notes, {"library": "true"}, "block"),
        (notes, {"desired_type": "question"}, "question"),
    ):
        assert (await harness.asset(await harness.import_workbook(xlsx(survey=survey), **fields)))[
            "asset_type"
        ] == expected
    block = await harness.asset(await harness.import_workbook(xlsx(), library="true"))
    for survey, expected in ((one, "question"), (SURVEY, "block")):
        record = await harness.import_workbook(xlsx(survey=survey), destination=block["uid"])
        assert (await harness.asset(record, "updated"))["asset_type"] == expected


async def test_collection_summary_has_languages_of_its_children(harness: ImportHarness) -> None:
    rows = (
        ("block", "type", "name", "label::French (fr)"),
        ("alone", "text", "a", "A"),
        (None, "text", "b", "B"),
    )
    [created] = (await harness.import_workbook(xlsx(library=rows), library="true"))["messages"][
        "created"
    ]
    url = f"/api/v2/assets/{created['uid']}/"
    assert (await harness.get(url))["summary"] == {"languages": ["French (fr)"]}
    alone, other = (await harness.get("/api/v2/assets/?asset_type=question&ordering=name"))[
        "results"
    ]
    assert alone["name"] == "alone", "a block of one question is a question, and keeps its name"
    english = xlsx(survey=(("type", "name", "label::English (en)"), ("text", "a", "A")))
    await harness.import_workbook(english, destination=alone["uid"])
    assert (await harness.get(url))["summary"] == {"languages": ["English (en)", "French (fr)"]}
    await harness.service.client.delete(other["url"], headers=harness.headers)
    assert (await harness.get(url))["summary"] == {"languages": ["English (en)"]}


async def test_library_becomes_a_collection(harness: ImportHarness) -> None:
    record = await harness.import_workbook(xlsx(library=LIBRARY), library="true", name="Basics")
    [created] = record["messages"]["created"]
    assert created["kind"] == "collection"
    assert created["summary"] == {
        "geo": False,
        "labels": ["Your name", "Your age", "Your village"],
        "columns": ["type", "name", "label"],
        "languages": [],
        "row_count": 3,
        "default_translation": None,
    }
    listed = (await harness.get("/api/v2/assets/?ordering=name"))["results"]
    kinds = sorted((asset["asset_type"], asset["parent"] is not None) for asset in listed)
    assert kinds == [("block", True), ("collection", False), ("question", True)]
    question = next(asset for asset in listed if asset["asset_type"] == "question")
    assert question["tag_string"] == "health"
    collection = next(asset for asset in listed if asset["asset_type"] == "collection")
    assert collection["name"] == "Basics"
    for field in ("destination", "assetUid"):
        into = await harness.service.client.post(
            PATH,
            headers=harness.headers,
            files={"file": ("x.xlsx", xlsx())},
            data={field: collection["uid"]},
        )
        assert (into.status_code, list(into.json())) == (400, [field])
    refused = await harness.import_workbook(xlsx(library=LIBRARY))
    assert (refused["status"], refused["messages"]["error_type"]) == ("error", "library_not_asked")


async def test_invalid_form_is_refused_with_every_problem(harness: ImportHarness) -> None:
    broken = xlsx(
        survey=(
            ("type", "name", "label", "relevant"),
            ("text", "1st", "A", None),
            ("florb", "b", "B", None),
            ("select_one colour", "c", "C", "${nope} = 1"),
        ),
        choices=(("list_name", "name", "label"), ("colour", None, "Red")),
    )
    url = await harness.send(broken)
    await harness.worker.process_one()
    record = await harness.get(url)
    assert record["status"] == "error"
    messages = record["messages"]
    assert messages["updated"] == []
    assert isinstance(messages["error"], str)
    rows = {problem["row"] for problem in messages["problems"]}
    assert rows >= {2, 3, 4}
    for problem in messages["problems"]:
        assert set(problem) == {"sheet", "row", "column", "code", "message"}
    page = unescape((await harness.service.get(f"{url}?format=api", headers=harness.headers)).text)
    for problem in (*messages["problems"], *messages.get("warnings", [])):
        assert problem["message"] in page
    sheets = [problem["sheet"] for problem in messages["problems"]]
    assert (sheets[0], sheets[-1]) == ("survey", "choices")
    french = await harness.get(url, **{"Accept-Language": "fr"})
    assert french["messages"]["error"] != messages["error"], "in the language of the reader"
    assert (await harness.get("/api/v2/assets/"))["count"] == 0


async def test_results_are_logged(harness: ImportHarness) -> None:
    """By who sent the file."""
    uid = (await harness.import_workbook(xlsx()))["messages"]["created"][0]["uid"]
    await harness.import_workbook(
        xlsx(survey=SURVEY, settings=(("form_title",), ("Renamed",))), destination=uid
    )
    await harness.import_workbook(xlsx(library=LIBRARY), library="true", name="Basics")
    by_imports = select(log).where(log.c.credential == "import").order_by(log.c.id)
    entries = all_rows(harness.service, by_imports)
    [owner] = all_rows(harness.service, select(users).where(users.c.id == entries[0].user_id))
    assert [(row.action, row.object_name) for row in entries] == [
        ("create", "household"),
        ("replace-form", "household"),
        ("update-name", "household"),
        ("create", "Basics"),
        *(("create", row.object_name) for row in entries[-2:]),
    ]
    assert {(row.username, row.user_uid, row.owner_id) for row in entries} == {
        (owner.username, owner.uid, owner.id)
    }
    assert {row.object_uid for row in entries[:3]} == {uid}
    assert "latest_version_uid" in entries[1].details


async def test_manager_of_empty_asset_gets_submission_permissions(harness: ImportHarness) -> None:
    team = await SharingTeam.create(harness.service)
    uid = await team.create_shared_asset("empty")
    assert await team.permissions_of(uid, "manager") == {
        "view_asset",
        "change_asset",
        "manage_asset",
    }
    before = await team.history(uid)
    theirs = ImportHarness(harness.service, team.headers["editor"], harness.worker)
    record = await theirs.import_workbook(xlsx(), destination=uid)
    assert (record["status"], (await theirs.asset(record, "updated"))["asset_type"]) == (
        "complete",
        "survey",
    )
    assert await team.permissions_of(uid, "manager") == rules.with_implied(
        ["manage_asset"], "survey"
    )
    assert await team.permissions_of(uid, "editor") == {"view_asset", "change_asset"}
    after = await team.history(uid)
    new = after[: len(after) - len(before)]
    assert {
        (
            row["act"],
            last_segment(row["by"]),
            last_segment(row["user"]),
            row["effect"],
            row["reason"],
        )
        for row in new
    } == {("import", "editor", "manager", "granted", "implied")}
    assert len(new) == 5
    await theirs.import_workbook(xlsx(), destination=uid)
    assert await team.history(uid) == after


async def test_members_of_a_team_import_until_they_are_removed(harness: ImportHarness) -> None:
    team = await SharingTeam.create(harness.service)
    uid, wash = await team.create_asset("empty"), await create_team(team, "owner", "ann", "bob")
    await share(team, uid, wash, "manage_asset")
    theirs = ImportHarness(harness.service, team.headers["ann"], harness.worker)
    record = await theirs.import_workbook(xlsx(), destination=uid)
    assert (record["status"], (await theirs.asset(record, "updated"))["asset_type"]) == (
        "complete",
        "survey",
    )
    assert await held(team, uid, "bob") == rules.with_implied(["manage_asset"], "survey"), (
        "as managers themselves"
    )
    waiting = await theirs.send(xlsx(), destination=uid)
    await team.request("owner", "DELETE", f"{TEAMS}{wash}/members/ann/")
    await harness.worker.process_one()
    assert (await theirs.get(waiting))["messages"]["error_type"] == "destination_not_allowed"
    assert (await team.request("owner", "GET", f"/api/v2/assets/{uid}/")).json()[
        "version_count"
    ] == 2


async def test_destination_deleted_before_processing(harness: ImportHarness) -> None:
    uid = (await harness.import_workbook(xlsx()))["messages"]["created"][0]["uid"]
    url = await harness.send(xlsx(), destination=uid)
    gone = await harness.service.client.delete(f"/api/v2/assets/{uid}/", headers=harness.headers)
    assert gone.status_code == 204
    await harness.worker.process_one()
    assert (await harness.get(url))["messages"]["error_type"] == "destination_gone"


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
async def test_destination_changed_during_processing(
    harness: ImportHarness, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = (await harness.import_workbook(xlsx()))["messages"]["created"][0]["uid"]
    url = await harness.send(xlsx(), destination=uid)
    find = AssetStore.find
    under_way: list[asyncio.Task[Any]] = []

    async def and_meanwhile(*arguments: Any, **options: Any) -> Any:
        found = await find(*arguments, **options)
        if under_way:  # the call comes from the request
            return found
        request = harness.service.request(
            method, f"/api/v2/assets/{uid}/", headers=harness.headers, json={"name": "Another"}
        )
        under_way.append(asyncio.create_task(request))
        await asyncio.wait(
            under_way, timeout=0.3
        )  # longer than a request takes that does not wait for a lock
        return found

    monkeypatch.setattr(AssetStore, "find", and_meanwhile)
    await harness.worker.process_one()
    assert (await under_way[0]).status_code in (200, 204)
    assert (await harness.get(url))["status"] == "complete"
    asset = await harness.service.get(f"/api/v2/assets/{uid}/", headers=harness.headers)
    if method == "PATCH":
        assert (asset.json()["name"], asset.json()["version_count"]) == ("Another", 2)
    else:
        assert asset.status_code == 404


@pytest.mark.parametrize("if_exists", ["", "ask"])
async def test_owner_leaves_during_processing(
    harness: ImportHarness,
    if_exists: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await harness.send(xlsx(), if_exists=if_exists)
    parse, loop = runner.parse_in_sandbox, asyncio.get_running_loop()

    async def leave() -> None:
        with write_sql(harness.service, "accounts", "assets", "imports") as connection:
            connection.execute(users.delete().where(users.c.id != PUBLIC_USER_ID))

    def parse_and_leave(*arguments: Any) -> Any:
        asyncio.run_coroutine_threadsafe(leave(), loop).result(30)
        return parse(*arguments)

    monkeypatch.setattr(runner, "parse_in_sandbox", parse_and_leave)
    assert await harness.worker.process_one()
    assert [(each.levelname, each.exc_info) for each in caplog.records] == [("WARNING", None)]
    assert not await harness.worker.process_one()


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_of_two_equal_files_at_the_same_moment_one_is_a_question(
    harness: ImportHarness,
) -> None:
    urls = [await harness.send(xlsx(), if_exists="ask") for _ in range(2)]
    with write_sql(harness.service) as holder:
        holder.execute(select(users).with_for_update())  # until both workers want to write
        workers = (harness.worker, import_worker(harness.service))
        tasks = [asyncio.create_task(worker.process_one()) for worker in workers]
        await wait_for_locks(harness.service, tasks)
    assert await asyncio.gather(*tasks) == [True, True]
    assert sorted([(await harness.get(url))["status"] for url in urls]) == ["complete", "error"]


LIMITS = runner.SandboxLimits(memory_bytes=128 * 2**20, cpu_seconds=1)


@pytest.mark.parametrize(
    ("parse_function", "argument", "error_type"),
    [
        (failing_readers.exhaust_memory, 2**40, "too_large"),
        (failing_readers.loop_forever, b"", "too_large"),
        (failing_readers.crash, b"", "reader_crashed"),
        (failing_readers.raise_error, b"", "fault"),
    ],
)
async def test_sandbox_failures_are_explained(
    harness: ImportHarness,
    monkeypatch: pytest.MonkeyPatch,
    parse_function: Any,
    argument: Any,
    error_type: str,
) -> None:
    monkeypatch.setattr(
        runner,
        "parse_in_sandbox",
        lambda *_: runner.run_in_process(parse_function, (argument,), LIMITS),
    )
    messages = (await harness.import_workbook(xlsx()))["messages"]
    assert messages["error_type"] == error_type
    assert messages["error"].endswith(".")


@contextmanager
def busy_machine() -> Iterator[list[runner.SandboxLimits]]:
    """The sandbox process is stopped before it reads the file. Only a second of time by the clock is left to it.

    The list gets the limits that each process should have had.
    """
    limits = msgspec.structs.replace(LIMITS, grace_seconds=0)
    asked: list[runner.SandboxLimits] = []

    def stop(*arguments: Any) -> Any:
        asked.extend(
            argument for argument in arguments if isinstance(argument, runner.SandboxLimits)
        )
        return runner.run_in_process(failing_readers.get_no_processor_time, (b"",), limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "parse_in_sandbox", stop)
        patch.setattr(runner, "parse_content_in_sandbox", stop)
        patch.setattr(runner, "annotate_in_sandbox", stop)
        yield asked


async def test_import_is_tried_again_after_a_busy_time(harness: ImportHarness) -> None:
    url = await harness.send(xlsx())
    later = await harness.send(xlsx(), filename="later.xlsx")
    with busy_machine():
        assert await harness.worker.process_one()
    record = await harness.get(url)
    assert (record["status"], set(record["messages"])) == ("processing", {"updated", "waiting"})
    french = await harness.get(url, **{"Accept-Language": "fr"})
    assert french["messages"]["waiting"] != record["messages"]["waiting"]
    page = await harness.service.get(f"{url}?format=api", headers=harness.headers)
    assert record["messages"]["waiting"] in unescape(page.text)
    assert await harness.worker.process_one()
    assert (await harness.get(later))["status"] == "complete", "the next import does not wait"
    assert not await harness.worker.process_one(), "the first one does"
    end_leases(harness.service)
    assert await harness.worker.process_one()
    record = await harness.get(url)
    assert (record["status"], set(record["messages"])) == ("complete", {"updated", "created"})


async def test_busy_times_are_no_attempts(harness: ImportHarness) -> None:
    """Attempts end the worker, maybe. A machine that is busy longer than that is no reason to give up."""
    url = await harness.send(xlsx())
    with busy_machine():
        for _ in range(MAX_ATTEMPTS):
            assert await harness.worker.process_one()
            end_leases(harness.service)
    assert await harness.worker.process_one()
    assert (await harness.get(url))["status"] == "complete"


async def test_import_that_never_gets_processor_time_ends(harness: ImportHarness) -> None:
    """The file may be the reason why it waits. All tries together take a worker ten minutes at most."""
    url = await harness.send(xlsx())
    with busy_machine() as tries:
        while (await harness.get(url))["status"] == "processing":
            assert await harness.worker.process_one()
            end_leases(harness.service)
    record = await harness.get(url)
    assert (record["status"], record["messages"]["error_type"]) == ("error", "server_busy")
    assert "waiting" not in record["messages"]
    assert len(tries) > 1
    assert sum(limits.cpu_seconds + limits.grace_seconds for limits in tries) <= 10 * 60


async def test_import_outlives_its_fork_servers(harness: ImportHarness) -> None:
    with killing_fork_servers(2) as killed:
        assert (await harness.import_workbook(xlsx()))["status"] == "complete"
    assert len(killed) == 2


async def test_import_is_left_to_the_next_attempt_if_nothing_starts(
    harness: ImportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.imports.worker.MAX_STARTS", 1)
    url = await harness.send(xlsx())
    with killing_fork_servers(1):
        assert await harness.worker.process_one()
    assert (await harness.get(url))["status"] == "processing", "until its lease ends"


async def test_too_many_attempts_fail_the_import(harness: ImportHarness, database_url: str) -> None:
    url = await harness.send(xlsx())
    change_imports(harness.service, attempts=MAX_ATTEMPTS, lease="of a worker that died")
    end_leases(harness.service)
    await harness.worker.process_one()
    record = await harness.get(url)
    assert (record["status"], record["messages"]["error_type"]) == ("error", "gave_up")


async def test_lease_is_renewed_during_long_work(
    harness: ImportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await harness.send(xlsx())
    parse, renew, may_go_on = runner.parse_in_sandbox, ImportLeases.renew, threading.Event()
    renewals: list[Exception | None] = [ConnectionError("away"), None, None, None]
    left = list(renewals)

    def slowly(*arguments: Any) -> Any:
        assert may_go_on.wait(30)
        return parse(*arguments)

    async def renew_after_trouble(*arguments: Any) -> None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        await renew(*arguments)

    monkeypatch.setattr(runner, "parse_in_sandbox", slowly)
    monkeypatch.setattr(ImportLeases, "renew", renew_after_trouble)
    harness.worker._lease = timedelta(seconds=1.5)
    working = asyncio.create_task(harness.worker.process_one())
    async with asyncio.timeout(30):
        while left and not working.done():
            await asyncio.sleep(0.05)
    other = import_worker(harness.service)
    assert not await other.process_one(), "the first lease ran out long ago"
    may_go_on.set()
    assert await working
    assert (await harness.get(url))["status"] == "complete"
    assert not [task for task in asyncio.all_tasks() if "_renew_lease" in repr(task)]


@pytest.mark.parametrize(
    "book", [xlsx(), xlsx(survey=[["type", "name"], ["nonsense", "a"]])], ids=["good", "refused"]
)
async def test_result_is_retried_while_database_is_unavailable(
    harness: ImportHarness, book: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not count as an attempt: nothing is wrong with the file."""
    failures = ["away"] * (MAX_ATTEMPTS + 2)

    def fail(*arguments: Any) -> None:
        if failures and arguments[2].startswith("UPDATE imports") and "messages" in arguments[2]:
            raise ConnectionError(failures.pop())

    monkeypatch.setattr("fieldgate.imports.worker.RETRY_DELAY_SECONDS", 0.0)
    url = await harness.send(book)
    with _before_statements(fail):
        assert await harness.worker.process_one()
    assert not failures
    assert (await harness.get(url))["status"] in ("complete", "error")
    assert [row.attempts for row in all_imports(harness.service)] == [1]


async def test_stopping_worker_does_not_wait_for_database(harness: ImportHarness) -> None:
    url, stopping = await harness.send(xlsx()), asyncio.Event()
    loop = asyncio.get_running_loop()

    def fail(*arguments: Any) -> None:
        if arguments[2].startswith("UPDATE imports") and "messages" in arguments[2]:
            loop.call_soon_threadsafe(stopping.set)
            raise ConnectionError("away")

    with _before_statements(fail):
        async with asyncio.timeout(30):
            await harness.worker.run(stopping)
    assert (await harness.get(url))["status"] == "processing", "another worker will claim it"


@contextmanager
def _before_statements(call: Callable[..., None]) -> Iterator[None]:
    """Call a function before each statement of any engine: a database has one for short writes, too."""
    event.listen(Engine, "before_cursor_execute", call)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", call)


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_idle_worker_asks_postgresql_seldom(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look for new imports is a statement. Five looks are those of one second."""
    looks = 0
    query = DataVersions._query_postgres

    async def count(versions: DataVersions) -> dict[str, int]:
        nonlocal looks
        looks += 1
        return await query(versions)

    monkeypatch.setattr(DataVersions, "_query_postgres", count)
    database = AsyncDatabase(database_url)
    try:
        await ImportWorker(Settings(), database)._wait_for_work(asyncio.Event(), last_version=0)
    finally:
        await database.close()
    assert 0 < looks <= 6
