"""Deploying versions of surveys over HTTP, on both databases."""

import io
from typing import Any

import httpx
import openpyxl
import pytest

from tests.assets.routes.test_restore import OTHER_CONTENT, restore, versions_of
from tests.assets.routes.test_write_routes import CONTENT, PATH, Author, author

__all__ = ["author"]

LIST_FIELDS = ("has_deployment", "deployment__active", "deployment_status", "deployed_version_id")
DRAFT = (False, False, "draft", None)


async def send(
    author: Author, method: str, asset: dict[str, Any], **options: Any
) -> httpx.Response:
    return await author.service.request(
        method, f"{asset['url']}deployment/", headers=author.headers, **options
    )


async def deploy(author: Author, method: str, asset: dict[str, Any], **body: Any) -> dict[str, Any]:
    response = await send(author, method, asset, json=body)
    assert response.status_code == 200, response.text
    record: dict[str, Any] = response.json()
    assert record["asset"] == await author.get(asset["url"])
    assert record == (await send(author, "GET", asset)).json()
    assert (record["backend"], set(record)) == (
        "openrosa",
        {"backend", "active", "version_id", "asset"},
    )
    [listed] = (await author.get(f"{PATH}?q=uid:{asset['uid']}"))["results"]
    assert all(listed[name] == record["asset"][name] for name in (*LIST_FIELDS, "date_deployed"))
    return record


async def bulk(author: Author, payload: Any, status: int = 200) -> dict[str, Any]:
    response = await author.service.client.post(
        f"{PATH}bulk/", json={"payload": payload}, headers=author.headers
    )
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


def state(asset: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(asset[name] for name in LIST_FIELDS)


async def test_the_life_of_a_deployment(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)
    assert (state(asset), asset["date_deployed"]) == (DRAFT, None)
    assert (await send(author, "GET", asset)).status_code == 404
    first = asset["version_id"]
    record = await deploy(author, "POST", asset, active=True, version_id=first)
    assert (record["active"], record["version_id"]) == (True, first)
    assert state(record["asset"]) == (True, True, "deployed", first)
    newer = await author.patch(asset, content=OTHER_CONTENT)
    assert state(newer) == (True, True, "deployed", first)
    archived = await deploy(author, "PATCH", asset, active=False)
    assert (archived["version_id"], state(archived["asset"])) == (
        first,
        (True, False, "archived", first),
    )
    redeployed = await deploy(author, "PATCH", asset, active=True, version_id=newer["version_id"])
    assert state(redeployed["asset"]) == (True, True, "deployed", newer["version_id"])
    assert redeployed["asset"]["date_deployed"] > record["asset"]["date_deployed"]
    listed = redeployed["asset"]["deployed_versions"]
    assert (listed["count"], [each["uid"] for each in listed["results"]]) == (
        2,
        [newer["version_id"], first],
    )
    copy = await author.post(clone_from=asset["uid"])
    assert state(copy) == DRAFT


async def test_a_form_body_and_no_body(author: Author) -> None:
    """Tools send forms as well as JSON; `active` is true if nothing is said."""
    for options in ({"data": {"active": "True", "backend": "kobocat"}}, {}):
        asset = await author.post(name="Visit", content=CONTENT)
        assert (await send(author, "POST", asset, **options)).json()["active"] is True
    await author.patch(asset, content=OTHER_CONTENT)
    assert (await send(author, "PATCH", asset, json={"active": False})).json()["active"] is False
    newest = await send(author, "PATCH", asset)
    assert (newest.json()["active"], newest.json()["version_id"]) == (
        False,
        newest.json()["asset"]["version_id"],
    )


async def test_what_is_refused_changes_nothing(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)
    template = await author.post(asset_type="template", name="T", content=CONTENT)
    empty = await author.post(name="Empty")
    first = await send(author, "PATCH", asset, json={"active": True})
    assert (first.status_code, "POST" in first.json()["detail"]) == (405, True)
    for refused, body in (
        (template, {}),
        (empty, {}),
        (asset, {"version_id": "vNope"}),
        (asset, {"active": "maybe"}),
    ):
        response = await send(author, "POST", refused, json={"active": True, **body})
        assert response.status_code == 400, response.text
        assert not (await author.get(refused["url"]))["has_deployment"]
    old = asset["version_id"]
    before = await deploy(author, "POST", asset, active=True)
    again = await send(author, "POST", asset, json={"active": True})
    assert (again.status_code, "PATCH" in again.json()["detail"]) == (405, True)
    assert "PATCH" in again.headers["Allow"]
    await author.patch(asset, content=OTHER_CONTENT)
    response = await send(author, "PATCH", asset, json={"version_id": old})
    assert (response.status_code, list(response.json())) == (400, ["version_id"])
    assert (await send(author, "GET", asset)).json()["asset"]["date_deployed"] == before["asset"][
        "date_deployed"
    ]


@pytest.mark.parametrize(
    ("permission", "status"), [(None, 404), ("view_asset", 403), ("change_asset", 200)]
)
async def test_change_asset_is_needed(author: Author, permission: str | None, status: int) -> None:
    asset, other = await author.post(name="Visit", content=CONTENT), await author.other()
    if permission is not None:
        name = (await other.get("/api/v2/account/"))["username"]
        given = {"user": name, "permission": permission}
        await author.service.request(
            "POST", f"{asset['url']}permission-assignments/", json=given, headers=author.headers
        )
    for method, fields in (("POST", {}), ("PATCH", {"active": False})):
        if method == "PATCH" and status != 200:
            await send(author, "POST", asset, json={})
        assert (await send(other, method, asset, json=fields)).status_code == status
    assert (await author.service.request("POST", f"{asset['url']}deployment/")).status_code == 401


async def test_files_of_the_deployed_version(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)
    base = asset["url"].rstrip("/")
    files = (
        f"{asset['xform_link']}",
        f"{base}.xml",
        f"{base}.xlsx",
        f"{base}.xls",
        f"{base}/{asset['uid']}.xls",
    )
    for file in files:
        assert (
            await author.service.get(f"{file}?version=deployed", headers=author.headers)
        ).status_code == 404
    assert (
        await author.service.get(f"{base}.xml?version=oldest", headers=author.headers)
    ).status_code == 400
    await deploy(author, "POST", asset, active=True)
    await author.patch(asset, content=OTHER_CONTENT, name="Renamed")
    for file in files:
        for query, has_town in (("", True), ("?version=deployed", False)):
            response = await author.service.get(file + query, headers=author.headers)
            assert response.status_code == 200, response.text
            assert _mentions_town(response) == has_town, file + query


def _mentions_town(response: httpx.Response) -> bool:
    if b"<h:html" in response.content:
        return "Town?" in response.text
    rows = openpyxl.load_workbook(io.BytesIO(response.content))["survey"].iter_rows(
        values_only=True
    )
    return any("town" in row for row in rows)


async def test_versions_have_numbers_hashes_and_dates_as_in_kobotoolbox(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)  # draft 0.1
    await author.patch(asset, content=OTHER_CONTENT)  # 1
    await deploy(author, "POST", asset, active=True)
    await author.patch(asset, content=CONTENT)  # 1.1
    await author.patch(asset, content=OTHER_CONTENT)  # 2
    deployed = await deploy(
        author,
        "PATCH",
        asset,
        active=True,
        version_id=(await author.get(asset["url"]))["version_id"],
    )
    restored = await restore(author, (await versions_of(author, asset))[-1])  # 2.1
    listed = await versions_of(author, asset)
    assert [each["version_number"] for each in listed] == ["2.1", "2", "1.1", "1", "0.1"]
    assert [each["number"] for each in listed] == [5, 4, 3, 2, 1]
    assert [each["date_deployed"] is False for each in listed] == [True, False, True, False, True]
    assert listed[1]["date_deployed"] == deployed["asset"]["date_deployed"]
    assert all(each["date_modified"] == each["date_created"] for each in listed)
    assert restored == listed[0]
    assert listed[0]["content_hash"] == listed[-1]["content_hash"] == asset["version__content_hash"]
    assert len({each["content_hash"] for each in listed}) == 4
    page = (await author.get(f"{asset['versions']}?limit=1&offset=2"))["results"]
    assert page == [listed[2]]
    detail = await author.get(listed[2]["url"])
    assert {key: detail[key] for key in listed[2]} == listed[2]
    inside = deployed["asset"]["deployed_versions"]["results"]
    assert [{key: each[key] for key in inside[0]} for each in (listed[1], listed[3])] == inside


async def test_archive_and_unarchive_in_bulk(author: Author) -> None:
    first, second, draft = [await author.post(name=name, content=CONTENT) for name in "ABC"]
    for asset in (first, second):
        await deploy(author, "POST", asset, active=True)
    uids = [first["uid"], second["uid"]]
    assert await bulk(author, {"asset_uids": uids, "action": "archive"}) == {
        "detail": "2 forms were archived."
    }
    assert state(await author.get(first["url"]))[1:3] == (False, "archived")
    assert await bulk(author, {"asset_uids": uids[:1], "action": "unarchive"}) == {
        "detail": "1 form is in use again."
    }
    everything = {"action": "unarchive", "confirm": True}  # all that were deployed
    assert await bulk(author, everything) == {"detail": "2 forms are in use again."}
    for asset, expected in ((first, "deployed"), (second, "deployed"), (draft, "draft")):
        assert (await author.get(asset["url"]))["deployment_status"] == expected
    stranger = await author.other()
    assert await bulk(stranger, everything) == {"detail": "0 forms are in use again."}
    collection = await author.post(asset_type="collection", name="K")
    refusals: list[tuple[Author, Any, int]] = [
        (author, {"asset_uids": [*uids, draft["uid"]], "action": "archive"}, 400),
        (author, {"asset_uids": [*uids, "anope"], "action": "archive"}, 403),
        (author, {"asset_uids": [*uids, collection["uid"]], "action": "archive"}, 403),
        (stranger, {"asset_uids": uids, "action": "archive"}, 403),
        (author, {"asset_uids": [], "action": "archive"}, 400),
        (author, {"asset_uids": ["a"] * 501, "action": "archive"}, 400),
        (author, {"action": "archive"}, 400),
        (author, {"asset_uids": uids, "action": "explode"}, 400),
        (author, "archive", 400),
    ]
    for caller, payload, status in refusals:
        await bulk(caller, payload, status)
    assert (await author.get(first["url"]))["deployment_status"] == "deployed"


async def test_bulk_needs_manage_asset_on_each(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)
    await deploy(author, "POST", asset, active=True)
    helper = await author.other()
    name = (await helper.get("/api/v2/account/"))["username"]
    for permission, status in (("change_asset", 403), ("manage_asset", 200)):
        given = {"user": name, "permission": permission}
        sharing = f"{asset['url']}permission-assignments/"
        await author.service.request("POST", sharing, json=given, headers=author.headers)
        await bulk(helper, {"asset_uids": [asset["uid"]], "action": "archive"}, status)
