"""Names of files and titles of feeds, made from filters."""

from datetime import UTC, date, datetime

import pytest

from fieldgate.events.export.file_context import ascii_file_name, file_name, filter_title
from fieldgate.events.search.filters import EventFilters
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData

DAY = date(2026, 11, 16)
REFERENCE = ReferenceData(
    [
        Country(id=123, names={"en": "Nepal", "fr": "Népal", "ar": "نيبال"}, iso3="NPL"),
        Country(id=84, names={"en": "Côte d’Ivoire"}, iso3="CIV"),
        *(Country(id=id_, names={"en": f"Land {id_}"}) for id_ in range(1, 6)),
    ],
    [DisasterType(id=12, names={"en": "Flood", "fr": "Inondation", "ar": "فيضان"})],
)
SINCE = datetime(2021, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (EventFilters(), "emergencies-2026-11-16"),
        (EventFilters(regions__in=(0,), dtype=12), "emergencies-africa-flood-2026-11-16"),
        (EventFilters(countries__iso3__in=("NPL", "CIV", "X")), "emergencies-nepal-cote-d-ivoire-2026-11-16"),
        (EventFilters(countries__in=(1, 2, 3, 4, 5)), "emergencies-land-1-land-2-land-3-2026-11-16"),
        (EventFilters(countries__in=(99,), regions__in=(77,), dtype__in=(99,)), "emergencies-2026-11-16"),
        (EventFilters(ifrc_severity_level__in=(1, 2)), "emergencies-orange-red-2026-11-16"),
        (EventFilters(ifrc_severity_level=0, dtype__in=(12, 12)), "emergencies-flood-yellow-2026-11-16"),
        (EventFilters(disaster_start_date__gte=SINCE), "emergencies-since-2021-01-01-2026-11-16"),
        (EventFilters(disaster_start_date__lt=SINCE), "emergencies-until-2021-01-01-2026-11-16"),
        (EventFilters(search='../../etc "cholera"; x', glide="FL-1"), "emergencies-fl-1-etc-cholera-x-2026-11-16"),
        (EventFilters(search="word " * 30), "emergencies" + "-word" * 11 + "-2026-11-16"),
        (EventFilters(search="x" * 150), "emergencies-" + "x" * 58 + "-2026-11-16"),
        (EventFilters(search="طوارئ"), "emergencies-2026-11-16"),
    ],
)  # fmt: skip
def test_ascii_name(filters: EventFilters, expected: str) -> None:
    assert ascii_file_name(filters, REFERENCE, DAY) == expected


def test_name_and_title_in_the_language_of_the_request() -> None:
    filters = EventFilters(regions__in=(0,), countries__in=(123,), dtype=12, search="a b")
    assert file_name(filters, REFERENCE, Language.FRENCH, DAY) == "urgences-afrique-népal-inondation-a-b-2026-11-16"
    assert file_name(filters, REFERENCE, Language.ARABIC, DAY).startswith("حالات-الطوارئ-أفريقيا-نيبال-فيضان-a-b")
    assert filter_title(filters, REFERENCE, Language.ENGLISH) == "Emergencies: Africa, Nepal, Flood, a b"
    assert filter_title(EventFilters(), REFERENCE, Language.SPANISH) == "Emergencias"
