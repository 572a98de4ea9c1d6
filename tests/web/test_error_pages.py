"""Errors as pages, for people."""

from pathlib import Path

import pytest

from tests.conftest import Service, StartService

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize(
    "path", ["/nothing/", "/api/v2/permissions/none/", "/api/v2/event/?limit=x"]
)
async def test_browser_gets_a_page_with_the_status_of_the_api(service: Service, path: str) -> None:
    as_json = await service.get(path)
    page = await service.get(path, headers=BROWSER)
    assert page.status_code == as_json.status_code >= 400
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'; script-src 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Request-ID"] in page.text
    detail = next(iter(as_json.json().values()))
    assert (detail if isinstance(detail, str) else detail[0]) in page.text
    assert 'href="/"' in page.text


async def test_address_without_a_page_says_what_to_do(service: Service) -> None:
    page = await service.get("/api/v2/event/export/", headers={"Accept": "text/html"})
    assert page.status_code == 406
    assert "Go back and use the links of the pages." in page.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html", ""])
async def test_program_gets_json(service: Service, accept: str) -> None:
    answer = await service.get("/nothing/", headers={"Accept": accept})
    assert answer.headers["Content-Type"] == "application/json"


async def test_missing_login_offers_to_log_in_and_return(service: Service) -> None:
    page = await service.get("/token/?limit=5", headers=BROWSER)
    assert page.status_code == 401
    assert 'href="/login/?next=%2Ftoken%2F%3Flimit%3D5"' in page.text


@pytest.mark.parametrize(
    ("language", "advice"),
    [
        ("en", "Tell the person who runs this service."),
        ("fr", "Prévenez la personne qui administre ce service."),
    ],
)
async def test_page_of_a_lost_database_does_not_promise_that_waiting_helps(
    start: StartService, tmp_path: Path, language: str, advice: str
) -> None:
    async with start() as service:
        assert (await service.get("/readyz")).status_code == 200
        (tmp_path / "fieldgate.db").rename(tmp_path / "moved.db")
        assert (await service.get("/readyz")).json()["reason"] == "missing"
        page = await service.get("/api/v2/event/", headers={**BROWSER, "Accept-Language": language})
        assert page.status_code == 503
        assert advice in page.text
        for wrong in ("is busy", "Wait a few seconds", "Nothing was lost"):
            assert wrong not in page.text
        (tmp_path / "moved.db").rename(tmp_path / "fieldgate.db")
