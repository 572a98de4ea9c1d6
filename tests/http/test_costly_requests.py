"""Pages and large lists: what they cost of a rate limit, and that callers take turns."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import select

from fieldgate.accounts.tables import users
from fieldgate.assets.sharing import review_files
from fieldgate.assets.sharing.routes import review_routes
from fieldgate.errors import RequestTimeout
from fieldgate.http.disconnects import wait_for_disconnect
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.overload import Slots
from fieldgate.settings import RateQuota
from tests.conftest import Service, StartService
from tests.data.sql import all_rows
from tests.events.export.test_exporter import asgi_scope

PERMISSIONS = "/api/v2/permissions/"
HTML = {"Accept": "text/html"}
HUNDRED = RateQuota(100, 86_400)  # a window so long that nothing comes back during a test


async def count_admitted(
    service: Service, query: str, headers: dict[str, str], path: str = PERMISSIONS
) -> int:
    """How many requests a full quota is enough for."""
    statuses = Counter[int]()
    while 429 not in statuses:
        statuses[(await service.get(path + query, headers=headers)).status_code] += 1
    assert len(statuses) == 2, statuses
    return statuses.total() - 1


@pytest.mark.parametrize(
    ("query", "headers", "admitted"),
    [
        ("", {}, 100),
        ("?limit=100", {}, 100),
        ("?limit=1000", {}, 20),  # 1 + 1000 / 250
        ("?limit=1000&unknown=1", {}, 20),
        ("", HTML, 6),  # 1 + 10 + 50 / 10
        ("?format=api&limit=10", {}, 8),  # 1 + 10 + 10 / 10
        ("?limit=890", HTML, 1),
        ("", {**HTML, "If-None-Match": '"other"'}, 6),
    ],
)
async def test_costs(
    start: StartService, query: str, headers: dict[str, str], admitted: int
) -> None:
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, headers) == admitted


@pytest.mark.parametrize(
    ("query", "admitted"),
    [
        ("?ordering=-num_affected,id", 100),
        ("?search=one two three four five", 100),
        ("?ordering=id,-name", 9),  # 1 + 10
        ("?search=one two three four five six", 9),
    ],
)
async def test_filters_that_take_long_cost_more(
    start: StartService, query: str, admitted: int
) -> None:
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, {}, "/api/v2/event/") == admitted


@pytest.mark.parametrize(
    ("query", "accept", "admitted"), [("?limit=1000", "*/*", 191), ("", "text/html", 6)]
)
async def test_costs_of_unchanged_responses(
    start: StartService, query: str, accept: str, admitted: int
) -> None:
    """Only where it saves work: the ETag of a page is known when the page is there, and the first list is made."""
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        headers = {"Accept": accept}
        etag = (await service.get(PERMISSIONS + query, headers=headers)).headers["ETag"]
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        assert await count_admitted(service, query, {**headers, "If-None-Match": etag}) == admitted


@pytest.mark.parametrize(
    "path", ["/login/", "/api-docs/swagger-ui/", "/invitation/unknown/", "/language/fr/"]
)
async def test_pages_without_records_cost_one_request_and_need_no_turn(
    start: StartService, path: str
) -> None:
    async with start(address_read_rate=RateQuota(3, 3600), rate_limit_exempt=()) as service:
        service.app.app_context.overload.costly = Slots(0, 1, wait_seconds=0)
        assert await count_admitted(service, "", HTML, path) == 3


@pytest.mark.parametrize(("limit", "admitted"), [(1000, 20), (50, 100)])
async def test_a_condition_does_not_reduce_the_cost_of_responses_that_are_made(
    start: StartService, limit: int, admitted: int
) -> None:
    """Each request is for another page of the list, so none is in the cache."""
    headers = {"If-None-Match": "*"}
    async with start(address_read_rate=HUNDRED, rate_limit_exempt=()) as service:
        statuses = Counter[int]()
        while 429 not in statuses:
            path = f"/api/v2/event/?limit={limit}&offset={statuses.total()}"
            statuses[(await service.get(path, headers=headers)).status_code] += 1
        assert statuses == {304: admitted, 429: 1}


async def test_an_unchanged_page_without_records_costs_one_request(start: StartService) -> None:
    async with start(address_read_rate=RateQuota(3, 3600), rate_limit_exempt=()) as service:
        assert await count_admitted(service, "", {**HTML, "If-None-Match": "*"}, "/login/") == 3


REVIEW = "/api/v2/permission-assignments/"
COSTLY_PATHS = [
    REVIEW,
    f"{REVIEW}?format=csv",
    f"{REVIEW}?format=xlsx",
    "/api/v2/audit-logs/",
    "/api/v2/audit-logs/?format=ndjson",
    "/api/v2/access-logs/",
    "/api/v2/access-logs/me/?format=csv",
    "/api/v2/project-history-logs/",
    "/api/v2/event/summary/",
    "/api/v2/assets/{uid}/history/",
    "/api/v2/assets/{uid}/history/actions/",
    "/api/v2/assets/{uid}/permission-assignments/csv/",
    "/api/v2/assets/{uid}/questions/",
    "/api/v2/assets/{uid}/versions/{version}/",
    "/api/v2/assets/{uid}/versions/{version}/diff/",
    "/api/v2/assets/{uid}/xform/",
    "/api/v2/assets/{uid}.xml",
]


async def test_reads_that_grow_with_stored_data_cost_more_and_take_turns(
    start: StartService,
) -> None:
    async with start(read_rate=RateQuota(1_000_000, 86_400 * 365), rate_limit_exempt=()) as service:
        boss = {
            "Authorization": f"Token {await service.create_token(username='boss', is_superuser=True)}"
        }
        content = {
            "survey": [{"type": "text", "name": "q1", "label": ["Name?"]}],
            "translations": [None],
        }
        body = {"name": "Visit", "asset_type": "survey", "content": content}
        asset = (await service.request("POST", "/api/v2/assets/", headers=boss, json=body)).json()
        paths = [
            path.format(uid=asset["uid"], version=asset["version_id"]) for path in COSTLY_PATHS
        ]

        async def quota_left(path: str) -> int:
            answer = await service.get(path, headers=boss)
            assert answer.status_code == 200, (path, answer.text)
            return int(answer.headers["RateLimit"].split(";r=")[1].split(";")[0])

        for path in paths:
            assert await quota_left(PERMISSIONS) - await quota_left(path) == 11, path
        service.app.app_context.overload.costly = Slots(0, 1, wait_seconds=0)
        refused = {path: (await service.get(path, headers=boss)).status_code for path in paths}
        assert refused == {
            path: 200 if path == "/api/v2/event/summary/" else 503 for path in paths
        }, "one is kept"


async def test_a_costly_read_ends_when_its_client_leaves(start: StartService) -> None:
    has_begun = asyncio.Event()
    ends: list[str] = []

    async def handler() -> dict[str, str]:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("cancelled")
        return {}

    async def receive() -> dict[str, object]:
        await has_begun.wait()
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        pass

    routes = Routes(tag="x", scope=Scope.NONE)
    operation = routes.get(
        "/slow/",
        title=Message("x"),
        description=Message("x"),
        response=dict[str, str],
        is_costly=True,
    )(handler)
    async with start(operation) as service, asyncio.timeout(60):
        await service.app(asgi_scope("/slow/", b""), receive, send)
        assert ends == ["cancelled"]
        assert not service.app.app_context.overload.costly._held


async def test_the_file_of_a_review_is_not_made_for_a_client_that_left(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr(
        review_files.ReviewWorkbook, "complete", lambda workbook: made.append(workbook)
    )
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        sent.append(message)

    async with start() as service:
        token = await service.create_token()
        scope = asgi_scope(REVIEW, b"format=xlsx")
        scope["headers"].append((b"authorization", f"Token {token}".encode()))
        await service.app(scope, receive, send)
        assert not made
        assert sent[0]["status"] == 408
        assert not service.app.app_context.overload.exports._user_slots._held


async def test_an_export_waits_outside_the_turns_of_costly_reads(start: StartService) -> None:
    """Four users whose exports wait must not keep everybody from pages."""
    async with start() as service:
        token = await service.create_token(username="reviewer")
        [user] = all_rows(service, select(users.c.id).where(users.c.username == "reviewer"))
        overload = service.app.app_context.overload
        slots = overload.exports._user_slots
        async with slots.slot(user.id), slots.slot(user.id):
            headers = {"Authorization": f"Token {token}"}
            file = asyncio.create_task(service.get(f"{REVIEW}?format=csv", headers=headers))
            async with asyncio.timeout(60):
                while not slots._waiting:
                    await asyncio.sleep(0)
            assert not overload.costly._held
        assert (await file).status_code == 200


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
async def test_a_file_of_too_many_rows_is_refused_and_not_cut(
    start: StartService, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(review_routes, "MAX_FILE_ROWS", 2)
    async with start() as service:
        owner = {"Authorization": f"Token {await service.create_token(username='owner')}"}
        asset = (
            await service.request("POST", "/api/v2/assets/", headers=owner, json={"name": "Visit"})
        ).json()
        path = f"/api/v2/assets/{asset['uid']}/permission-assignments/"
        statuses = []
        for name in ("ann", "bob", "cyd"):
            await service.create_user(name)
            body = {"user": name, "permission": "view_asset"}
            assert (
                await service.request("POST", path, headers=owner, json=body)
            ).status_code == 201
            statuses.append(
                (await service.get(f"{REVIEW}?format={kind}", headers=owner)).status_code
            )
        assert statuses == [200, 200, 400]


async def test_a_body_that_does_not_come_is_no_disconnect() -> None:
    """The client may be there, and read the response."""

    async def receive() -> dict[str, object]:
        raise RequestTimeout

    waiting = asyncio.create_task(wait_for_disconnect(receive))
    await asyncio.wait([waiting], timeout=0.01)
    assert not waiting.done()
    waiting.cancel()


async def test_large_bodies_take_turns_and_cost_more(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0)
    async with start(write_rate=HUNDRED, rate_limit_exempt=()) as service:
        one, other = [
            {"Authorization": f"Token {await service.create_token(username=name)}"}
            for name in ("a", "b")
        ]
        notes = [
            {"type": "note", "name": f"q{number}", "label": ["x" * 16 * 1024]}
            for number in range(64)
        ]
        content = {"survey": notes, "translations": [None]}
        body = {"name": "Visit", "asset_type": "survey", "content": content}
        created = await service.request("POST", "/api/v2/assets/", headers=one, json=body)
        assert (created.status_code, created.headers["RateLimit"].split(";")[1]) == (
            201,
            "r=94",
        )  # 1 + 1 MiB / 256 KiB
        [holder] = all_rows(service, select(users.c.id).where(users.c.username == "a"))
        slots = service.app.app_context.overload.large_bodies
        async with slots.slot(holder.id), slots.slot(holder.id):
            assert (
                await service.request("POST", "/api/v2/assets/", headers=one, json=body)
            ).status_code == 503
            assert (
                await service.request(
                    "POST", "/api/v2/assets/", headers=one, json={"name": "Small"}
                )
            ).status_code == 201
            assert (
                await service.request("POST", "/api/v2/assets/", headers=other, json=body)
            ).status_code == 201
