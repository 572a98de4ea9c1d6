"""The access review: the same assignments as in the lists of single assets, for those who manage them."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import openpyxl
import pytest

from fieldgate.accounts.tables import tokens, users
from fieldgate.db import now
from tests.access.permission_world import WorldUser, generate_world
from tests.assets.sharing.sharing_team import (
    BATCH_PATH,
    PUBLIC,
    SharingTeam,
    last_segment,
    user_url,
)
from tests.assets.sharing.test_ends import end_now
from tests.assets.sharing.test_teams import TEAMS, create_team, share
from tests.conftest import StartService, nightly_only
from tests.data.accounts import disable_user
from tests.data.sql import write_sql

END = "2099-12-31T23:59:59Z"


async def review(team: SharingTeam, by: str, query: str = "") -> list[dict[str, Any]]:
    answer = await team.request(by, "GET", f"{BATCH_PATH}?limit=1000&{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    assert answer.json()["count"] == len(found)
    return found


def short(records: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [
        (each["user__username"], each["asset__uid"], last_segment(each["permission"]))
        for each in records
    ]


@pytest.mark.parametrize("seed", [0, *nightly_only(1, 2)])
async def test_review_has_the_assignments_of_all_managed_assets(
    start: StartService, database_url: str, seed: int
) -> None:
    """Also of generated situations with ended ones, collections, denials and disabled users."""
    async with start(database_url=database_url) as service:
        world = await generate_world(service, seed)

        async def listed(user: WorldUser) -> list[dict[str, Any]]:
            found = []
            for asset in world.assets:
                if (
                    await service.get(
                        f"{asset.path}permission-assignments/history/", headers=user.headers
                    )
                ).is_error:
                    continue  # only those who manage it see the history
                answer = await service.get(
                    f"{asset.path}permission-assignments/?teams=true", headers=user.headers
                )
                found += [each for each in answer.json() if holder(each) != asset.owner.username]
            return found

        def holder(record: dict[str, Any]) -> str:
            return last_segment(record.get("user") or record["team"])

        def key(record: dict[str, Any]) -> tuple[str, ...]:
            names = [
                "url",
                "user",
                "team",
                "team__name",
                "permission",
                "inherited",
                "via",
                "expires_at",
            ]
            names += [] if "via" in record else ["partial_permissions"]  # those of one team
            return tuple(str(record.get(name)) for name in names)

        disabled = {each.username for each in world.users if each.is_disabled}
        for user in world.users:
            if user.is_disabled:
                continue
            answer = await service.get(f"{BATCH_PATH}?limit=1000", headers=user.headers)
            seen = [
                each
                for each in answer.json()["results"]
                if each.get("user__username") not in disabled
            ]
            assert len(seen) == answer.json()["count"] or user.is_superuser
            expected = await listed(user)
            assert sorted(map(key, seen)) == sorted(
                key(each) for each in expected if "via" not in each
            )
            for person in world.users:
                path = f"{BATCH_PATH}?limit=1000&user={person.username}"
                of_person = (await service.get(path, headers=user.headers)).json()["results"]
                assert person.is_disabled or sorted(map(key, of_person)) == sorted(
                    key(each) for each in expected if holder(each) == person.username
                )


async def test_filters_and_orders(team: SharingTeam) -> None:
    collection = await team.create_asset("collection")
    inside, alone = await team.create_asset(parent=collection), await team.create_asset(owner="ann")
    await team.grant(collection, "bob", "view_asset", expires_at=END)
    await team.grant(inside, "viewer", "view_asset")
    await team.grant(alone, PUBLIC, "view_asset", by="ann")
    await team.grant(alone, "owner", "manage_asset", by="ann")
    day = timedelta(days=1)
    with write_sql(team.service) as connection:
        connection.execute(tokens.update().values(last_used_at=now() - 9 * day))
        seen = users.update().where(users.c.id == team.user_ids["viewer"])
        connection.execute(seen.values(last_login_at=now() - 2 * day))
    of_alone = {("AnonymousUser", alone, "view_asset")}
    in_collection = [("bob", collection, "view_asset"), ("bob", inside, "view_asset")]
    of_viewer = [("viewer", inside, "view_asset")]

    async def found(query: str) -> list[tuple[str, str, str]]:
        records = short(await review(team, "owner", query))
        return [each for each in records if each[0] != "owner"]

    assert set(await found("")) == {*of_alone, *in_collection, *of_viewer}
    assert set(await found("user=bob")) == set(in_collection)
    assert set(await found("user=BOB&inherited=true")) == {in_collection[1]}
    assert set(await found("user=bob&inherited=false")) == {in_collection[0]}
    assert (
        await found(f"asset={quote(f'http://x/api/v2/assets/{inside}/')}&user=viewer") == of_viewer
    )
    assert set(await found("owner=/api/v2/users/ann/")) == of_alone
    assert len(await review(team, "owner", "permission=manage_asset")) == 1
    assert set(await found("expires_before=2100-01-01")) == set(in_collection)
    assert await found("expires_before=2099-01-01") == []
    assert {each[0] for each in await found(f"not_seen_since={(now() - 5 * day).date()}")} == {
        "bob"
    }
    assert await found(f"not_seen_since={(now() - 20 * day).date()}") == []
    for ordering in ("user", "asset", "permission", "date_created", "expires_at", "last_seen"):
        up = [short([each])[0] for each in await review(team, "owner", f"ordering={ordering}")]
        down = [short([each])[0] for each in await review(team, "owner", f"ordering=-{ordering}")]
        assert sorted(up) == sorted(down)
    assert (await review(team, "owner", "ordering=expires_at"))[0]["expires_at"] == END
    names = [each["user__username"] for each in await review(team, "owner", "ordering=-user")]
    assert names == sorted(names, reverse=True)
    pages = [
        short(
            (await team.request("owner", "GET", f"{BATCH_PATH}?limit=2&offset={each}")).json()[
                "results"
            ]
        )
        for each in range(0, 20, 2)
    ]
    assert [each for page in pages for each in page] == short(await review(team, "owner"))


async def test_only_superusers_learn_more_than_the_day_of_the_last_use(team: SharingTeam) -> None:
    """Everybody can share a form with anybody: it must not show when that person works."""
    uid = await team.create_asset()
    await team.grant(uid, "ann", "view_asset")
    login = datetime(2026, 5, 4, 21, 43, 17, tzinfo=UTC)
    with write_sql(team.service) as connection:
        connection.execute(
            users.update().where(users.c.id == team.user_ids["ann"]).values(last_login_at=login)
        )
    shown = {by: [each["last_seen"] for each in await review(team, by)] for by in ("owner", "boss")}
    assert shown == {"owner": ["2026-05-04T00:00:00Z"], "boss": ["2026-05-04T21:43:17Z"]}
    for time, count in (
        ("2026-05-04T00:00:00Z", 0),
        ("2026-05-04T00:00:01Z", 1),
        ("2026-05-04T23:00:00Z", 1),
    ):
        assert len(await review(team, "owner", f"not_seen_since={time}")) == count, (
            "nor by the filter"
        )


async def test_files_have_all_rows_and_no_formulas(team: SharingTeam) -> None:
    uids = [await team.create_asset() for _ in range(3)]
    names = ["=HYPERLINK(1)", "<r><t>x</t></r>", "Visit"]
    for uid, name in zip(uids, names, strict=True):
        await team.request("owner", "PATCH", f"/api/v2/assets/{uid}/", json={"name": name})
        await team.grant(uid, "ann", "view_asset", expires_at=END)
    answer = await team.request("owner", "GET", f"{BATCH_PATH}?format=csv&limit=1&ordering=asset")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    assert "link" not in answer.headers
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["asset_name"] for row in rows} == {"'=HYPERLINK(1)", *names[1:]}
    assert {(row["user"], row["owner"], row["permission"], row["expires_at"]) for row in rows} == {
        ("ann", "owner", "view_asset", END)
    }
    answer = await team.request("owner", "GET", f"{BATCH_PATH}?format=xlsx")
    [header, *cells] = openpyxl.load_workbook(io.BytesIO(answer.content)).active.values
    assert header == tuple(rows[0])
    assert {str(row[2]).strip() for row in cells} == set(names)


async def test_teams_have_rows_and_people_are_found_through_them(team: SharingTeam) -> None:
    uid = await team.create_asset()
    wash, hidden = (
        await create_team(team, "owner", "ann", "bob"),
        await create_team(team, "boss", "bob", name="Secret"),
    )
    await share(team, uid, wash, "manage_asset", expires_at=END)
    await share(team, uid, hidden, "view_asset", by="boss")

    async def teams(by: str, query: str) -> set[object]:
        found = await review(team, by, query)
        assert all("user" not in each and "user__username" not in each for each in found)
        return {each["team__name"] for each in found}

    everything = await review(team, "ann")
    assert {each.get("team__name", "person") for each in everything} == {"WASH", None}, (
        "ann manages it through WASH"
    )
    assert await teams("ann", "team=wash") == await teams("ann", f"team={TEAMS}{wash}/") == {"WASH"}
    assert (await teams("ann", f"team={hidden}"), await teams("boss", "team=Secret")) == (
        {None},
        {"Secret"},
    )
    assert await teams("ann", "team=Secret") == await teams("ann", "team=Nothing") == set()
    assert await teams("ann", "inherited=true") == set()
    assert await review(team, "ann", "not_seen_since=2999-01-01") == []
    of_bob = await review(team, "ann", "user=bob&inherited=true&ordering=expires_at")
    assert {each["user__username"] for each in of_bob} == {"bob"}
    assert {each["via"]["name"] for each in of_bob} == {"WASH"}
    assert [last_segment(each["permission"]) for each in of_bob if "expires_at" not in each] == [
        "view_asset"
    ]
    assert (await team.request("ann", "GET", of_bob[0]["url"])).json()["user"] == user_url("bob")
    table = (
        await team.request("ann", "GET", f"{BATCH_PATH}?format=csv&permission=view_asset")
    ).text
    cells = [(row["user"], row["team"], row["via"]) for row in csv.DictReader(io.StringIO(table))]
    assert sorted(cells) == sorted([("", "WASH", ""), ("", hidden, "")])
    table = (
        await team.request(
            "ann", "GET", f"{BATCH_PATH}?format=csv&permission=manage_asset&user=bob"
        )
    ).text
    assert [
        (row["user"], row["team"], row["via"]) for row in csv.DictReader(io.StringIO(table))
    ] == [("bob", "", "WASH")]
    await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": "ann"})
    assert await review(team, "ann") == [], "denied"


@pytest.mark.parametrize("by", ["ann", "viewer", "editor", "former manager"])
async def test_who_does_not_manage_an_asset_learns_nothing_about_it(
    team: SharingTeam, by: str
) -> None:
    """Not by filters, counts or the order either; the answers are those about an asset that does not exist."""
    uid = await team.create_shared_asset()
    if by == "former manager":
        by = "bob"
        await team.grant(uid, "bob", "manage_asset", expires_at=END)
        assert await review(team, "bob")
        await end_now(team)
    for query in (
        "",
        f"asset={uid}",
        "owner=owner",
        "user=manager",
        "permission=manage_asset",
        "inherited=false",
    ):
        for name in ("json", "csv", "xlsx"):
            elsewhere = query.replace(uid, "aNothing").replace("owner=owner", "owner=nobody")
            there = await team.request(by, "GET", f"{BATCH_PATH}?format={name}&{query}")
            nowhere = await team.request(by, "GET", f"{BATCH_PATH}?format={name}&{elsewhere}")
            assert there.status_code == nowhere.status_code == 200
            if name != "xlsx":
                assert there.content == nowhere.content
                assert uid not in there.text
    assert (await team.request("", "GET", BATCH_PATH)).status_code == 401


HOSTILE = [
    "ordering=username_key", "ordering=user;drop table users", "ordering=user,asset", "ordering=--user",
    "permission=fly", "permission=%00", "user=%00", "asset=/api/v2/users/ann/", f"user={'x' * 3000}",
    "inherited=maybe", "expires_before=soon", "not_seen_since=99999-01-01",
    "expires_before=0001-01-01T00:00%2B14:00", "format=yaml",
]  # fmt: skip


async def test_hostile_queries_are_refused(team: SharingTeam) -> None:
    for query in HOSTILE:
        answer = await team.request("owner", "GET", f"{BATCH_PATH}?{query}")
        assert answer.status_code in (400, 404, 406), (query, answer.text)


async def test_assets_in_the_trash_are_left_out(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    assert await review(team, "boss", f"asset={uid}")
    assert (await team.request("owner", "DELETE", f"/api/v2/assets/{uid}/")).status_code == 204
    assert await review(team, "boss", f"asset={uid}") == await review(team, "owner") == []


async def test_only_superusers_see_assignments_of_disabled_users(team: SharingTeam) -> None:
    uid = await team.create_asset()
    await team.grant(uid, "ann", "view_asset")
    await disable_user(team.service, "ann")
    assert await review(team, "owner") == []
    assert short(await review(team, "boss")) == [("ann", uid, "view_asset")]


PATH = f"{BATCH_PATH}suggestions/?limit=200"


async def suggested(team: SharingTeam, by: str) -> list[str]:
    answer = await team.request(by, "GET", PATH)
    assert answer.status_code == 200, answer.text
    return [each["user"] for each in answer.json()["results"]]


async def test_own_teams_their_members_and_people_on_own_assets(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await team.grant(uid, PUBLIC, "view_asset")
    assert await suggested(team, "owner") == ["editor", "manager", "viewer"]
    await create_team(team, "ann", "owner", "bob")
    assert await suggested(team, "owner") == [
        "team:WASH",
        "ann",
        "bob",
        "editor",
        "manager",
        "viewer",
    ]
    assert await suggested(team, "bob") == ["team:WASH", "ann", "owner"]
    # Of two teams with one name, only the uid says which one is meant.
    second = await create_team(team, "owner", name="wash")
    assert {
        each["user"] for each in (await team.request("owner", "GET", PATH)).json()["results"]
    } >= {f"team:{second}"}


async def test_strangers_are_never_suggested(team: SharingTeam) -> None:
    uid = await team.create_shared_asset()
    await create_team(team, "stranger", "manager", name="Hidden")
    for name in ("boss", "ann", "viewer", "editor"):  # of the asset, a viewer knows nobody
        assert await suggested(team, name) == [], name
    # A manager shares with a team that the owner is not in: neither it nor its members are suggested to the owner.
    await share(team, uid, "Hidden", "view_asset", by="manager")
    assert await suggested(team, "owner") == ["editor", "manager", "viewer"]
    # Nor is anybody after leaving a team, or after having been removed or disabled.
    wash = await create_team(team, "ann", "bob")
    await team.request("bob", "DELETE", f"{TEAMS}{wash}/members/bob/")
    assert (await suggested(team, "bob"), await suggested(team, "ann")) == ([], ["team:WASH"])
    await team.request_assignments(uid, "owner", "DELETE", "bulk/", json={"username": "editor"})
    await disable_user(team.service, "viewer")
    assert await suggested(team, "owner") == ["manager"]
