"""Filters by name: codes and names in any case and in the client's language, and what is wrong with others."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from fieldgate_client import (
    AmbiguousName,
    AsyncClient,
    InvalidRequest,
    UnknownName,
    UnsupportedByServer,
)
from fieldgate_client.names import NameResolver, split_filters

from fieldgate.settings import Settings
from tests.client.fieldgate_service import ClientService
from tests.client.quick_retries import QUICK
from tests.client.stand_ins.go import GoStandIn
from tests.conftest import run_service

COUNTRIES: list[dict[str, Any]] = [
    {"id": 1, "name": "Côte d’Ivoire", "iso": "CI", "iso3": "CIV", "record_type": 1},
    {"id": 2, "name": "Congo", "iso": "CG", "iso3": "COG", "record_type": 1},
    {"id": 3, "name": "Congo", "iso": "CD", "iso3": "COD", "record_type": 1},
    {"id": 4, "name": "Syrian Arab Republic", "iso": "SY", "iso3": "SYR", "record_type": 1},
    {"id": 5, "name": "Kenya", "iso": "KE", "iso3": "KEN", "record_type": 1},
    {"id": 6, "name": "Kenya", "iso": None, "iso3": None, "record_type": 4},
    {"id": 7, "name": "Korea, Republic of", "iso": "KR", "iso3": "KOR", "record_type": 1},
    {"id": "x", "name": "Broken"},
    {"name": 5},
]
FRENCH = [{**each, "name": "Kénya"} if each.get("id") == 5 else each for each in COUNTRIES]


def resolver(language: str = "") -> NameResolver:
    async def read(path: str, wanted: str) -> list[dict[str, Any]]:
        assert path == "country/"
        return FRENCH if wanted == "fr" else COUNTRIES

    async def is_fieldgate() -> bool:
        return True

    return NameResolver(read, is_fieldgate, language)


async def resolve(language: str = "", **filters: Any) -> list[tuple[str, str]]:
    names, _ = split_filters(filters)
    return await resolver(language).resolve(names)


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("KEN", "5"),
        ("ke", "5"),
        (" Kenya ", "5"),
        ("KENYA", "5"),
        ("cote d'ivoire", "1"),
        (["KEN", "civ", 4, "2"], "5,1,4,2"),
        ("ken, civ", "5,1"),
        ("Korea, Republic of", "7"),
        (["KEN", "kenya", 5], "5"),
        ({"COD"}, "3"),
    ],
)
async def test_codes_names_and_ids(value: Any, ids: str) -> None:
    assert await resolve(countries=value) == [("countries__in", ids)]


async def test_ambiguous_names_are_listed() -> None:
    with pytest.raises(AmbiguousName) as ambiguous:
        await resolve(countries=["KEN", "Congo"])
    assert ambiguous.value.suggestions == ("Congo (COG), id 2", "Congo (COD), id 3")
    assert "Congo (COG), id 2; Congo (COD), id 3. Give the id." in str(ambiguous.value)


@pytest.mark.parametrize("value", [[], "", ["KEN", " "], ()])
def test_empty_filters_are_refused_at_once(value: Any) -> None:
    client = AsyncClient("https://field.example")
    with pytest.raises(InvalidRequest, match="countries has no values"):
        client.events(countries=value)
    with pytest.raises(InvalidRequest, match="regions__in has no values"):
        client.events(regions__in=[])
    assert client.events(countries=None, regions__in=None, search="").query.parameters == (
        ("search", ""),
    )


@pytest.mark.parametrize("value", [True, 1.5, None, object()])
async def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest, match="give its id, code or name"):
        await resolve(countries=[value])


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ClientService]:
    chosen = Settings(data=tmp_path_factory.mktemp("names"), access_log=False)
    async with run_service(chosen) as service:
        yield ClientService(service)


async def test_names_of_the_real_server(site: ClientService) -> None:
    async with site.client(language="fr") as client:
        found = client.events(
            countries=["KEN", "Tchad", "chad"],
            type="Inondation",
            regions=["Africa"],
            severity="red",
        )
        assert [each async for each in found] == []
        [request] = site.requests("GET", "/api/v2/event/")
        query = dict(request.url.params)
        kenya, chad = [
            (await client.get("country/", iso3=code))["results"][0]["id"] for code in ("KEN", "TCD")
        ]
        assert query["countries__in"] == f"{kenya},{chad}"
        assert (query["dtype"], query["regions__in"], query["ifrc_severity_level"]) == (
            "12",
            "0",
            "2",
        )
        with pytest.raises(UnknownName, match="Did you mean Inondation") as unknown:
            await client.events(types=["Inondations"]).first()
        assert "Inondation" in unknown.value.suggestions


async def test_the_same_filter_by_name_and_by_number_is_refused(site: ClientService) -> None:
    """The server would use one of them, and the other would be lost."""
    async with site.client() as client:
        for filters in ({"country": "KEN", "countries__in": "5"}, {"type": "Flood", "dtype": "1"}):
            with pytest.raises(InvalidRequest, match="by name and by number"):
                await client.events(**filters).first()


async def test_filters_that_the_server_ignores_are_errors(site: ClientService) -> None:
    async with site.client() as client:
        for method in ("first", "count"):
            with pytest.raises(InvalidRequest, match="has no filter countrys") as ignored:
                await getattr(client.events(countrys="KEN"), method)()
            assert list(ignored.value.fields) == ["countrys"]
        with pytest.raises(InvalidRequest, match="has no filter é b"):
            assert [each async for each in client.list("permissions/", **{"é b": 1})]
        assert await client.events(regions__in=[0]).count() == 0


async def test_go_cannot_filter_by_several_types_or_severity() -> None:
    go = GoStandIn(3)
    with go.server:
        async with AsyncClient(go.server.base_url, options=QUICK) as client:
            for filters in ({"types": [12, 1]}, {"severity": "red"}):
                with pytest.raises(UnsupportedByServer, match="would return everything"):
                    await client.events(**filters).first()
            assert len([each async for each in client.events(type=12)]) > 0
