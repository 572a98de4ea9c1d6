"""The log over HTTP: who sees which entries, searches, formats, and what hostile callers try."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from datetime import timedelta

import msgspec
import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets
from fieldgate.db import now
from fieldgate.db.log import log
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import LOOPBACK
from tests.accounts.logged_world import LoggedWorld
from tests.conftest import StartService
from tests.data.accounts import PASSWORD
from tests.data.sql import read_sql, write_sql

AUDIT, ACCESS, OWN = "/api/v2/audit-logs/", "/api/v2/access-logs/", "/api/v2/access-logs/me/"
PROJECTS = "/api/v2/project-history-logs/"
LISTS = (AUDIT, ACCESS, OWN, PROJECTS)


@pytest.fixture
async def logged(start: StartService, database_url: str) -> AsyncIterator[LoggedWorld]:
    async with start(database_url=database_url) as service:
        world = LoggedWorld(service)
        await world.set_up()
        yield world


async def test_superusers_see_everything(logged: LoggedWorld) -> None:
    everything = await logged.read(AUDIT, limit="1000")
    with read_sql(logged.service) as connection:
        rows = connection.execute(select(log).order_by(log.c.id.desc())).all()
    assert everything["count"] == len(rows) == len(everything["results"])
    shown = [
        (each["action"], each["log_type"], each["model_name"]) for each in everything["results"]
    ]
    assert shown == [(row.action, row.log_type, row.model_name) for row in rows]
    page = await logged.read(AUDIT, limit="2", offset="1")
    assert page["results"] == everything["results"][1:3]
    assert await logged.actions(PROJECTS) == ["modify-user-permissions"] * 2 + [
        "update-name",
        "create",
    ]
    assert [
        (each["action"], each["username"], each["count"])
        for each in (await logged.read(ACCESS))["results"]
    ] == [
        ("auth-failed", "bob", 1),
        ("auth", "bob", 1),
        ("auth", "amina", 1),
    ]


async def test_record_has_the_keys_of_kobotoolbox(logged: LoggedWorld) -> None:
    given, _, renamed, created = (await logged.read(PROJECTS))["results"]
    assert {"user", "user_uid", "username", "action", "metadata", "date_created"} == set(given)
    assert (given["user"], given["username"]) == (
        "http://127.0.0.1:8000/api/v2/users/amina/",
        "amina",
    )
    assert len(given["date_created"]) == len("2026-11-15T08:30:00Z")
    metadata = given["metadata"]
    assert metadata["permissions"] == {"username": "zoe", "added": ["view_asset"], "removed": []}
    assert (metadata["log_subtype"], metadata["project_owner"]) == ("permission", "amina")
    assert (metadata["ip_address"], metadata["source"]) == ("127.0.0.1", "Browser of Amina")
    assert renamed["metadata"]["name"] == {"old": "Survey", "new": "=cmd|' /C calc'!A0"}
    assert (created["metadata"]["log_subtype"], created["metadata"]["asset_uid"]) == (
        "project",
        logged.path[15:-1],
    )
    failed = (await logged.read(ACCESS))["results"][0]
    assert (failed["user"], failed["user_uid"], failed["metadata"]["attempted_username"]) == (
        None,
        "",
        "bob",
    )


async def test_managers_see_the_history_of_a_form_without_addresses(logged: LoggedWorld) -> None:
    path = f"{logged.path}history/"
    found = await logged.read(path, "bob")
    assert found["count"] == 4
    for each in found["results"]:
        assert {
            each["metadata"][name] for name in ("ip_address", "source", "credential", "request_id")
        } == {None}
    assert "127.0.0.1" not in json.dumps([each["metadata"] for each in found["results"]])
    assert (await logged.read(path))["results"][0]["metadata"]["ip_address"] == "127.0.0.1"
    actions = ["create", "modify-user-permissions", "update-name"]
    assert await logged.read(f"{path}actions/", "bob") == {"actions": actions}
    assert await logged.actions(path, "bob", q="action:update-name") == ["update-name"]
    # People who do not see an address cannot search for it either.
    await logged.read(path, "bob", 400, q="metadata__ip_address:127.0.0.1")
    for end in ("", "actions/"):
        await logged.read(path + end, "zoe", 403)
        await logged.read(path + end, "", 401)


async def test_other_people_see_their_own_logins_only(logged: LoggedWorld) -> None:
    own = await logged.read(OWN, "bob")
    assert [(each["username"], each["action"]) for each in own["results"]] == [("bob", "auth")]
    assert await logged.actions(OWN, "zoe", q="username:amina OR NOT username:amina") == []
    for path in (AUDIT, ACCESS, PROJECTS):
        await logged.read(path, "amina", 403)
        await logged.read(path, "amina", 403, q="username:amina")
        await logged.read(path, "", 401)


SEARCHES = {
    "action:update-name": 1,
    "action:auth OR action:auth-failed": 3,
    "username:bob": 3,
    "username:amina AND NOT action:auth AND log_type:project-history": 4,
    "metadata__ip_address:127.0.0.1 action:create model_name:asset": 1,
    "metadata__asset_uid:nothing": 0,
    "action:create date_created__gte:2100-01-01": 0,
    "action:update-name date_created__gt:2020-01-01 date_created__lt:2100-01-01T00:00:00Z": 1,
    'action:"\' OR 1=1 --"': 0,
    "action:update%": 0,
}
INVALID = (
    "password_hash:x",
    "metadata__source:x",
    "word",
    "date_created__gte:never",
    "action:",
    "(" * 11 + "a",
    "id:\0",
)


async def test_search(logged: LoggedWorld) -> None:
    for search, count in SEARCHES.items():
        found = await logged.read(AUDIT, q=search)
        assert (found["count"], len(found["results"])) == (count, count), search
    for search in INVALID:
        for path in LISTS:
            assert list(await logged.read(path, status=400, q=search)) == ["q"]


async def test_csv_and_ndjson(logged: LoggedWorld) -> None:
    """Names that look like formulas are text in a spreadsheet."""
    table = list(csv.DictReader(io.StringIO(await logged.read(PROJECTS, format="csv"))))
    assert [row["action"] for row in table] == await logged.actions(PROJECTS)
    renamed = table[0]
    assert renamed["asset_name"] == "'=cmd|' /C calc'!A0"
    assert (renamed["ip_address"], json.loads(renamed["details"])["log_subtype"]) == (
        "127.0.0.1",
        "permission",
    )
    lines = [
        json.loads(line) for line in (await logged.read(PROJECTS, format="ndjson")).splitlines()
    ]
    assert lines == (await logged.read(PROJECTS))["results"]
    assert (await logged.read(ACCESS, format="csv")).count("\r\n") == 4


async def test_nobody_changes_the_log(logged: LoggedWorld) -> None:
    before = (await logged.read(AUDIT))["count"]
    for path in (*LISTS, f"{logged.path}history/", f"{logged.path}history/actions/"):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            answer = await logged.service.request(
                method, path, headers=logged.root.headers, json={"action": "create"}
            )
            assert answer.status_code == 405, path
    assert (await logged.read(AUDIT))["count"] == before


FORGED = (
    {"User-Agent": "a\tb\x7f" + "x" * 7000},
    {"X-Forwarded-For": "1.2.3.4, 5.6.7.8"},
    {"X-Request-Id": "' OR 1=1"},
    {"User-Agent": "é<script>"},
)


async def test_headers_cannot_forge_an_entry(logged: LoggedWorld) -> None:
    for number, forged in enumerate(FORGED):
        headers = {**logged.amina.headers, **forged}
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        body = {"name": f"Survey {number}"}
        answer = await logged.service.client.patch(logged.path, headers=encoded, json=body)
        assert answer.status_code == 200
        metadata = (await logged.read(PROJECTS, limit="1"))["results"][0]["metadata"]
        assert (metadata["ip_address"], metadata["request_id"]) == (
            "127.0.0.1",
            answer.headers["x-request-id"],
        )
        assert len(metadata["source"]) <= 200
        assert metadata["source"].isprintable()


async def test_a_login_from_a_second_address_in_the_same_minute_is_in_the_log(
    start: StartService, database_url: str
) -> None:
    """Somebody who stole a password logs in while its user does."""
    networks = ["192.0.2.1", "198.51.100.66", "2001:db8:0:1::7", "2001:db8:0:2::7"]
    async with start(database_url=database_url, trusted_proxies=LOOPBACK) as service:
        root = {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}
        username, _ = await service.create_user()
        for address in (*networks, "2001:db8:0:1::8"):
            headers = {"X-Forwarded-For": address, "User-Agent": f"program at {address}"}
            body = {"username": username, "password": PASSWORD}
            answer = await service.request("POST", "/get_auth_token", json=body, headers=headers)
            assert answer.status_code == 200
        logins = (await service.get(ACCESS, headers=root, params={"q": "action:auth"})).json()[
            "results"
        ]
    places = {(login["metadata"]["ip_address"], login["metadata"]["source"]) for login in logins}
    assert {(address, f"program at {address}") for address in networks} <= places
    assert sum(login["count"] for login in logins) == 5


async def test_names_of_settings_are_cut(logged: LoggedWorld) -> None:
    """People choose them: an entry is not a place to store files."""
    settings = {f"{number:02}{'x' * 1000}": 1 for number in range(30)}
    await logged.send("PATCH", logged.path, json={"settings": settings})
    [changed] = (await logged.read(PROJECTS, q="action:update-settings"))["results"]
    assert changed["metadata"]["settings"] == [f"{number:02}{'x' * 48}" for number in range(20)]


async def test_history_outlives_users_and_forms(logged: LoggedWorld) -> None:
    with write_sql(logged.service) as connection:
        connection.execute(assets.delete())
    found = (await logged.read(PROJECTS, q=f"metadata__asset_uid:{logged.path[15:-1]}"))["results"]
    assert [each["metadata"]["asset_name"] for each in found][-1] == "Survey"


@pytest.mark.parametrize(("days", "is_kept"), [(30, False), (200, True), (0, True)])
async def test_workers_delete_old_entries(logged: LoggedWorld, days: int, is_kept: bool) -> None:
    database, stopping = logged.service.database, asyncio.Event()
    with write_sql(logged.service) as connection:
        renamed = log.update().where(log.c.action == "update-name")
        connection.execute(renamed.values(made_at=now() - timedelta(days=100)))
        # Entries are deleted from the oldest on.
        connection.execute(
            log.update().values(id=log.c.id + 1000).where(log.c.action != "update-name")
        )
    settings = msgspec.structs.replace(logged.service.app.app_context.settings, log_days=days)

    def stop_soon() -> None:
        asyncio.get_running_loop().call_soon(stopping.set)

    await ImportWorker(settings, database).run(stopping, stop_soon)
    assert await logged.actions(AUDIT, q="action:update-name") == ["update-name"] * is_kept
    assert len(await logged.actions(AUDIT, q="action:create model_name:asset")) == 1
