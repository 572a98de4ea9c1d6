"""`PUT` and `DELETE` of `/api/v2/event/{id}/`: permissions, results and errors."""

from typing import Any

import pytest

from fieldgate.events.store import EventStore
from fieldgate.settings import Settings
from tests.conftest import Service, run_service
from tests.events.event_service import make_event
from tests.events.ingest.test_parsing import WRONG

PATH = "/api/v2/event/"
EVENT: dict[str, Any] = {
    "name": {"en": "Floods", "fr": "Crues"},
    "disaster_start_date": "2026-07-14",
    "countries": [123],
    "dtype": {"id": 12},
    "visibility": 3,
    "slug": "floods",
    "summary": "Much water.",
    "appeals": [{"id": 1, "aid": "x", "atype": 0, "status": 0, "code": "MDRNP001"}],
    "field_reports": [
        {
            "id": 1,
            "created_at": "2026-07-15",
            "updated_at": "2026-07-15",
            "visibility": 3,
            "num_affected": 5,
            "gov_num_affected": 6,
            "recent_affected": 1,
            "contacts": [{"id": 1, "name": "Amina"}],
        }
    ],
    "contacts": [{"id": 2, "name": "Amina", "email": "amina@example.org"}],
    "unheard_of": 1,
}


async def superuser(service: Service) -> dict[str, str]:
    return {"Authorization": f"Token {await service.create_token(is_superuser=True)}"}


async def test_create_replace_and_delete(service: Service) -> None:
    headers = await superuser(service)
    made = await service.request("PUT", f"{PATH}7001/", json=EVENT, headers=headers)
    assert made.status_code == 201
    assert made.headers["Location"].endswith("/api/v2/event/7001/")
    record = made.json()
    assert (record["id"], record["dtype"], record["contacts"][0]["name"]) == (7001, 12, "Amina")
    assert (await service.get(f"{PATH}floods/", headers={"Accept-Language": "fr"})).json()["name"] == "Crues"

    again = await service.request("PUT", f"{PATH}7001/", json=record, headers=headers)
    assert (again.status_code, again.json()) == (200, record), "its own record changes nothing"

    french = await service.request(
        "PUT",
        f"{PATH}7001/",
        json={**record, "id": 7001, "name": "Inondations", "slug": None},
        headers={**headers, "Accept-Language": "fr"},
    )
    assert (french.status_code, french.json()["name"], french.json()["slug"]) == (200, "Inondations", None)
    assert french.json()["updated_at"] > record["updated_at"], "a change is seen by who asks what changed since"
    listed = (await service.get(f"{PATH}?id=7001")).json()["results"][0]
    assert listed["name"] == "Floods"
    assert listed["field_reports"][0]["gov_num_affected"] == 6, "what the record of one event does not show stays"

    bare = {"name": "Floods", "disaster_start_date": "2026-07-14", "visibility": 3}
    replaced = (await service.request("PUT", f"{PATH}7001/", json=bare, headers=headers)).json()
    assert (replaced["appeals"], replaced["dtype"], replaced["summary"]) == ([], None, ""), "replaced whole"
    assert replaced["created_at"] == record["created_at"]

    gone = await service.request("DELETE", f"{PATH}7001/", headers=headers)
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await service.get(f"{PATH}7001/")).status_code == 404
    assert 7001 in [each["id"] for each in (await service.get(f"{PATH}deleted/")).json()["results"]]
    assert (await service.request("DELETE", f"{PATH}7001/", headers=headers)).status_code == 404


async def test_new_event_among_demo_events_is_a_demo_event(database_url: str) -> None:
    async with run_service(Settings(database_url=database_url, access_log=False)) as service:
        store = EventStore(service.database, service.data_versions)
        headers = await superuser(service)
        await store.upsert([make_event(1), make_event(2)], is_demo=True)
        for number in (1, 7001):
            await service.request("PUT", f"{PATH}{number}/", json=EVENT | {"slug": None}, headers=headers)
            assert not await store.has_real()
        assert await store.delete_demo() == 3
        await service.request("PUT", f"{PATH}7001/", json=EVENT, headers=headers)
        assert (await store.has_real(), await store.has_demo()) == (True, False)
        await store.upsert([make_event(1), make_event(2)], is_demo=True)  # as it could be before
        for number in (1, 2, 7001, 7002):
            await service.request("PUT", f"{PATH}{number}/", json=EVENT | {"slug": None}, headers=headers)
        assert await store.delete_demo() == 2, "each stays what it was"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_only_superusers_can_write(service: Service, method: str) -> None:
    assert (await service.request(method, f"{PATH}7002/", json=EVENT)).status_code == 401
    for rights in ({}, {"is_ifrc": True}):
        headers = {"Authorization": f"Token {await service.create_token(**rights)}"}
        refused = await service.request(method, f"{PATH}7002/", json=EVENT, headers=headers)
        assert (refused.status_code, refused.json()) == (403, {"detail": "Only superusers can write events."})


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("number", ["floods", "-1", "99999999999999999999", str(2**53 + 1)])
async def test_writes_need_a_numeric_id(service: Service, method: str, number: str) -> None:
    headers = await superuser(service)
    answer = await service.request(method, f"{PATH}{number}/", json=EVENT, headers=headers)
    assert (answer.status_code, answer.json()) == (404, {"detail": f"There is no event {number}."})


async def refused(service: Service, headers: dict[str, str], sent: Any) -> dict[str, Any]:
    """The errors for an invalid body; different text in each language."""
    answer = await service.request("PUT", f"{PATH}7003/", json=sent, headers=headers)
    assert answer.status_code == 400
    for language in ("fr", "ar", "es"):
        said = await service.request("PUT", f"{PATH}7003/", json=sent, headers={**headers, "Accept-Language": language})
        assert said.status_code == 400
        assert set(said.json()) == set(answer.json())
        assert said.json() != answer.json()
    found: dict[str, Any] = answer.json()
    return found


async def test_invalid_values_in_four_languages(service: Service) -> None:
    headers = await superuser(service)
    for sent, path, message in WRONG:
        if path != "id":
            assert await refused(service, headers, {**EVENT, **sent}) == {path: [message]}
    assert (await service.get(f"{PATH}7003/", headers=headers)).status_code == 404, "nothing was written"


async def test_all_errors_are_reported(service: Service) -> None:
    found = await refused(service, await superuser(service), {"glide": 5, "visibility": 9})
    assert set(found) == {"name", "disaster_start_date", "glide", "visibility"}


async def test_id_in_body_must_match_the_address(service: Service) -> None:
    headers = await superuser(service)
    for number in (7004, 0, "x", [7003]):
        message = "The id in the body must be that of the address: 7003."
        assert await refused(service, headers, {**EVENT, "id": number}) == {"id": [message]}


async def test_slugs_are_unique(service: Service) -> None:
    headers = await superuser(service)
    first = {**EVENT, "slug": "taken"}
    assert (await service.request("PUT", f"{PATH}7005/", json=first, headers=headers)).status_code == 201
    message = "Another event has this name in addresses already: taken."
    assert await refused(service, headers, first) == {"slug": [message]}
    await service.request("DELETE", f"{PATH}7005/", headers=headers)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"name=x", "application/x-www-form-urlencoded", 415),
        (b"x", "text/plain", 415),
        (b'{"summary": "' + b"x" * 4 * 1024 * 1024 + b'"}', "application/json", 413),
    ],
    ids=["nothing", "broken", "list", "form", "text", "large"],
)
async def test_invalid_bodies(service: Service, body: bytes, kind: str, status: int) -> None:
    headers = {**await superuser(service), "Content-Type": kind}
    assert (await service.request("PUT", f"{PATH}7006/", content=body, headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("field", "value"),
    [("parent_event", 7003), ("created_at", []), ("updated_at", 0)],
)
async def test_invalid_parent_and_timestamps(service: Service, field: str, value: Any) -> None:
    found = await refused(service, await superuser(service), {**EVENT, field: value})
    assert [name.split(".")[0] for name in found] == [field]
