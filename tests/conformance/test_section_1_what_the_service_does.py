"""Section 1: what the service does."""

import pytest

from tests.conftest import Service


async def test_1_the_interface_is_http_that_returns_json(service: Service) -> None:
    """A REST-style HTTP interface that returns JSON."""
    for path in ("/api/v2/", "/api/v2/permissions/", "/api/v2/permissions/view_asset/"):
        answer = await service.get(path)
        assert answer.headers["Content-Type"] == "application/json"
        answer.json()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/api/v2/permissions/", "/api/v2/permissions/view_asset/"])
async def test_1_the_catalogue_is_read_only(service: Service, method: str, path: str) -> None:
    """A read-only catalogue of permissions."""
    before = (await service.get(path)).json()
    answer = await service.request(method, path, json={"codename": "view_asset", "name": "x"})
    assert answer.status_code == 405
    assert (await service.get(path)).json() == before


async def test_1_each_permission_states_implied_and_contradictory(service: Service) -> None:
    """Each permission states what it grants and what it removes."""
    for record in (await service.get("/api/v2/permissions/")).json()["results"]:
        assert isinstance(record["implied"], list)
        assert isinstance(record["contradictory"], list)


async def test_1_lists_use_offset_and_limit(service: Service) -> None:
    """List endpoints use offset/limit pagination."""
    everything = (await service.get("/api/v2/permissions/")).json()["results"]
    part = (await service.get("/api/v2/permissions/?limit=3&offset=2")).json()["results"]
    assert part == everything[2:5]


@pytest.mark.parametrize("language", ["en", "fr", "ar", "es"])
async def test_1_responses_are_localised_by_a_header(service: Service, language: str) -> None:
    """Localised in English, French, Arabic or Spanish through a request header."""
    answer = await service.get(
        "/api/v2/permissions/view_asset/", headers={"Accept-Language": language}
    )
    assert answer.headers["Content-Language"] == language
    names = {
        "en": "Can view asset",
        "fr": "Peut voir l'élément",
        "ar": "يمكنه عرض الأصل",
        "es": "Puede ver el recurso",
    }
    assert answer.json()["name"] == names[language]


@pytest.mark.parametrize(
    "path", ["/api/v2/", "/api/v2/permissions/", "/api/v2/permissions/view_asset/"]
)
async def test_1_format_api_gives_a_page(service: Service, path: str) -> None:
    """A browsable HTML rendering when format=api is given."""
    answer = await service.get(f"{path}?format=api")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<h1>" in answer.text
