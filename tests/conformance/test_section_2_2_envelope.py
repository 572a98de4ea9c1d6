"""Section 2.2: the paginated list envelope."""

from tests.conftest import Service, StartService
from tests.http.test_pagination import numbers


async def test_2_2_every_list_is_an_object_with_four_keys(service: Service) -> None:
    """count, next, previous, and the records (the key of which is `results`); nothing else."""
    body = (await service.get("/api/v2/permissions/")).json()
    assert list(body) == ["count", "next", "previous", "results"]


async def test_2_2_count_is_across_all_pages(start: StartService) -> None:
    """count: all records that match, across all pages."""
    async with start(numbers(100)) as service:
        for query in ("", "?limit=1", "?offset=99", "?offset=500"):
            assert (await service.get(f"/api/v2/numbers/{query}")).json()["count"] == 100
        assert (await service.get("/api/v2/numbers/?parity=odd&limit=3")).json()["count"] == 50


async def test_2_2_next_is_a_url_or_null(start: StartService) -> None:
    """next: URL of the next page, null when there is none."""
    async with start(numbers(100)) as service:
        body = (await service.get("/api/v2/numbers/?limit=60")).json()
        following = (await service.get(body["next"])).json()
        assert [record["number"] for record in following["results"]] == list(range(61, 101))
        assert following["next"] is None


async def test_2_2_previous_is_a_url_or_null(start: StartService) -> None:
    """previous: URL of the previous page, null when there is none."""
    async with start(numbers(100)) as service:
        body = (await service.get("/api/v2/numbers/?limit=60&offset=60")).json()
        before = (await service.get(body["previous"])).json()
        assert [record["number"] for record in before["results"]] == list(range(1, 61))
        assert before["previous"] is None


async def test_2_2_results_are_an_empty_array_when_there_are_none(start: StartService) -> None:
    """An empty array when there are no records."""
    async with start(numbers(0)) as service:
        assert (await service.get("/api/v2/numbers/")).json()["results"] == []
