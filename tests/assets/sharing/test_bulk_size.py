"""Lists of a thousand users: as many statements as for ten, and nobody else waits."""

from typing import Any

import pytest
from sqlalchemy import event

from fieldgate.accounts.tables import users
from fieldgate.db import Database, insert_rows
from tests.assets.sharing.sharing_team import MANY, Team, last, user_url

USERS = 1000


@pytest.fixture
async def crowd(team: Team) -> list[str]:
    names = [f"u{number:04}" for number in range(USERS)]
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


class Counted:
    """Counts the statements of the service."""

    def __init__(self, team: Team) -> None:
        database = team.service.app.site.services[Database]
        self.count = 0
        event.listen(database._engine.sync_engine, "before_cursor_execute", self.note)

    def note(self, *_: Any) -> None:
        self.count += 1

    async def of(self, answer: Any) -> tuple[Any, int]:
        before = self.count
        given = await answer
        assert given.status_code == 200, given.text[:500]
        return given.json(), self.count - before


async def test_a_thousand_users_cost_no_more_statements_than_ten(team: Team, crowd: list[str]) -> None:
    uid, small = await team.asset(), await team.asset()
    counted = Counted(team)

    def listed(names: list[str], permission: str) -> list[dict[str, str]]:
        return [{"user": user_url(name), "permission": permission} for name in names]

    for permission, rows in (("manage_asset", 8), ("view_asset", 1), ("change_submissions", 4)):
        _, few = await counted.of(team.on(small, "owner", "POST", "bulk/", json=listed(crowd[:10], permission)))
        told, many = await counted.of(team.on(uid, "owner", "POST", "bulk/", json=listed(crowd, permission)))
        assert len(told) == USERS * rows + 8
        assert many <= few + 2 < 20, "the use of the token may be noted in between"
        assert told == await team.listed(uid)
    table = (await team.on(uid, "owner", "GET", "csv/")).content
    told, many = await counted.of(team.on(uid, "owner", "POST", "csv/?mode=remove", files={"file": ("x.csv", table)}))
    assert told["counts"] == {"removed": USERS * 4}
    assert many < 20
    body = {"assets": [uid, small], "users": crowd, "permissions": ["add_submissions"]}
    told, many = await counted.of(team.ask("owner", "POST", f"{MANY}add/", json=body))
    assert told["counts"]["granted"] == USERS + USERS - 10
    assert many < 20
    assert {last(row["user"]) for row in await team.listed(uid)} == {"owner", *crowd}
    told, few = await counted.of(team.ask("owner", "GET", f"/api/v2/assets/{uid}/"))
    assert told["permissions"] == await team.listed(uid)
    assert few <= 8, "who asks is looked up once"
    dry, _ = await counted.of(team.on(uid, "owner", "POST", "bulk/?dry_run=true", json=[]))
    assert dry["counts"] == {"removed": USERS}


async def test_no_more_effects_are_told_than_can_be_read(team: Team, crowd: list[str]) -> None:
    uids = [await team.asset() for _ in range(2)]
    body = {"assets": uids, "users": crowd, "permissions": ["manage_asset"]}
    told = (await team.ask("owner", "POST", f"{MANY}add/?dry_run=true", json=body)).json()
    assert (told["counts"], len(told["effects"]), len(told["result"])) == ({"granted": 16_000}, 10_000, 2_000)
