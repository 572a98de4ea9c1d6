"""Lists of a thousand users take as many statements as lists of ten."""

from contextvars import ContextVar
from typing import Any

import pytest
from sqlalchemy import event

from fieldgate.accounts.tables import users
from fieldgate.db import Database, insert_rows
from tests.assets.sharing.sharing_team import BATCH_PATH, SharingTeam, last_segment, user_url

USERS = 1000

_in_request: ContextVar[bool] = ContextVar("in_request", default=False)


@pytest.fixture
async def bulk_users(team: SharingTeam) -> list[str]:
    names = [f"u{index:04}" for index in range(USERS)]
    rows = [
        {
            "username": name, "username_key": name, "password_hash": "", "first_name": "", "last_name": "",
            "is_superuser": False, "is_ifrc": False, "is_demo": False, "countries": "[]", "created_at": 0,
        }
        for name in names
    ]  # fmt: skip
    async with team.service.database.transaction() as connection:
        await insert_rows(connection, users, rows)
    return names


class StatementCounter:
    """Counts the statements of requests on PostgreSQL; on SQLite, another engine writes.

    The service's own tasks started before and are not in the context of a request.
    """

    def __init__(self, team: SharingTeam) -> None:
        database = team.service.app.app_context.services[Database]
        assert isinstance(database, Database)
        self.count = 0
        event.listen(database._engine.sync_engine, "before_cursor_execute", self.note)

    def note(self, *_: Any) -> None:
        self.count += _in_request.get()

    async def of(self, answer: Any) -> tuple[Any, int]:
        before = self.count
        token = _in_request.set(True)
        try:
            given = await answer
        finally:
            _in_request.reset(token)
        assert given.status_code == 200, given.text[:500]
        return given.json(), self.count - before


async def test_statement_count_is_independent_of_user_count(team: SharingTeam, bulk_users: list[str]) -> None:
    uid, small = await team.create_asset(), await team.create_asset()
    counter = StatementCounter(team)

    def listed(names: list[str], permission: str) -> list[dict[str, str]]:
        return [{"user": user_url(name), "permission": permission} for name in names]

    for permission, rows in (("manage_asset", 8), ("view_asset", 1), ("change_submissions", 4)):
        _, few = await counter.of(
            team.request_assignments(small, "owner", "POST", "bulk/", json=listed(bulk_users[:10], permission))
        )
        reported, many = await counter.of(
            team.request_assignments(uid, "owner", "POST", "bulk/", json=listed(bulk_users, permission))
        )
        assert len(reported) == USERS * rows + 8
        assert many <= few + 2 < 20, "the last use of the token may be recorded in between"
        assert reported == await team.list_assignments(uid)
    table = (await team.request_assignments(uid, "owner", "GET", "csv/")).content
    reported, many = await counter.of(
        team.request_assignments(uid, "owner", "POST", "csv/?mode=remove", files={"file": ("x.csv", table)})
    )
    assert reported["counts"] == {"removed": USERS * 4}
    assert many < 20
    body = {"assets": [uid, small], "users": bulk_users, "permissions": ["add_submissions"]}
    reported, many = await counter.of(team.request("owner", "POST", f"{BATCH_PATH}add/", json=body))
    assert reported["counts"]["granted"] == USERS + USERS - 10
    assert many < 20
    assert {last_segment(row["user"]) for row in await team.list_assignments(uid)} == {"owner", *bulk_users}
    reported, few = await counter.of(team.request("owner", "GET", f"/api/v2/assets/{uid}/"))
    assert reported["permissions"] == await team.list_assignments(uid)
    assert few <= 8, "the caller is looked up once"
    dry, _ = await counter.of(team.request_assignments(uid, "owner", "POST", "bulk/?dry_run=true", json=[]))
    assert dry["counts"] == {"removed": USERS}


async def test_effects_are_limited(team: SharingTeam, bulk_users: list[str]) -> None:
    uids = [await team.create_asset() for _ in range(2)]
    body = {"assets": uids, "users": bulk_users, "permissions": ["manage_asset"]}
    reported = (await team.request("owner", "POST", f"{BATCH_PATH}add/?dry_run=true", json=body)).json()
    assert (reported["counts"], len(reported["effects"]), len(reported["result"])) == (
        {"granted": 16_000},
        10_000,
        2_000,
    )
