"""The three lists: records, filters, order, pages and errors."""

from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import update

from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country
from fieldgate.reference.tables import countries
from tests.conftest import BASE_URL, Service, StartService
from tests.data.reference import put_countries
from tests.data.sql import write_sql

COUNTRY, REGION, TYPE = "/api/v2/country/", "/api/v2/region/", "/api/v2/disaster_type/"
KEYS = {
    COUNTRY: [
        "iso", "iso3", "id", "record_type", "record_type_display", "region", "independent", "is_deprecated", "fdrs",
        "average_household_size", "society_name", "name", "translation_module_original_language", "society_url",
        "url_ifrc", "key_priorities", "inform_score", "bbox", "centroid", "links", "address_1", "address_2",
        "city_code", "phone", "website", "emails", "overview",
    ],
    REGION: ["name", "id", "region_name", "bbox", "label", "translation_module_original_language"],
    TYPE: ["id", "summary", "name", "translation_module_original_language"],
}  # fmt: skip
COUNTS = {COUNTRY: 247, REGION: 5, TYPE: 24}


async def _all(
    service: Service, path: str, query: str = "", language: str = "en"
) -> list[dict[str, Any]]:
    answer = await service.get(f"{path}?limit=1000&{query}", headers={"Accept-Language": language})
    assert answer.status_code == 200, answer.text
    assert "Fieldgate-Ignored" not in answer.headers
    body = answer.json()
    assert body["count"] == len(body["results"])
    found: list[dict[str, Any]] = body["results"]
    return found


async def _ids(service: Service, path: str, query: str, language: str = "en") -> list[int]:
    return [record["id"] for record in await _all(service, path, query, language)]


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("path", list(KEYS))
async def test_list_and_detail_agree_in_every_language(
    service: Service, path: str, language: Language
) -> None:
    records = await _all(service, path, language=language.value)
    assert len(records) == COUNTS[path]
    for record in records:
        assert list(record) == KEYS[path]
    for record in (records[0], records[-1]):
        for address in (
            f"{path}{record['id']}/",
            f"{path}{record['id']}",
            f"{path}{record['id']}.json",
        ):
            answer = await service.get(address, headers={"Accept-Language": language.value})
            assert answer.json() == record
            assert answer.headers["Content-Language"] == language.value


async def test_national_societies(start: StartService) -> None:
    new = [
        Country(
            id=901, names={"en": "Newland"}, independent=True, society_names={"fr": "Croix-Rouge"}
        ),
        Country(
            id=902, names={"en": "Oldland"}, independent=False, society_names={"fr": "Croix-Rouge"}
        ),
        Country(id=903, names={"en": "ICRC"}),
        Country(id=904, names={"en": "Elsewhere"}, iso="BX"),
        Country(id=905, names={"en": "Farland"}, independent=True),
    ]
    async with start() as service:
        put_countries(service, new)
        societies = await _ids(service, COUNTRY, "is_nationalsociety=true")
        others = await _ids(service, COUNTRY, "is_nationalsociety=false")
        everything = await _ids(service, COUNTRY, "")
    assert {901, 903, 904} <= set(societies)
    assert {902, 905} <= set(others)
    assert sorted(societies + others) == sorted(everything)


async def test_country_that_is_not_listed_is_found_by_id(start: StartService) -> None:
    async with start() as service:
        before = (await service.get(COUNTRY)).headers["ETag"]
        with write_sql(service, "reference") as connection:
            others = countries.c.id.not_in([14, 123])
            connection.execute(update(countries).where(others).values(is_listed=False))
        assert await _ids(service, COUNTRY, "") == [14, 123]
        assert await _ids(service, COUNTRY, "id=27") == []
        assert (await service.get(f"{COUNTRY}27/")).json()["name"] == "Bangladesh"
        assert (await service.get(COUNTRY)).headers["ETag"] != before


async def test_region_0(service: Service) -> None:
    assert (await service.get(f"{REGION}0/")).json() == {
        "name": 0, "id": 0, "region_name": "Africa", "bbox": None, "label": "Africa",
        "translation_module_original_language": "en",
    }  # fmt: skip
    assert [record["id"] for record in await _all(service, REGION)] == [0, 1, 2, 3, 4]
    africa = await _all(service, COUNTRY, "region=0")
    assert {record["region"] for record in africa} == {0}
    assert len(africa) == 53
    assert await _all(service, COUNTRY, "region__in=0") == africa


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("path", [COUNTRY, TYPE])
async def test_default_order_is_by_localized_name(
    service: Service, path: str, language: Language
) -> None:
    names = [record["name"] for record in await _all(service, path, language=language.value)]
    assert names == sorted(names, key=lambda name: collation_key(name, language))
    for ordering in ("name", "id"):
        forward = await _ids(service, path, f"ordering={ordering}", language.value)
        assert await _ids(service, path, f"ordering=-{ordering}", language.value) == forward[::-1]
    assert await _ids(service, path, "ordering=id") == sorted(await _ids(service, path, ""))


async def test_pages_have_each_country_once(service: Service) -> None:
    address, met = f"{COUNTRY}?limit=40&mini=true", []
    while address:
        body = (await service.get(address)).json()
        met += [record["id"] for record in body["results"]]
        address = body["next"]
    assert len(met) == len(set(met)) == body["count"] == 247
    first = (await service.get(f"{COUNTRY}?mini=true&region=0&limit=2")).json()
    assert first["next"] == f"{BASE_URL}{COUNTRY}?limit=2&mini=true&offset=2&region=0"


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("id=123", {123}),
        ("id=99999999999999999999999999", set()),
        ("id__in=14, 27,14,5000", {14, 27}),
        ("iso=np", {123}),
        ("iso3=ssd", {290}),
        ("iso3=SSD&region=0", {290}),
        ("iso3=SSD&region=1", set()),
        ("iso3=XXX", set()),
        ("name=nepal", {123}),
        ("name=Soudan du Sud", {290}),
        ("name=soudan", {161}),
        ("name=نيبال", {123}),
        ("name=côte d'ivoire", {182}),
        ("name=cote d'ivoire", {182}),
        ("search=COTE D`IVOIRE", {182}),
        ("search=d’ivoire", {182}),
        ("search=نیبال", {123}),  # a Persian yeh
        ("search=soudan", {161, 290}),
        ("search=DU soudan", {290}),
        ("search=south soudan", {290}),
        ("search=nothing like it", set()),
        ("region__in=99", set()),
        ("region=99", set()),
        ("record_type=3", {282, 283, 285, 286, 287}),
        ("record_type__in=2,3&search=afri", {285, 287}),
        ("is_deprecated=true", {11, 223}),
        ("is_deprecated=1&search=serbia", {11}),
        ("is_deprecated=false&name=serbia", {271}),
        ("is_independent=false&search=samoa", {229}),
        ("is_independent=true&search=samoa", {147}),
        ("is_independent=false&search=antarctica", set()),
        ("name=&region=&search=&id__in=,&iso3=np l", set()),
    ],
)
async def test_country_filters(service: Service, query: str, ids: set[int]) -> None:
    assert set(await _ids(service, COUNTRY, quote(query, safe="=&,"))) == ids


@pytest.mark.parametrize(
    ("path", "query", "ids"),
    [
        (TYPE, "search=flood", {12, 27}),
        (TYPE, "search=flood flash", {27}),
        (TYPE, "search=inondation", {12, 27}),
        (TYPE, "name=FLOOD", {12}),
        (TYPE, "name=séisme", {2}),
        (TYPE, "name=Seisme", {2}),
        (TYPE, "search=seisme", {2}),
        (TYPE, "id__in=12,2,3", {2, 12}),
        (TYPE, "name=flood&id__in=2", set()),
        (REGION, "search=afri", {0, 4}),
        (REGION, "search=أوروبا", {3}),
        (REGION, "search=اوروبا", {3}),
        (REGION, "search=amerique", {1}),
        (REGION, "search=middle norte", {4}),
        (REGION, "id__in=0,9", {0}),
        (REGION, "id__in=0&search=europe", set()),
    ],
)
async def test_type_and_region_filters(
    service: Service, path: str, query: str, ids: set[int]
) -> None:
    assert set(await _ids(service, path, quote(query, safe="=&,"))) == ids


BAD: list[tuple[str, str, str]] = [
    *(
        (COUNTRY, name, value)
        for name in ("id", "region", "record_type")
        for value in ("abc", "1.5", "1,2")
    ),
    *((path, "id__in", "1,abc") for path in KEYS),
    *((COUNTRY, name, "0,x,1.5") for name in ("region__in", "record_type__in")),
    *(
        (COUNTRY, name, "maybe")
        for name in ("is_independent", "is_nationalsociety", "is_deprecated", "mini")
    ),
    *((path, "ordering", value) for path in (COUNTRY, TYPE) for value in ("iso", "--name", "NAME")),
    *((COUNTRY, name, "a%00b") for name in ("iso", "iso3", "name", "search", "id", "id__in")),
    *((path, "search", "a%00b") for path in (TYPE, REGION)),
]


@pytest.mark.parametrize(("path", "name", "value"), BAD)
async def test_invalid_value_is_refused(service: Service, path: str, name: str, value: str) -> None:
    answer = await service.get(f"{path}?{name}={value}")
    assert (answer.status_code, list(answer.json())) == (400, [name])


@pytest.mark.parametrize("id", ["abc", "999", "-1", "1.5", "9" * 30, "9" * 5000, "٩٩٩", "x" * 300])
@pytest.mark.parametrize(
    ("path", "noun"), [(COUNTRY, "country"), (REGION, "region"), (TYPE, "disaster type")]
)
async def test_unknown_id_is_not_found(service: Service, path: str, noun: str, id: str) -> None:
    answer = await service.get(f"{path}{id}/")
    assert (answer.status_code, answer.json()) == (
        404,
        {"detail": f"There is no {noun} {id[:50]}."},
    )
