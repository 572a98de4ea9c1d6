"""`q` of `/api/v2/assets/` finds names and tags as people type them, with accents or without."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.assets.routes.test_write_routes import Author
from tests.conftest import StartService
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/assets/"
CONTENT = {"survey": [{"type": "text", "name": "name", "label": ["What is your name?"]}]}


@pytest.fixture
async def author(start: StartService, database_url: str) -> AsyncIterator[Author]:
    async with start(database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        yield Author(service, headers, ImportWorker(Settings(), service.database))


async def search(author: Author, query: str, **parameters: str) -> list[str]:
    """Return the uids that are found."""
    options = "".join(f"&{name}={value}" for name, value in parameters.items())
    answer = await author.get(f"{PATH}?q={quote(query)}{options}")
    return [asset["uid"] for asset in answer["results"]]


@pytest.mark.parametrize(
    ("name", "tag", "queries"),
    [
        (
            "Türkiye 2026",
            "santé",
            ["Turkiye", "TÜRKİYE", "name__icontains:urkıye", "٢٠٢٦", "tags__name__icontains:SANTE"],
        ),
        (
            "Côte d’Ivoire",
            "l’eau",
            ['"cote d\'ivoire"', "Côte d`Ivoire", 'tags__name__icontains:"l\'eau"'],
        ),
        ("Cote d'Ivoire", "l'eau", ["Côte d’Ivoire", "tags__name__icontains:l’eau"]),
        ("إحصاء الصحّة", "مدرسة", ["احصاء", "أحصاء الصحه", "tags__name__icontains:مدرسه"]),
        ("مستشفى كركوک", "مياه", ["مستشفي", "مـستشفـی کركوك", "tags__name__icontains:میاه"]),
    ],
)
async def test_search_ignores_accents_and_variants_of_letters(
    author: Author, name: str, tag: str, queries: list[str]
) -> None:
    created = await author.post(name=name, tag_string=tag, content=CONTENT)
    assert created["name"] == name
    other = await author.post(name="Other", content=CONTENT)
    for query in queries:
        assert await search(author, query) == [created["uid"]], query
        assert await search(author, f"NOT ({query})") == [other["uid"]], query


async def test_a_name_is_found_however_it_was_written(author: Author) -> None:
    created = await author.post(name="Première", content=CONTENT)
    assert await search(author, "premiere") == [created["uid"]]
    await author.patch(created, name="Deuxième", tag_string="été")
    assert await search(author, "premiere") == []
    assert await search(author, "deuxieme tags__name__icontains:ete") == [created["uid"]]
    copy = await author.post(clone_from=created["uid"], name="Troisième")
    assert await search(author, "troisieme") == [copy["uid"]]
    path = f"{PATH}{copy['uid']}/"
    await author.service.request("DELETE", path, headers=author.headers)
    assert await search(author, "troisieme") == []
    await author.service.request("POST", f"{path}undelete/", headers=author.headers)
    assert await search(author, "troisieme") == [copy["uid"]]
    imported = await author.asset(await author.import_workbook(xlsx(), name="Enquête"))
    assert await search(author, "enquete") == [imported["uid"]]
    titled = xlsx(survey=SURVEY, settings=(("form_title",), ("Œuvre ÉTÉ",)))
    await author.import_workbook(titled, destination=imported["uid"])
    assert await search(author, "oeuvre ete") == [imported["uid"]]
    assert await search(author, "enquete") == []


async def test_names_that_differ_by_an_accent_are_two_names(author: Author) -> None:
    uids: dict[str, Any] = {}
    for name in ("Ecolf", "Ecole", "école", "École"):
        uids[name] = (await author.post(name=name, asset_type="collection"))["uid"]
    with_accent = [uids["école"], uids["École"]]
    assert await search(author, "ECOLE", ordering="name") == [uids["Ecole"], *with_accent]
    assert await search(author, "name:ECOLE") == [uids["Ecole"]]
    assert await search(author, "name:ÉCOLE", ordering="name") == with_accent
    in_order = [uids["Ecole"], uids["Ecolf"], *with_accent]
    assert await search(author, "", ordering="name") == in_order, "as without folding"


async def test_owner_is_found_by_a_part_of_the_username(author: Author) -> None:
    created = await author.post(name="Visit", content=CONTENT)
    username = created["owner__username"]
    assert await search(author, f"owner__username__icontains:{username[:-1].upper()}") == [
        created["uid"]
    ]
    assert await search(author, f"owner__username__icontains:{username.replace('u', 'ü')}") == [
        created["uid"]
    ]
    assert await search(author, f"owner__username:{username.replace('u', 'ü')}") == []


async def test_long_search_of_letters_that_become_several(author: Author) -> None:
    """SQLite refuses to search for more than 50,000 bytes."""
    assert await search(author, "ﷺ" * 1000) == []
