"""Questions, differences between versions and warnings over HTTP."""

from typing import Any

from tests.assets.routes.test_write_routes import CONTENT, ROWS, Author, author
from tests.imports.workbooks import xlsx

__all__ = ["author"]

BILINGUAL: dict[str, Any] = {
    "survey": [
        {"type": "begin_group", "name": "home", "label": ["Home", "Maison"]},
        {
            "type": "integer",
            "name": "rooms",
            "label": ["Rooms?", "Pièces ?"],
            "relevant": "${pets} = 'cat'",
        },
        {"type": "end_group"},
        {
            "type": "select_one",
            "select_from_list_name": "pets",
            "name": "pets",
            "label": ["Pets?", None],
        },
    ],
    "choices": [{"list_name": "pets", "name": "cat", "label": ["Cat", "Chat"]}],
    "settings": {},
    "translations": ["English (en)", "French (fr)"],
}


async def get(author: Author, url: str, status: int = 200, language: str = "en") -> dict[str, Any]:
    response = await author.service.get(
        url, headers={**author.headers, "Accept-Language": language}
    )
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


async def version_urls(author: Author, asset: dict[str, Any]) -> list[str]:
    """Oldest first."""
    return [each["url"] for each in (await author.get(asset["versions"]))["results"]][::-1]


async def test_questions(author: Author) -> None:
    asset = await author.post(name="Home", content=BILINGUAL)
    found = await get(author, f"{asset['url']}questions/")
    assert (found["count"], found["next"]) == (3, None)
    assert [each["label"] for each in found["results"]] == ["Home", "Rooms?", "Pets?"]
    assert found["results"][1]["conditions"][0]["text"] == "“Pets?” = “Cat”"
    page = await get(author, f"{asset['url']}questions/?limit=1&offset=1")
    assert page["results"] == found["results"][1:2]
    assert "offset=2" in page["next"]
    only = await get(author, f"{asset['url']}questions/?list_name=pets")
    assert [each["name"] for each in only["results"]] == ["pets"]


async def test_questions_of_a_version(author: Author) -> None:
    asset = await author.post(name="Home", content=CONTENT)
    await author.patch(asset, content=BILINGUAL)
    first, _ = await version_urls(author, asset)
    old = await get(author, f"{asset['url']}questions/?version={first.split('/')[-2]}")
    assert [each["name"] for each in old["results"]] == ["name", "age"]
    assert (await get(author, f"{asset['url']}questions/"))["count"] == 3
    assert "vNone" in (await get(author, f"{asset['url']}questions/?version=vNone", 404))["detail"]


async def test_diff_with_the_version_before(author: Author) -> None:
    asset = await author.post(name="Visit", content=CONTENT)
    changed = [{**ROWS[0], "label": ["Name?"]}, {"type": "note", "name": "bye", "label": ["Bye"]}]
    await author.patch(asset, content={**CONTENT, "survey": changed})
    first, second = await version_urls(author, asset)
    diff = await get(author, f"{second}diff/")
    assert (diff["version"]["number"], diff["against"]["number"], diff["count"]) == (2, 1, 3)
    assert [(each["change"], each["name"]) for each in diff["changes"]] == [
        ("changed", "name"),
        ("removed", "age"),
        ("added", "bye"),
    ]
    [field] = diff["changes"][0]["fields"]
    assert (field["field_label"], field["old_text"], field["new_text"]) == (
        "Label",
        "What is your name?",
        "Name?",
    )
    back = await get(author, f"{first}diff/?against={second.split('/')[-2]}")
    assert sorted(each["change"] for each in back["changes"]) == ["added", "changed", "removed"]
    page = await get(author, f"{second}diff/?limit=1&offset=1")
    assert (page["count"], [each["name"] for each in page["changes"]]) == (3, ["age"])
    assert (await get(author, f"{second}diff/?against={second.split('/')[-2]}"))["count"] == 0
    assert (await get(author, f"{first}diff/"))["count"] == 2
    french = await get(author, f"{second}diff/", language="fr")
    assert french["changes"][0]["fields"][0]["field_label"] == "Libellé"


async def test_versions_of_other_assets(author: Author) -> None:
    asset, other = [await author.post(name=name, content=CONTENT) for name in ("A", "B")]
    [own], [foreign] = await version_urls(author, asset), await version_urls(author, other)
    assert list(await get(author, f"{own}diff/?against={foreign.split('/')[-2]}", 400)) == [
        "against"
    ]
    path = f"{asset['versions']}{foreign.split('/')[-2]}/"
    for last in ("diff/", "warnings/"):
        await get(author, path + last, 404)
        await get(await author.other(), own + last, 404)


async def test_warnings_of_an_import(author: Author) -> None:
    survey = (("type", "name", "label", "relevent"), ("text", "town", "Which town?", "x"))
    imported = await author.asset(await author.import_workbook(xlsx(survey=survey), name="Visit"))
    await author.patch(imported, content=CONTENT)
    first, second = await version_urls(author, imported)
    found = await get(author, f"{first}warnings/")
    assert found["count"] >= 1
    assert "relevent" in " ".join(each["message"] for each in found["results"])
    assert (await get(author, f"{second}warnings/"))["count"] == 0
    arabic = await get(author, f"{first}warnings/", language="ar")
    assert arabic["results"][0]["message"] != found["results"][0]["message"]
    response = await author.service.client.post(f"{first}restore/", headers=author.headers)
    assert (await get(author, f"{response.json()['url']}warnings/")) == found
    # A user with whom the form is shared sees them, but not the import.
    share = {"user": "AnonymousUser", "permission": "view_asset"}
    path = f"{imported['url']}permission-assignments/"
    assert (
        await author.service.client.post(path, json=share, headers=author.headers)
    ).status_code == 201
    assert (await get(await author.other(), f"{first}warnings/")) == found
