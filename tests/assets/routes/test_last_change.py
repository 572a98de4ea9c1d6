"""Who made the last change of an asset, and which of its files exist, on both databases."""

from tests.access.permission_world import PermissionWorld
from tests.assets.routes.test_write_routes import CONTENT, ROWS, Author, author
from tests.imports.workbooks import xlsx

__all__ = ["author"]

SURVEY = (("type", "name", "label"), ("text", "town", "Which town?"))


async def test_the_user_who_made_the_last_change_is_named(author: Author) -> None:
    world = PermissionWorld(author.service)
    owner, editor, viewer = [await world.create_user() for _ in range(3)]
    by_owner, by_editor, by_viewer = (
        Author(author.service, user.headers, author.worker) for user in world.users[-3:]
    )
    created = await by_owner.post(name="Visit", content=CONTENT)
    assert created["last_modified_by"] == owner.username
    asset = await world.register_asset(created["uid"], owner)
    await world.grant(editor, asset, "change_asset")
    await world.grant(viewer, asset, "view_asset")

    assert (await by_editor.patch(created, name="Renamed"))["last_modified_by"] == editor.username
    assert (await by_owner.patch(created, content={**CONTENT, "survey": ROWS[:1]}))[
        "last_modified_by"
    ] == (owner.username)
    await by_editor.import_workbook(xlsx(survey=SURVEY), destination=created["uid"])
    assert (await by_viewer.get(created["url"]))["last_modified_by"] == editor.username
    first = (await by_owner.get(created["versions"]))["results"][-1]
    restored = await author.service.client.post(f"{first['url']}restore/", headers=owner.headers)
    assert restored.status_code == 201
    [listed] = (await by_viewer.get("/api/v2/assets/"))["results"]
    assert listed["last_modified_by"] == owner.username

    await by_editor.patch(created, 400, content={"survey": [{"type": "florb"}]})
    assert (await by_owner.get(created["url"]))["last_modified_by"] == owner.username, (
        "a refusal changes nothing"
    )
