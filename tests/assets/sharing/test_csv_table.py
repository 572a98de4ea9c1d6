"""Export and import of assignments as a CSV table."""

import csv
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.assets.sharing.sharing_team import PUBLIC, SharingTeam, last_segment

PARTIAL = [{"url": "view_submissions", "filters": [{"_submitted_by": {"$in": ["bob", 'a"b,c\n']}}]}]


async def send(
    team: SharingTeam, uid: str, table: str | bytes, by: str = "owner", **fields: Any
) -> httpx.Response:
    return await team.request_assignments(
        uid, by, "POST", "csv/", files={"file": ("team.csv", table)}, data=fields
    )


async def test_table_round_trip_to_another_asset(team: SharingTeam) -> None:
    one, other = (
        await team.create_shared_asset(extra_grants={PUBLIC: "add_submissions"}),
        await team.create_shared_asset(),
    )
    await team.add_user("=cmd")
    await team.grant(one, "=cmd", "view_asset")
    await team.grant(one, "bob", "partial_submissions", partial_permissions=PARTIAL)
    answer = await team.request_assignments(one, "owner", "GET", "csv/")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    lines = answer.text.splitlines()
    assert (lines[0], lines[1]) == ("user,permission,filters", "'=cmd,view_asset,")
    assert not [line for line in lines if line.startswith("owner,")]
    nothing = await send(team, one, answer.content, mode="replace")
    assert (nothing.status_code, nothing.json()["counts"]) == (200, {})
    done = await send(team, other, answer.content, mode="replace")
    assert (done.status_code, done.json()["dry_run"]) == (200, False)

    def rows(listed: list[dict[str, Any]]) -> list[Any]:
        return [(row["user"], row["permission"], row.get("partial_permissions")) for row in listed]

    assert rows(await team.list_assignments(one)) == rows(await team.list_assignments(other))
    gone = await send(team, other, answer.content, mode="remove")
    assert gone.status_code == 200
    assert {last_segment(row["user"]) for row in await team.list_assignments(other)} == {"owner"}


@pytest.mark.parametrize(
    ("name", "language", "fallback", "shown"),
    [
        ("Household 2.0", "en", "sharing-household-2-0", "sharing-household-2-0"),
        ("Ménage", "fr", "sharing-menage", "partage-ménage"),
        ("الأسر", "ar", "sharing", "المشاركة-الأسر"),
        ('a"\r\nX: y/../\u202e', "en", "sharing-a-x-y", "sharing-a-x-y"),
        ("x" * 250, "en", "sharing-" + "x" * 62, "sharing-" + "x" * 62),
    ],
)
async def test_table_is_named_after_the_asset_and_the_day(
    team: SharingTeam, name: str, language: str, fallback: str, shown: str
) -> None:
    uid = await team.create_shared_asset()
    renamed = await team.request("boss", "PATCH", f"/api/v2/assets/{uid}/", json={"name": name})
    assert renamed.status_code == 200, renamed.text
    answer = await team.request_assignments(
        uid, "owner", "GET", "csv/", headers={"Accept-Language": language}
    )
    day = datetime.now(UTC).date().isoformat()
    expected = (
        f"attachment; filename=\"{fallback}-{day}.csv\"; filename*=UTF-8''{quote(shown)}-{day}.csv"
    )
    assert answer.headers["Content-Disposition"] == expected


async def test_table_dialects(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    table = "\ufeffPermission;USER;note\r\n\r\nview_asset;bob;\r\n/api/v2/permissions/change_asset/;Ann;x\r\n;;\r\n"
    assert (await send(team, uid, table)).status_code == 200
    assert await team.permissions_of(uid, "ann") == {"view_asset", "change_asset"}
    assert (
        await team.permissions_of(uid, "bob")
        == await team.permissions_of(uid, "viewer")
        == {"view_asset"}
    ), "existing assignments stay"
    tabs = "user\tpermission\nbob\tadd_submissions"
    for options in ({"json": {"text": tabs}}, {"data": {"text": tabs, "mode": "add"}}):
        assert await team.status(uid, "manager", "POST", "csv/", **options) == 200
    assert await team.permissions_of(uid, "bob") == {"view_asset", "add_submissions"}
    done = await team.request_assignments(
        uid,
        "manager",
        "POST",
        "csv/?mode=remove",
        json={"text": "user,permission\nbob,view_asset\n"},
    )
    assert done.json()["counts"] == {"removed": 1}


async def test_invalid_tables(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    before = await team.snapshot(uid)
    head = "user,permission\n"
    cases: list[tuple[str | bytes, int, str]] = [
        ("", 400, "file"),
        ("name,permission\nbob,view_asset\n", 400, "file"),
        (b"user,permission\n\xff,view_asset\n", 400, "file"),
        (head + "nobody,view_asset\n", 400, "line 2.user"),
        (head + "bob,view_asset\nowner,view_asset\n", 400, "line 3.user"),
        (head + "bob,discover_asset\n", 400, "line 2.permission"),
        (head + "bob,fly\n", 400, "line 2.permission"),
        (head + "bo\0b,view_asset\n", 400, "line 2.user"),
        (head + "bob,partial_submissions\n", 400, "line 2.filters"),
        (head + "b" * 200_000 + ",view_asset\n", 400, "line 2.user"),
        (head + "bob,view_asset\n" * 20_001, 400, "file"),
        (head + "b" * 2_100_000, 413, "detail"),
    ]
    for table, status, field in cases:
        for query in (False, True):
            path = f"csv/?dry_run={str(query).lower()}"
            answer = await team.request_assignments(
                uid, "owner", "POST", path, files={"file": ("team.csv", table)}
            )
            assert (answer.status_code, list(answer.json())) == (status, [field]), answer.text[:300]
    neither_nor_both: list[dict[str, Any]] = [
        {"json": {}},
        {"data": {"text": head}, "files": {"file": ("x", head)}},
    ]
    for options in neither_nor_both:
        answer = await team.request_assignments(uid, "owner", "POST", "csv/", **options)
        assert answer.json() == {"file": ["Send a table, as file or as text."]}
    assert (await send(team, uid, head, mode="merge")).status_code == 400
    owner = await send(team, uid, head + "owner,view_asset\n", mode="remove")
    assert owner.status_code == 409
    pair = (
        head.replace("\n", ",filters\n")
        + 'bob,view_submissions,\nbob,partial_submissions,"{""view_submissions"":[{}]}"\n'
    )
    answer = await send(team, uid, pair)
    assert list(answer.json()) == ["line 3.permission"]
    assert await team.snapshot(uid) == before


async def test_no_formulas_with_other_separators(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.add_user("x;=1+1")
    await team.add_user('y";=1+1')
    await team.grant(uid, "x;=1+1", "view_asset")
    await team.grant(uid, 'y";=1+1', "view_asset")
    evil = [{"url": "view_submissions", "filters": [{"a": ";=1+1;", "b": "\t=1+1", "c": "\\;=2"}]}]
    await team.grant(uid, "bob", "partial_submissions", partial_permissions=evil)
    answer = await team.request_assignments(uid, "owner", "GET", "csv/")
    for separator in (",", ";", "\t"):
        cells = [
            cell
            for row in csv.reader(answer.text.splitlines(), delimiter=separator)
            for cell in row
        ]
        assert not [cell for cell in cells if cell.lstrip('"').startswith(("=", "+", "-", "@"))], (
            cells
        )
    again = await send(team, uid, answer.content, mode="replace")
    assert (again.status_code, again.json()["counts"]) == (200, {})


async def test_names_that_look_like_formulas_are_read_back(team: SharingTeam) -> None:
    uid = await team.create_asset()
    names = ("＝1+1", "－1", "@sum", "'=1+1", "''＝1", "﹦1")
    for name in names:
        await team.add_user(name)
        await team.grant(uid, name, "view_asset")
    answer = await team.request_assignments(uid, "owner", "GET", "csv/")
    _, *rows = csv.reader(answer.text.splitlines())
    assert sorted(rows) == sorted([f"'{name}", "view_asset", ""] for name in names)
    again = await send(team, uid, answer.content, mode="replace")
    assert (again.status_code, again.json()["counts"]) == (200, {})
