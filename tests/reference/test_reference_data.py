"""Reference data in memory: lookup, records and order."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.collation import collation_key
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, ReferenceData

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
