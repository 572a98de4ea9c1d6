"""The data of demo events: texts, countries and disaster types, and how often each of them is.

Most of it is in `demo.json`. Texts are lists in the order of `LANGUAGE_CODES`. Names of countries and disaster types
stand before a colon, so that no language needs to inflect them.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fieldgate.events.model import Visibility
from fieldgate.i18n.languages import Language, LanguageCode
from fieldgate.reference.reference_data import Country, ReferenceData

LANGUAGE_CODES: tuple[LanguageCode, ...] = ("en", "fr", "ar", "es")
TextByLanguage = tuple[str, str, str, str]
REGION_WEIGHTS = {0: 3, 1: 3, 2: 3, 3: 1, 4: 2}  # weight of a country, by its region


class DisasterProfile(msgspec.Struct, frozen=True):
    """How often a disaster type occurs, and what its events are about."""

    weight: int
    response_kind: str  # a key of `response_sentences`
    glide_code: str


class DemoData(msgspec.Struct, frozen=True):
    colon: TextByLanguage
    comma: TextByLanguage
    and_others: TextByLanguage
    thousands_separator: TextByLanguage
    affected_sentences: tuple[TextByLanguage, ...]
    response_sentences: dict[str, tuple[TextByLanguage, ...]]
    volunteers_label: TextByLanguage
    map_title: TextByLanguage
    first_names: tuple[str, ...]  # of fictitious persons, as the last names
    last_names: tuple[str, ...]
    contact_roles: tuple[tuple[str, str], ...]  # kind of contact, title
    districts: tuple[str, ...]
    disasters: dict[int, DisasterProfile]  # by the id of the type
    # ISO3 codes of countries with more disasters than others, and of countries by language; the others are in English.
    prone_countries: frozenset[str]
    countries_by_language: dict[LanguageCode, frozenset[str]]


DEMO = msgspec.json.decode((Path(__file__).parent / "demo.json").read_bytes(), type=DemoData)


def text_tuple(texts: Iterable[str]) -> TextByLanguage:
    en, fr, ar, es = texts
    return en, fr, ar, es


def weighted(weights: Mapping[Any, int]) -> Sequence[Any]:
    """Repeat each value by its weight, so that a uniform choice among them is a weighted choice."""
    return tuple(value for value, weight in weights.items() for _ in range(weight))


COUNTRY_COUNT_CHOICES = weighted({1: 92, 2: 5, 3: 2, 4: 1})
SEVERITY_CHOICES = weighted({0: 70, 1: 22, 2: 8})
VISIBILITY_CHOICES = weighted(
    {
        Visibility.PUBLIC: 980,
        Visibility.MOVEMENT: 12,
        Visibility.SOCIETIES: 5,
        Visibility.SECRETARIAT: 3,
    }
)
APPEAL_TYPE_CHOICES = weighted({0: 76, 1: 17, 3: 5, 2: 2})


class DemoCountry(NamedTuple):
    """A country, with its names and how often it has disasters."""

    id: int
    iso: str
    iso3: str
    language_index: int  # index in `LANGUAGE_CODES`
    names: TextByLanguage
    weight: int
    neighbour_ids: tuple[int, ...]  # countries that may be affected together with it


def demo_countries(reference_data: ReferenceData) -> dict[int, DemoCountry]:
    eligible = [country for country in reference_data.countries.values() if _is_eligible(country)]
    return {
        country.id: DemoCountry(
            id=country.id,
            iso=country.iso or "",
            iso3=country.iso3 or "",
            language_index=_language_index(country.iso3 or ""),
            names=text_tuple(
                reference_data.country_records.name(Language(code), country.id)
                for code in LANGUAGE_CODES
            ),
            weight=REGION_WEIGHTS.get(country.region or 0, 1)
            * (4 if country.iso3 in DEMO.prone_countries else 1),
            neighbour_ids=tuple(
                other.id
                for other in eligible
                if other.region == country.region and other is not country
            ),
        )
        for country in eligible
    }


def _is_eligible(country: Country) -> bool:
    is_state = (
        country.record_type == 1 and country.independent is True and not country.is_deprecated
    )
    return is_state and country.region is not None and bool(country.iso) and bool(country.iso3)


def _language_index(iso3: str) -> int:
    """The index in `LANGUAGE_CODES` of the language events of the country are written in."""
    spoken = DEMO.countries_by_language
    return next((LANGUAGE_CODES.index(code) for code, codes in spoken.items() if iso3 in codes), 0)


def joined_names(countries: Sequence[DemoCountry]) -> TextByLanguage:
    """The names of one or two countries; further ones are "and others"."""
    if len(countries) == 1:
        return countries[0].names
    both = (
        first + comma + second
        for first, comma, second in zip(
            countries[0].names, DEMO.comma, countries[1].names, strict=True
        )
    )
    if len(countries) == 2:
        return text_tuple(both)
    return text_tuple(two + others for two, others in zip(both, DEMO.and_others, strict=True))
