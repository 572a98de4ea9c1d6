"""`Fieldgate-Data-Version`: equal on the pages of a list as long as nothing changes."""

from tests.conftest import Service
from tests.events.event_service import event_service
from tests.events.test_edit_routes import EVENT, superuser

__all__ = ["event_service"]

EVENTS = "/api/v2/event/"


async def versions(service: Service, *queries: str, **options: dict[str, str]) -> set[str]:
    answers = [await service.get(f"{EVENTS}{query}", **options) for query in queries]
    return {answer.headers["Fieldgate-Data-Version"] for answer in answers}


async def test_all_pages_of_unchanged_data_have_one_version(event_service: Service) -> None:
    pages = ("?limit=2", "?limit=2&offset=2", "?offset=500", "?limit=2&ordering=id", "?limit=2&dtype=12")
    assert len(await versions(event_service, *pages, *pages)) == 1
    assert await versions(event_service, "") == await versions(event_service, "", headers={"Accept-Language": "ar"})


async def test_a_write_changes_the_version(service: Service) -> None:
    headers = await superuser(service)
    seen = await versions(service, "")
    for method, status in (("PUT", 201), ("PUT", 200), ("DELETE", 204)):
        name = {"name": f"Floods {len(seen)}"}
        body = {"json": {**EVENT, **name}} if method == "PUT" else {}
        answer = await service.request(method, f"{EVENTS}7001/", headers=headers, **body)
        assert answer.status_code == status
        changed = await versions(service, "?limit=1")
        assert not changed & seen
        seen |= changed


async def test_who_may_see_more_has_another_version(event_service: Service) -> None:
    headers = await superuser(event_service)
    assert await versions(event_service, "") != await versions(event_service, "", headers=headers)


async def test_lists_without_a_version_say_none(service: Service) -> None:
    headers = await superuser(service)
    for path in ("/api/v2/assets/", "/api/v2/users/"):
        assert (await service.get(path, headers=headers)).headers["Fieldgate-Data-Version"] == "none"
    for path in ("/api/v2/permissions/", "/api/v2/imports/", "/api/v2/country/"):
        assert (await service.get(path, headers=headers)).headers["Fieldgate-Data-Version"] != "none"
