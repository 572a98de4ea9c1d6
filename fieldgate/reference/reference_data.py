"""Every country and disaster type in memory: found by id, code or name, encoded once in each language.

directory = Directory(countries, types)
directory.minis(Language.FRENCH, event.countries)
"""

import unicodedata
from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from fieldgate.http.response.links import encode
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import Texts, in_language
from fieldgate.i18n.messages import Message, translate
from fieldgate.reference.schemas import DisasterTypeRecord, MiniCountry

RECORD_TYPES = {
    1: Message("Country"),
    2: Message("Cluster"),
    3: Message("Region"),
    4: Message("Country office"),
    5: Message("Representative office"),
}


class Country(msgspec.Struct, frozen=True, kw_only=True):
    """A country, or what the interface lists among them: clusters, regions and offices."""

    id: int
    names: Texts
    iso: str | None = None
    iso3: str | None = None
    region: int | None = None
    record_type: int = 1
    independent: bool | None = None
    is_deprecated: bool = False
    fdrs: str | None = None
    average_household_size: float | None = None
    society_names: Texts = {}
    original_language: str = "en"


class DisasterType(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    names: Texts
    summaries: Texts = {}
    original_language: str = "en"


class _Said(msgspec.Struct, frozen=True):
    """A record in one language: its bytes, its name, and where it stands among the others."""

    encoded: bytes
    name: str
    place: int


class Directory:
    def __init__(self, countries: Iterable[Country], types: Iterable[DisasterType]) -> None:
        self.countries: Mapping[int, Country] = {country.id: country for country in countries}
        self.types: Mapping[int, DisasterType] = {each.id: each for each in types}
        self._by_iso3 = {country.iso3.casefold(): country for country in self.countries.values() if country.iso3}
        regions = {country.region for country in self.countries.values()}
        self._by_region = {
            region: frozenset(country.id for country in self.countries.values() if country.region == region)
            for region in regions
        }
        self._country_names = {country.id: _folded(country.names) for country in self.countries.values()}
        self._type_names = {each.id: _folded(each.names) for each in self.types.values()}
        self._countries_said: dict[Language, dict[int, _Said]] = {}
        self._types_said: dict[Language, dict[int, _Said]] = {}

    def country(self, number: int) -> Country | None:
        return self.countries.get(number)

    def country_by_iso3(self, iso3: str) -> Country | None:
        """The country of a three-letter code, whatever its case."""
        return self._by_iso3.get(iso3.casefold())

    def countries_of(self, region: int) -> frozenset[int]:
        return self._by_region.get(region, frozenset())

    def type_(self, number: int) -> DisasterType | None:
        return self.types.get(number)

    def countries_named(self, word: str) -> frozenset[int]:
        """The countries whose name holds the word, in any language and whatever the case."""
        return _holding(self._country_names, word)

    def countries_called(self, name: str) -> frozenset[int]:
        """The countries with this very name, in any language and whatever the case."""
        return _having(self._country_names, name)

    def types_called(self, name: str) -> frozenset[int]:
        """The disaster types with this very name, in any language and whatever the case."""
        return _having(self._type_names, name)

    def types_named(self, word: str) -> frozenset[int]:
        """The disaster types whose name holds the word, in any language and whatever the case."""
        return _holding(self._type_names, word)

    # In one language. An id nobody knows is a KeyError: what refers to one is checked when it is written.

    def mini(self, language: Language, number: int) -> bytes:
        """A country as JSON."""
        return self._said_countries(language)[number].encoded

    def minis(self, language: Language, numbers: Iterable[int]) -> bytes:
        """Countries as a JSON array, in the order of their names."""
        said = self._said_countries(language)
        found = sorted([said[number] for number in numbers], key=attrgetter("place"))
        return b"[" + b",".join([each.encoded for each in found]) + b"]"

    def type_record(self, language: Language, number: int) -> bytes:
        """A disaster type as JSON."""
        return self._said_types(language)[number].encoded

    def country_name(self, language: Language, number: int) -> str:
        return self._said_countries(language)[number].name

    def type_name(self, language: Language, number: int) -> str:
        return self._said_types(language)[number].name

    def countries_by_name(self, language: Language) -> list[int]:
        """All countries, in the order of their names."""
        return list(self._said_countries(language))

    def types_by_name(self, language: Language) -> list[int]:
        """All disaster types, in the order of their names."""
        return list(self._said_types(language))

    def _said_countries(self, language: Language) -> dict[int, _Said]:
        if language not in self._countries_said:
            records = [_mini(country, language) for country in self.countries.values()]
            self._countries_said[language] = _said(records)
        return self._countries_said[language]

    def _said_types(self, language: Language) -> dict[int, _Said]:
        if language not in self._types_said:
            records = [_type_record(each, language) for each in self.types.values()]
            self._types_said[language] = _said(records)
        return self._types_said[language]


def sorting_key(name: str) -> str:
    """What names are ordered by: a reader looks for Émirats under E, and for الأردن where she would ا."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return "".join([letter for letter in apart if not unicodedata.combining(letter)])


def folded(text: str) -> str:
    """What words are compared by: keyboards have no ’, and nobody minds the case."""
    return text.casefold().replace("’", "'")


def _said(records: Iterable[MiniCountry | DisasterTypeRecord]) -> dict[int, _Said]:
    ordered = sorted(records, key=lambda record: (sorting_key(record.name), record.id))
    return {record.id: _Said(encode(record), record.name, place) for place, record in enumerate(ordered)}


def _folded(names: Texts) -> tuple[str, ...]:
    return tuple([folded(name) for name in names.values()])


def _holding(names: Mapping[int, tuple[str, ...]], word: str) -> frozenset[int]:
    wanted = folded(word)
    return frozenset([number for number, own in names.items() if any(wanted in name for name in own)])


def _having(names: Mapping[int, tuple[str, ...]], name: str) -> frozenset[int]:
    wanted = folded(name)
    return frozenset([number for number, own in names.items() if wanted in own])


def _mini(country: Country, language: Language) -> MiniCountry:
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


def _type_record(each: DisasterType, language: Language) -> DisasterTypeRecord:
    return DisasterTypeRecord(
        id=each.id,
        summary=in_language(each.summaries, language, each.original_language),
        name=in_language(each.names, language, each.original_language),
        translation_module_original_language=each.original_language,
    )
