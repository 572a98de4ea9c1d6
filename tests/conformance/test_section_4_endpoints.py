"""Sections 4, 4.1, 4.2, 4.5 and 4.6: the permission endpoints, common parameters, and the language header."""

import pytest

from tests.conftest import BASE_URL, Service, StartService
from tests.http.test_pagination import numbers

PATHS = ["/api/v2/permissions/", "/api/v2/permissions/manage_asset/"]


@pytest.mark.parametrize("path", PATHS)
async def test_4_success_is_200_and_json(service: Service, path: str) -> None:
    """HTTP 200 and Content-Type application/json on success."""
    answer = await service.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", PATHS)
async def test_4_answers_carry_allow_and_vary(service: Service, path: str) -> None:
    """Response headers: Allow, and Vary with Accept."""
    answer = await service.get(path)
    assert "Accept" in answer.headers["Vary"].split(", ")
    assert answer.headers["Allow"]


async def test_4_1_lists_all_permissions_on_one_page(service: Service) -> None:
    """count 10, next and previous null."""
    body = (await service.get("/api/v2/permissions/")).json()
    assert (body["count"], body["next"], body["previous"], len(body["results"])) == (
        10,
        None,
        None,
        10,
    )


@pytest.mark.parametrize("path", PATHS)
async def test_4_1_and_4_2_allowed_methods(service: Service, path: str) -> None:
    """Allow: GET, HEAD, OPTIONS; and each of them works."""
    for method in ("GET", "HEAD", "OPTIONS"):
        answer = await service.request(method, path)
        assert answer.status_code == 200
        assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"


async def test_4_1_the_list_holds_permission_objects(service: Service) -> None:
    """The envelope holds Permission objects."""
    for record in (await service.get("/api/v2/permissions/")).json()["results"]:
        assert set(record) == {"url", "codename", "implied", "contradictory", "name"}


async def test_4_2_one_permission_is_not_wrapped(service: Service) -> None:
    """A single object, no envelope."""
    body = (await service.get("/api/v2/permissions/manage_asset")).json()
    assert set(body) == {"url", "codename", "implied", "contradictory", "name"}


async def test_4_2_returned_urls_end_with_a_slash(service: Service) -> None:
    """url values end with a slash even if the request did not."""
    body = (await service.get("/api/v2/permissions/manage_asset")).json()
    assert all(link.endswith("/") for link in (body["url"], *body["implied"]))


async def test_4_5_limit_defaults_to_50(start: StartService) -> None:
    """limit: default 50."""
    async with start(numbers(100)) as service:
        assert len((await service.get("/api/v2/numbers/")).json()["results"]) == 50


async def test_4_5_limit_is_the_number_of_records_per_page(start: StartService) -> None:
    """limit: records per page; maximum 1000."""
    async with start(numbers(1200)) as service:
        for limit in (1, 20, 999, 1000):
            assert (
                len((await service.get(f"/api/v2/numbers/?limit={limit}")).json()["results"])
                == limit
            )
        assert len((await service.get("/api/v2/numbers/?limit=1100")).json()["results"]) == 1000


async def test_4_5_offset_skips_records_and_defaults_to_0(start: StartService) -> None:
    """offset: records skipped before the first returned; default 0."""
    async with start(numbers(100)) as service:
        assert (await service.get("/api/v2/numbers/")).json()["results"][0] == {"number": 1}
        assert (await service.get("/api/v2/numbers/?offset=30")).json()["results"][0] == {
            "number": 31
        }


async def test_4_5_format_api_selects_the_page_and_is_not_required(service: Service) -> None:
    """format: api selects the browsable rendering."""
    assert (
        (await service.get("/api/v2/permissions/?format=api"))
        .headers["Content-Type"]
        .startswith("text/html")
    )
    assert (await service.get("/api/v2/permissions/")).headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("code", ["en", "fr", "ar", "es"])
async def test_4_6_a_two_letter_code_chooses_the_language(service: Service, code: str) -> None:
    """Accept-Language: English, French, Arabic, Spanish."""
    answer = await service.get("/api/v2/permissions/", headers={"Accept-Language": code})
    assert answer.headers["Content-Language"] == code


async def test_4_6_the_default_is_english(service: Service) -> None:
    """English when the header is absent."""
    answer = await service.get("/api/v2/permissions/view_asset/")
    assert answer.headers["Content-Language"] == "en"
    assert answer.json()["name"] == "Can view asset"
    assert answer.json()["url"] == f"{BASE_URL}/api/v2/permissions/view_asset/"
