"""Query parameters of the lists, and the ids that match them."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, ReferenceData
from fieldgate.reference.regions import REGIONS, regions_matching

Ids = Annotated[
    tuple[int, ...], Meta(description="Only those with one of these ids, separated by commas.")
]
Name = Annotated[
    str, Meta(description="Only those with this name, in any language, ignoring case and accents.")
]
Search = Annotated[
    str,
    Meta(
        description="Words that must all be in the name, in any language, ignoring case and accents."
    ),
]
Ordering = Annotated[
    Literal["name", "-name", "id", "-id"],
    Meta(description="Order of the list; the default is by name, in the language of the response."),
]


class CountryFilters(msgspec.Struct, frozen=True, kw_only=True):
    id: Annotated[int | None, Meta(description="Only the one with this id.")] = None
    id__in: Ids = ()
    iso: Annotated[
        str, Meta(description="Only those with this two-letter code, ignoring case.")
    ] = ""
    iso3: Annotated[
        str, Meta(description="Only those with this three-letter code, ignoring case.")
    ] = ""
    name: Name = ""
    search: Search = ""
    region: Annotated[int | None, Meta(description="Only those in this region; 0 is Africa.")] = (
        None
    )
    region__in: Annotated[
        tuple[int, ...],
        Meta(description="Only those in one of these regions, separated by commas."),
    ] = ()
    record_type: Annotated[
        int | None, Meta(description="Only those of this type; 1 is a country.")
    ] = None
    record_type__in: Annotated[
        tuple[int, ...], Meta(description="Only those of one of these types, separated by commas.")
    ] = ()
    is_independent: Annotated[
        bool | None, Meta(description="Only independent states, or only others.")
    ] = None
    is_nationalsociety: Annotated[
        bool | None,
        Meta(
            description="Only those that have a national society or stand for one, or only others."
        ),
    ] = None
    is_deprecated: Annotated[
        bool | None,
        Meta(
            description="`true` lists only entries that are no longer in use; otherwise they are left out."
        ),
    ] = None
    mini: Annotated[
        bool | None, Meta(description="`true` gives the small records that events have.")
    ] = None
    ordering: Ordering = "name"


class RegionFilters(msgspec.Struct, frozen=True, kw_only=True):
    id__in: Ids = ()
    search: Search = ""


class DisasterTypeFilters(msgspec.Struct, frozen=True, kw_only=True):
    id__in: Ids = ()
    name: Name = ""
    search: Search = ""
    ordering: Ordering = "name"


def matching_countries(
    reference_data: ReferenceData, filters: CountryFilters, language: Language
) -> list[int]:
    """Return the ids of matching countries, in the requested order."""
    ids = frozenset(
        country.id for country in reference_data.countries.values() if _matches(country, filters)
    )
    if filters.name:
        ids &= reference_data.country_records.with_name(filters.name)
    ids = ids.intersection(*map(reference_data.country_records.matching, filters.search.split()))
    return _sorted_ids(ids, reference_data.country_records.by_name(language), filters.ordering)


def matching_types(
    reference_data: ReferenceData, filters: DisasterTypeFilters, language: Language
) -> list[int]:
    """Return the ids of matching disaster types, in the requested order."""
    ids = frozenset(reference_data.types)
    if filters.id__in:
        ids &= frozenset(filters.id__in)
    if filters.name:
        ids &= reference_data.type_records.with_name(filters.name)
    ids = ids.intersection(*map(reference_data.type_records.matching, filters.search.split()))
    return _sorted_ids(ids, reference_data.type_records.by_name(language), filters.ordering)


def matching_regions(filters: RegionFilters) -> list[int]:
    """Return the ids of matching regions, in order."""
    ids = frozenset(region.id for region in REGIONS)
    if filters.id__in:
        ids &= frozenset(filters.id__in)
    return sorted(ids.intersection(*map(regions_matching, filters.search.split())))


def _matches(country: Country, filters: CountryFilters) -> bool:
    return (
        filters.id in (None, country.id)
        and (not filters.id__in or country.id in filters.id__in)
        and _same_code(filters.iso, country.iso)
        and _same_code(filters.iso3, country.iso3)
        and filters.region in (None, country.region)
        and (not filters.region__in or country.region in filters.region__in)
        and filters.record_type in (None, country.record_type)
        and (not filters.record_type__in or country.record_type in filters.record_type__in)
        and filters.is_independent in (None, country.independent)
        and filters.is_nationalsociety in (None, _is_national_society(country))
        and country.is_deprecated is bool(filters.is_deprecated)
        and (country.is_listed or country.is_deprecated)
    )


def _is_national_society(country: Country) -> bool:
    """As in IFRC GO: independent with a named society, or with RC in its name, or the society in Brussels."""
    has_society = bool(country.independent) and any(country.society_names.values())
    return has_society or "RC" in country.names.get("en", "") or country.iso == "BX"


def _same_code(wanted: str, code: str | None) -> bool:
    return not wanted or (code is not None and wanted.casefold() == code.casefold())


def _sorted_ids(ids: frozenset[int], by_name: list[int], ordering: str) -> list[int]:
    found = [id_ for id_ in by_name if id_ in ids] if ordering.endswith("name") else sorted(ids)
    return found[::-1] if ordering.startswith("-") else found
