"""Section 2.1: the permission, its fields, its table and its three rules."""

from html import unescape
from typing import Any

import pytest

from tests.conftest import BASE_URL, Service
from tests.permissions.test_catalogue import TABLE

HERE = f"{BASE_URL}/api/v2/permissions/"


async def records(service: Service, query: str = "") -> dict[str, dict[str, Any]]:
    results = (await service.get(f"/api/v2/permissions/{query}")).json()["results"]
    return {record["codename"]: record for record in results}


async def test_2_1_url_is_the_absolute_address_of_the_detail(service: Service) -> None:
    """url: address of this permission's detail resource."""
    for codename, record in (await records(service)).items():
        assert record["url"] == f"{HERE}{codename}/"
        assert (await service.get(record["url"])).json()["codename"] == codename


async def test_2_1_codename_is_the_path_key(service: Service) -> None:
    """codename: identifier, and path key of the detail endpoint."""
    for codename in TABLE:
        assert (await service.get(f"/api/v2/permissions/{codename}/")).json()[
            "codename"
        ] == codename


async def test_2_1_implied_and_contradictory_are_permission_urls_and_may_be_empty(
    service: Service,
) -> None:
    """implied, contradictory: arrays of permission URLs, possibly empty."""
    found = await records(service)
    addresses = {record["url"] for record in found.values()}
    for record in found.values():
        assert {*record["implied"], *record["contradictory"]} <= addresses
    assert found["view_asset"]["implied"] == found["view_asset"]["contradictory"] == []


async def test_2_1_name_is_text_for_people(service: Service) -> None:
    """name: human-readable description."""
    assert {codename: record["name"] for codename, record in (await records(service)).items()} == {
        codename: row[0] for codename, row in TABLE.items()
    }


@pytest.mark.parametrize("codename", sorted(TABLE))
async def test_2_1_each_row_of_the_table(service: Service, codename: str) -> None:
    """The ten entries with their relations, compared as sets."""
    record = (await records(service))[codename]
    _, implied, contradictory = TABLE[codename]
    assert set(record["implied"]) == {f"{HERE}{each}/" for each in implied}
    assert set(record["contradictory"]) == {f"{HERE}{each}/" for each in contradictory}
    assert len(record["implied"]) == len(implied)


async def test_2_1_there_are_ten(service: Service) -> None:
    """10 entries."""
    assert set(await records(service)) == set(TABLE)


async def test_2_1_rule_1_list_and_detail_are_identical(service: Service) -> None:
    """Rule 1: the same content in list and detail."""
    for codename, record in (await records(service)).items():
        detail = (await service.get(f"/api/v2/permissions/{codename}/")).json()
        for key in ("implied", "contradictory"):
            assert set(detail.pop(key)) == set(record.pop(key))
        assert detail == record


async def test_2_1_rule_2_order_inside_relations_does_not_matter(service: Service) -> None:
    """Rule 2: the arrays have no duplicates, so they can be compared as sets."""
    for record in (await records(service)).values():
        for key in ("implied", "contradictory"):
            assert len(set(record[key])) == len(record[key])


async def test_2_1_rule_3_format_api_stays_in_url_values(service: Service) -> None:
    """Rule 3: with format=api the url values carry it."""
    page = unescape((await service.get("/api/v2/permissions/?format=api")).text)
    for codename in TABLE:
        assert f'"{HERE}{codename}/?format=api"' in page
        assert f'"{HERE}{codename}/"' not in page
    detail = unescape((await service.get("/api/v2/permissions/change_asset/?format=api")).text)
    assert detail.count(f'"{HERE}view_asset/?format=api"') >= 1


async def test_2_1_links_are_byte_equal_inside_one_response(service: Service) -> None:
    """Plain, format=json: a relation's entry is the very url of the permission it names."""
    for query, end in (("", "/"), ("?format=json", "/?format=json")):
        found = await records(service, query)
        assert {record["url"] for record in found.values()} == {
            f"{HERE}{codename}{end}" for codename in TABLE
        }
        for record in found.values():
            for link in (*record["implied"], *record["contradictory"]):
                assert link in {each["url"] for each in found.values()}
