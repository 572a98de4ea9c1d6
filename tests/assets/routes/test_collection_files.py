"""The file of a collection has the content of all assets in it: only its owner gets it, on both databases."""

from typing import Any

from tests.access.permission_world import PermissionWorld
from tests.assets.routes.test_write_routes import Author, author
from tests.imports.workbooks import xlsx

__all__ = ["author"]

LIBRARY = (
    ("block", "type", "name", "label"),
    ("open", "text", "name", "Your name"),
    ("open", "integer", "age", "Your age"),
    ("secret", "text", "informant", "Who told you?"),
    ("secret", "text", "hideout", "Where do they hide?"),
)


async def test_the_file_of_a_collection_is_for_its_owner(author: Author) -> None:
    world = PermissionWorld(author.service)
    owner, viewer = await world.create_user(), await world.create_user()
    by_owner = Author(author.service, owner.headers, author.worker)
    by_viewer = Author(author.service, viewer.headers, author.worker)
    book = xlsx(library=LIBRARY, choices=(("list_name", "name", "label"), ("places", "a", "A")))
    record = await by_owner.import_workbook(book, library="true", filename="library.xlsx")
    assert record["messages"]["warnings"]
    collection, children = await _share(world, by_owner, record, viewer, hidden="secret")

    async def get(user: Any, url: str) -> Any:
        return await author.service.get(url, headers=user.headers)

    assert (await get(viewer, children["open"]["url"])).status_code == 200
    assert (await get(viewer, children["secret"]["url"])).status_code == 404

    [own] = (await by_owner.get(collection["versions"]))["results"]
    assert (own["filename"], (await get(owner, own["file"])).content) == ("library.xlsx", book)
    assert (await by_owner.get(f"{own['url']}warnings/"))["count"] == len(
        record["messages"]["warnings"]
    )

    [seen] = (await by_viewer.get(collection["versions"]))["results"]
    assert (seen["uid"], seen["filename"], seen["file"]) == (own["uid"], None, None)
    assert (await by_viewer.get(own["url"]))["file"] is None
    refused = await get(viewer, own["file"])
    assert refused.status_code == 404
    assert b"Only the owner" in refused.content
    assert (await by_viewer.get(f"{own['url']}warnings/"))["results"] == []


async def test_an_asset_in_a_collection_has_no_file_of_the_others(author: Author) -> None:
    record = await author.import_workbook(xlsx(library=LIBRARY), library="true")
    for child in await _children(author, record):
        [version] = (await author.get(child["versions"]))["results"]
        assert version["file"] is None
        assert (
            await author.service.get(f"{version['url']}file/", headers=author.headers)
        ).status_code == 404


async def _children(author: Author, record: dict[str, Any]) -> list[dict[str, Any]]:
    uid = record["messages"]["created"][0]["uid"]
    found: list[dict[str, Any]] = (await author.get(f"/api/v2/assets/?q=parent:{uid}"))["results"]
    assert len(found) == 2
    return found


async def _share(
    world: PermissionWorld, by_owner: Author, record: dict[str, Any], viewer: Any, hidden: str
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Share a collection with a user, except for one of the assets in it."""
    collection = await by_owner.asset(record)
    children = {child["name"]: child for child in await _children(by_owner, record)}
    for url, permissions in ((collection["url"], ["view_asset"]), (children[hidden]["url"], [])):
        response = await by_owner.service.client.patch(
            f"{url}permission-assignments/bulk/",
            json={"user": viewer.username, "permissions": permissions},
            headers=by_owner.headers,
        )
        assert response.status_code == 200, response.text
    return collection, children
