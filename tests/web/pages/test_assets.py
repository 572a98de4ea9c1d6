"""Pages of forms and collections."""

import copy
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.web.page_client import PageClient, visible_text
from tests.web.pages.asset_world import CONTENT, AssetWorld

LIST = "/api/v2/assets/"
TRASH_PATH = f"{LIST}deleted/"
ATTACK = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"


@pytest.fixture
def world(service: Service) -> AssetWorld:
    return AssetWorld(service)


class NodeCounter(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.attributes: set[str] = set()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.attributes |= {name for name, _ in attrs}
        self.tags.append(tag)


def parse(page: str) -> NodeCounter:
    counter = NodeCounter()
    counter.feed(page)
    assert len(counter.ids) == len(set(counter.ids)), counter.ids
    return counter


# The list


async def test_list_shows_facts_about_each_asset(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    await world.create(owner, asset_type="collection", name="Library")
    page = await client.get(LIST)
    text = visible_text(page.text)
    assert "2 forms and collections" in text
    assert re.search(
        r"Household survey Form You 4 English and Arabic \S+ \S+ ago Only you", text
    ), text
    assert re.search(r"Library Collection You 0 items – .* Only you", text), text
    assert f'<a href="{path}">' in page.text
    parse(page.text)


async def test_create_a_collection_and_undo(world: AssetWorld) -> None:
    _, client = await world.user()
    refused = await client.submit(LIST, "create_collection", {"name": "  "})
    assert refused.status_code == 400
    assert "Enter a name for the collection." in visible_text(refused.text)
    page = await client.submit_and_follow(
        LIST, "create_collection", {"name": "Shared <b>questions</b>"}
    )
    assert "The collection “Shared <b>questions</b>” was created." in visible_text(page.text)
    assert "This collection is empty" in visible_text(page.text)
    after = await client.submit_and_follow(page.request.url.path, "delete", {"confirm": "yes"})
    assert "was deleted" in visible_text(after.text)


# One form


async def test_preview(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    page = await client.get(path)
    text = visible_text(page.text)
    assert "Group · In" not in text
    for part in (
        "Home",
        "1 One choice · Required",
        "Roof?",
        "Look up",
        "Tin",
        "Mud",
        "2 Whole number",
        "Rooms?",
    ):
        assert part in text, part
    assert "Shown if “Roof?” = “Tin”" in text
    assert "${roof}" not in text
    assert "English and Arabic" in text
    parse(page.text)


async def test_language_of_the_preview(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    arabic = (await client.get(f"{path}?language=Arabic (ar)")).text
    assert "السقف؟" in arabic
    assert "not translated" in visible_text(arabic)
    assert re.search(r'aria-current="true"><bdi>Arabic</bdi>', arabic)
    reader = PageClient(world.service, client._cookies["fieldgate_session"], "ar")
    own = (await reader.get(path)).text
    assert "السقف؟" in own
    assert re.search(r'aria-current="true"><bdi>العربية</bdi>', own)
    assert "Roof?" in (await reader.get(f"{path}?language=en")).text
    assert (await client.get(f"{path}?language=xx")).status_code == 200


async def test_buttons_follow_permissions(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    await world.add_version(path, {**CONTENT, "survey": CONTENT["survey"][3:]})
    clients = {"owner": client}
    for permission in ("view_asset", "change_asset", "manage_asset"):
        username = f"user-{permission}-{owner}"
        _, clients[permission] = await world.user(username)
        await world.share(owner, path, username, permission)
    everything = {"Rename", "Delete", "Upload a new version", "Make a copy", "Restore", "Share"}
    seen = {}
    for name, each in clients.items():
        controls = re.findall(r"<(?:summary|button|a)[^>]*>(.*?)<", (await each.get(path)).text)
        seen[name] = everything & set(controls)
    assert seen["owner"] == everything
    assert seen["manage_asset"] == everything - {"Delete"}
    assert seen["change_asset"] == everything - {"Delete", "Share"}
    assert seen["view_asset"] == {"Make a copy"}
    for form, fields in (("rename", {"name": "Mine"}), ("delete", {"confirm": "yes"})):
        assert (await clients["view_asset"].submit(path, form, fields)).status_code == 400
    assert "Household survey" in visible_text((await client.get(path)).text)
    _, stranger = await world.user()
    assert (await stranger.get(path)).status_code == 404
    assert (await stranger.submit(path, "rename", {"name": "Mine"})).status_code == 404


async def test_publishing(world: AssetWorld) -> None:
    """A page says which version is published, warns if it is not the newest, and has buttons for who may change it."""
    owner, client = await world.user()
    path = await world.create(owner)
    _, viewer = await world.user("viewer")
    await world.share(owner, path, "viewer")

    async def texts() -> tuple[str, str]:
        return visible_text((await client.get(path)).text), visible_text(
            (await viewer.get(path)).text
        )

    async def newest() -> str:
        version = (await client.get(f"{path}?format=json")).json()["version_id"]
        assert isinstance(version, str)
        return version

    shown, others = await texts()
    assert "No version is published yet." in shown
    assert "Publish version 1" in shown
    assert "ublish" not in others
    page = await client.submit_and_follow(path, "publish", {"version": await newest()})
    assert "Version 1 is published: people should use it." in visible_text(page.text)
    stale = await newest()
    await world.add_version(path, {**CONTENT, "survey": CONTENT["survey"][3:]})
    for text in await texts():
        assert "People should use version 1. Version 2 is newer, but not published." in text
    assert "Publish version 2" in (await texts())[0]
    assert "?version=deployed" in (await viewer.get(path)).text
    assert (await client.submit(path, "publish", {"version": stale})).status_code == 400
    await client.submit_and_follow(path, "publish", {"version": await newest()})
    for text in await texts():
        assert "Version 2 is published: people should use it." in text
        assert text.count(" published") == 2  # also beside the version
    archived = await client.submit_and_follow(path, "archive", {})
    assert "This form is archived: people should not use it any more." in visible_text(
        archived.text
    )
    assert "Publish version 2" in visible_text(archived.text)
    back = await client.submit_and_follow(path, "archive", {"active": "true"})
    assert "The form is in use again." in visible_text(back.text)
    for form in ("publish", "archive"):
        assert (await viewer.submit(path, form, {"version": await newest()})).status_code == 400
    template = await world.create(owner, asset_type="template")
    assert "ublish" not in visible_text((await client.get(template)).text)


async def test_a_public_form_without_login(world: AssetWorld) -> None:
    owner, _ = await world.user()
    path = await world.create(owner)
    await world.share(owner, path, "AnonymousUser")
    page = await PageClient(world.service).get(path)
    assert page.status_code == 200
    assert "Roof?" in page.text
    assert "<form" not in page.text.split("<main")[1]
    assert "Everybody with the link" in page.text


async def test_rename_and_undo(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    page = await client.submit_and_follow(path, "rename", {"name": " New {name} "})
    assert "The name is now “New {name}”." in visible_text(page.text)
    undo = page.text.split('class="notice"')[1].split("</form>")[0]
    assert 'name="name" value="Household survey"' in undo
    back = await client.submit_and_follow(path, "rename", {"name": "Household survey"})
    assert "<h1><bdi>Household survey</bdi></h1>" in back.text


async def test_change_tags_and_undo(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    assert "Tags:" not in visible_text((await client.get(path)).text)
    await client.submit_and_follow(path, "tags", {"tag_string": "old"})
    page = await client.submit_and_follow(path, "tags", {"tag_string": "roofs, <b>"})
    text = visible_text(page.text)
    assert "The tags are now: \u2068roofs\u2069 and \u2068<b>\u2069." in text
    assert re.search(r"Tags: roofs ?, <b>", text)
    undo = page.text.split('class="notice"')[1].split("</form>")[0]
    assert 'name="tag_string" value="old"' in undo
    assert "There are no tags now." in visible_text(
        (await client.submit_and_follow(path, "tags", {"tag_string": ""})).text
    )
    refused = await client.submit(path, "tags", {"tag_string": "x" * 101})
    assert "A tag has at most 100 characters." in visible_text(refused.text)
    _, viewer = await world.user()
    assert (await viewer.submit(path, "tags", {"tag_string": "x"})).status_code == 404


async def test_delete_asks_first(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner)
    asked = await client.submit(path, "delete")
    assert asked.status_code == 200
    assert "Delete “Household survey”?" in visible_text(asked.text)
    assert (
        "its 1 version will be deleted for everybody. You can restore it for 30 days."
        in visible_text(asked.text)
    )
    assert (await client.get(path)).status_code == 200
    page = await client.submit_and_follow(path, "delete", {"confirm": "yes"})
    assert page.request.url.path == LIST
    assert "“Household survey” was deleted." in visible_text(page.text)
    assert (await client.get(path)).status_code == 404


async def test_undo_deleting(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner, name="Roofs & <walls>")
    await world.share(owner, path, "AnonymousUser")
    page = await client.submit_and_follow(path, "delete", {"confirm": "yes"})
    undo = page.text.split('class="notice"')[1].split("</form>")[0]
    assert f'action="{TRASH_PATH}?form=restore#preview"' in undo
    uid = path.removesuffix("/").rsplit("/", 1)[1]
    assert f'name="uid" value="{uid}"' in undo
    back = await client.submit_and_follow(TRASH_PATH, "restore", {"uid": uid})
    assert back.request.url.path == path
    assert "“Roofs & <walls>” is restored." in visible_text(back.text)
    assert "Everybody with the link" in back.text


async def test_deleted_forms(world: AssetWorld) -> None:
    owner, client = await world.user()
    _, stranger = await world.user()
    _, by_boss = await world.user(f"boss-{owner}", is_superuser=True)
    assert "No form was deleted lately." in (await client.get(TRASH_PATH)).text
    assert f'href="{TRASH_PATH}"' in (await client.get(LIST)).text
    paths = [await world.create(owner, name=name) for name in ("Roofs & <walls>", "")]
    await client.submit_and_follow(paths[0], "delete", {"confirm": "yes"})
    await by_boss.submit_and_follow(paths[1], "delete", {"confirm": "yes"})
    page = (await client.get(TRASH_PATH)).text
    text = visible_text(page)
    assert "Roofs & <walls>" in text
    assert "<walls>" not in page
    assert ("Without a name" in text, f"boss-{owner}" in text, text.count("30 days")) == (
        True,
        True,
        2,
    )
    assert "Without a name" not in visible_text((await stranger.get(TRASH_PATH)).text)
    uid = paths[1].removesuffix("/").rsplit("/", 1)[1]
    for each in (uid, "nothing", f"../{uid}", f"{uid}/undelete/?", ""):
        refused = await stranger.submit(TRASH_PATH, "restore", {"uid": each})
        assert refused.status_code == 400, each
    assert (await client.get(paths[1])).status_code == 404
    assert (
        await client.submit_and_follow(TRASH_PATH, "restore", {"uid": uid})
    ).request.url.path == paths[1]
    assert (await PageClient(world.service).get(TRASH_PATH)).status_code == 401


async def test_without_a_trash_deleting_cannot_be_undone(start: StartService) -> None:
    async with start(trash_days=0) as service:
        world = AssetWorld(service)
        owner, client = await world.user()
        path = await world.create(owner)
        assert "This cannot be undone." in (await client.submit(path, "delete")).text
        page = await client.submit_and_follow(path, "delete", {"confirm": "yes"})
        assert "“Household survey” was deleted." in visible_text(page.text)
        assert "Undo" not in page.text


async def test_a_collection_shows_what_is_in_it(world: AssetWorld) -> None:
    owner, client = await world.user()
    path = await world.create(owner, asset_type="collection", name="Library")
    inside = path.split("/")[-2]
    child = await world.create(owner, asset_type="block", name="Age & sex", collection=inside)
    page = (await client.get(path)).text
    assert "1 item" in visible_text(page)
    assert "Age & sex" in visible_text(page)
    assert "Upload a new version" not in page
    assert "Download" not in page
    assert "Make a copy" not in page
    assert f'<li><a href="{path}"><bdi>Library</bdi></a></li>' in (await client.get(child)).text
    asked = visible_text((await client.submit(path, "delete")).text)
    assert "the 1 item in it will be deleted" in asked


@pytest.mark.parametrize("deleter", ["owner", "superuser"])
async def test_deleting_a_collection_says_which_forms_stay(world: AssetWorld, deleter: str) -> None:
    owner, by_owner = await world.user()
    _, by_superuser = await world.user(is_superuser=True)
    client = by_owner if deleter == "owner" else by_superuser
    other, others_client = await world.user(f"amina-{owner}")
    path = await world.create(owner, asset_type="collection", name="Library")
    inside = path.split("/")[-2]
    own = await world.create(owner, name="Own form", collection=inside)
    kept = [
        await world.create(other, name=name, collection=inside)
        for name in ("Water & <b>soap</b>", "")
    ]

    asked = (await client.submit(path, "delete")).text
    question = asked[asked.index("delete-confirm") : asked.index("Yes, delete")]
    assert "The collection and 1 item of its owner will be deleted" in visible_text(question)
    assert "2 items in it belong to others and stay. They leave the collection" in visible_text(
        question
    )
    assert "<bdi>Water &amp; &lt;b&gt;soap&lt;/b&gt;</bdi> · owned by amina-" in question
    assert "Without a name" in question
    assert "Own form" not in question

    page = await client.submit_and_follow(path, "delete", {"confirm": "yes"})
    assert page.request.url.path == LIST
    said = visible_text(page.text).replace("\u2068", "").replace("\u2069", "")
    assert (
        "“Library” was deleted. 2 items in it belong to others and stay: Water & <b>soap</b> and "
        in said
    )
    assert (await by_owner.get(own)).status_code == 404
    assert [(await others_client.get(each)).status_code for each in kept] == [200, 200]


def attacked(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: value[key] if key in ("type", "$kuid") else attacked(value[key]) for key in value
        }
    return (
        [attacked(each) for each in value]
        if isinstance(value, list)
        else ATTACK
        if isinstance(value, str)
        else value
    )


async def test_stored_text_is_never_markup(world: AssetWorld) -> None:
    owner, client = await world.user()
    content = attacked(copy.deepcopy(CONTENT)) | {
        "translations": [ATTACK, "Arabic (ar)"],
        "settings": {"style": ATTACK},
    }
    content["survey"][1] |= {
        "appearance": ATTACK,
        "media::image": [ATTACK, ATTACK],
        "relevant": f"${{{ATTACK}}} = '{ATTACK}'",
    }
    path = await world.create(owner, name=ATTACK)
    await world.add_version(path, content, f"{ATTACK}.xlsx")
    versions = (await client.get(f"{path}versions/")).text
    newest = re.findall(rf'href="({path}versions/v\w+/)"', versions)[0]
    asked = (await client.submit(path, "delete")).text
    renamed = await client.submit_and_follow(path, "rename", {"name": f"{ATTACK} again"})
    urls = (
        LIST, f"{LIST}?q=%22{ATTACK.replace('&', '')}%22", path, f"{path}?language={ATTACK}&offset={ATTACK}",
        f"{path}questions/?list_name={ATTACK}", f"{path}questions/", newest, f"{newest}diff/", f"{newest}warnings/",
    )  # fmt: skip
    pages = [versions, asked, renamed.text, *[(await client.get(url)).text for url in urls]]
    for page in pages:
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "alert(2)" in page
        parsed = parse(page)
        assert "onerror" not in parsed.attributes
        assert parsed.tags.count("script") == 1
