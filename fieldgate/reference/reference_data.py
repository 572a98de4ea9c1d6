"""All countries and disaster types in memory: found by id, code or name, encoded once per language.

reference_data = ReferenceData(countries, types)
reference_data.country_records.records(Language.FRENCH, event.countries)
"""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec

from fieldgate.http.links import encode
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import LocalizedText, in_language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.name_orders import NameOrder, NameOrders, ordered_ids
from fieldgate.reference.schemas import (
    PROFILE_FIELDS,
    CountryRecord,
    DisasterTypeRecord,
    MiniCountry,
)

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
    """A record in one language, its JSON, its name, and its place in the order of names."""

    record: Any
    encoded: bytes
    name: str
    place: int


Stored = TypeVar("Stored", bound=Country | DisasterType)


class NamedRecords(Generic[Stored]):
    """The records of one kind, by language and name. An unknown id raises KeyError: references are checked before."""

    def __init__(
        self,
        stored: Mapping[int, Stored],
        to_record: Callable[[Stored, Language], MiniCountry | DisasterTypeRecord],
        orders: Mapping[str, NameOrder],
    ) -> None:
        """`orders` are the stored orders of names by language code."""
        self._stored = stored
        self._to_record = to_record
        self._orders = orders
        self._folded = {
            each.id: tuple(map(fold_text, each.names.values())) for each in stored.values()
        }
        self._by_language: dict[Language, dict[int, _LocalizedRecord]] = {}

    def matching(self, word: str) -> frozenset[int]:
        """Return the ids of those whose name contains the word, in any language, folded."""
        wanted = fold_text(word)
        return frozenset(
            [id_ for id_, names in self._folded.items() if any(wanted in name for name in names)]
        )

    def with_name(self, name: str) -> frozenset[int]:
        """Return the ids of those with exactly this name, in any language, folded."""
        wanted = fold_text(name)
        return frozenset([id_ for id_, names in self._folded.items() if wanted in names])

    def json(self, language: Language, id_: int) -> bytes:
        return self._localized(language)[id_].encoded

    def record(self, language: Language, id_: int) -> Any:
        """Return the record as a struct, which callers must not change."""
        return self._localized(language)[id_].record

    def records(self, language: Language, ids: Iterable[int]) -> list[Any]:
        """Return records as structs, ordered by name."""
        localized = self._localized(language)
        found = [localized[id_] for id_ in ids]
        if len(found) > 1:
            found.sort(key=attrgetter("place"))
        return [each.record for each in found]

    def name(self, language: Language, id_: int) -> str:
        return self._localized(language)[id_].name

    def by_name(self, language: Language) -> list[int]:
        """Return all ids, ordered by name."""
        return list(self._localized(language))

    def _localized(self, language: Language) -> dict[int, _LocalizedRecord]:
        if language not in self._by_language:
            records = {id_: self._to_record(each, language) for id_, each in self._stored.items()}
            names = {id_: record.name for id_, record in records.items()}
            ids = ordered_ids(names, language, self._orders.get(language.value))
            self._by_language[language] = {
                id_: _LocalizedRecord(records[id_], encode(records[id_]), names[id_], place)
                for place, id_ in enumerate(ids)
            }
        return self._by_language[language]


class ReferenceData:
    def __init__(
        self,
        countries: Iterable[Country],
        types: Iterable[DisasterType],
        orders: NameOrders | None = None,
    ) -> None:
        by_table = {
            table: {
                language: order
                for (name, language), order in (orders or {}).items()
                if name == table
            }
            for table in ("countries", "disaster_types")
        }
        self.countries: Mapping[int, Country] = {country.id: country for country in countries}
        self.types: Mapping[int, DisasterType] = {each.id: each for each in types}
        self.country_records = NamedRecords(self.countries, _country_record, by_table["countries"])
        self.type_records = NamedRecords(self.types, _type_record, by_table["disaster_types"])
        self._by_iso3 = {
            country.iso3.casefold(): country for country in self.countries.values() if country.iso3
        }
        regions = {country.region for country in self.countries.values()}
        self._by_region = {
            region: frozenset(
                country.id for country in self.countries.values() if country.region == region
            )
            for region in regions
        }

    def country_by_iso3(self, iso3: str) -> Country | None:
        """Return the country with a three-letter code, ignoring case."""
        return self._by_iso3.get(iso3.casefold())

    def countries_in_region(self, region: int) -> frozenset[int]:
        return self._by_region.get(region, frozenset())

    def full_country_json(self, language: Language, id_: int) -> bytes:
        """Return the record that lists of countries have, with more fields than countries in events."""
        return encode(_full_country_record(self.countries[id_], language))


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
