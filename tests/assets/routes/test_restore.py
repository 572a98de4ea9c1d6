"""Restoring an earlier version of an asset over HTTP, on both databases."""

from typing import Any

from sqlalchemy import select

from fieldgate.assets.tables import assets
from tests.assets.routes.test_write_routes import CONTENT, ROWS, Author, author
from tests.data.sql import read_sql
from tests.imports.workbooks import xlsx

__all__ = ["author"]

OTHER_CONTENT: dict[str, Any] = {
    **CONTENT,
    "survey": [*ROWS, {"type": "text", "name": "town", "label": ["Town?"]}],
}
SURVEY = (("type", "name", "label"), ("text", "town", "Which town?"))


async def versions_of(author: Author, asset: dict[str, Any]) -> list[dict[str, Any]]:
    """Newest first."""
    found: list[dict[str, Any]] = (await author.get(asset["versions"]))["results"]
    return found


async def restore(
    author: Author, version: dict[str, Any], status: int = 201, language: str = "en"
) -> dict[str, Any]:
    path = f"{version['url']}restore/"
    response = await author.service.client.post(
        path, headers={**author.headers, "Accept-Language": language}
    )
    assert response.status_code == status, response.text
    if status == 201:
        assert response.headers["Location"] == response.json()["url"]
    found: dict[str, Any] = response.json()
    return found


async def test_an_earlier_version_becomes_the_newest(author: Author) -> None:
    record = await author.import_workbook(xlsx(survey=SURVEY), name="Visit", filename="first.xlsx")
    imported = await author.asset(record)
    await author.patch(imported, content=OTHER_CONTENT, name="Renamed")
    first = (await versions_of(author, imported))[-1]
    made = await restore(author, first)
    restored = await author.get(imported["url"])
    assert restored["content"] == imported["content"]
    assert restored["summary"] == imported["summary"]
    assert restored["version__content_hash"] == imported["version__content_hash"]
    assert restored["name"] == "Renamed"
    assert (restored["version_id"], restored["version_count"]) == (made["uid"], 3)
    assert restored["date_modified"] > imported["date_modified"]
    listed = await versions_of(author, imported)
    assert [each["number"] for each in listed] == [3, 2, 1]
    assert listed[0] == made
    assert (made["filename"], made["summary"]) == ("first.xlsx", first["summary"])
    files = [
        await author.service.get(each["file"], headers=author.headers) for each in (made, first)
    ]
    assert files[0].content == files[1].content
    assert "town" in await author.xform(restored)


async def test_the_current_version_is_refused(author: Author) -> None:
    created = await author.post(name="Visit", content=CONTENT)
    [version] = await versions_of(author, created)
    refusal = await restore(author, version, 400)
    assert refusal == {"detail": "This is already the current version. Choose an earlier one."}
    assert len(await versions_of(author, created)) == 1


async def test_a_block_becomes_a_question_again(author: Author) -> None:
    question = await author.post(
        name="Age", asset_type="question", content={**CONTENT, "survey": ROWS[1:]}
    )
    block = await author.patch(question, content=CONTENT)
    assert (question["asset_type"], block["asset_type"]) == ("question", "block")
    await restore(author, (await versions_of(author, question))[-1])
    assert (await author.get(question["url"]))["asset_type"] == "question"


async def test_the_summary_of_the_collection_follows(author: Author) -> None:
    collection = await author.post(asset_type="collection", name="Library")
    rows = [{"type": "text", "name": "name", "label": ["Nom"]}]
    french = {**CONTENT, "survey": rows, "translations": ["French (fr)"]}
    asset = await author.post(
        asset_type="block", name="B", content=french, parent=collection["uid"]
    )
    await author.patch(asset, content=CONTENT)
    assert (await author.get(collection["url"]))["summary"] == {"languages": []}
    await restore(author, (await versions_of(author, asset))[-1])
    assert (await author.get(collection["url"]))["summary"] == {"languages": ["French (fr)"]}


async def test_refusals(author: Author) -> None:
    created = await author.post(name="Visit", content=CONTENT)
    await author.patch(created, content=OTHER_CONTENT)
    first = (await versions_of(author, created))[-1]
    stranger = await author.other()
    assert (await restore(stranger, first, 404))["detail"].startswith("This form does not exist")
    share = {"user": "AnonymousUser", "permission": "view_asset"}
    path = f"{created['url']}permission-assignments/"
    assert (
        await author.service.client.post(path, json=share, headers=author.headers)
    ).status_code == 201
    assert "change_asset" in (await restore(stranger, first, 403))["detail"]
    assert (await author.service.client.post(f"{first['url']}restore/")).status_code == 401
    unknown = {"url": f"{created['versions']}vNone/"}
    assert (await restore(author, unknown, 404))["detail"] == "There is no version vNone."
    other = await author.post(name="Other", content=CONTENT)
    foreign = {"url": f"{other['versions']}{first['uid']}/"}
    assert (await restore(author, foreign, 404))["detail"] == f"There is no version {first['uid']}."
    assert len(await versions_of(author, created)) == 2
    with read_sql(author.service) as connection:
        assert len(connection.execute(select(assets.c.id)).all()) == 2
