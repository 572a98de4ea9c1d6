"""Events that leave lists without being deleted: recorded for callers who saw them, and for nobody else."""

import asyncio
from typing import Any

import pytest

from tests.conftest import Service
from tests.events.event_service import PATH, event_service

__all__ = ["event_service"]

BODY: dict[str, Any] = {
    "name": "Floods",
    "disaster_start_date": "2026-07-14",
    "countries": [84],
    "visibility": 3,
    "updated_at": "2026-07-14",
}
EVERYBODY = {"public", "member", "indian", "ifrc"}
MAX_LOOKS = 40
MEMBERS = EVERYBODY - {"public"}


class People:
    """Callers who look at one event after each of its states."""

    def __init__(self, event_service: Service, tokens: dict[str, str]) -> None:
        self._house = event_service
        self._headers = {
            name: {"Authorization": f"Token {token}"} if token else {}
            for name, token in tokens.items()
        }

    async def put(self, number: int, **changes: Any) -> None:
        answer = await self._house.request(
            "PUT", f"{PATH}{number}/", json={**BODY, **changes}, headers=self._headers["root"]
        )
        assert answer.status_code in (200, 201)

    async def delete(self, number: int) -> None:
        await self._house.request("DELETE", f"{PATH}{number}/", headers=self._headers["root"])

    async def who(self, query: str, number: int) -> set[str]:
        """Who finds the event in a list."""
        found = set()
        for name in sorted(EVERYBODY):
            page = (await self._house.get(PATH + query, headers=self._headers[name])).json()
            found |= {name} if number in [record["id"] for record in page["results"]] else set()
        return found

    async def check(self, number: int, listed: set[str], gone: set[str]) -> None:
        found = None
        for _ in range(MAX_LOOKS):  # on PostgreSQL it takes a moment until a change is heard of
            found = (
                await self.who(f"?id={number}", number),
                await self.who("deleted/?limit=1000", number),
            )
            if found == (listed, gone):
                break
            await asyncio.sleep(0.05)
        assert found == (listed, gone)


@pytest.fixture
async def people(event_service: Service) -> People:
    return People(
        event_service,
        {
            "public": "",
            "member": await event_service.create_token(),
            "indian": await event_service.create_token(countries=("IND",)),
            "ifrc": await event_service.create_token(is_ifrc=True),
            "root": await event_service.create_token(is_superuser=True),
        },
    )


async def test_event_merged_into_another(people: People) -> None:
    await people.put(7001)
    await people.check(7001, EVERYBODY, set())
    await people.put(7001, parent_event=0)
    await people.check(7001, set(), EVERYBODY)
    await people.put(7001, parent_event=0, summary="Edited")
    await people.check(7001, set(), EVERYBODY)
    await people.put(7001)
    await people.check(7001, EVERYBODY, set())


async def test_event_hidden_step_by_step(people: People) -> None:
    await people.put(7002)
    await people.put(7002, visibility=1)
    await people.check(7002, MEMBERS, {"public"})
    await people.put(7002, visibility=4)
    await people.check(7002, {"indian", "ifrc"}, {"public", "member"})
    await people.put(7002, visibility=4, countries=[123])
    await people.check(7002, {"ifrc"}, {"public", "member", "indian"})
    await people.put(7002, visibility=2, summary="Edited")
    await people.check(7002, {"ifrc"}, {"public", "member", "indian"})
    await people.put(7002, visibility=1)
    await people.check(7002, MEMBERS, {"public"})
    await people.delete(7002)
    await people.check(7002, set(), EVERYBODY)
    await people.put(7002, visibility=2)
    await people.check(7002, {"ifrc"}, EVERYBODY - {"ifrc"})
    await people.put(7002)
    await people.check(7002, EVERYBODY, set())


async def test_countries_of_a_society(people: People) -> None:
    await people.put(7003, visibility=4)
    await people.check(7003, {"indian", "ifrc"}, set())
    await people.put(7003, visibility=4, countries=[84, 123])
    await people.check(7003, {"indian", "ifrc"}, set())
    await people.put(7003, visibility=4, countries=[123])
    await people.check(7003, {"ifrc"}, {"indian"})


async def test_deletion_is_hidden_from_callers_who_never_saw_the_event(people: People) -> None:
    await people.put(7004, visibility=2)
    await people.put(7004, visibility=2, parent_event=1)
    await people.check(7004, set(), {"ifrc"})
    await people.delete(7004)
    await people.check(7004, set(), {"ifrc"})
