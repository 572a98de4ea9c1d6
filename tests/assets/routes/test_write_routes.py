"""Creating assets and changing their content over HTTP."""

import json
import random
import string
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import func, select

from fieldgate.assets.asset_writer import DEFAULT_SETTINGS
from fieldgate.assets.form_checker import CheckedContent
from fieldgate.assets.tables import assets, files, versions
from fieldgate.db.log import log
from fieldgate.http.request.body_parsing import DEFAULT_MAX_BODY_BYTES
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.access.permission_world import PUBLIC_USER, PermissionWorld
from tests.conftest import StartService
from tests.data.sql import read_sql
from tests.imports.test_worker import ImportHarness
from tests.imports.workbooks import Rows, xlsx
from tests.imports.xlsform.test_content_sample import WORKBOOK

PATH = "/api/v2/assets/"
ROWS: list[dict[str, Any]] = [
    {"type": "text", "name": "name", "label": ["What is your name?"]},
    {"type": "integer", "name": "age", "label": ["How old are you?"], "required": True},
]
CONTENT: dict[str, Any] = {"survey": ROWS, "choices": [], "settings": {}, "translations": [None]}
SUMMARY_KEYS = {"geo", "labels", "columns", "languages", "row_count", "default_translation"}


class Author(ImportHarness):
    """A user who writes assets."""

    async def post(self, status: int = 201, **body: Any) -> dict[str, Any]:
        response = await self.service.client.post(PATH, json=body, headers=self.headers)
        assert response.status_code == status, response.text
        found: dict[str, Any] = response.json()
        return found

    async def patch(self, asset: dict[str, Any], status: int = 200, **body: Any) -> dict[str, Any]:
        response = await self.service.client.patch(asset["url"], json=body, headers=self.headers)
        assert response.status_code == status, response.text
        found: dict[str, Any] = response.json()
        return found

    async def xform(self, asset: dict[str, Any]) -> str:
        response = await self.service.get(asset["xform_link"], headers=self.headers)
        assert response.status_code == 200, response.text
        return response.text

    async def other(self) -> "Author":
        """Another user of the same service."""
        headers = {"Authorization": f"Token {await self.service.create_token()}"}
        return Author(self.service, headers, self.worker)

    async def count(self, table: Any) -> int:
        with read_sql(self.service) as connection:
            return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


@pytest.fixture
async def author(start: StartService, database_url: str) -> AsyncIterator[Author]:
    async with start(database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        yield Author(service, headers, ImportWorker(Settings(), service.database))


def without_ids(content: dict[str, Any]) -> dict[str, Any]:
    """Ids of rows are random."""
    rows = {key: [{**row, "$kuid": "id"} for row in content[key]] for key in ("survey", "choices")}
    return content | rows


async def test_content_becomes_what_an_import_gives(author: Author) -> None:
    imported = await author.asset(
        await author.import_workbook(
            xlsx(
                survey=(("type", "name", "label", "required"), ("text", "name", "What is your name?", None),
                        ("integer", "age", "How old are you?", "yes")),
            ),
            name="Visit",
        )
    )  # fmt: skip
    response = await author.service.client.post(
        PATH,
        json={"name": "Visit", "content": CONTENT, "tag_string": "a, b,,a"},
        headers=author.headers,
    )
    assert response.status_code == 201
    created = response.json()
    assert response.headers["Location"] == created["url"]
    assert created == await author.get(created["url"])
    assert without_ids(created["content"]) == without_ids(imported["content"])
    assert await author.xform(created) == await author.xform(imported)
    own = {"url", "uid", "version_id", "versions", "xform_link", "content", "permissions", "date_created",
           "date_modified", "settings", "tag_string", "data", "downloads", "embeds", "exports", "hooks_link",
           "paired_data", "version__content_hash", "xls_link"}  # fmt: skip
    assert {key: created[key] for key in created.keys() - own} == {
        key: imported[key] for key in imported.keys() - own
    }
    assert (created["settings"], created["tag_string"]) == (DEFAULT_SETTINGS, "a,b")
    [version] = (await author.get(created["versions"]))["results"]
    assert (version["number"], version["file"], version["summary"]) == (1, None, created["summary"])


async def test_content_in_any_body(author: Author) -> None:
    fields = {
        "name": "Visit",
        "asset_type": "survey",
        "content": json.dumps(CONTENT),
        "settings": '{"sector": {"a": 1}}',
    }
    multipart = {name: (None, text) for name, text in fields.items()}
    bodies: list[dict[str, Any]] = [{"json": fields}, {"data": fields}, {"files": multipart}]
    for body in bodies:
        response = await author.service.client.post(PATH, headers=author.headers, **body)
        assert response.status_code == 201, response.text
        assert [row["name"] for row in response.json()["content"]["survey"]] == ["name", "age"]
        assert response.json()["settings"] == {**DEFAULT_SETTINGS, "sector": {"a": 1}}
        assert "Fieldgate-Ignored" not in response.headers


async def test_empty_asset(author: Author) -> None:
    bodies: list[dict[str, Any]] = [
        {}, {"content": None}, {"content": ""}, {"content": {}}, {"content": {"survey": []}},
    ]  # fmt: skip
    for asset_type in ("survey", "template", "block", "question", "empty"):
        for body in bodies:
            created = await author.post(asset_type=asset_type, name="New", **body)
            assert (created["asset_type"], created["name"]) == (asset_type, "New")
            assert created["content"] == CheckedContent.empty(asset_type).content
            assert set(created["summary"]) == SUMMARY_KEYS
            assert created["summary"] == CheckedContent.empty(asset_type).summary


async def test_default_type_and_name(author: Author) -> None:
    created = await author.post()
    assert (created["asset_type"], created["name"]) == ("survey", "")
    titled = await author.post(
        name="Given", content={**CONTENT, "settings": {"form_title": "From  the form"}}
    )
    assert titled["name"] == "From the form"
    assert (await author.post(content={"settings": {"form_title": "T", "style": "pages"}}))[
        "name"
    ] == "T"


@pytest.mark.parametrize(
    ("body", "status", "refusal"),
    [
        (
            {"files": {"file": ("visit.xlsx", b"no workbook")}, "data": {"name": "Visit"}},
            400,
            "file",
        ),
        ({"files": {"file": ("visit.xlsx", xlsx())}, "data": {"asset_type": "block"}}, 400, "file"),
        ({"files": {"file": ("visit.xlsx", xlsx())}, "data": {"content": "{}"}}, 400, "file"),
        ({"json": {"name": "Visit", "base64Encoded": "UEsDBA=="}}, 400, "base64Encoded"),
        ({}, 400, "detail"),
        ({"json": {}}, 201, ""),  # as before
    ],
    ids=["no workbook", "library", "two sources", "base64", "no body", "empty object"],
)
async def test_what_would_be_ignored_creates_nothing(
    author: Author, body: dict[str, Any], status: int, refusal: str
) -> None:
    before = await author.count(assets)
    response = await author.service.client.post(PATH, headers=author.headers, **body)
    assert response.status_code == status, response.text
    assert await author.count(assets) == before + (status == 201)
    if status == 400:
        assert list(response.json()) == [refusal]


async def test_a_workbook_becomes_what_an_import_gives(author: Author) -> None:
    """Tools send `file` to this path, although KoboToolbox has imports for that."""
    header, letters = ("type", "name", "label"), random.Random(1)
    warns = xlsx(survey=(header, ("text", "name", "Name?")), choices=(("list_name", "name"),))
    long = ["".join(letters.choices(string.ascii_letters, k=30_000)) for _ in range(5)]
    large = xlsx(
        survey=(header, *(("note", f"n{number}", text) for number, text in enumerate(long)))
    )
    assert len(large) > DEFAULT_MAX_BODY_BYTES
    for book in (xlsx(), warns, large):
        imported = await author.asset(await author.import_workbook(book, filename="visit.xlsx"))
        response = await author.service.client.post(
            PATH, headers=author.headers, files={"file": ("visit.xlsx", book)}
        )
        assert response.status_code == 201, response.text
        created = response.json()
        assert created["name"] == imported["name"] == "visit"
        assert without_ids(created["content"]) == without_ids(imported["content"])
        assert await author.xform(created) == await author.xform(imported)
        [version] = (await author.get(created["versions"]))["results"]
        assert version["filename"] == "visit.xlsx"
        assert (await author.service.get(version["file"], headers=author.headers)).content == book
    bad = xlsx(survey=(("type", "name", "label"), ("florb", "name", "Name?")))
    before = await author.count(assets), await author.count(files)
    for book in (bad, xlsx(library=(("type", "name", "label"), ("text", "a", "A")))):
        refused = await author.service.client.post(
            PATH, headers=author.headers, files={"file": ("visit.xlsx", book)}
        )
        assert (refused.status_code, "problems" in refused.json()) == (400, True)
    assert (await author.count(assets), await author.count(files)) == before


async def test_types_with_content(author: Author) -> None:
    named: list[dict[str, Any]] = [
        {"type": "text", "label": ["Without a name"], "$autoname": "generated"}
    ]
    for rows, given, stored in (
        (named, "question", "question"),
        (named, "block", "question"),
        (ROWS, "question", "block"),
        (ROWS, "template", "template"),
        (ROWS, "empty", "survey"),
    ):
        created = await author.post(
            asset_type=given, content={**CONTENT, "survey": rows, "settings": {"style": "pages"}}
        )
        assert created["asset_type"] == stored
        is_form = stored in ("template", "survey")
        assert (created["xform_link"] is not None) == is_form
        assert created["content"]["settings"] == ({"style": "pages"} if is_form else {})
        assert created["content"]["survey"][0].get("name") == rows[0].get("name")


async def test_invalid_fields(author: Author) -> None:
    before = await author.count(assets)
    collection = await author.post(asset_type="collection", name="Library")
    for body, field in (
        ({"asset_type": "text"}, "asset_type"),
        ({"asset_type": "florb"}, "asset_type"),
        ({"name": "x" * 256}, "name"),
        ({"settings": []}, "settings"),
        ({"content": 5}, "content"),
        ({"content": True}, "content"),
        ({"tag_string": ",".join(map(str, range(51)))}, "tag_string"),
        ({"tag_string": "x" * 101}, "tag_string"),
        ({"parent": "aKm3pVw8ZtQ2xYcRnB5dFh"}, "parent"),
        ({"parent": "https://elsewhere/api/v2/users/amina/"}, "parent"),
        ({"parent": collection["url"], "asset_type": "collection"}, "parent"),
        ({"asset_type": "collection", "content": CONTENT}, "content"),
        ({"clone_from": collection["uid"]}, "clone_from"),
        ({"clone_from": "/api/v2/users/amina/"}, "clone_from"),
        ({"clone_from": collection["uid"], "content": CONTENT}, "clone_from"),
    ):  # fmt: skip
        assert list(await author.post(400, **body)) == [field], body
    anonymous = await author.service.client.post(PATH, json={"name": "x"})
    assert anonymous.status_code == 401
    text = await author.service.client.post(
        PATH, content=b"{", headers=author.headers | {"Content-Type": "text/plain"}
    )
    assert text.status_code == 415
    assert await author.count(assets) == before + 1


async def test_problems_are_those_of_a_workbook(author: Author) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "text", "name": "a", "label": ["A"]},
        {"type": "florb", "name": "b", "label": ["B"]},
        {"type": "text", "name": "a", "label": ["C"]},
        {"type": "integer", "name": "c", "label": ["C"], "relevant": "${missing} = 1"},
    ]
    refused = await author.post(400, name="Bad", content={"survey": rows})
    assert set(refused) == {"content", "problems"}
    assert len(refused["content"]) == 1
    places = [
        (each["sheet"], each["row"], each["column"], each["code"]) for each in refused["problems"]
    ]
    assert ("survey", 2, "type", "unknown_type") in places
    assert ("survey", 3, "name", "duplicate_name") in places
    assert {place[1] for place in places} == {2, 3, 4}
    cells = ([row["type"], row["name"], row["label"][0], row.get("relevant")] for row in rows)
    sheet: Rows = [["type", "name", "label", "relevant"], *cells]
    imported = (await author.import_workbook(xlsx(survey=sheet)))["messages"]
    assert [each["code"] for each in imported["problems"]] == [
        each["code"] for each in refused["problems"]
    ]
    assert [each["row"] for each in imported["problems"]] == [
        each["row"] + 1 for each in refused["problems"]
    ]
    french = await author.service.client.post(
        PATH,
        json={"content": {"survey": rows}},
        headers={**author.headers, "Accept-Language": "fr"},
    )
    assert french.json()["problems"][0]["message"] != refused["problems"][0]["message"]
    assert await author.count(assets) == 0


async def test_keys_of_front_ends_are_tolerated(author: Author) -> None:
    rows = [
        {"type": "text", "$kuid": "abc", "$autoname": "first", "$xpath": "first", "$qpath": "x", "label": ["First"],
         "kobo--locking-profile": "core", "tags": ["hxl:#loc"], "hint": [None]},
        {"type": "select_one", "select_from_list_name": "yn", "name": "agree", "label": ["Agree?"], "required": "true"},
    ]  # fmt: skip
    choices = [{"list_name": "yn", "name": "y", "label": ["Yes"], "$kuid": "x", "$autovalue": "y"}]
    locking = [{"name": "core", "restrictions": ["choice_add"]}]
    content = {"survey": rows, "choices": choices, "settings": {"default_language": None}, "translations": [None],
               "translated": ["label"], "schema": "1", "kobo--locking-profiles": locking,
               "metas": {"start": False}}  # fmt: skip
    created = await author.post(content=content)
    assert [row["name"] for row in created["content"]["survey"]] == ["first", "agree"]
    assert created["content"]["survey"][0]["tags"] == ["hxl:#loc"]


async def test_changed_content_is_a_new_version(author: Author) -> None:
    created = await author.post(name="Visit", content=CONTENT)
    more = {**CONTENT, "survey": [*ROWS, {"type": "note", "name": "end_note", "label": ["Thanks"]}]}
    changed = await author.patch(
        created, content=json.dumps(more), name="Renamed", settings={"a": 1}
    )
    assert (changed["version_count"], changed["name"], changed["settings"]) == (
        2,
        "Renamed",
        {**DEFAULT_SETTINGS, "a": 1},
    )
    assert len(changed["content"]["survey"]) == 3
    assert "Thanks" in await author.xform(changed)
    assert changed["date_modified"] > created["date_modified"]
    assert (await author.patch(changed, content=changed["content"]))["version_count"] == 3, (
        "as an import does"
    )
    bad = {**CONTENT, "survey": [{"type": "florb", "name": "x", "label": ["X"]}]}
    refused = await author.patch(changed, 400, content=bad, name="Not stored")
    assert [each["code"] for each in refused["problems"]] == ["unknown_type"]
    assert [
        each["code"] for each in (await author.patch(changed, 400, content={}))["problems"]
    ] == ["no_questions"]
    assert (await author.get(created["url"]))["name"] == "Renamed"
    assert await author.count(versions) == 3
    collection = await author.post(asset_type="collection", name="Library")
    assert list(await author.patch(collection, 400, content=CONTENT)) == ["content"]


async def test_empty_asset_becomes_a_survey(author: Author) -> None:
    """Assigned permissions are completed, and the history has it, as after an import."""
    world = PermissionWorld(author.service)
    owner, manager = await world.create_user(), await world.create_user()
    writer = Author(author.service, owner.headers, author.worker)
    created = await writer.post(asset_type="empty", name="New")
    asset = await world.register_asset(created["uid"], owner)
    await world.grant(manager, asset, "manage_asset")
    by_manager = Author(author.service, manager.headers, author.worker)
    changed = await by_manager.patch(created, content=CONTENT)
    assert changed["asset_type"] == "survey"
    assert {"codename": "view_submissions"} in changed["effective_permissions"]
    with read_sql(author.service) as connection:
        entries = (
            connection.execute(select(log.c.details).where(log.c.effect_count > 0)).scalars().all()
        )
    assert "import" in [details["act"] for details in entries]


async def test_clone(author: Author) -> None:
    content = {**CONTENT, "settings": {"style": "pages"}}
    source = await author.post(
        name="Visit", content=content, tag_string="a,b", settings={"sector": {"v": 1}}
    )
    changed = await author.patch(source, content={**content, "survey": ROWS[:1]})
    clone = await author.post(clone_from=source["url"])
    assert {key: clone[key] for key in ("name", "tag_string", "settings", "asset_type", "version_count")} == {
        "name": "Visit", "tag_string": "a,b", "settings": changed["settings"], "asset_type": "survey",
        "version_count": 1,
    }  # fmt: skip
    assert (clone["content"], clone["summary"]) == (changed["content"], changed["summary"])
    assert await author.xform(clone) == await author.xform(changed)
    old = await author.post(
        clone_from=source["uid"],
        clone_from_version_id=source["version_id"],
        name="Old",
        tag_string="",
        settings={},
    )
    assert (old["name"], old["tag_string"], old["summary"]) == ("Old", "", source["summary"])
    assert "<h:title>Old</h:title>" in await author.xform(old)
    template = await author.post(clone_from=source["uid"], asset_type="template")
    assert (template["asset_type"], template["content"]["settings"]) == (
        "template",
        {"style": "pages"},
    )
    block = await author.post(clone_from=source["uid"], asset_type="block")
    assert (block["asset_type"], block["content"]["settings"], block["xform_link"]) == (
        "question",
        {},
        None,
    )
    survey = await author.post(clone_from=block["uid"], asset_type="survey")
    assert "What is your name?" in await author.xform(survey)
    empty = await author.post(
        clone_from=(await author.post(asset_type="empty"))["uid"], name="Empty"
    )
    assert (empty["asset_type"], empty["content"]["survey"]) == ("empty", [])
    assert "detail" in await author.post(
        404, clone_from=source["uid"], clone_from_version_id="vNone"
    )


async def test_clone_of_a_form_whose_root_is_its_uid_gets_its_own_root(author: Author) -> None:
    rows = [
        {"type": "begin_repeat", "name": "data", "label": ["Visits"]},
        {"type": "text", "name": "who", "label": ["Who?"]},
        {"type": "end_repeat"},
    ]
    source = await author.post(name="Visits", content={**CONTENT, "survey": rows})
    assert f"<{source['uid']} " in await author.xform(source)
    clone = await author.post(clone_from=source["uid"])
    xform = await author.xform(clone)
    assert f"<{clone['uid']} " in xform
    assert source["uid"] not in xform


async def test_clone_needs_view_asset(author: Author) -> None:
    world = PermissionWorld(author.service)
    owner, viewer = await world.create_user(), await world.create_user()
    source = await Author(author.service, owner.headers, author.worker).post(
        name="Visit", content=CONTENT
    )
    asset = await world.register_asset(source["uid"], owner)
    await world.grant(viewer, asset, "view_asset")
    hidden = await author.post(404, clone_from=source["uid"])
    missing = await author.post(404, clone_from="aKm3pVw8ZtQ2xYcRnB5dFh")
    assert hidden["detail"].replace(source["uid"], "x") == missing["detail"].replace(
        "aKm3pVw8ZtQ2xYcRnB5dFh", "x"
    )
    clone = await Author(author.service, viewer.headers, author.worker).post(
        clone_from=source["uid"]
    )
    assert (clone["owner__username"], clone["status"]) == (viewer.username, "private")
    await world.grant(PUBLIC_USER, asset, "view_asset")
    assert (await author.post(clone_from=source["uid"]))["name"] == "Visit"


async def test_parent(author: Author) -> None:
    world = PermissionWorld(author.service)
    owner, viewer, editor = [await world.create_user() for _ in range(3)]
    by_owner = Author(author.service, owner.headers, author.worker)
    collection = await by_owner.post(asset_type="collection", name="Library")
    assert (collection["summary"], collection["settings"]) == ({"languages": []}, DEFAULT_SETTINGS)
    asset = await world.register_asset(collection["uid"], owner)
    await world.grant(viewer, asset, "view_asset")
    await world.grant(editor, asset, "change_asset")
    content = {
        "survey": [{"type": "text", "label": ["A", "B"]}],
        "translations": ["English (en)", "French (fr)"],
    }
    for reference in (collection["url"], f"/api/v2/assets/{collection['uid']}/", collection["uid"]):
        created = await by_owner.post(asset_type="question", content=content, parent=reference)
        assert created["parent"] == collection["url"]
    assert (await by_owner.get(collection["url"]))["summary"] == {
        "languages": ["English (en)", "French (fr)"]
    }
    by_editor = await Author(author.service, editor.headers, author.worker).post(
        asset_type="question", content=content, parent=collection["uid"]
    )
    assert by_editor["owner__username"] == editor.username
    assert (await by_owner.get(by_editor["url"]))["parent"] == collection["url"], (
        "the collection's owner sees it"
    )
    before = await author.count(assets)
    survey = await by_owner.post(name="No collection")
    for user, reference in ((viewer, collection["uid"]), (owner, survey["uid"])):
        refused = await Author(author.service, user.headers, author.worker).post(
            400, parent=reference
        )
        assert list(refused) == ["parent"]
    hidden = await author.post(400, parent=collection["uid"])
    missing = await author.post(400, parent="aKm3pVw8ZtQ2xYcRnB5dFh")
    assert hidden["parent"][0].replace(collection["uid"], "x") == missing["parent"][0].replace(
        "aKm3pVw8ZtQ2xYcRnB5dFh", "x"
    )
    assert await author.count(assets) == before + 1


async def test_other_fields_of_a_large_body_stay_small(author: Author) -> None:
    """The limit of bodies is raised for content only."""
    large = "x" * 70_000
    created = await author.post(name="Visit")
    for body in ({"settings": {"a": large}}, {"tag_string": large}, {"unknown": large}):
        response = await author.service.client.post(
            PATH, json={"content": CONTENT, **body}, headers=author.headers
        )
        assert response.status_code == 413, body
        form = {"content": json.dumps(CONTENT)} | {
            key: json.dumps(value) for key, value in body.items()
        }
        assert (
            await author.service.client.post(PATH, data=form, headers=author.headers)
        ).status_code == 413
        assert (
            await author.service.client.patch(created["url"], json=body, headers=author.headers)
        ).status_code == 413
    note = {"type": "note", "name": "long", "label": ["x" * 60_000]}
    assert await author.post(content={"survey": [note, {**note, "name": "longer"}]})


async def test_imported_content_can_be_sent_back(author: Author) -> None:
    """Every part of a form: groups, lists, languages, files, entities."""
    imported = await author.asset(await author.import_workbook(xlsx(**WORKBOOK), name="Homes"))
    created = await author.post(name=imported["name"], content=imported["content"])
    assert without_ids(created["content"]) == without_ids(imported["content"])
    assert created["summary"] == imported["summary"]
    changed = await author.patch(imported, content=created["content"])
    assert without_ids(changed["content"]) == without_ids(imported["content"])
    assert await author.xform(changed) == await author.xform(created)


async def test_content_larger_than_a_file_may_be(start: StartService) -> None:
    async with start(max_upload=100 * 1024) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        author = Author(service, headers, ImportWorker(Settings(), service.database))
        for size in (101 * 1024, 400 * 1024):
            assert list(await author.post(413, content=json.dumps(CONTENT) + " " * size)) == [
                "detail"
            ]
        await author.post(content=json.dumps(CONTENT) + " " * 90 * 1024)
        assert await author.count(assets) == 1


async def test_settings_are_merged(author: Author) -> None:
    """As in KoboToolbox: what is not sent stays."""
    created = await author.post(
        name="Visit", settings={"description": "d", "sector": {"value": "x"}}
    )
    changed = await author.patch(created, settings={"sector": {"value": "y"}})
    assert changed["settings"] == {**DEFAULT_SETTINGS, "description": "d", "sector": {"value": "y"}}


async def test_tags_are_changed(author: Author) -> None:
    """As KoboToolbox's own pages do: all tags are sent, and replace those before."""
    created = await author.post(name="Visit", content=CONTENT, tag_string="roof,wall")
    changed = await author.patch(created, tag_string="Wall, été,,Wall")
    assert (changed["tag_string"], changed["name"], changed["version_count"]) == (
        "Wall,été",
        "Visit",
        1,
    )
    assert (await author.get(created["url"]))["tag_string"] == "Wall,été"
    assert (await author.get(f"{PATH}?q=tags:roof"))["count"] == 0
    for term in ("tags:Wall", "tags__name__icontains:wal", 'tags__name__icontains:"ÉTÉ"'):
        assert [each["uid"] for each in (await author.get(f"{PATH}?q={term}"))["results"]] == [
            created["uid"]
        ], term
    assert (await author.patch(created, name="Other"))["tag_string"] == "Wall,été", (
        "what is not sent stays"
    )
    assert (await author.patch(created, content=CONTENT, tag_string="new"))["tag_string"] == "new"
    assert (await author.patch(created, tag_string=""))["tag_string"] == ""
    history = (await author.get(f"{created['url']}history/"))["results"]
    details = [each["metadata"]["tags"] for each in history if each["action"] == "update-tags"]
    assert details == [
        {"added": [], "removed": ["new"]},
        {"added": ["new"], "removed": ["Wall", "été"]},
        {"added": ["Wall", "été"], "removed": ["roof", "wall"]},
    ]


async def test_log_entry_of_many_long_tags_is_short(author: Author) -> None:
    """Changes of tags, again and again, must not fill the disk with entries."""
    tags = [
        letter * 98 + f"{number:02}" for letter in "\U0001f600\U0001f601" for number in range(50)
    ]
    created = await author.post(name="Visit", tag_string=",".join(tags[:50]))
    changed = await author.patch(created, tag_string=",".join(tags[50:]))
    assert changed["tag_string"].split(",") == tags[50:]
    [entry] = [
        entry
        for entry in (await author.get(f"{created['url']}history/"))["results"]
        if entry["action"] == "update-tags"
    ]
    logged = entry["metadata"]["tags"]
    assert logged == {"added": ["\U0001f601" * 50] * 5, "removed": ["\U0001f600" * 50] * 5}


async def test_invalid_tags_are_refused(author: Author) -> None:
    created = await author.post(name="Visit", tag_string="roof")
    texts = set()
    for language in ("en", "fr", "ar", "es"):
        for tags in (",".join(map(str, range(51))), "x" * 101):
            response = await author.service.client.patch(
                created["url"],
                json={"tag_string": tags},
                headers={**author.headers, "Accept-Language": language},
            )
            assert (response.status_code, list(response.json())) == (400, ["tag_string"])
            texts.update(response.json()["tag_string"])
    assert len(texts) == 8
    assert (await author.get(created["url"]))["tag_string"] == "roof"
