"""The trash: what was deleted is gone for everybody, and comes back as it was. On SQLite and PostgreSQL."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, func, select

from fieldgate.assets.tables import assets, assignments, files, versions
from fieldgate.assets.trash import PURGE_BATCH
from fieldgate.db import now
from fieldgate.db.log import log
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.assets.sharing.sharing_team import SharingTeam, last_segment, user_url
from tests.conftest import StartService
from tests.data.assets import age_trash, purge_trash, stored_bytes
from tests.data.sql import read_sql, write_sql
from tests.imports.workbooks import xlsx

LIST = "/api/v2/assets/"
TRASH = f"{LIST}deleted/"
FORM: dict[str, Any] = {
    "content": {"survey": [{"type": "text", "name": "a", "label": "A"}]},
    "tag_string": "roof,wall",
}


async def create(team: SharingTeam, by: str = "owner", **body: Any) -> str:
    answer = await team.request(by, "POST", LIST, json={"name": "Visit", **body})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["uid"])


async def delete(team: SharingTeam, uid: str, by: str = "owner") -> int:
    return (await team.request(by, "DELETE", f"{LIST}{uid}/")).status_code


async def restore(team: SharingTeam, uid: str, by: str = "owner") -> int:
    return (await team.request(by, "POST", f"{LIST}{uid}/undelete/")).status_code


async def bulk(
    team: SharingTeam, action: str, by: str = "owner", **payload: Any
) -> tuple[int, Any]:
    answer = await team.request(
        by, "POST", f"{LIST}bulk/", json={"payload": {"action": action, **payload}}
    )
    return answer.status_code, answer.json()


async def trash_of(team: SharingTeam, by: str) -> set[str]:
    return {each["uid"] for each in (await team.request(by, "GET", TRASH)).json()["results"]}


async def listed(team: SharingTeam, by: str = "owner", **query: str) -> set[str]:
    return {
        each["uid"]
        for each in (await team.request(by, "GET", LIST, params=query)).json()["results"]
    }


async def record(team: SharingTeam, uid: str, by: str = "owner") -> Any:
    answer = await team.request(by, "GET", f"{LIST}{uid}/")
    return answer.json() if answer.status_code == 200 else answer.status_code


async def everything(team: SharingTeam, uid: str) -> list[Any]:
    """All that the service shows of an asset."""
    paths = (
        "",
        "versions/",
        "deployment/",
        "permission-assignments/",
        "permission-assignments/history/",
        "xform/",
    )
    answers = [await team.request("owner", "GET", f"{LIST}{uid}/{path}") for path in paths]
    return [(answer.status_code, answer.text) for answer in answers]


async def actions(team: SharingTeam, uid: str) -> list[tuple[str, str]]:
    query = select(log.c.action, log.c.username).where(
        log.c.object_uid == uid, log.c.model_name == "asset"
    )
    with read_sql(team.service) as connection:
        rows = connection.execute(query.order_by(log.c.id)).all()
    return [
        (row.action, row.username)
        for row in rows
        if row.action in ("in-trash", "put-back", "delete")
    ]


@pytest.mark.parametrize("by", ["owner", "boss"])
async def test_a_deleted_asset_comes_back_as_it_was(team: SharingTeam, by: str) -> None:
    collection = await create(team, asset_type="collection")
    uid = await create(team, parent=collection, settings={"sector": {"label": "Health"}}, **FORM)
    await team.request("owner", "POST", f"{LIST}{uid}/deployment/", json={"active": True})
    await team.request(
        "owner", "PATCH", f"{LIST}{uid}/", json={"content": FORM["content"], "name": "Second"}
    )
    await team.grant(uid, "viewer", "view_asset")
    await team.grant(uid, "manager", "manage_asset")
    before, of_collection = await everything(team, uid), await record(team, collection)

    assert await delete(team, uid, by) == 204
    for each in ("owner", "manager", "viewer", "boss", "stranger", ""):
        assert await record(team, uid, each) == 404
    [shown] = (await team.request("owner", "GET", TRASH)).json()["results"]
    assert (shown["uid"], shown["name"], shown["owner__username"]) == (uid, "Second", "owner")
    assert shown["deleted_by"] == user_url(by)
    assert shown["date_deleted"] < shown["purge_at"]
    assert (await record(team, collection))["children"] == {"count": 0}
    assert [await trash_of(team, each) for each in ("boss", "manager", "stranger")] == [
        {uid},
        set(),
        set(),
    ]
    assert (await team.request("", "GET", TRASH)).status_code == 401

    answer = await team.request(by, "POST", f"{LIST}{uid}/undelete/")
    assert (answer.status_code, answer.json()["uid"], answer.json()["name"]) == (200, uid, "Second")
    assert await everything(team, uid) == before
    assert await record(team, collection) == of_collection
    assert await trash_of(team, "boss") == set()
    assert await record(team, uid, "viewer") != 404
    assert await actions(team, uid) == [("in-trash", by), ("put-back", by)]


async def test_a_collection_takes_and_brings_back_what_its_owner_owns(team: SharingTeam) -> None:
    collection = await create(team, asset_type="collection")
    await team.grant(collection, "editor", "change_asset")
    before, own, other = [await create(team, parent=collection, **FORM) for _ in range(3)]
    foreign = await create(team, "editor", parent=collection, **FORM)
    assert await delete(team, before) == 204
    summary = (await record(team, collection))["summary"]
    assert await delete(team, collection) == 204
    assert (await record(team, foreign, "editor"))["parent"] is None
    assert [await record(team, each) for each in (collection, before, own, other, foreign)] == [
        404
    ] * 5
    assert await trash_of(team, "owner") == {collection, before, own, other}

    assert await restore(team, own) == 200
    assert (await record(team, own))["parent"] is None, "its collection is in the trash"
    assert await restore(team, collection) == 200
    assert await trash_of(team, "owner") == {before}, "it was deleted before the collection"
    assert await listed(team, q=f"parent:{collection}") == {other}
    assert (await record(team, collection))["summary"] == summary
    assert await restore(team, before) == 200
    assert await listed(team, q=f"parent:{collection}") == {other, before}
    assert [await actions(team, each) for each in (collection, other)] == [
        [("in-trash", "owner"), ("put-back", "owner")]
    ] * 2


async def test_a_collection_brings_back_only_what_it_took(team: SharingTeam) -> None:
    """Not what was restored alone, nor what was deleted alone before and after."""
    collection = await create(team, asset_type="collection")
    first, second = [await create(team, parent=collection) for _ in range(2)]
    assert await delete(team, collection) == 204
    assert await restore(team, collection) == 200
    assert await delete(team, first) == 204
    assert await delete(team, collection) == 204
    assert await restore(team, collection) == 200
    assert await trash_of(team, "owner") == {first}
    assert await listed(team, q=f"parent:{collection}") == {second}


async def test_languages_of_a_collection_follow_the_trash(team: SharingTeam) -> None:
    collection = await create(team, asset_type="collection")
    survey = [{"type": "text", "name": "a", "label": ["Un", "One"]}]
    content = {
        "survey": survey,
        "translations": ["Français (fr)", "English (en)"],
        "translated": ["label"],
    }
    uid = await create(team, parent=collection, content=content)
    languages = (await record(team, collection))["summary"]["languages"]
    assert languages
    assert await delete(team, uid) == 204
    assert (await record(team, collection))["summary"]["languages"] == []
    assert await restore(team, uid) == 200
    assert (await record(team, collection))["summary"]["languages"] == languages


async def test_bulk(team: SharingTeam) -> None:
    collection = await create(team, asset_type="collection")
    inside, alone, foreign = (
        await create(team, parent=collection),
        await create(team),
        await create(team, "editor"),
    )
    for action in ("delete", "undelete"):
        status, body = await bulk(team, action)
        assert (status, list(body)) == (400, ["confirm"])
        for uids in ([alone, foreign], [alone, "a" * 22], [foreign]):
            assert (await bulk(team, action, asset_uids=uids))[0] == 403, (
                "one of them is not theirs: nothing is done"
            )
        assert await bulk(team, action, asset_uids=[]) == (
            400,
            {"asset_uids": ["Name from 1 to 500 forms."]},
        )
    assert await trash_of(team, "boss") == set()
    assert await bulk(team, "delete", asset_uids=[alone, collection]) == (
        200,
        {"detail": "3 forms were deleted."},
    )
    assert (await bulk(team, "undelete", "editor", asset_uids=[alone]))[0] == 403
    assert await bulk(team, "undelete", asset_uids=[inside, alone]) == (
        200,
        {"detail": "2 forms were restored."},
    )
    assert (await record(team, inside))["parent"] is None
    assert await bulk(team, "delete", confirm=True) == (200, {"detail": "2 forms were deleted."})
    assert await listed(team) == set()
    assert await record(team, foreign, "editor") != 404
    assert await bulk(team, "delete", confirm=True) == (200, {"detail": "0 forms were deleted."})
    assert await bulk(team, "undelete", confirm=True) == (200, {"detail": "3 forms were restored."})
    assert await listed(team) == {collection, inside, alone}
    assert (await bulk(team, "delete", "boss", asset_uids=[foreign, alone]))[0] == 200
    assert await trash_of(team, "editor") == {foreign}


async def test_without_a_trash_assets_are_deleted_at_once(
    start: StartService, database_url: str
) -> None:
    async with start(database_url=database_url, trash_days=0) as service:
        team = await SharingTeam.create(service)
        collection = await create(team, asset_type="collection")
        await team.grant(collection, "editor", "change_asset")
        own, foreign = (
            await create(team, parent=collection),
            await create(team, "editor", parent=collection),
        )
        preview = await team.request(
            "owner", "DELETE", f"{LIST}{collection}/", params={"dry_run": "true"}
        )
        assert (preview.json()["deleted"], preview.json()["trash_days"]) == (2, 0)
        assert await delete(team, collection) == 204
        assert [await restore(team, each) for each in (collection, own)] == [404, 404]
        assert stored_bytes(team.service, team.user_ids["owner"]) == 0
        assert (await record(team, foreign, "editor"))["parent"] is None
        assert [await actions(team, each) for each in (collection, own)] == [
            [("delete", "owner")]
        ] * 2


async def test_a_queued_import_into_a_deleted_asset_ends_with_an_error(team: SharingTeam) -> None:
    uid = await create(team, **FORM)
    sent = {"files": {"file": ("a.xlsx", xlsx())}, "data": {"destination": uid}}
    url = (await team.request("owner", "POST", "/api/v2/imports/", **sent)).json()["url"]
    assert await delete(team, uid) == 204
    assert await ImportWorker(Settings(), team.service.database).process_one()
    done = (await team.request("owner", "GET", url)).json()
    assert (done["status"], done["messages"]["error_type"]) == ("error", "destination_gone")
    assert done["messages"]["error"].startswith("The asset to replace no longer exists.")
    assert await restore(team, uid) == 200
    assert (await record(team, uid))["version_count"] == 1


async def age(team: SharingTeam, *uids: str, days: int = 31) -> None:
    with write_sql(team.service) as connection:
        earlier = (
            assets.update()
            .where(assets.c.uid.in_(uids))
            .values(deleted_at=now() - timedelta(days=days))
        )
        connection.execute(earlier)


async def rows(team: SharingTeam, table: Table) -> int:
    with read_sql(team.service) as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


async def test_workers_purge_what_is_long_in_the_trash(team: SharingTeam) -> None:
    """In several transactions, with files, and nothing that is not in the trash."""
    collection = await create(team, asset_type="collection")
    old = [await team.create_asset(parent=collection) for _ in range(PURGE_BATCH + 5)]
    sent = await team.request(
        "owner", "POST", LIST, files={"file": ("a.xlsx", xlsx())}, data={"name": "File"}
    )
    old.append(sent.json()["uid"])
    await team.grant(old[0], "viewer", "view_asset")
    live, alone, new = await create(team), await create(team, parent=collection), await create(team)
    assert (await bulk(team, "delete", asset_uids=[collection, *old[-1:], new]))[0] == 200
    assert await restore(team, alone) == 200
    await age(team, collection, *old)
    stopping = asyncio.Event()
    worker = asyncio.create_task(ImportWorker(Settings(), team.service.database).run(stopping))
    async with asyncio.timeout(60):
        while await rows(team, files):
            await asyncio.sleep(0)
    stopping.set()
    await worker
    assert (
        await rows(team, assets),
        await rows(team, versions),
        await rows(team, assignments),
    ) == (3, 3, 0)
    assert await listed(team) == {live, alone}
    assert await trash_of(team, "owner") == {new}
    assert await restore(team, old[0]) == 404
    assert await actions(team, collection) == [("in-trash", "owner"), ("delete", "")]
    assert await restore(team, new) == 200


async def test_purging_a_collection_leaves_what_is_not_in_the_trash(team: SharingTeam) -> None:
    """Even if the database says that it is in the collection."""
    collection = await create(team, asset_type="collection")
    assert await delete(team, collection) == 204
    uid = await create(team)
    with write_sql(team.service) as connection:
        inside = select(assets.c.id).where(assets.c.uid == collection).scalar_subquery()
        connection.execute(assets.update().where(assets.c.uid == uid).values(parent_id=inside))
    assert await purge_trash(team.service) == 0
    age_trash(team.service)
    assert await purge_trash(team.service) == 1
    assert (await record(team, uid))["parent"] is None


async def test_purging_never_lowers_the_version_of_the_assets(team: SharingTeam) -> None:
    """An end that has passed counts as a version, and goes with the asset."""
    uid = await create(team)
    await team.grant(uid, "viewer", "view_asset")
    assert await delete(team, uid) == 204
    with write_sql(team.service) as connection:
        connection.execute(assignments.update().values(expires_at=now()))
    age_trash(team.service)
    etag = (await team.request("owner", "GET", LIST)).headers["ETag"]
    assert await purge_trash(team.service) == 1
    assert (await team.request("owner", "GET", LIST)).headers["ETag"] != etag


# Hostile cases


async def test_the_trash_does_not_tell_whether_an_asset_exists(team: SharingTeam) -> None:
    uid, live = await team.create_shared_asset(), await team.create_asset()
    assert await delete(team, uid) == 204
    unknown = f"a{'x' * 21}"
    for by in ("manager", "viewer", "stranger"):
        for method, path in (
            ("POST", "undelete/"),
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "versions/"),
        ):
            answers = [
                await team.request(by, method, f"{LIST}{each}/{path}") for each in (uid, unknown)
            ]
            assert answers[0].status_code == 404
            assert answers[0].json() == answers[1].json(), (by, method, path)
        assert (await bulk(team, "undelete", by, asset_uids=[uid])) == await bulk(
            team, "undelete", by, asset_uids=[unknown]
        )
    answers = [
        await team.request("stranger", "POST", f"{LIST}{each}/undelete/")
        for each in (uid, live, unknown)
    ]
    assert len({answer.text for answer in answers}) == 1
    assert await restore(team, live) == 404, "it is not in the trash"
    assert await record(team, uid) == 404
    assert (await team.request("", "POST", f"{LIST}{uid}/undelete/")).status_code == 401


async def test_two_at_the_same_time(team: SharingTeam) -> None:
    uid = await team.create_asset()
    for act, done in ((delete, 204), (restore, 200)):
        assert sorted(await asyncio.gather(*(act(team, uid) for _ in range(4)))) == [
            done,
            404,
            404,
            404,
        ]
    assert await actions(team, uid) == [("in-trash", "owner"), ("put-back", "owner")]


async def test_a_cached_response_is_not_used_for_a_deleted_asset(team: SharingTeam) -> None:
    uid = await create(team, **FORM)
    await team.grant(uid, "viewer", "view_asset")
    for path in (
        LIST,
        f"{LIST}?q=uid:{uid}",
        f"{LIST}?asset_type=survey",
        f"{LIST}{uid}.xlsx",
        f"{LIST}{uid}/xform/",
    ):
        before = await team.request("viewer", "GET", path)
        assert before.status_code == 200
        headers = {"If-None-Match": before.headers.get("ETag", "*")}
        assert await delete(team, uid) == 204
        after = await team.request("viewer", "GET", path, headers=headers)
        assert after.status_code == (404 if uid + "." in path or uid + "/" in path else 200), path
        assert after.json().get("count", 0) == 0
        assert await restore(team, uid) == 200
        again = await team.request("viewer", "GET", path)
        assert again.content == before.content


async def test_nothing_is_made_from_or_in_a_deleted_asset(team: SharingTeam) -> None:
    collection, uid, other = (
        await create(team, asset_type="collection"),
        await create(team, **FORM),
        await create(team),
    )
    assert [await delete(team, each) for each in (collection, uid)] == [204, 204]
    for body, status in (({"parent": collection}, 400), ({"clone_from": uid}, 404)):
        answer = await team.request("owner", "POST", LIST, json={"name": "New", **body})
        assert answer.status_code == status, answer.text
    sent = {"files": {"file": ("a.xlsx", xlsx())}, "data": {"destination": uid}}
    assert (await team.request("owner", "POST", "/api/v2/imports/", **sent)).status_code == 404
    cloned = await team.request_assignments(
        other, "owner", "PATCH", "clone/", json={"clone_from": uid}
    )
    assert cloned.status_code == 404
    grant = {"assets": [uid, other], "users": ["viewer"], "permissions": ["view_asset"]}
    assert (
        await team.request("owner", "POST", "/api/v2/permission-assignments/add/", json=grant)
    ).status_code >= 400
    assert (await bulk(team, "archive", asset_uids=[uid]))[0] == 403
    assert await listed(team) == {other}


async def test_the_trash_counts_for_storage_and_nothing_else(team: SharingTeam) -> None:
    collection = await create(team, asset_type="collection")
    uid = await create(team, parent=collection, **FORM)
    await team.request_assignments(
        collection, "owner", "POST", json={"user": "AnonymousUser", "permission": "discover_asset"}
    )
    stored = stored_bytes(team.service, team.user_ids["owner"])
    public = await team.request("owner", "GET", user_url("owner"))
    assert await delete(team, collection) == 204
    assert stored_bytes(team.service, team.user_ids["owner"]) == stored
    for query in (
        {"q": "Visit"},
        {"q": f"uid:{uid}"},
        {"status": "public-discoverable"},
        {"status": "private"},
    ):
        assert await listed(team, **query) == set(), query
    assert await listed(team, "", status="public-discoverable") == set()
    shown = await team.request("owner", "GET", user_url("owner"))
    assert (
        public.json()["public_collections_count"],
        shown.json()["public_collections_count"],
    ) == (1, 0)


async def test_the_transfer_of_all_assets_takes_the_trash_along(team: SharingTeam) -> None:
    uid, live = await create(team), await create(team)
    assert await delete(team, uid) == 204
    answer = await team.request("boss", "POST", f"{user_url('owner')}transfer/", json={"to": "ann"})
    assert answer.status_code == 200, answer.text
    assert (await trash_of(team, "owner"), await trash_of(team, "ann")) == (set(), {uid})
    assert await listed(team, "ann") == {live}
    assert await restore(team, uid) == 404
    assert await restore(team, uid, by="ann") == 200
    assert last_segment((await record(team, uid, by="ann"))["owner"]) == "ann"
