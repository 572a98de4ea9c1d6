"""Countries and disaster types of the demo data, and how often each severity, visibility and kind of appeal is."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fieldgate.events.demo.texts import LANGUAGE_CODES, TEXTS, TextByLanguage, text_tuple
from fieldgate.events.model import Visibility
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, ReferenceData


class DisasterProfile(NamedTuple):
    """How often a disaster type occurs, and what its events are about."""

    weight: int
    response_kind: str  # a key of `response_sentences` in `texts.json`
    glide_code: str


DISASTER_PROFILES = {
    1: DisasterProfile(120, "health", "EP"),
    2: DisasterProfile(60, "ground", "EQ"),
    4: DisasterProfile(90, "water", "TC"),
    5: DisasterProfile(70, "people", "OT"),
    6: DisasterProfile(15, "people", "CE"),
    7: DisasterProfile(40, "people", "OT"),
    8: DisasterProfile(12, "ground", "VO"),
    11: DisasterProfile(2, "water", "TS"),
    12: DisasterProfile(280, "water", "FL"),
    13: DisasterProfile(20, "other", "OT"),
    14: DisasterProfile(18, "other", "CW"),
    15: DisasterProfile(50, "other", "FR"),
    19: DisasterProfile(12, "other", "HT"),
    20: DisasterProfile(45, "hunger", "DR"),
    21: DisasterProfile(45, "hunger", "OT"),
    23: DisasterProfile(15, "water", "SS"),
    24: DisasterProfile(30, "ground", "LS"),
    27: DisasterProfile(45, "water", "FF"),
    54: DisasterProfile(12, "other", "AC"),
    57: DisasterProfile(3, "other", "AC"),
    62: DisasterProfile(6, "hunger", "IN"),
    66: DisasterProfile(3, "health", "EP"),
    67: DisasterProfile(1, "other", "AC"),
    68: DisasterProfile(6, "other", "AC"),
}

# ISO3 codes of countries with more disasters than others, and of countries by language; the others are in English.
DISASTER_PRONE_COUNTRIES = "AFG BGD COD COL ETH HTI IDN IND KEN MDG MOZ NPL PAK PHL SDN SOM SSD VNM YEM"
REGION_WEIGHTS = {0: 3, 1: 3, 2: 3, 3: 1, 4: 2}  # weight of a country, by its region
FRENCH_SPEAKING = "BDI BEN BFA CAF CIV CMR COD COG COM DJI FRA GAB GIN HTI MCO MDG MLI NER SEN TCD TGO"
SPANISH_SPEAKING = "ARG BOL CHL COL CRI CUB DOM ECU ESP GNQ GTM HND MEX NIC PAN PER PRY SLV URY VEN"
ARABIC_SPEAKING = "ARE BHR DZA EGY IRQ JOR KWT LBN LBY MAR MRT OMN PSE QAT SAU SDN SYR TUN YEM"


def weighted(weights: Mapping[Any, int]) -> Sequence[Any]:
    """Repeat each value by its weight, so that a uniform choice among them is a weighted choice."""
    return tuple(value for value, weight in weights.items() for _ in range(weight))


COUNTRY_COUNT_CHOICES = weighted({1: 92, 2: 5, 3: 2, 4: 1})
SEVERITY_CHOICES = weighted({0: 70, 1: 22, 2: 8})
VISIBILITY_CHOICES = weighted(
    {Visibility.PUBLIC: 980, Visibility.MOVEMENT: 12, Visibility.SOCIETIES: 5, Visibility.SECRETARIAT: 3}
)
APPEAL_TYPE_CHOICES = weighted({0: 76, 1: 17, 3: 5, 2: 2})


COUNTRIES_BY_LANGUAGE = (FRENCH_SPEAKING, ARABIC_SPEAKING, SPANISH_SPEAKING)  # in the order of `LANGUAGE_CODES`


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
                reference_data.country_records.name(Language(code), country.id) for code in LANGUAGE_CODES
            ),
            weight=REGION_WEIGHTS.get(country.region or 0, 1)
            * (4 if (country.iso3 or "") in DISASTER_PRONE_COUNTRIES else 1),
            neighbour_ids=tuple(
                other.id for other in eligible if other.region == country.region and other is not country
            ),
        )
        for country in eligible
    }


def _is_eligible(country: Country) -> bool:
    is_state = country.record_type == 1 and country.independent is True and not country.is_deprecated
    return is_state and country.region is not None and bool(country.iso) and bool(country.iso3)


def _language_index(iso3: str) -> int:
    """The index in `LANGUAGE_CODES` of the language events of the country are written in."""
    return next((index for index, codes in enumerate(COUNTRIES_BY_LANGUAGE, start=1) if iso3 in codes), 0)


def joined_names(countries: Sequence[DemoCountry]) -> TextByLanguage:
    """The names of one or two countries; further ones are "and others"."""
    if len(countries) == 1:
        return countries[0].names
    both = (
        first + comma + second
        for first, comma, second in zip(countries[0].names, TEXTS.comma, countries[1].names, strict=True)
    )
    if len(countries) == 2:
        return text_tuple(both)
    return text_tuple(two + others for two, others in zip(both, TEXTS.and_others, strict=True))
