"""`PUT` and `DELETE` of `/api/v2/event/{id}/`: permissions, effects and invalid values."""

from typing import Any

import pytest

from fieldgate.settings import Settings
from tests.conftest import Service, run_service
from tests.data.events import load_events, superuser
from tests.events.event_service import make_event

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


async def test_create_replace_delete(service: Service) -> None:
    headers = await superuser(service)
    created = await service.request("PUT", f"{PATH}7001/", json=EVENT, headers=headers)
    assert created.status_code == 201
    assert created.headers["Location"].endswith("/api/v2/event/7001/")
    record = created.json()
    assert (record["id"], record["dtype"], record["contacts"][0]["name"]) == (7001, 12, "Amina")
    assert (await service.get(f"{PATH}floods/", headers={"Accept-Language": "fr"})).json()[
        "name"
    ] == "Crues"

    again = await service.request("PUT", f"{PATH}7001/", json=record, headers=headers)
    assert (again.status_code, again.json()) == (200, record), (
        "sending its own record changes nothing"
    )

    french = await service.request(
        "PUT",
        f"{PATH}7001/",
        json={**record, "id": 7001, "name": "Inondations", "slug": None},
        headers={**headers, "Accept-Language": "fr"},
    )
    assert (french.status_code, french.json()["name"], french.json()["slug"]) == (
        200,
        "Inondations",
        None,
    )
    assert french.json()["updated_at"] > record["updated_at"], "clients that request changes see it"
    listed = (await service.get(f"{PATH}?id=7001")).json()["results"][0]
    assert listed["name"] == "Floods"
    assert listed["field_reports"][0]["gov_num_affected"] == 6, (
        "fields a detail record does not show are kept"
    )

    bare = {"name": "Floods", "disaster_start_date": "2026-07-14", "visibility": 3}
    replaced = (await service.request("PUT", f"{PATH}7001/", json=bare, headers=headers)).json()
    assert (replaced["appeals"], replaced["dtype"], replaced["summary"]) == ([], None, ""), (
        "all fields are replaced"
    )
    assert replaced["created_at"] == record["created_at"]

    deleted = await service.request("DELETE", f"{PATH}7001/", headers=headers)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await service.get(f"{PATH}7001/")).status_code == 404
    assert 7001 in [each["id"] for each in (await service.get(f"{PATH}deleted/")).json()["results"]]
    assert (await service.request("DELETE", f"{PATH}7001/", headers=headers)).status_code == 404


async def test_countries_for_preview(service: Service) -> None:
    headers = await superuser(service)

    async def write(**fields: Any) -> list[list[int]]:
        await service.request(
            "PUT", f"{PATH}7001/", json={**EVENT, "countries": [123, 84], **fields}, headers=headers
        )
        detail = (await service.get(f"{PATH}7001/")).json()
        mini, listed = [
            (await service.get(f"{PATH}{path}?id=7001")).json()["results"][0]
            for path in ("mini/", "")
        ]
        listed.setdefault("countries_for_preview", listed["countries"])
        return [
            sorted(country["id"] for country in each["countries_for_preview"])
            for each in (detail, mini, listed)
        ]

    assert await write() == [[84, 123]] * 3, "all countries where the event does not say"
    assert await write(countries_for_preview=[84]) == [[84]] * 3
    assert await write(countries_for_preview=[]) == [[]] * 3
    assert await write(countries_for_preview=[{"id": 123}, 84]) == [[84, 123]] * 3
    assert await write() == [[84, 123]] * 3
    unknown = {**EVENT, "countries_for_preview": [99999]}
    refused = await service.request("PUT", f"{PATH}7001/", json=unknown, headers=headers)
    assert (refused.status_code, refused.json()) == (
        400,
        {"countries_for_preview.0": ["There is no country 99999."]},
    )


async def test_event_written_among_demo_events_is_a_demo_event(database_url: str) -> None:
    async with run_service(Settings(database_url=database_url, access_log=False)) as service:
        headers = await superuser(service)

        async def demo_labels() -> dict[int, bool]:
            page = (await service.get(PATH, headers=headers)).json()
            return {record["id"]: record.get("demo", False) for record in page["results"]}

        await load_events(service, [make_event(1), make_event(2)], is_demo=True)
        for id_ in (1, 7001):
            await service.request(
                "PUT", f"{PATH}{id_}/", json=EVENT | {"slug": None}, headers=headers
            )
        assert await demo_labels() == {1: True, 2: True, 7001: True}
        await load_events(service, [], replaces_demo=True)
        assert await demo_labels() == {}, "all three were demo events"
        await service.request("PUT", f"{PATH}7001/", json=EVENT, headers=headers)
        assert await demo_labels() == {7001: False}


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_only_superusers_can_write(service: Service, method: str) -> None:
    assert (await service.request(method, f"{PATH}7002/", json=EVENT)).status_code == 401
    for rights in ({}, {"is_ifrc": True}):
        headers = {"Authorization": f"Token {await service.create_token(**rights)}"}
        refused = await service.request(method, f"{PATH}7002/", json=EVENT, headers=headers)
        assert (refused.status_code, refused.json()) == (
            403,
            {"detail": "Only superusers can write events."},
        )


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize("id_", ["floods", "-1", "99999999999999999999", str(2**53 + 1)])
async def test_only_ids_can_be_written(service: Service, method: str, id_: str) -> None:
    headers = await superuser(service)
    response = await service.request(method, f"{PATH}{id_}/", json=EVENT, headers=headers)
    assert (response.status_code, response.json()) == (404, {"detail": f"There is no event {id_}."})


async def errors(service: Service, headers: dict[str, str], body: Any) -> dict[str, Any]:
    """The errors for an invalid body."""
    response = await service.request("PUT", f"{PATH}7003/", json=body, headers=headers)
    assert response.status_code == 400
    found: dict[str, Any] = response.json()
    return found


async def test_all_errors_are_reported(service: Service) -> None:
    found = await errors(service, await superuser(service), {"glide": 5, "visibility": 9})
    assert set(found) == {"name", "disaster_start_date", "glide", "visibility"}


async def test_id_in_body_must_match_the_url(service: Service) -> None:
    headers = await superuser(service)
    for id_ in (7004, 0, "x", [7003]):
        message = "The id in the body must be the id in the URL: 7003."
        assert await errors(service, headers, {**EVENT, "id": id_}) == {"id": [message]}


async def test_slug_must_be_unique(service: Service) -> None:
    headers = await superuser(service)
    first = {**EVENT, "slug": "taken"}
    assert (
        await service.request("PUT", f"{PATH}7005/", json=first, headers=headers)
    ).status_code == 201
    message = "Another event already has the slug taken."
    assert await errors(service, headers, first) == {"slug": [message]}
    await service.request("DELETE", f"{PATH}7005/", headers=headers)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"name=x", "application/x-www-form-urlencoded", 415),
        (b'{"summary": "' + b"x" * 4 * 1024 * 1024 + b'"}', "application/json", 413),
    ],
    ids=["nothing", "broken", "list", "form", "large"],
)
async def test_invalid_bodies(service: Service, body: bytes, kind: str, status: int) -> None:
    headers = {**await superuser(service), "Content-Type": kind}
    assert (
        await service.request("PUT", f"{PATH}7006/", content=body, headers=headers)
    ).status_code == status
    assert (await service.get(f"{PATH}7006/", headers=headers)).status_code == 404, (
        "nothing was written"
    )
