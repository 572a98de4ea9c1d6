"""`/api/v2/assets/`: what a user owns, and nobody else's."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.store import AssetStore
from fieldgate.identity import User
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import Start
from tests.imports.test_worker import Desk
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/assets/"


@pytest.fixture
async def desk(start: Start, database_url: str) -> AsyncIterator[Desk]:
    async with start(database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.token()}"}
        yield Desk(service, headers, ImportWorker(Settings(), service.database))


async def names(desk: Desk, query: str) -> list[str]:
    return [asset["name"] for asset in (await desk.get(f"{PATH}?{query}"))["results"]]


async def test_finding_assets(desk: Desk) -> None:
    for name, library in (("Household visit", "false"), ("Market 100%", "false"), ("household block", "true")):
        await desk.done(xlsx(), name=name, library=library)
    assert await names(desk, "") == ["household block", "Market 100%", "Household visit"]
    assert await names(desk, "q=HOUSE") == ["household block", "Household visit"]
    assert await names(desk, "q=visit house") == ["Household visit"]
    assert await names(desk, "q=%25") == ["Market 100%"]
    assert await names(desk, "q=_") == []
    assert await names(desk, "asset_type=survey&ordering=name") == ["Household visit", "Market 100%"]
    assert await names(desk, "ordering=-name&limit=1") == ["Market 100%"]
    refused = await desk.service.get(f"{PATH}?asset_type=florb&ordering=size", headers=desk.headers)
    assert (refused.status_code, sorted(refused.json())) == (400, ["asset_type", "ordering"])


async def test_case_does_not_matter_in_any_language(desk: Desk) -> None:
    for name in ("École primaire", "Éamon", "Straße", "zone", "Ецик"):
        await desk.done(xlsx(), name=name)
    for query, found in (("ÉCOLE", "École primaire"), ("e\u0301cole", "École primaire"), ("STRASSE", "Straße"),
                         ("ецИК", "Ецик")):  # fmt: skip
        assert await names(desk, f"q={quote(query)}") == [found]
    uid = (await desk.get(f"{PATH}?q=zone"))["results"][0]["uid"]
    await desk.service.client.patch(f"{PATH}{uid}/", json={"name": "ÉLAN"}, headers=desk.headers)
    assert await names(desk, f"q={quote('élan')}") == ["ÉLAN"]
    await desk.done(xlsx(survey=SURVEY, settings=(("form_title",), ("Œuvre ÉTÉ",))), destination=uid)
    assert await names(desk, f"q={quote('été')}") == ["Œuvre ÉTÉ"]
    assert (await names(desk, "ordering=name"))[-1] == "Ецик"


async def test_a_search_has_a_bound(desk: Desk) -> None:
    said = set()
    for language in ("en", "fr", "es", "ar"):
        headers = {**desk.headers, "Accept-Language": language}
        assert (await desk.service.get(f"{PATH}?q={'+'.join('a' * 20)}", headers=headers)).status_code == 200
        for query in ("+".join("a" * 21), "+".join("a" * 500)):
            refused = await desk.service.get(f"{PATH}?q={query}", headers=headers)
            assert (refused.status_code, list(refused.json())) == (400, ["q"])
        said.add(refused.json()["q"][0])
        assert (await desk.service.get(f"{PATH}?q={'a' * 1001}", headers=headers)).status_code == 400
    assert len(said) == 4


async def test_changing_and_deleting(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx()))

    async def patch(**body: Any) -> Any:
        return await desk.service.client.patch(asset["url"], json=body, headers=desk.headers)

    changed = (await patch(name="Another", settings={"country": "KEN"})).json()
    assert (changed["name"], changed["settings"]) == ("Another", {"country": "KEN"})
    assert (await patch(settings={})).json()["name"] == "Another", "what is not sent stays"
    for body in ({"name": "  "}, {"name": "x" * 256}, {"name": 5}, {"settings": "x"}):
        assert (await patch(**body)).status_code == 400
    assert (await patch(settings=[])).json() == {"settings": ["Send an object."]}
    assert (await patch(nmae="x")).headers["Fieldgate-Ignored"] == "nmae"
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"a": deep}
    assert (await patch(settings=deep["a"])).status_code == 400
    assert (await patch(settings=deep["a"]["a"])).status_code == 200
    page = await desk.service.get(f"{asset['url']}?format=api", headers=desk.headers)
    assert page.status_code == 200
    assert (await desk.service.client.delete(asset["url"], headers=desk.headers)).status_code == 204
    gone = {"detail": f"There is no asset {asset['uid']}."}
    for method in ("GET", "DELETE"):
        answer = await desk.service.request(method, asset["url"], headers=desk.headers)
        assert (answer.status_code, answer.json()) == (404, gone)
    assert ((await patch(name="x")).status_code, (await patch(name="x")).json()) == (404, gone)


async def test_a_change_of_nothing_changes_nothing(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx()))
    patched = await desk.service.client.patch(asset["url"], json={}, headers=desk.headers)
    assert (patched.status_code, patched.json()) == (200, asset)
    missing = await desk.service.client.patch(f"{PATH}aKm3pVw8ZtQ2xYcRnB5dFh/", json={}, headers=desk.headers)
    assert missing.status_code == 404
    named = await desk.service.client.patch(asset["url"], json={"name": "Visit\u0001 1\n"}, headers=desk.headers)
    assert named.json()["name"] == "Visit  1"


async def test_an_asset_that_is_deleted_while_it_is_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there as it was, or it is not there; never without its content."""
    asset = await desk.asset(await desk.done(xlsx()))
    to, one, delete = AssetAuthorizer.authorize, AssetStore.get_visible, AssetStore.delete

    async def and_meanwhile(store: AssetStore, caller: User, number: int) -> Any:
        found = await one(store, caller, number)
        await delete(store, caller, asset["uid"])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(AssetStore, "one", and_meanwhile)
        assert (await desk.get(asset["url"]))["content"] == asset["content"]

    async def and_then_it_goes(access: AssetAuthorizer, uid: str, caller: User) -> Any:
        found = await to(access, uid, caller)
        await desk.service.client.delete(f"{PATH}{uid}/", headers=desk.headers)
        return found

    for part in ("", "xform/"):
        asset = await desk.asset(await desk.done(xlsx()))
        with monkeypatch.context() as patch:
            patch.setattr(AssetAuthorizer, "authorize", and_then_it_goes)
            assert (await desk.service.get(f"{asset['url']}{part}", headers=desk.headers)).status_code == 404


async def test_downloads_are_not_pages(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx(), name="Été"))
    version = (await desk.get(asset["versions"]))["results"][0]
    for url, name in ((asset["xform_link"], "%C3%89t%C3%A9.xml"), (version["file"], "household.xlsx")):
        headers = (await desk.service.get(url, headers=desk.headers)).headers
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{name}"


async def test_nobody_elses_assets(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx()))
    version = (await desk.get(asset["versions"]))["results"][0]
    others: tuple[dict[str, str], ...] = ({"Authorization": f"Token {await desk.service.token()}"}, {})
    for headers in others:
        for url in (asset["url"], asset["versions"], asset["xform_link"], version["url"], version["file"]):
            assert (await desk.service.get(url, headers=headers)).status_code == 404
        assert (await desk.service.get(PATH, headers=headers)).json()["count"] == 0
        patched = await desk.service.client.patch(asset["url"], json={"name": "mine"}, headers=headers)
        assert patched.status_code == (404 if headers else 401)
    assert (await desk.get(asset["url"]))["name"] == "household"


async def test_what_has_no_xform_and_what_is_not_there(desk: Desk) -> None:
    block = await desk.asset(await desk.done(xlsx(survey=SURVEY), library="true"))
    for path in (f"{block['url']}xform/", f"{block['versions']}vNope/", f"{block['versions']}vNope/file/"):
        assert (await desk.service.get(path, headers=desk.headers)).status_code == 404


async def test_what_an_xform_is_described_as(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx()))
    described = await desk.service.request("OPTIONS", asset["xform_link"], headers=desk.headers)
    assert described.json()["renders"] == ["application/xml"]


async def test_an_asset_has_a_page(desk: Desk) -> None:
    asset = await desk.asset(await desk.done(xlsx()))
    page = await desk.service.get(f"{asset['url']}?format=api", headers=desk.headers)
    assert page.status_code == 200
    assert "What is your name?" in page.text
