"""Responses that only change with a release are shared by requests that differ in what changes nothing."""

import pytest

from fieldgate.pagination import MAX_LIMIT
from tests.conftest import BASE_URL, Service, StartService

LIST = "/api/v2/permissions/"
EFFECTS = f"{LIST}view_submissions/effects/"


async def test_unknown_parameters_are_reported_for_each_request(service: Service) -> None:
    plain = await service.get(LIST)
    for query, ignored in (("a=1", "a"), ("a=2", "a"), ("b=1", "b"), ("a=1&b=1", "a, b"), ("b=1&a=1", "b, a")):
        for _ in range(2):
            response = await service.get(f"{LIST}?{query}")
            assert response.headers["Fieldgate-Ignored"] == ignored
            assert response.content == plain.content
    assert "Fieldgate-Ignored" not in (await service.get(LIST)).headers


async def test_links_to_pages_repeat_their_own_query(service: Service) -> None:
    for value in ("1", "2", "1"):
        for limit in (4, 100, 4):
            listed = (await service.get(f"{LIST}?limit={limit}&x={value}")).json()
            assert listed["next"] == (f"{BASE_URL}{LIST}?limit=4&offset=4&x={value}" if limit == 4 else None)
            after = (await service.get(f"{LIST}?limit={limit}&offset=8&x={value}")).json()
            assert after["previous"].endswith(f"&x={value}")


@pytest.mark.parametrize("language", ["en", "fr", "ar"])
async def test_language_and_format_belong_to_a_response(service: Service, language: str) -> None:
    for query in ("x=1", "x=2"):
        response = await service.get(f"{LIST}?{query}", headers={"Accept-Language": language})
        assert response.headers["Content-Language"] == language
        with_format = (await service.get(f"{LIST}?{query}&format=json")).json()["results"][0]["url"]
        assert with_format.endswith("?format=json")


async def test_base_url_belongs_to_a_response(start: StartService) -> None:
    async with start(allowed_hosts=("one.example", "two.example")) as service:
        for host in ("one.example", "two.example") * 2:
            for query in ("x=1", "x=2"):
                listed = (await service.get(f"{LIST}?{query}", headers={"Host": host})).json()
                assert listed["results"][0]["url"].startswith(f"http://{host}/api/")


async def test_encoding_belongs_to_a_response(service: Service) -> None:
    for encoding in ("gzip", "identity") * 2:
        for query in ("x=1", "x=2"):
            response = await service.get(f"{LIST}?{query}", headers={"Accept-Encoding": encoding})
            assert response.headers.get("Content-Encoding", "identity") == encoding
            assert response.json()["count"] > 0


async def test_accept_belongs_to_a_response(service: Service) -> None:
    for media_type in ("application/json", "text/html") * 2:
        for query in ("x=1", "x=2"):
            response = await service.get(f"{LIST}?{query}", headers={"Accept": media_type})
            assert response.headers["Content-Type"].split(";")[0] == media_type


async def test_preferences_and_limits_are_reported_for_each_request(service: Service) -> None:
    for _ in range(2):
        for limit in (MAX_LIMIT, MAX_LIMIT + 1):
            response = await service.get(f"{LIST}?limit={limit}&x=1")
            assert ("Fieldgate-Limit" in response.headers) is (limit > MAX_LIMIT)
        for prefer in ("handling=lenient", "handling=strict"):
            response = await service.get(LIST, headers={"Prefer": prefer})
            assert ("Preference-Applied" in response.headers) is (prefer == "handling=strict")
            unknown = await service.get(f"{LIST}?x=1", headers={"Prefer": prefer})
            assert unknown.status_code == (400 if prefer == "handling=strict" else 200)


async def test_order_of_names_does_not_matter(service: Service) -> None:
    names = ("view_asset", "add_submissions", "change_asset")
    first = await service.get(f"{EFFECTS}?held={','.join(names)}")
    second = await service.get(f"{EFFECTS}?held={','.join(reversed(names))}")
    other = await service.get(f"{EFFECTS}?held={','.join(names[:2])}")
    assert first.content == second.content != other.content
    assert first.headers["ETag"] == second.headers["ETag"] != other.headers["ETag"]


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
async def test_ids_with_too_many_digits_match_nothing(service: Service, number: int) -> None:
    for query in (f"id__in={number}", f"id__in={number},0"):
        response = await service.get(f"/api/v2/region/?{query}")
        assert response.status_code == 200
        assert response.json()["count"] == query.count(",")
