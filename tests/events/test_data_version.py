"""`Fieldgate-Data-Version`: equal on the pages of a list as long as nothing changes."""

from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.pagination import ListResult, PageRequest
from tests.conftest import Service, StartService
from tests.data.events import superuser
from tests.data.sql import write_sql
from tests.events.event_service import event_service
from tests.events.test_edit_routes import EVENT
from tests.http.test_pagination import Number

__all__ = ["event_service"]

EVENTS = "/api/v2/event/"


async def versions(service: Service, *queries: str, **options: dict[str, str]) -> set[str]:
    answers = [await service.get(f"{EVENTS}{query}", **options) for query in queries]
    return {answer.headers["Fieldgate-Data-Version"] for answer in answers}


async def test_all_pages_of_unchanged_data_have_one_version(event_service: Service) -> None:
    pages = (
        "?limit=2",
        "?limit=2&offset=2",
        "?offset=500",
        "?limit=2&ordering=id",
        "?limit=2&dtype=12",
    )
    assert len(await versions(event_service, *pages, *pages)) == 1
    assert await versions(event_service, "") == await versions(
        event_service, "", headers={"Accept-Language": "ar"}
    )


async def test_a_write_changes_the_version(start: StartService) -> None:
    async with start() as service:
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


async def test_a_write_of_another_process_while_a_page_is_read(
    start: StartService, database_url: str
) -> None:
    """The records may be newer than the version that this process knows, so the page belongs to none."""
    writes = [True, False, False]

    @Routes(tag="x", scope=Scope.NONE).get_list(
        "/api/v2/numbers/",
        response=Number,
        title=Message("Permissions"),
        description=Message("Permissions"),
        depends_on=("numbers",),
    )
    async def number_list(page: PageRequest) -> ListResult[Number]:
        if writes.pop(0):
            with write_sql(database_url, "numbers"):
                pass
        return ListResult(1, [Number(1)])

    async with start(number_list, database_url=database_url) as service:
        seen = [
            (await service.get(f"/api/v2/numbers/?offset={n}")).headers["Fieldgate-Data-Version"]
            for n in range(3)
        ]
    assert seen[0] == "none"
    assert seen[2] != "none"
