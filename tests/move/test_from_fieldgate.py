"""Move in from a second Fieldgate."""

import csv
import stat
from pathlib import Path

import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, versions
from fieldgate.db.log import log
from fieldgate.move.asset_mover import MoveResult
from fieldgate.move.people import InviteFile, People
from fieldgate.move.plan import MoveAction
from fieldgate.move.source_assets import MoveError
from fieldgate.move.tables import moved_assets
from tests.conftest import nightly_only
from tests.data.accounts import disable_user, find_user
from tests.data.sql import all_rows, write_sql
from tests.move.places import (
    BROKEN,
    CONTENT,
    PUBLIC,
    Place,
    actions,
    fill,
    move,
    places,
    server_source,
)

PARTIAL = [{"url": "view_submissions", "filters": [{"_submitted_by": {"$in": ["bob", "omar"]}}]}]


async def furnish(source: Place) -> dict[str, str]:
    """Assets of all types, with everything that can be moved."""
    uids = {
        "collection": await source.create(name="Kenya", asset_type="collection", tag_string="a,b")
    }
    collection = uids["collection"]
    uids["inside"] = await source.create(
        name="Visit", content=CONTENT, parent=collection, settings={"sector": {"x": 1}}
    )
    uids["archived"] = await source.create(name="Old", content=CONTENT, tag_string="old")
    uids["template"] = await source.create(name="T", asset_type="template", content=CONTENT)
    questions = {**CONTENT, "settings": {}}
    uids["block"] = await source.create(
        name="Both", asset_type="block", content=questions, parent=collection
    )
    uids["question"] = await source.create(
        name="One",
        asset_type="question",
        content={**questions, "survey": CONTENT["survey"][:1], "choices": []},
    )
    uids["empty"] = await source.create(name="", asset_type="empty")
    await source.request("PATCH", f"assets/{uids['inside']}/", {"name": "Renamed"})
    for name in ("inside", "archived"):
        await source.request("POST", f"assets/{uids[name]}/deployment/", {})
    await source.request("PATCH", f"assets/{uids['archived']}/deployment/", {"active": False})
    await source.share(collection, "omar", "change_asset")
    await source.share(collection, "lena", "view_asset")
    await source.share(collection, PUBLIC, "discover_asset")
    await source.share(uids["inside"], "bob", "partial_submissions", partial_permissions=PARTIAL)
    await source.share(uids["inside"], "omar", "manage_asset", expires_at="2999-01-01T00:00:00Z")
    # lena may not see this one, although she may see the collection
    rows = await source.request("GET", f"assets/{uids['inside']}/permission-assignments/")
    [of_lena] = [
        row["url"]
        for row in rows
        if row["user"].endswith("/lena/") and row["permission"].endswith("/view_asset/")
    ]
    await source.request("DELETE", of_lena.partition("/api/v2/")[2])
    await source.share(uids["archived"], PUBLIC, "view_submissions")
    return uids


async def test_everything_arrives_and_a_second_run_changes_nothing(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = await furnish(source)
        planned = await move(target, server_source(source), is_dry_run=True)
        assert await target.counts() == (0, 0, 0)
        results = await move(target, server_source(source))
        assert actions(results) == actions(planned) == {MoveAction.CREATE}
        assert [each.reasons for each in results.values()] == [[]] * len(uids)
        for name, uid in uids.items():
            assert await target.record(uid) == await source.record(uid), name
        before = await target.counts()
        assert before == await source.counts()
        assert actions(await move(target, server_source(source))) == {MoveAction.UNCHANGED}
        assert await target.counts() == before


async def test_everything_is_in_the_log(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = await furnish(source)
        await move(target, server_source(source), is_dry_run=True)
        rows = select(log.c.action, log.c.username, log.c.credential).where(
            log.c.object_uid == uids["inside"]
        )
        assert all_rows(target.service, rows) == []
        await move(target, server_source(source))
        entries = all_rows(target.service, rows)
        assert {each.action for each in entries} >= {"create", "deploy", "modify-user-permissions"}
        assert {(each.username, each.credential) for each in entries} == {("amina", "command")}


async def test_inherited_access_is_not_stored_as_direct(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = await furnish(source)
        await move(target, server_source(source))
        collection, inside = uids["collection"], uids["inside"]
        rows = await target.request("GET", f"assets/{collection}/permission-assignments/")
        for row in rows:
            if row["user"].endswith("/omar/") and row["permission"].endswith("/view_asset/"):
                await target.request("DELETE", row["url"].partition("/api/v2/")[2])
        left = {row["user"] for row in await target.rows(uids["block"])}
        assert not any(user.endswith("/omar/") for user in left)
        assert any(
            row["user"].endswith("/omar/") for row in await target.rows(inside)
        )  # who has it directly, too


async def test_changes_there_are_brought_and_changes_here_are_kept(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = await furnish(source)
        await move(target, server_source(source))
        longer = {
            **CONTENT,
            "survey": [*CONTENT["survey"], {"type": "note", "name": "end", "label": ["Bye", None]}],
        }
        inside, archived, block = uids["inside"], uids["archived"], uids["block"]
        await source.request("PATCH", f"assets/{inside}/", {"content": longer})
        await source.request(
            "PATCH", f"assets/{inside}/deployment/", {"version_id": await version(source, inside)}
        )
        await source.share(archived, "lena", "view_asset")
        await source.request("PATCH", f"assets/{uids['collection']}/", {"name": "Kenya and Uganda"})
        await source.request("PATCH", f"assets/{block}/", {"name": "There"})
        await target.request("PATCH", f"assets/{block}/", {"name": "Here"})
        await source.request("PATCH", f"assets/{uids['template']}/", {"name": "Gone here"})
        await target.request("DELETE", f"assets/{uids['template']}/")
        planned = await move(target, server_source(source), is_dry_run=True)
        results = await move(target, server_source(source))
        assert {uid: each.action for uid, each in planned.items()} == {
            uid: each.action for uid, each in results.items()
        }
        changed = {each for each, result in results.items() if result.action is MoveAction.CHANGE}
        assert changed == {inside, archived, uids["collection"]}
        assert results[block].reasons == [
            "It was changed there and here, and kept as it is here: name, settings, tags or collection."
        ]
        assert results[uids["template"]].reasons == [
            "It was changed there and deleted here. Nothing was done."
        ]
        for uid in changed:
            assert await target.record(uid) == await source.record(uid)
        assert (await target.record(block))["name"] == "Here"
        assert (await target.request("GET", f"assets/{inside}/"))["version_count"] == 2
        assert (await target.request("GET", f"assets/{archived}/"))["version_count"] == 1
        assert {each.action for each in (await move(target, server_source(source))).values()} == {
            MoveAction.UNCHANGED,
            MoveAction.KEEP,
        }


async def test_parts_are_compared_one_by_one(tmp_path: Path) -> None:
    """A person who lost access there loses it here, although the name was changed here."""
    longer = {
        **CONTENT,
        "survey": [*CONTENT["survey"], {"type": "note", "name": "end", "label": ["Bye", None]}],
    }
    async with places(tmp_path) as (source, target):
        renamed, shared, asked = [await source.create(name=name, content=CONTENT) for name in "ABC"]
        for uid in (renamed, shared, asked):
            await source.share(uid, "omar", "view_asset")
            await source.request("POST", f"assets/{uid}/deployment/", {})
        await move(target, server_source(source))
        await target.request("PATCH", f"assets/{renamed}/", {"name": "Here"})
        await revoke(source, renamed, "omar")
        await source.request("PATCH", f"assets/{renamed}/", {"content": longer})
        await source.request(
            "PATCH", f"assets/{renamed}/deployment/", {"version_id": await version(source, renamed)}
        )
        await target.share(shared, "lena", "change_asset")
        await source.share(shared, "bob", "view_asset")
        await revoke(source, shared, "omar")
        await target.request("PATCH", f"assets/{asked}/", {"content": longer})
        await source.request("PATCH", f"assets/{asked}/", {"name": "There"})
        for is_dry_run in (True, False):
            results = await move(target, server_source(source), is_dry_run=is_dry_run)
            assert {each: result.action for each, result in results.items()} == {
                renamed: MoveAction.CHANGE,
                shared: MoveAction.KEEP,
                asked: MoveAction.CHANGE,
            }
            assert results[renamed].reasons == [
                "It was changed here: name, settings, tags or collection."
            ]
            assert results[asked].reasons == ["It was changed here: questions."]
            assert results[shared].reasons == [
                "It was changed there and here, and kept as it is here: sharing.",
                "Only there: bob view_asset.",
                "Only here: lena change_asset, lena view_asset, omar view_asset.",
            ]
        record, expected = await target.record(renamed), await source.record(renamed)
        assert record == {**expected, "name": "Here"}
        assert (await target.record(asked))["name"] == "There"
        assert len((await target.record(asked))["content"]["survey"]) == len(longer["survey"])
        again = await move(target, server_source(source))
        assert actions(again) == {MoveAction.KEEP}  # and still reported
        assert again[shared].reasons == results[shared].reasons


async def revoke(place: Place, uid: str, user: str) -> None:
    for row in await place.request("GET", f"assets/{uid}/permission-assignments/"):
        if row["user"].endswith(f"/{user}/"):
            await place.request("DELETE", row["url"].partition("/api/v2/")[2])


async def test_what_is_gone_there_is_reported(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        gone, of_omar = await source.create(name="A"), await source.create(name="B", by="omar")
        await source.create(name="C", by="omar")
        await move(target, server_source(source, "amina", "omar"))
        await source.request("DELETE", f"assets/{gone}/")
        await source.request("DELETE", f"assets/{of_omar}/", by="omar")
        found = await move(target, server_source(source))  # an account sees its own only
        assert {uid: each.action for uid, each in found.items()} == {gone: MoveAction.KEEP}
        assert "not there any more" in found[gone].reasons[0]
        assert (found[gone].name, found[gone].owner, found[gone].uid) == ("A", "amina", gone)
        assert (await target.request("GET", "assets/"))["count"] == 1
        await target.request("DELETE", f"assets/{gone}/")
        assert await move(target, server_source(source)) == {}


async def version(place: Place, uid: str) -> str:
    return str((await place.request("GET", f"assets/{uid}/"))["version_id"])


async def test_people_are_matched_by_table_or_name_and_others_are_reported(tmp_path: Path) -> None:
    async with places(tmp_path, "amina") as (source, target):
        for name in ("omar", "lena"):
            await source.add_user(name)
        await target.add_user("omar_k")
        uid = await source.create(name="A", content=CONTENT)
        await source.share(uid, "omar", "view_asset")
        await source.share(uid, "lena", "change_asset")
        results = await move(target, server_source(source), users={"omar": "omar_k"})
        assert results[uid].reasons == ["lena is not here. Not assigned: change_asset, view_asset"]
        users = {row["user"].rsplit("/", 2)[1] for row in await target.rows(uid)}
        assert users == {"amina", "omar_k"}
        await target.add_user("lena")  # who is here with the next run
        assert actions(await move(target, server_source(source), users={"omar": "omar_k"})) == {
            MoveAction.CHANGE
        }
        assert "lena" in {row["user"].rsplit("/", 2)[1] for row in await target.rows(uid)}


async def test_users_are_invited_with_links_in_a_private_file(tmp_path: Path) -> None:
    async with places(tmp_path, "amina") as (source, target):
        await source.add_user("lena")
        await source.add_user("omar")
        uid = await source.create(name="A", content=CONTENT)
        other = await source.create(name="B", content=CONTENT, by="omar")
        await source.share(uid, "lena", "view_asset")
        both = "amina", "omar"
        renamed = {"lena": "lena_b"}
        planned = await move(
            target, server_source(source, *both), is_dry_run=True, may_invite=True, users=renamed
        )
        assert {uid: [each.action, each.reasons] for uid, each in planned.items()} == {
            uid: [MoveAction.CREATE, []],
            other: [MoveAction.CREATE, []],
        }
        assert find_user(target.service, "lena") is None
        file = tmp_path / "links.csv"
        invites = InviteFile(file, "https://field.example")
        assert actions(await move(target, server_source(source, *both), invites=invites)) == {
            MoveAction.CREATE
        }
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        links = {
            row["username"]: row["link"] for row in csv.DictReader(file.read_text().splitlines())
        }
        assert links.keys() == {"lena", "omar"}
        page = await target.service.get(links["lena"].removeprefix("https://field.example"))
        assert page.status_code == 200
        with pytest.raises(MoveError, match="exists"):
            InviteFile(file, "")


async def test_names_that_differ_in_case_are_one_user(tmp_path: Path) -> None:
    async with places(tmp_path, "amina") as (_, target):
        await target.add_user("gone")
        await disable_user(target.service, "gone")
        database, file = target.service.database, tmp_path / "links.csv"
        planned = People(database, {}, may_invite=True)
        done = People(database, {}, InviteFile(file, ""))
        for people in (planned, done):
            found = [await people.find_name(each) for each in ("Omar", "omar", "ｏｍａｒ", "gone")]
            assert people.invited == ["omar"]
            assert [people.is_invited(each) for each in ("OMAR", "gone")] == [True, False]
        assert found == ["omar", "omar", "omar", None]
        assert len(file.read_text().splitlines()) == 2


async def test_forms_that_do_not_compile_are_reported_with_their_places(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        good = await source.create(name="Good", content=CONTENT)
        [bad] = await fill(source, 1, ["omar"])
        of_bad = versions.c.asset_id.in_(select(assets.c.id).where(assets.c.uid == bad))
        with write_sql(source.service, "assets") as connection:
            connection.execute(versions.update().where(of_bad).values(content=BROKEN))
        for is_dry_run in (True, False):
            results = await move(target, server_source(source), is_dry_run=is_dry_run)
            assert results[bad].action is MoveAction.SKIP
            assert results[bad].reasons[0].startswith("survey, row 1, column calculation: "), (
                results[bad].reasons
            )
            assert results[good].action is MoveAction.CREATE
        assert (await target.counts())[0] == 1


async def test_a_taken_uid_is_replaced(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uid = await source.create(name="A", content=CONTENT)
        results = await move(target, server_source(source))
        await target.request("DELETE", f"assets/{uid}/")  # the trash counts
        with write_sql(target.service) as connection:
            connection.execute(moved_assets.delete())
        results = await move(target, server_source(source))
        assert results[uid].action is MoveAction.CREATE
        assert results[uid].uid not in ("", uid)


async def test_a_token_of_another_account_ends_the_run(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        source.tokens["omar"] = source.tokens["amina"]
        with pytest.raises(MoveError, match="belongs to another account"):
            await move(target, server_source(source, "omar"))
        source.tokens["amina"] = "wrong"
        with pytest.raises(MoveError, match="401"):
            await move(target, server_source(source))


@pytest.mark.parametrize("count", [20, *nightly_only(500)])
async def test_many_assets(tmp_path: Path, count: int) -> None:
    names = [f"user{number}" for number in range(10)]
    async with places(tmp_path, "amina", *names) as (source, target):
        uids = await fill(source, count, names)
        results: dict[str, MoveResult] = await move(target, server_source(source))
        assert (actions(results), len(results)) == ({MoveAction.CREATE}, count)
        assert await target.counts() == await source.counts()
        for uid in uids:
            assert await target.rows(uid) == await source.rows(uid)
