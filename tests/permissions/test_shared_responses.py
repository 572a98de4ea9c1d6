"""Responses that only change with a release are shared by requests that differ in what changes nothing."""

import pytest

from tests.conftest import Service

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
