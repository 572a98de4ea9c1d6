"""Warnings about content that clients send, in the response and with the version, on both databases."""

from typing import Any

from tests.assets.routes.test_write_routes import CONTENT, Author, author

__all__ = ["author"]

UNUSED = {**CONTENT, "choices": [{"list_name": "towns", "name": "a", "label": ["A"]}]}
MESSAGES = {
    "en": "No question uses the list “towns”. Remove it, or name it in a question.",
    "fr": "Aucune question n'utilise la liste «\u202ftowns\u202f». Retirez-la, ou nommez-la dans une question.",
}


def warning(language: str = "en") -> dict[str, Any]:
    return {
        "sheet": "choices",
        "row": 1,
        "column": "list_name",
        "code": "unused_choice_list",
        "message": MESSAGES[language],
    }


async def warnings_of(
    author: Author, asset: dict[str, Any], language: str = "en"
) -> list[dict[str, Any]]:
    path = f"{asset['versions']}{asset['version_id']}/warnings/"
    found: list[dict[str, Any]] = (await author.get(path, **{"Accept-Language": language}))[
        "results"
    ]
    return found


async def test_a_new_asset_has_the_warnings_about_its_content(author: Author) -> None:
    created = await author.post(name="Visit", content=UNUSED)
    assert created["warnings"] == [warning()]
    assert await warnings_of(author, created) == [warning()]
    assert await warnings_of(author, created, "fr") == [warning("fr")]
    assert "warnings" not in await author.get(created["url"]), "they are about a version"


async def test_changed_content_has_its_warnings(author: Author) -> None:
    created = await author.post(name="Visit", content=CONTENT)
    assert "warnings" not in created
    assert await warnings_of(author, created) == []
    response = await author.service.client.patch(
        created["url"],
        json={"content": UNUSED},
        headers={**author.headers, "Accept-Language": "fr"},
    )
    changed = response.json()
    assert changed["warnings"] == [warning("fr")]
    assert await warnings_of(author, changed) == [warning()]
    renamed = await author.patch(created, name="Renamed")
    assert "warnings" not in renamed, "no content was sent"
    corrected = await author.patch(created, content=CONTENT)
    assert "warnings" not in corrected
    assert await warnings_of(author, corrected) == []
    assert await warnings_of(author, changed) == [warning()], (
        "those of the earlier version are kept"
    )


async def test_a_refusal_lists_the_warnings_beside_the_problems(author: Author) -> None:
    refused = await author.post(400, content={**UNUSED, "survey": [{"type": "florb", "name": "a"}]})
    assert refused["warnings"] == [warning()]
    assert [each["code"] for each in refused["problems"]] == ["unknown_type"]
