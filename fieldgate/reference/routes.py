"""`/api/v2/country/`, `/api/v2/region/` and `/api/v2/disaster_type/`; no login needed."""

from collections.abc import Sequence

import msgspec

from fieldgate.errors import NotFound
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.pagination_links import parse_integer
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.reference.filters import (
    CountryFilters,
    DisasterTypeFilters,
    RegionFilters,
    matching_countries,
    matching_regions,
    matching_types,
)
from fieldgate.reference.queries import TOPIC
from fieldgate.reference.regions import region_records
from fieldgate.reference.schemas import CountryRecord, DisasterTypeRecord, MiniCountry, RegionRecord
from fieldgate.reference.store import ReferenceStore

routes = Routes(
    tag="Countries, regions and disaster types",
    scope=Scope.READ,
    asset_limit=AssetLimit.FREE,
    depends_on=(TOPIC,),
)


@routes.get_list(
    "/api/v2/country/",
    response=CountryRecord,
    alternate_response=MiniCountry,
    title=Message("Countries"),
    description=Message(
        "Countries, territories and the regions that events can be in, with their codes."
    ),
)
async def country_list(
    page: PageRequest, language: Language, query: CountryFilters, store: ReferenceStore
) -> ListResult[CountryRecord]:
    reference_data = await store.current()
    found = matching_countries(reference_data, query, language)
    to_json = (
        reference_data.country_records.json if query.mini else reference_data.full_country_json
    )
    return ListResult(
        len(found), [msgspec.Raw(to_json(language, number)) for number in _page_ids(page, found)]
    )


@routes.get(
    "/api/v2/country/{id}/",
    response=CountryRecord,
    title=Message("Country"),
    description=Message("One country, even if it is no longer in use."),
)
async def country_detail(id: str, language: Language, store: ReferenceStore) -> msgspec.Raw:
    reference_data = await store.current()
    number = parse_integer(id)
    if number is None or number not in reference_data.countries:
        raise NotFound(Message("There is no country {id}.", id=id[:50]))
    return msgspec.Raw(reference_data.full_country_json(language, number))


@routes.get_list(
    "/api/v2/region/",
    response=RegionRecord,
    title=Message("Regions"),
    description=Message("The five regions of the world; region 0 is Africa."),
    depends_on=(),
)
async def region_list(
    page: PageRequest, language: Language, query: RegionFilters
) -> ListResult[RegionRecord]:
    found = matching_regions(query)
    return ListResult(
        len(found), [region_records(language)[number] for number in _page_ids(page, found)]
    )


@routes.get(
    "/api/v2/region/{id}/",
    response=RegionRecord,
    title=Message("Region"),
    description=Message("One region."),
    depends_on=(),
)
async def region_detail(id: str, language: Language) -> msgspec.Raw:
    number = parse_integer(id)
    record = None if number is None else region_records(language).get(number)
    if record is None:
        raise NotFound(Message("There is no region {id}.", id=id[:50]))
    return record


@routes.get_list(
    "/api/v2/disaster_type/",
    response=DisasterTypeRecord,
    title=Message("Disaster types"),
    description=Message("The types of disaster that events can have."),
)
async def disaster_type_list(
    page: PageRequest, language: Language, query: DisasterTypeFilters, store: ReferenceStore
) -> ListResult[DisasterTypeRecord]:
    reference_data = await store.current()
    found = matching_types(reference_data, query, language)
    return ListResult(
        len(found),
        [
            msgspec.Raw(reference_data.type_records.json(language, number))
            for number in _page_ids(page, found)
        ],
    )


@routes.get(
    "/api/v2/disaster_type/{id}/",
    response=DisasterTypeRecord,
    title=Message("Disaster type"),
    description=Message("One kind of disaster."),
)
async def disaster_type_detail(id: str, language: Language, store: ReferenceStore) -> msgspec.Raw:
    reference_data = await store.current()
    number = parse_integer(id)
    if number is None or number not in reference_data.types:
        raise NotFound(Message("There is no disaster type {id}.", id=id[:50]))
    return msgspec.Raw(reference_data.type_records.json(language, number))


def _page_ids(page: PageRequest, ids: Sequence[int]) -> Sequence[int]:
    return ids[page.offset : page.offset + page.limit]
