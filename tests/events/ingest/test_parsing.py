"""Parsing of records: of lists and details, in every language, and errors with their paths."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.ingest.parsing import InvalidEvent, parse_event
from fieldgate.events.model import (
    District,
    Event,
    EventLink,
    FeaturedDocument,
    FieldReport,
    KeyFigure,
    Visibility,
)
from fieldgate.events.records import AFFECTED_FIELDS, Viewer, detail_record, list_record
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from tests.events.samples import DIRECTORY, events, localized_texts

MINIMAL = {"id": 7, "name": "Floods", "disaster_start_date": "2026-07-14"}
START = datetime(2026, 7, 14, tzinfo=UTC)

figures = st.builds(
    KeyFigure,
    id=st.integers(1, 9),
    number=st.just("12"),
    deck=localized_texts(),
    source=st.just("IFRC"),
)
links = st.builds(
    EventLink,
    id=st.integers(1, 9),
    url=st.just("https://a.example"),
    title=localized_texts(),
    description=localized_texts(),
)
detailed = st.builds(
    lambda event, figures, links: msgspec.structs.replace(
        event,
        key_figures=tuple({each.id: each for each in figures}.values()),
        links=tuple({each.id: each for each in links}.values()),
        districts=(District(id=3, name="North", code="N"),),
        featured_documents=(FeaturedDocument(id=4, title="Map", file="https://a.example/map.pdf"),),
        field_reports=tuple({each.id: each for each in event.field_reports}.values()),
        appeals=tuple({each.id: each for each in event.appeals}.values()),
    ),
    events(st.integers(0, 40)),
    st.lists(figures, max_size=2),
    st.lists(links, max_size=2),
)


def render(event: Event, language: Language, build: Any = list_record) -> dict[str, Any]:
    viewer = Viewer(language, FULL_SCOPE, DIRECTORY)
    record: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(build(event, viewer)))
    return record


def in_all_languages(event: Event, build: Any) -> list[dict[str, Any]]:
    return [render(event, language, build) for language in Language]


@given(detailed)
def test_records_in_all_languages_round_trip(event: Event) -> None:
    """Parsed, merged and rendered again, list and detail records are the same in every language."""
    seen = {
        lang: {**render(event, lang, detail_record), **render(event, lang)} for lang in Language
    }
    merged = parse_event(merge_translations(seen), DIRECTORY)
    assert in_all_languages(merged, list_record) == in_all_languages(event, list_record)
    assert in_all_languages(merged, detail_record) == in_all_languages(event, detail_record)
    assert merged.visibility == event.visibility
    again = parse_event(render(event, Language.FRENCH), DIRECTORY, Language.FRENCH, merged)
    assert again == merged, "an unchanged record changes nothing"


def test_minimal_record() -> None:
    event = parse_event(MINIMAL, DIRECTORY)
    assert event == Event(
        id=7, name={"en": "Floods"}, disaster_start_date=START, created_at=START, updated_at=START
    )
    assert event.visibility == 1, "the default"


def test_record_of_the_live_system() -> None:
    record = {
        **MINIMAL,
        "dtype": {
            "id": 12,
            "name": "Type 12",
            "summary": "",
            "translation_module_original_language": "en",
        },
        "countries": [{"id": 123, "average_household_size": "4.60"}, {"id": 14}],
        "num_affected": "1200",
        "glide": None,
        "slug": "",
        "created_at": "2026-07-15T06:12:09.512345Z",
        "updated_at": "2026-07-15T08:12:09+02:00",
        "appeals": [
            {
                "id": 1,
                "aid": "x",
                "atype": 0,
                "status": 1,
                "amount_requested": "1500.50",
                "num_beneficiaries": 10.0,
            }
        ],
        "ifrc_severity_level_display": "Yellow",
        "unheard_of": {"a": 1},
    }
    event = parse_event(record, DIRECTORY)
    assert (event.dtype, event.countries, event.num_affected, event.glide, event.slug) == (
        12,
        (14, 123),
        1200,
        "",
        None,
    )
    assert event.updated_at == datetime(2026, 7, 15, 6, 12, 9, tzinfo=UTC)
    assert (event.appeals[0].amount_requested, event.appeals[0].num_beneficiaries) == (1500.5, 10)
    assert parse_event({**record, "dtype": 12, "countries": [123, "14"]}, DIRECTORY) == event


BEFORE = Event(
    id=7,
    name={"en": "Floods", "fr": "Crues"},
    summary={"es": "Mucho"},
    original_language="es",
    disaster_start_date=START,
    created_at=START,
    updated_at=START,
    visibility=Visibility.PUBLIC,
    slug="floods",
    field_reports=(
        FieldReport(id=1, created_at=START, updated_at=START, num_affected=5, recent_affected=1),
    ),
)


@pytest.mark.parametrize(
    ("language", "name", "expected"),
    [
        (Language.FRENCH, "Crues", {"en": "Floods", "fr": "Crues"}),
        (Language.FRENCH, "Inondations", {"en": "Floods", "fr": "Inondations"}),
        (
            Language.FRENCH,
            "Floods",
            {"en": "Floods"},
        ),  # the translation was removed, and this is the fallback
        (Language.ARABIC, "Floods", {"en": "Floods", "fr": "Crues"}),
        (Language.ARABIC, "فيضانات", {"en": "Floods", "fr": "Crues", "ar": "فيضانات"}),
        (Language.ENGLISH, "Crues", {"fr": "Crues"}),
    ],
)
def test_text_in_one_language_keeps_the_others(
    language: Language, name: str, expected: dict[str, str]
) -> None:
    event = parse_event({**MINIMAL, "name": name}, DIRECTORY, language, BEFORE)
    assert event.name == expected
    assert (event.summary, event.visibility, event.slug) == ({"es": "Mucho"}, 3, "floods"), (
        "fields not in the record are kept"
    )
    assert event.field_reports == BEFORE.field_reports


REPORT = {"id": 1, "created_at": "2026-07-14", "updated_at": "2026-07-14"}
APPEAL = {"id": 1, "aid": "x", "atype": 0, "status": 0}
INVALID_VALUES: dict[str, tuple[Any, ...]] = {
    "id": (None, -1, 2**60, "seven", True, [7]),
    "name": (None, "", " ", {}, "x" * 257, "a\0b", ["x"]),
    "disaster_start_date": (None, "soon"),
    "updated_at": (5, {"x": 1}),
    "dtype": (999, {"name": "x"}),
    "countries": (14,),
    "num_affected": (-5, 1.5),
    "glide": ("x" * 19,),
    "slug": ("7-floods", "Floods", "mini", "deleted", "export", "-5"),
    "visibility": (5, "all"),
    "ifrc_severity_level": (3,),
    "auto_generated": ("maybe",),
    "auto_generated_source": ("me",),
    "translation_module_original_language": ("de",),
    "appeals": ({},),
    "parent_event": ("x",),
}
# Fields, and the path of the error.
INVALID_PARTS: list[tuple[dict[str, Any], str]] = [
    ({"name": {"en": "x", "de": "y"}}, "name.de"),
    ({"name": {"en": "x", "fr": 5}}, "name.fr"),
    ({"countries": [14, 999]}, "countries.1"),
    ({"countries": [{"id": "x"}]}, "countries.0"),
    ({"appeals": [5]}, "appeals.0"),
    ({"appeals": [APPEAL, {**APPEAL, "id": 2, "atype": 9}]}, "appeals.1.atype"),
    ({"appeals": [{**APPEAL, "amount_funded": "inf"}]}, "appeals.0.amount_funded"),
    ({"appeals": [{"id": 1, "atype": 0, "status": 0}]}, "appeals.0.aid"),
    ({"field_reports": [{**REPORT, "visibility": 0}]}, "field_reports.0.visibility"),
    ({"field_reports": [{**REPORT, "countries": [999]}]}, "field_reports.0.countries.0"),
    (
        {"field_reports": [{**REPORT, "contacts": [{"id": 1, "name": 5}]}]},
        "field_reports.0.contacts.0.name",
    ),
]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        *(({name: value}, name) for name, values in INVALID_VALUES.items() for value in values),
        *INVALID_PARTS,
    ],
    ids=lambda each: str(each)[:60],
)
def test_invalid_fields(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidEvent) as error:
        parse_event({**MINIMAL, **fields}, DIRECTORY)
    [(found_path, message)] = error.value.errors
    assert found_path == path
    assert len({translate(message, language) for language in Language}) == len(Language)


def test_single_affected_figure_is_the_current_one() -> None:
    for index, name in enumerate(AFFECTED_FIELDS, start=1):
        event = parse_event({**MINIMAL, "field_reports": [{**REPORT, name: 5}]}, DIRECTORY)
        assert event.field_reports[0].recent_affected == index
