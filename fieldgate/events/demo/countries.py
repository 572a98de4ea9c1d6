"""Countries of the demo events, with their names, neighbours and weights."""

from collections.abc import Sequence
from typing import NamedTuple

from fieldgate.events.demo.profiles import (
    ARABIC_SPEAKING,
    DISASTER_PRONE_COUNTRIES,
    FRENCH_SPEAKING,
    REGION_WEIGHTS,
    SPANISH_SPEAKING,
)
from fieldgate.events.demo.texts import LANGUAGE_CODES, TEXTS, TextByLanguage, text_tuple
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, ReferenceData

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
            names=text_tuple(reference_data.country_name(Language(code), country.id) for code in LANGUAGE_CODES),
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
