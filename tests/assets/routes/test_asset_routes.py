"""`/api/v2/assets/`: assets, their versions and downloads."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.store import AssetStore
from fieldgate.identity import User
from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import StartService
from tests.imports.test_worker import ImportHarness
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/assets/"


@pytest.fixture
async def harness(start: StartService, database_url: str) -> AsyncIterator[ImportHarness]:
    async with start(database_url=database_url) as service:
        headers = {"Authorization": f"Token {await service.create_token()}"}
        yield ImportHarness(service, headers, ImportWorker(Settings(), service.database))


async def names(harness: ImportHarness, query: str) -> list[str]:
    return [asset["name"] for asset in (await harness.get(f"{PATH}?{query}"))["results"]]


async def test_search_and_filters(harness: ImportHarness) -> None:
    for name, library in (("Household visit", "false"), ("Market 100%", "false"), ("household block", "true")):
        await harness.import_workbook(xlsx(), name=name, library=library)
    assert await names(harness, "") == ["household block", "Market 100%", "Household visit"]
    assert await names(harness, "q=HOUSE") == ["household block", "Household visit"]
    assert await names(harness, "q=visit house") == ["Household visit"]
    assert await names(harness, "q=%25") == ["Market 100%"]
    assert await names(harness, "q=_") == []
    assert await names(harness, "asset_type=survey&ordering=name") == ["Household visit", "Market 100%"]
    assert await names(harness, "ordering=-name&limit=1") == ["Market 100%"]
    refused = await harness.service.get(f"{PATH}?asset_type=florb&ordering=size", headers=harness.headers)
    assert (refused.status_code, sorted(refused.json())) == (400, ["asset_type", "ordering"])


async def test_search_ignores_case(harness: ImportHarness) -> None:
    for name in ("École primaire", "Éamon", "Straße", "zone", "Ецик"):
        await harness.import_workbook(xlsx(), name=name)
    for query, found in (("ÉCOLE", "École primaire"), ("e\u0301cole", "École primaire"), ("STRASSE", "Straße"),
                         ("ецИК", "Ецик")):  # fmt: skip
        assert await names(harness, f"q={quote(query)}") == [found]
    uid = (await harness.get(f"{PATH}?q=zone"))["results"][0]["uid"]
    await harness.service.client.patch(f"{PATH}{uid}/", json={"name": "ÉLAN"}, headers=harness.headers)
    assert await names(harness, f"q={quote('élan')}") == ["ÉLAN"]
    await harness.import_workbook(xlsx(survey=SURVEY, settings=(("form_title",), ("Œuvre ÉTÉ",))), destination=uid)
    assert await names(harness, f"q={quote('été')}") == ["Œuvre ÉTÉ"]
    assert (await names(harness, "ordering=name"))[-1] == "Ецик"


async def test_search_limits(harness: ImportHarness) -> None:
    messages = set()
    for language in ("en", "fr", "es", "ar"):
        headers = {**harness.headers, "Accept-Language": language}
        assert (await harness.service.get(f"{PATH}?q={'+'.join('a' * 20)}", headers=headers)).status_code == 200
        for query in ("+".join("a" * 21), "+".join("a" * 500)):
            refused = await harness.service.get(f"{PATH}?q={query}", headers=headers)
            assert (refused.status_code, list(refused.json())) == (400, ["q"])
        messages.add(refused.json()["q"][0])
        assert (await harness.service.get(f"{PATH}?q={'a' * 1001}", headers=headers)).status_code == 400
    assert len(messages) == 4


async def test_change_and_delete(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx()))

    async def patch(**body: Any) -> Any:
        return await harness.service.client.patch(asset["url"], json=body, headers=harness.headers)

    changed = (await patch(name="Another", settings={"country": "KEN"})).json()
    assert (changed["name"], changed["settings"]) == ("Another", {"country": "KEN"})
    assert (await patch(settings={})).json()["name"] == "Another", "fields that are not sent stay"
    for body in ({"name": "  "}, {"name": "x" * 256}, {"name": 5}, {"settings": "x"}):
        assert (await patch(**body)).status_code == 400
    assert (await patch(settings=[])).json() == {"settings": ["Send an object."]}
    assert (await patch(nmae="x")).headers["Fieldgate-Ignored"] == "nmae"
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"a": deep}
    assert (await patch(settings=deep["a"])).status_code == 400
    assert (await patch(settings=deep["a"]["a"])).status_code == 200
    page = await harness.service.get(f"{asset['url']}?format=api", headers=harness.headers)
    assert page.status_code == 200
    assert (await harness.service.client.delete(asset["url"], headers=harness.headers)).status_code == 204
    gone = {"detail": f"There is no asset {asset['uid']}."}
    for method in ("GET", "DELETE"):
        answer = await harness.service.request(method, asset["url"], headers=harness.headers)
        assert (answer.status_code, answer.json()) == (404, gone)
    assert ((await patch(name="x")).status_code, (await patch(name="x")).json()) == (404, gone)


async def test_empty_change(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx()))
    patched = await harness.service.client.patch(asset["url"], json={}, headers=harness.headers)
    assert (patched.status_code, patched.json()) == (200, asset)
    missing = await harness.service.client.patch(f"{PATH}aKm3pVw8ZtQ2xYcRnB5dFh/", json={}, headers=harness.headers)
    assert missing.status_code == 404
    named = await harness.service.client.patch(asset["url"], json={"name": "Visit\u0001 1\n"}, headers=harness.headers)
    assert named.json()["name"] == "Visit  1"


async def test_asset_deleted_while_read(harness: ImportHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response is the complete asset or 404."""
    asset = await harness.asset(await harness.import_workbook(xlsx()))
    to, one, delete = AssetAuthorizer.authorize, AssetStore.get_visible, AssetStore.delete

    async def get_then_delete(store: AssetStore, caller: User, index: int) -> Any:
        found = await one(store, caller, index)
        await delete(store, caller, asset["uid"])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(AssetStore, "get_visible", get_then_delete)
        assert (await harness.get(asset["url"]))["content"] == asset["content"]

    async def authorize_then_delete(access: AssetAuthorizer, uid: str, caller: User) -> Any:
        found = await to(access, uid, caller)
        await harness.service.client.delete(f"{PATH}{uid}/", headers=harness.headers)
        return found

    for part in ("", "xform/"):
        asset = await harness.asset(await harness.import_workbook(xlsx()))
        with monkeypatch.context() as patch:
            patch.setattr(AssetAuthorizer, "authorize", authorize_then_delete)
            assert (await harness.service.get(f"{asset['url']}{part}", headers=harness.headers)).status_code == 404


async def test_downloads_are_attachments(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx(), name="Été"))
    version = (await harness.get(asset["versions"]))["results"][0]
    names = (
        (asset["xform_link"], "filename=\"form.xml\"; filename*=UTF-8''%C3%89t%C3%A9.xml"),
        (version["file"], "filename=\"household.xlsx\"; filename*=UTF-8''household.xlsx"),
    )
    for url, name in names:
        headers = (await harness.service.get(url, headers=harness.headers)).headers
        assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["Content-Disposition"] == f"attachment; {name}"


async def test_assets_of_other_users_are_hidden(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx()))
    version = (await harness.get(asset["versions"]))["results"][0]
    others: tuple[dict[str, str], ...] = ({"Authorization": f"Token {await harness.service.create_token()}"}, {})
    for headers in others:
        for url in (asset["url"], asset["versions"], asset["xform_link"], version["url"], version["file"]):
            assert (await harness.service.get(url, headers=headers)).status_code == 404
        assert (await harness.service.get(PATH, headers=headers)).json()["count"] == 0
        patched = await harness.service.client.patch(asset["url"], json={"name": "mine"}, headers=headers)
        assert patched.status_code == (404 if headers else 401)
    assert (await harness.get(asset["url"]))["name"] == "household"


async def test_missing_xform_and_version(harness: ImportHarness) -> None:
    block = await harness.asset(await harness.import_workbook(xlsx(survey=SURVEY), library="true"))
    for path in (f"{block['url']}xform/", f"{block['versions']}vNope/", f"{block['versions']}vNope/file/"):
        assert (await harness.service.get(path, headers=harness.headers)).status_code == 404


async def test_options_of_xform(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx()))
    described = await harness.service.request("OPTIONS", asset["xform_link"], headers=harness.headers)
    assert described.json()["renders"] == ["application/xml"]


async def test_html_page(harness: ImportHarness) -> None:
    asset = await harness.asset(await harness.import_workbook(xlsx()))
    page = await harness.service.get(f"{asset['url']}?format=api", headers=harness.headers)
    assert page.status_code == 200
    assert "What is your name?" in page.text
