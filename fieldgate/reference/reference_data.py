"""All countries and disaster types in memory: found by id, code or name, encoded once per language.

reference_data = ReferenceData(countries, types)
reference_data.countries_json(Language.FRENCH, event.countries)
"""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from fieldgate.http.links import encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.name_orders import NameOrder, NameOrders, ordered_ids
from fieldgate.reference.schemas import PROFILE_FIELDS, CountryRecord, DisasterTypeRecord, MiniCountry

RECORD_TYPES = {
    1: Message("Country"),
    2: Message("Cluster"),
    3: Message("Region"),
    4: Message("Country office"),
    5: Message("Representative office"),
}
_UNKNOWN_PROFILE: Mapping[str, Any] = {**dict.fromkeys(PROFILE_FIELDS), "links": []}


class Country(msgspec.Struct, frozen=True, kw_only=True):
    """A country, or a cluster, region or office, which the API lists among countries."""

    id: int
    names: LocalizedText
    iso: str | None = None
    iso3: str | None = None
    region: int | None = None
    record_type: int = 1
    independent: bool | None = None
    is_deprecated: bool = False
    fdrs: str | None = None
    average_household_size: float | None = None
    society_names: LocalizedText = {}
    original_language: str = "en"
    is_listed: bool = True
    overviews: LocalizedText = {}
    profile: Mapping[str, Any] = {}  # fields that only the full record has


class DisasterType(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    names: LocalizedText
    summaries: LocalizedText = {}
    original_language: str = "en"


class _LocalizedRecord(msgspec.Struct, frozen=True):
    """A record in one language: its JSON, its name, and its place in the order of names."""

    encoded: bytes
    name: str
    place: int


class ReferenceData:
    def __init__(
        self, countries: Iterable[Country], types: Iterable[DisasterType], orders: NameOrders | None = None
    ) -> None:
        self._orders = orders or {}
        self.countries: Mapping[int, Country] = {country.id: country for country in countries}
        self.types: Mapping[int, DisasterType] = {each.id: each for each in types}
        self._by_iso3 = {country.iso3.casefold(): country for country in self.countries.values() if country.iso3}
        regions = {country.region for country in self.countries.values()}
        self._by_region = {
            region: frozenset(country.id for country in self.countries.values() if country.region == region)
            for region in regions
        }
        self._country_names = {country.id: _fold_names(country.names) for country in self.countries.values()}
        self._type_names = {each.id: _fold_names(each.names) for each in self.types.values()}
        self._countries_by_language: dict[Language, dict[int, _LocalizedRecord]] = {}
        self._types_by_language: dict[Language, dict[int, _LocalizedRecord]] = {}

    def country_by_iso3(self, iso3: str) -> Country | None:
        """Return the country with a three-letter code, ignoring case."""
        return self._by_iso3.get(iso3.casefold())

    def countries_in_region(self, region: int) -> frozenset[int]:
        return self._by_region.get(region, frozenset())

    def countries_matching(self, word: str) -> frozenset[int]:
        """Return the countries whose name contains the word, in any language, ignoring case."""
        return _ids_containing(self._country_names, word)

    def countries_with_name(self, name: str) -> frozenset[int]:
        """Return the countries with exactly this name, in any language, ignoring case."""
        return _ids_with_name(self._country_names, name)

    def types_with_name(self, name: str) -> frozenset[int]:
        """Return the disaster types with exactly this name, in any language, ignoring case."""
        return _ids_with_name(self._type_names, name)

    def types_matching(self, word: str) -> frozenset[int]:
        """Return the disaster types whose name contains the word, in any language, ignoring case."""
        return _ids_containing(self._type_names, word)

    # In one language. An unknown id raises KeyError: references are checked when they are written.

    def country_json(self, language: Language, id_: int) -> bytes:
        return self._localized_countries(language)[id_].encoded

    def full_country_json(self, language: Language, id_: int) -> bytes:
        """Return the record that lists of countries have, with more fields than countries in events."""
        return encode(_full_country_record(self.countries[id_], language))

    def countries_json(self, language: Language, ids: Iterable[int]) -> bytes:
        """Return a JSON array of countries, ordered by name."""
        localized = self._localized_countries(language)
        found = sorted([localized[id_] for id_ in ids], key=attrgetter("place"))
        return b"[" + b",".join([each.encoded for each in found]) + b"]"

    def type_json(self, language: Language, id_: int) -> bytes:
        return self._localized_types(language)[id_].encoded

    def country_name(self, language: Language, id_: int) -> str:
        return self._localized_countries(language)[id_].name

    def type_name(self, language: Language, id_: int) -> str:
        return self._localized_types(language)[id_].name

    def countries_by_name(self, language: Language) -> list[int]:
        """Return all ids, ordered by name."""
        return list(self._localized_countries(language))

    def types_by_name(self, language: Language) -> list[int]:
        """Return all ids, ordered by name."""
        return list(self._localized_types(language))

    def _localized_countries(self, language: Language) -> dict[int, _LocalizedRecord]:
        if language not in self._countries_by_language:
            records = [_country_record(country, language) for country in self.countries.values()]
            self._countries_by_language[language] = _localize_records(
                records, language, self._orders.get(("countries", language.value))
            )
        return self._countries_by_language[language]

    def _localized_types(self, language: Language) -> dict[int, _LocalizedRecord]:
        if language not in self._types_by_language:
            records = [_type_record(each, language) for each in self.types.values()]
            self._types_by_language[language] = _localize_records(
                records, language, self._orders.get(("disaster_types", language.value))
            )
        return self._types_by_language[language]


def fold_text(text: str) -> str:
    """What words are compared by: keyboards have no ’, and nobody minds the case."""
    return text.casefold().replace("’", "'")


def _localize_records(
    records: Iterable[MiniCountry | DisasterTypeRecord], language: Language, stored: NameOrder | None
) -> dict[int, _LocalizedRecord]:
    by_id = {record.id: record for record in records}
    ids = ordered_ids({record.id: record.name for record in by_id.values()}, language, stored)
    return {id_: _LocalizedRecord(encode(by_id[id_]), by_id[id_].name, place) for place, id_ in enumerate(ids)}


def _fold_names(names: LocalizedText) -> tuple[str, ...]:
    return tuple([fold_text(name) for name in names.values()])


def _ids_containing(names: Mapping[int, tuple[str, ...]], word: str) -> frozenset[int]:
    wanted = fold_text(word)
    return frozenset([number for number, own in names.items() if any(wanted in name for name in own)])


def _ids_with_name(names: Mapping[int, tuple[str, ...]], name: str) -> frozenset[int]:
    wanted = fold_text(name)
    return frozenset([number for number, own in names.items() if wanted in own])


def _country_record(country: Country, language: Language) -> MiniCountry:
    display = RECORD_TYPES.get(country.record_type)
    return MiniCountry(
        iso=country.iso,
        iso3=country.iso3,
        id=country.id,
        record_type=country.record_type,
        record_type_display="" if display is None else translate(display, language),
        region=country.region,
        independent=country.independent,
        is_deprecated=country.is_deprecated,
        fdrs=country.fdrs,
        average_household_size=country.average_household_size,
        society_name=in_language(country.society_names, language, country.original_language),
        name=in_language(country.names, language, country.original_language),
        translation_module_original_language=country.original_language,
    )


def _full_country_record(country: Country, language: Language) -> CountryRecord:
    return CountryRecord(
        **msgspec.structs.asdict(_country_record(country, language)),
        **{**_UNKNOWN_PROFILE, **country.profile},
        overview=in_language(country.overviews, language, country.original_language) or None,
    )


def _type_record(each: DisasterType, language: Language) -> DisasterTypeRecord:
    return DisasterTypeRecord(
        id=each.id,
        summary=in_language(each.summaries, language, each.original_language),
        name=in_language(each.names, language, each.original_language),
        translation_module_original_language=each.original_language,
    )
