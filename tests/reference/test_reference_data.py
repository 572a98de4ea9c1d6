"""Reference data in memory: lookup, records and order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData

COUNTRIES = (
    Country(
        id=14, iso="AF", iso3="AFG", region=2, independent=True, fdrs="DAF001", average_household_size=7.5,
        names={"en": "Afghanistan", "fr": "Afghanistan", "es": "Afganistán", "ar": "أفغانستان"},
        society_names={"en": "A society", "fr": "Une société"},
    ),
    Country(id=2, iso="AE", iso3="ARE", region=4, names={"en": "United Arab Emirates", "fr": "Émirats arabes unis"}),
    Country(id=182, iso="CI", iso3="CIV", region=0, names={"en": "Côte d’Ivoire", "es": "Costa de Marfil"}),
    Country(id=65, iso="ET", iso3="ETH", region=0, names={"en": "Ethiopia", "fr": "Éthiopie"}),
    Country(id=285, record_type=3, names={"en": "Africa", "fr": "Afrique"}),
    Country(id=11, record_type=9, is_deprecated=True, names={}, original_language="fr"),
)  # fmt: skip
TYPES = (
    DisasterType(id=12, names={"en": "Flood", "fr": "Inondation", "es": "Inundación", "ar": "فيضان"}),
    DisasterType(id=27, names={"en": "Flash flood", "fr": "Crue éclair"}, summaries={"en": "A sudden flood"}),
)

directory = ReferenceData(COUNTRIES, TYPES)


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("AFGHAN", {14}),
        ("afganistán", {14}),
        ("أفغان", {14}),
        ("côte d'iv", {182}),
        ("CÔTE D’IV", {182}),
        ("afri", {285}),
        ("A society", set()),
        ("e", {2, 182, 65, 285}),
    ],
)
def test_names_are_searched_in_every_language(word: str, numbers: set[int]) -> None:
    assert directory.countries_matching(word) == numbers


def test_country_has_the_keys_of_the_live_system_in_order() -> None:
    assert json.loads(directory.country_json(Language.FRENCH, 14)) == {
        "iso": "AF", "iso3": "AFG", "id": 14, "record_type": 1, "record_type_display": "Pays", "region": 2,
        "independent": True, "is_deprecated": False, "fdrs": "DAF001", "average_household_size": 7.5,
        "society_name": "Une société", "name": "Afghanistan", "translation_module_original_language": "en",
    }  # fmt: skip
    assert list(json.loads(directory.country_json(Language.ENGLISH, 2))) == [
        "iso", "iso3", "id", "record_type", "record_type_display", "region", "independent", "is_deprecated", "fdrs",
        "average_household_size", "society_name", "name", "translation_module_original_language",
    ]  # fmt: skip


def test_countries_are_ordered_by_localized_name() -> None:
    def names(language: Language) -> list[str]:
        return [record["name"] for record in json.loads(directory.countries_json(language, [182, 65, 14, 2]))]

    assert names(Language.ENGLISH) == ["Afghanistan", "Côte d’Ivoire", "Ethiopia", "United Arab Emirates"]
    assert names(Language.FRENCH) == ["Afghanistan", "Côte d’Ivoire", "Émirats arabes unis", "Éthiopie"]
    assert names(Language.SPANISH) == ["Afganistán", "Costa de Marfil", "Ethiopia", "United Arab Emirates"]
    assert directory.countries_json(Language.ENGLISH, []) == b"[]"


named = st.dictionaries(st.sampled_from(["en", "fr", "es", "ar"]), st.text(max_size=5))


@given(st.dictionaries(st.integers(0, 50), named, max_size=20), st.sampled_from(list(Language)))
def test_order_is_that_of_the_language(names: dict[int, dict[str, str]], language: Language) -> None:
    some = ReferenceData([Country(id=number, names=own) for number, own in names.items()], [])
    ordered = some.countries_by_name(language)
    assert sorted(ordered) == sorted(names)
    keys = [(collation_key(some.country_name(language, number), language), number) for number in ordered]
    assert keys == sorted(keys)
    assert [record["id"] for record in json.loads(some.countries_json(language, reversed(ordered)))] == ordered
    for number, own in names.items():
        for name in own.values():
            assert number in some.countries_matching(name)
