"""`POST /api/v2/imports/?dry_run=true`: the result of an import, of which nothing is stored."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from fieldgate import overload
from fieldgate.accounts.tables import users
from fieldgate.assets.tables import assets
from fieldgate.db import metadata
from fieldgate.db.tables import topic_versions
from fieldgate.imports.sandbox.request_sandbox import MAX_SANDBOX_PROCESSES, RequestSandbox
from tests.conftest import Service, StartService
from tests.data.accounts import create_token
from tests.data.sql import first_value, read_sql
from tests.imports.conftest import OpenHarness
from tests.imports.fake_host import ok_response, serve_fake_host
from tests.imports.hostile import external_entity, whitespace_bomb
from tests.imports.test_worker import LIBRARY, ImportHarness, busy_machine
from tests.imports.workbooks import SURVEY, Rows, xlsx
from tests.imports.xlsform.test_excerpt_builder import HOUSEHOLD

PATH = "/api/v2/imports/"
DRY_RUN = PATH + "?dry_run=true"
MEBIBYTE = 1024 * 1024
WARNED: Rows = (
    ("type", "name", "label"),
    ("begin_group", "a", "A"),
    ("text", "x", "X"),
    ("end_group", None, None),
    ("text", "x", "X"),
)
# What is imported first is a form "Visit"; {form} is its uid, {collection} that of a collection.
FORMS: dict[str, tuple[bytes, dict[str, str]]] = {
    "a form": (xlsx(), {}),
    "a name": (xlsx(), {"name": "Visit 2.xlsx"}),
    "a template": (xlsx(), {"desired_type": "template"}),
    "a block": (xlsx(), {"library": "true"}),
    "a question": (xlsx(survey=SURVEY[:2]), {"library": "true"}),
    "warnings": (xlsx(survey=WARNED), {}),
    "problems and warnings": (xlsx(**HOUSEHOLD), {}),
    "a library": (xlsx(library=LIBRARY), {"library": "true", "name": "Basics"}),
    "a library that was not asked for": (xlsx(library=LIBRARY), {}),
    "a new version": (xlsx(survey=WARNED), {"destination": "{form}"}),
    "a new version with problems": (xlsx(**HOUSEHOLD), {"assetUid": "{form}"}),
    "a library as a new version": (xlsx(library=LIBRARY), {"library": "true", "destination": "{form}"}),
    "a form that exists": (xlsx(), {"name": "Visit", "if_exists": "ask"}),
    "a form that does not exist": (xlsx(), {"name": "Other", "if_exists": "ask"}),
    "not a workbook inside": (b"PK\x03\x04 not a workbook", {}),
    "an entity outside": (external_entity(), {}),
    "a bomb": (whitespace_bomb(), {}),
}  # fmt: skip


async def check(
    harness: ImportHarness, book: bytes, *, path: str = DRY_RUN, **fields: str
) -> httpx.Response:
    files = {"file": ("household.xlsx", book)}
    return await harness.service.client.post(
        path, headers=harness.headers, files=files, data=fields
    )


async def stored(service: Service) -> dict[str, Any]:
    """The number of rows of each table, and the versions of the data."""
    with read_sql(service) as connection:
        found: dict[str, Any] = {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar()
            for table in metadata.sorted_tables
        }
        rows = connection.execute(select(topic_versions))
        return {**found, "versions": sorted(tuple(row) for row in rows)}


@pytest.fixture
async def harness(open_harness: OpenHarness) -> AsyncIterator[ImportHarness]:
    async with open_harness(import_memory=256 * MEBIBYTE, import_seconds=20) as harness:
        yield harness


@pytest.mark.parametrize("name", FORMS)
async def test_result_is_that_of_the_import_and_nothing_is_stored(
    harness: ImportHarness, name: str
) -> None:
    book, fields = FORMS[name]
    form = await harness.asset(await harness.import_workbook(xlsx(), name="Visit"))
    fields = {field: text.replace("{form}", form["uid"]) for field, text in fields.items()}
    before = await stored(harness.service)
    response = await check(harness, book, **fields)
    assert await stored(harness.service) == before
    assert response.status_code == 200, response.text
    assert "Location" not in response.headers
    preview = response.json()
    record = await harness.import_workbook(book, **fields)
    for created in record["messages"].get("created", ()):
        created["uid"] = None
    assert (preview["dry_run"], preview["status"]) == (True, record["status"])
    assert preview["messages"] == record["messages"]
    assert preview["sheets"] == (await harness.get(record["url"] + "rows/"))["sheets"]


async def test_ways_to_send_and_languages(start: StartService) -> None:
    encoded = {
        "base64Encoded": base64.b64encode(xlsx(**HOUSEHOLD)).decode(),
        "name": "household.xlsx",
    }
    async with serve_fake_host() as host, start(fetcher=host.fetcher()) as service:
        host.responses["/household.xlsx"] = ok_response(xlsx(**HOUSEHOLD))
        headers = {
            "Authorization": f"Token {await service.create_token()}",
            "Accept-Language": "fr",
        }
        found = []
        bodies: list[dict[str, Any]] = [
            {"json": encoded},
            {"data": encoded},
            {"json": {"url": host.url()}},
        ]
        for body in bodies:
            found.append(await service.client.post(PATH + "?dry_run", headers=headers, **body))
        [first, *others] = [each.json() for each in found]
        assert [each.status_code for each in found] == [200] * 3
        assert others == [first, first]
        assert "n'est pas" in first["messages"]["problems"][0]["message"].replace("’", "'")
        refused = await service.client.post(
            DRY_RUN, headers=headers, json={"url": "http://127.0.0.1/x.xlsx"}
        )
        assert (refused.status_code, list(refused.json())) == (400, ["url"])
        assert (await service.get(PATH, headers=headers)).json()["count"] == 0


async def test_errors_are_those_of_an_import(harness: ImportHarness) -> None:
    """In one row: what is sent, with whose token; the response of both requests is the same."""
    service = harness.service
    collection = (await harness.import_workbook(xlsx(library=LIBRARY), library="true"))["messages"][
        "created"
    ][0]
    form = await harness.asset(await harness.import_workbook(xlsx()))
    other = {"Authorization": f"Token {await service.create_token()}"}
    book, text = {"file": ("a.xlsx", xlsx())}, {"file": ("a.txt", b"text")}
    cases: list[tuple[int, dict[str, Any]]] = [
        (401, {"files": book}),
        (401, {"files": book, "headers": {"Authorization": "Token wrong"}}),
        (400, {"headers": harness.headers}),
        (400, {"files": text, "headers": harness.headers}),
        (400, {"files": book, "data": {"name": "x" * 256}, "headers": harness.headers}),
        (400, {"files": book, "data": {"desired_type": "form"}, "headers": harness.headers}),
        (400, {"files": book, "data": {"destination": "x"}, "headers": harness.headers}),
        (
            400,
            {"files": book, "data": {"destination": collection["uid"]}, "headers": harness.headers},
        ),
        (404, {"files": book, "data": {"destination": form["uid"]}, "headers": other}),
        (400, {"files": book, "headers": {**harness.headers, "Idempotency-Key": "x" * 256}}),
        (400, {"json": {"base64Encoded": "!"}, "headers": harness.headers}),
    ]
    for status, sent in cases:
        refused = [await service.client.post(path, **sent) for path in (PATH, DRY_RUN)]
        assert [each.status_code for each in refused] == [status] * 2, sent
        assert refused[0].json() == refused[1].json()
    misspelt = await check(harness, xlsx(), path=PATH + "?dryrun=true")
    assert (misspelt.status_code, list(misspelt.json())) == (400, ["dryrun"])


async def test_tokens_need_what_an_import_needs(harness: ImportHarness) -> None:
    service = harness.service
    form = await harness.asset(await harness.import_workbook(xlsx()))
    owner = first_value(service, select(assets.c.owner_id))
    limits: dict[str, dict[str, Any]] = {
        "read only": {"scopes": ["read"]},
        "this form": {"assets": [form["uid"]]},
    }
    allowed = {}
    for name, each in limits.items():
        token = create_token(service, owner, **each)
        limited = ImportHarness(service, {"Authorization": f"Token {token}"}, harness.worker)
        allowed[name] = (
            (await check(limited, xlsx())).status_code,
            (await check(limited, xlsx(), destination=form["uid"])).status_code,
        )
    assert allowed == {"read only": (403, 403), "this form": (403, 200)}


async def test_quota_counts_and_the_queue_and_the_key_do_not(open_harness: OpenHarness) -> None:
    async with open_harness(max_queued_imports=1) as harness:
        harness.headers["Idempotency-Key"] = "one"
        await harness.send(xlsx())
        assert (await check(harness, xlsx())).status_code == 200
        assert (await check(harness, xlsx(**HOUSEHOLD))).json()["status"] == "error"
    async with open_harness(max_storage_per_user=1) as harness:
        assert (
            (await check(harness, xlsx())).status_code
            == (await check(harness, xlsx(), path=PATH)).status_code
            == 413
        )


@asynccontextmanager
async def held_slot(service: Service, caller: int) -> AsyncIterator[None]:
    """Another check of this caller is in work."""
    sandbox = service.app.app_context.services[RequestSandbox]
    assert isinstance(sandbox, RequestSandbox)
    async with sandbox.slot(caller):
        yield


async def test_one_check_of_a_caller_at_a_time(
    harness: ImportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = first_value(harness.service, select(func.max(users.c.id)))
    other = ImportHarness(
        harness.service,
        {"Authorization": f"Token {await harness.service.create_token()}"},
        harness.worker,
    )
    async with held_slot(harness.service, caller):
        waiting = asyncio.create_task(check(harness, xlsx()))
        assert (await check(other, xlsx())).status_code == 200
        assert not waiting.done()
    assert (await waiting).status_code == 200
    monkeypatch.setattr(overload, "WAIT_SECONDS", 0.01)
    async with held_slot(harness.service, caller):
        refused = await check(harness, xlsx())
        assert (await check(other, xlsx())).status_code == 200
    assert (refused.status_code, refused.json()["detail"][:30]) == (
        503,
        "Too many forms are being check",
    )
    assert int(refused.headers["Retry-After"]) > 0


async def test_full_sandbox(harness: ImportHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "WAIT_SECONDS", 0.01)
    assert MAX_SANDBOX_PROCESSES == 2
    async with held_slot(harness.service, -1), held_slot(harness.service, -2):
        refused = await check(harness, xlsx())
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0
    assert (await check(harness, xlsx())).status_code == 200


async def test_checks_leave_a_slot_to_forms_that_are_saved(
    harness: ImportHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check can take as long as the sandbox allows, with a small file, too."""
    monkeypatch.setattr(overload, "WAIT_SECONDS", 0.01)
    sandbox = harness.service.app.app_context.services[RequestSandbox]
    assert isinstance(sandbox, RequestSandbox)
    form = {
        "name": "A",
        "content": {
            "survey": [{"type": "text", "name": "a", "label": ["A"]}],
            "translations": [None],
        },
    }
    async with sandbox.slot(-1, is_long=True):
        assert (await check(harness, xlsx())).status_code == 503
        saved = await harness.service.request(
            "POST", "/api/v2/assets/", json=form, headers=harness.headers
        )
    assert saved.status_code == 201, saved.text


async def test_flood_of_one_caller(harness: ImportHarness) -> None:
    """Few wait, the rest are refused at once, and every response is one of these two."""
    responses = await asyncio.gather(*(check(harness, xlsx()) for _ in range(30)))
    statuses = [each.status_code for each in responses]
    assert set(statuses) == {200, 503}
    assert (await check(harness, xlsx())).status_code == 200


async def test_options_say_that_a_dry_run_is_possible(service: Service) -> None:
    assert (await service.request("OPTIONS", PATH)).json()["dry_run"] == ["POST"]
    assert "dry_run" not in (await service.request("OPTIONS", "/api/v2/permissions/")).json()


async def test_requests_are_asked_to_come_back_after_a_busy_time(harness: ImportHarness) -> None:
    """The clock says nothing about the form: nothing is refused, and nothing is stored."""
    refused = await harness.import_workbook(xlsx(**HOUSEHOLD))
    content = {"content": {"survey": [{"type": "text", "name": "a", "label": "A"}]}}
    before = await stored(harness.service)
    with busy_machine():
        responses = [
            await check(harness, xlsx()),
            await harness.service.client.post(
                "/api/v2/assets/", headers=harness.headers, json=content
            ),
            await harness.service.get(f"{refused['url']}annotated.xlsx", headers=harness.headers),
        ]
    for response in responses:
        assert (response.status_code, response.headers["Retry-After"]) == (503, "60")
        assert "busy" in response.json()["detail"]
    assert await stored(harness.service) == before
