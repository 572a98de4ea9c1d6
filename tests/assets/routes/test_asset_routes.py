"""`/api/v2/assets/`: assets, their versions and downloads."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

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


async def test_search_ignores_case(harness: ImportHarness) -> None:
    for name in ("École primaire", "Éamon", "Straße", "zone", "Ецик"):
        await harness.import_workbook(xlsx(), name=name)
    for query, found in (("ÉCOLE", "École primaire"), ("e\u0301cole", "École primaire"), ("STRASSE", "Straße"),
                         ("ецИК", "Ецик")):  # fmt: skip
        assert await names(harness, f"q={quote(query)}") == [found]
    uid = (await harness.get(f"{PATH}?q=zone"))["results"][0]["uid"]
    await harness.service.client.patch(
        f"{PATH}{uid}/", json={"name": "ÉLAN"}, headers=harness.headers
    )
    assert await names(harness, f"q={quote('élan')}") == ["ÉLAN"]
    await harness.import_workbook(
        xlsx(survey=SURVEY, settings=(("form_title",), ("Œuvre ÉTÉ",))), destination=uid
    )
    assert await names(harness, f"q={quote('été')}") == ["Œuvre ÉTÉ"]
    assert (await names(harness, "ordering=name"))[-1] == "Ецик"


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
    assert (
        await harness.service.client.delete(asset["url"], headers=harness.headers)
    ).status_code == 204
    gone = {"detail": "This form does not exist or is not shared with you."}
    for method in ("GET", "DELETE"):
        answer = await harness.service.request(method, asset["url"], headers=harness.headers)
        assert (answer.status_code, answer.json()) == (404, gone)
    assert ((await patch(name="x")).status_code, (await patch(name="x")).json()) == (404, gone)


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
