"""Section 8: limits, and the five pagination rules."""

from math import ceil
from urllib.parse import parse_qs, urlsplit

from tests.conftest import StartService
from tests.http.test_pagination import numbers


def first_and_last(body: dict[str, list[dict[str, int]]]) -> tuple[int, int]:
    return body["results"][0]["number"], body["results"][-1]["number"]


async def test_8_default_page_size_maximum_and_default_offset(start: StartService) -> None:
    """Default page 50, maximum 1000, default offset 0."""
    async with start(numbers(1500)) as service:
        assert first_and_last((await service.get("/api/v2/numbers/")).json()) == (1, 50)
        assert first_and_last((await service.get("/api/v2/numbers/?limit=99999")).json()) == (
            1,
            1000,
        )


async def test_8_rule_1_nothing_is_remembered_between_requests(start: StartService) -> None:
    """Parameters are given on each request; without any, the first page of 50."""
    async with start(numbers(100)) as service:
        await service.get("/api/v2/numbers/?limit=7&offset=30")
        assert first_and_last((await service.get("/api/v2/numbers/")).json()) == (1, 50)


async def test_8_rule_2_records_from_offset_plus_one(start: StartService) -> None:
    """Offset 50, limit 20 of 100: records 51 to 70."""
    async with start(numbers(100)) as service:
        body = (await service.get("/api/v2/numbers/?offset=50&limit=20")).json()
        assert first_and_last(body) == (51, 70)
        assert len(body["results"]) == 20


async def test_8_rule_3_links_only_where_there_is_a_page(start: StartService) -> None:
    """next and previous are URLs with limit and offset only where a page exists."""
    async with start(numbers(100)) as service:
        middle = (await service.get("/api/v2/numbers/?limit=20&offset=40")).json()
        assert parse_qs(urlsplit(middle["next"]).query) == {"limit": ["20"], "offset": ["60"]}
        assert parse_qs(urlsplit(middle["previous"]).query) == {"limit": ["20"], "offset": ["20"]}
        assert (await service.get("/api/v2/numbers/?limit=20")).json()["previous"] is None
        assert (await service.get("/api/v2/numbers/?limit=20&offset=80")).json()["next"] is None


async def test_8_rule_3_previous_at_the_start(start: StartService) -> None:
    """previous is a URL only when an earlier page exists, otherwise null: offset 0 is the first page."""
    async with start(numbers(100)) as service:
        for query in ("limit=20&offset=0", "offset=0", "limit=100&offset=0"):
            assert (await service.get(f"/api/v2/numbers/?{query}")).json()["previous"] is None


async def test_8_rule_3_previous_of_an_offset_below_the_limit(start: StartService) -> None:
    """previous is a URL when an earlier page exists: here one that begins at the first record, never before it."""
    async with start(numbers(100)) as service:
        body = (await service.get("/api/v2/numbers/?limit=20&offset=5")).json()
        assert first_and_last(body) == (6, 25)
        assert parse_qs(urlsplit(body["previous"]).query) == {"limit": ["20"], "offset": ["0"]}
        before = (await service.get(body["previous"])).json()
        assert first_and_last(before) == (1, 20)
        assert before["previous"] is None


async def test_8_maximum_limit_in_links(start: StartService) -> None:
    """Maximum limit 1000: one more is taken as 1000, and `next` carries limit and offset of the page that was sent."""
    async with start(numbers(1500)) as service:
        answer = await service.get("/api/v2/numbers/?limit=1001")
        assert first_and_last(answer.json()) == (1, 1000)
        assert parse_qs(urlsplit(answer.json()["next"]).query) == {
            "limit": ["1000"],
            "offset": ["1000"],
        }
        assert answer.headers["Fieldgate-Limit"] == "1000"
        following = (await service.get(answer.json()["next"])).json()
        assert first_and_last(following) == (1001, 1500)
        assert following["next"] is None


async def test_8_rule_4_fewer_than_limit_or_none_is_the_end(start: StartService) -> None:
    """Fewer records than limit, or none: no further request is needed."""
    async with start(numbers(100)) as service:
        for limit in (7, 30, 50, 100):
            offset, seen = 0, 0
            while True:
                body = (await service.get(f"/api/v2/numbers/?limit={limit}&offset={offset}")).json()
                seen += len(body["results"])
                if len(body["results"]) < limit:
                    assert body["next"] is None
                    break
                offset += limit
            assert seen == 100


async def test_8_rule_5_all_records_by_count(start: StartService) -> None:
    """Get the count, compute ceiling(count / limit), get each page."""
    async with start(numbers(95)) as service:
        limit = 20
        count = (await service.get(f"/api/v2/numbers/?limit={limit}")).json()["count"]
        pages = [
            (await service.get(f"/api/v2/numbers/?limit={limit}&offset={page * limit}")).json()[
                "results"
            ]
            for page in range(ceil(count / limit))
        ]
        assert [record["number"] for page in pages for record in page] == list(range(1, 96))


async def test_8_rules_hold_for_an_empty_list(start: StartService) -> None:
    """0 records: count 0, no links, no records, and no further request is needed."""
    async with start(numbers(0)) as service:
        body = (await service.get("/api/v2/numbers/?limit=20")).json()
        assert body == {"count": 0, "next": None, "previous": None, "results": []}
