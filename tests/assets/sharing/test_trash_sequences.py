"""A sequence of writes with deletes and undeletes equals the one without them, on SQLite and PostgreSQL."""

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from fieldgate.assets.tables import assets, assignments, versions
from tests.assets.sharing.sharing_team import SharingTeam
from tests.assets.sharing.test_trash import FORM, LIST
from tests.data.sql import read_sql

HOLDERS = ("viewer", "editor", "AnonymousUser")
PERMISSIONS = ("view_asset", "change_asset", "manage_asset")
KINDS = (
    "create",
    "create inside",
    "rename",
    "tag",
    "assign",
    "remove",
    "deploy",
    "delete",
    "restore",
)
COMPARED = (
    "asset_type",
    "name",
    "settings",
    "tags",
    "summary",
    "deployment_active",
    "deleted_at",
    "deleted_by",
)
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 20), st.integers(0, 20)),
    min_size=5,
    max_size=25,
)


# A collection (0) and a form in it (1): deleted together and alone, changed in between, restored in both orders.
TYPICAL = [
    ("assign", 0, 0), ("assign", 1, 4), ("deploy", 1, 0), ("delete", 1, 0), ("create inside", 0, 4), ("delete", 0, 0),
    ("create", 0, 4), ("rename", 3, 1), ("restore", 0, 0), ("remove", 0, 0), ("restore", 0, 0), ("tag", 1, 2),
    ("delete", 0, 0), ("restore", 0, 0), ("assign", 1, 2), ("delete", 2, 0),
]  # fmt: skip


class Forms:
    """The forms of one user, in the order in which they were created."""

    def __init__(self, team: SharingTeam, owner: str) -> None:
        self.team, self.owner = team, owner
        self.uids: list[str] = []

    async def send(self, method: str, path: str, **options: Any) -> int:
        answer = await self.team.request(self.owner, method, f"{LIST}{path}", **options)
        assert answer.status_code < 500, answer.text
        if answer.status_code == 201 and path == "":
            self.uids.append(answer.json()["uid"])
        return answer.status_code

    async def write(self, kind: str, number: int, value: int) -> int:
        """Make a change of what is not in the trash, without deletes. Return the status."""
        uid = self.uids[number % len(self.uids)] if self.uids else ""
        holder, permission = HOLDERS[value % len(HOLDERS)], PERMISSIONS[value % len(PERMISSIONS)]
        match kind:
            case "create":
                asset_type = "collection" if value % 2 else "survey"
                content = {} if value % 4 else {"content": FORM["content"]}
                return await self.send(
                    "POST", "", json={"name": f"{value}", "asset_type": asset_type, **content}
                )
            case "create inside":
                return await self.send("POST", "", json={"name": f"{value}", "parent": uid or "x"})
            case "rename":
                return await self.send("PATCH", f"{uid}/", json={"name": f"Name {value}"})
            case "tag":
                return await self.send("PATCH", f"{uid}/", json={"settings": {"sector": value}})
            case "deploy":
                return await self.send("POST", f"{uid}/deployment/", json={})
            case "assign":
                body = {"user": holder, "permission": permission}
                return await self.send("POST", f"{uid}/permission-assignments/", json=body)
        return await self.send(
            "DELETE", f"{uid}/permission-assignments/bulk/", json={"username": holder}
        )

    async def state(self) -> list[Any]:
        """All that is stored about the forms, without ids and times."""
        places = {uid: place for place, uid in enumerate(self.uids)}
        with read_sql(self.team.service) as connection:
            rows = connection.execute(select(assets).where(assets.c.uid.in_(self.uids))).all()
            ids = {row.id: places[row.uid] for row in rows}
            given_rows = connection.execute(
                select(assignments).where(assignments.c.asset_id.in_(ids))
            ).all()
            version_rows = connection.execute(
                select(versions).where(versions.c.asset_id.in_(ids))
            ).all()
        return [
            sorted(
                (ids[row.id], ids.get(row.parent_id), str([row._mapping[key] for key in COMPARED]))
                for row in rows
            ),
            sorted(
                (ids[row.asset_id], row.user_id, row.permission, row.is_denied)
                for row in given_rows
            ),
            sorted((ids[row.asset_id], row.number, str(row.summary)) for row in version_rows),
        ]


@given(STEPS)
@example(TYPICAL)
@settings(
    max_examples=settings().max_examples // 20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_deletes_and_undeletes_leave_no_trace(
    team: SharingTeam, steps: list[tuple[str, int, int]]
) -> None:
    plain, trashing = Forms(team, "ann"), Forms(team, "bob")
    deleted: list[str] = []  # restored in the opposite order
    for kind, number, value in [("create", 0, 1), ("create inside", 0, 2), *steps]:
        uid = trashing.uids[number % len(trashing.uids)] if trashing.uids else ""
        if kind == "delete":
            if await trashing.send("DELETE", f"{uid}/") == 204:
                deleted.append(uid)
        elif kind == "restore":
            if deleted:
                assert await trashing.send("POST", f"{deleted.pop()}/undelete/") == 200
        elif (
            kind == "create"
            or (await team.request("bob", "GET", f"{LIST}{uid}/")).status_code == 200
        ):
            assert await plain.write(kind, number, value) == await trashing.write(
                kind, number, value
            )
    for uid in reversed(deleted):
        assert await trashing.send("POST", f"{uid}/undelete/") == 200
    assert await trashing.state() == await plain.state()
