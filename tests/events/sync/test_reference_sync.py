"""Countries of a remote server."""

import json
from typing import Any

import httpx
import pytest

from fieldgate.events.sync.reference_sync import MAX_REFERENCE_RECORDS
from fieldgate.events.sync.remote import RemoteError
from fieldgate.i18n.languages import Language
from fieldgate.reference.schemas import PROFILE_FIELDS
from tests.data.reference import reference_data
from tests.events.sync.conftest import SyncTarget
from tests.events.sync.live_system import LiveSystem, live_record


class CountrySystem(LiveSystem):
    """A server whose list of countries can be set. Events carry other countries in full, as the live system does."""

    def __init__(self, records: list[dict[str, Any]], countries: list[dict[str, Any]]) -> None:
        super().__init__(records)
        self.failures.clear()
        self.countries = countries

    def page(self, request: httpx.Request, found: list[dict[str, Any]]) -> httpx.Response:
        if not request.url.path.endswith("/country/"):
            return super().page(request, found)
        assert "mini" not in request.url.params
        language = request.headers["Accept-Language"]
        return super().page(
            request,
            [{**each, "overview": f"{each['name']} in {language}"} for each in self.countries],
        )


NEPAL = {
    "id": 123, "iso": "NP", "iso3": "NPL", "region": 2, "name": "Nepal", "record_type": 1, "independent": True,
    "society_url": "https://nrcs.example", "url_ifrc": "https://ifrc.example/nepal", "key_priorities": None,
    "inform_score": "5.10", "links": [{"title": "Map", "url": "https://map.example", "id": 4, "more": 1}],
    "bbox": {"type": "Polygon", "coordinates": [[[80.0, 26.3], [88.2, 26.3], [88.2, 30.4], [80.0, 26.3]]]},
    "centroid": {"type": "Point", "coordinates": [84.1, 28.4]}, "emails": ["a@nrcs.example"], "phone": "+977 1",
    "address_1": "Kalimati", "address_2": None, "city_code": "44600", "website": 12, "nsi_youth": True,
}  # fmt: skip


async def test_full_record_of_a_country(target: SyncTarget) -> None:
    system = CountrySystem([live_record(1)], [NEPAL])
    await target.sync(system.transport())
    shown = json.loads(reference_data(target.database_url).full_country_json(Language.FRENCH, 123))
    wanted = {name: NEPAL[name] for name in PROFILE_FIELDS if name not in ("links", "website")}
    assert {name: shown[name] for name in wanted} == wanted
    assert shown["links"] == [{"title": "Map", "url": "https://map.example", "id": 4}]
    assert shown["website"] is None, "12 is not a text"
    assert shown["overview"] == "Nepal in fr"
    assert shown["name"] == "Népal", "a translation that the server lacks is kept"

    system.countries = [{**NEPAL, "phone": None, "inform_score": 5.2}]
    await target.sync(system.transport())
    shown = json.loads(reference_data(target.database_url).full_country_json(Language.ENGLISH, 123))
    assert (shown["phone"], shown["inform_score"], shown["city_code"]) == (None, "5.2", "44600")


async def test_endless_list_is_refused(target: SyncTarget) -> None:
    before = reference_data(target.database_url)
    names = (f"Country {number}" for number in range(MAX_REFERENCE_RECORDS + 1_000))
    system = CountrySystem(
        [live_record(1)], [{"id": 1000 + id_, "name": name} for id_, name in enumerate(names)]
    )
    with pytest.raises(RemoteError, match="country/ has more than 5000 records"):
        await target.sync(system.transport())
    assert reference_data(target.database_url).countries.keys() == before.countries.keys()


async def test_countries_that_the_server_does_not_list(target: SyncTarget) -> None:
    everything = [
        {"id": id_, "name": country.names["en"], "record_type": country.record_type}
        for id_, country in reference_data(target.database_url).countries.items()
    ]
    system = CountrySystem(
        [live_record(1)], [each for each in everything if each["id"] not in (14, 27)]
    )
    await target.sync(system.transport())
    countries = reference_data(target.database_url).countries
    assert [id_ for id_, country in countries.items() if not country.is_listed] == [14, 27]
    assert countries[14].names["en"] == "Afghanistan", "still known by id"

    system.countries = [each for each in everything if each["id"] != 27]
    await target.sync(system.transport())
    countries = reference_data(target.database_url).countries
    assert [id_ for id_, country in countries.items() if not country.is_listed] == [27]


@pytest.mark.parametrize("listed", [[], [123]])
async def test_list_with_few_countries_is_not_followed(
    target: SyncTarget, listed: list[int]
) -> None:
    """It is a fault of the server."""
    await target.sync(CountrySystem([live_record(1)], [NEPAL for _ in listed]).transport())
    countries = reference_data(target.database_url).countries
    assert all(country.is_listed for country in countries.values())


async def test_fields_that_only_countries_in_events_have(target: SyncTarget) -> None:
    """The household size is not in the list of countries of IFRC GO, only in countries of events."""
    in_event = {
        "id": 123,
        "name": "Nepal of the event",
        "average_household_size": "4.60",
        "region": 4,
    }
    system = CountrySystem(
        [live_record(1, countries=[in_event], countries_for_preview=[{"id": 123}])], [NEPAL]
    )
    await target.sync(system.transport())
    country = reference_data(target.database_url).countries[123]
    assert country.average_household_size == 4.6
    assert (country.names["en"], country.region, country.is_listed) == ("Nepal", 2, True), (
        "the list wins"
    )
    assert country.profile["city_code"] == "44600"

    in_event["average_household_size"] = "4.70"
    await target.sync(system.transport())
    assert reference_data(target.database_url).countries[123].average_household_size == 4.7, (
        "the event did not change"
    )
