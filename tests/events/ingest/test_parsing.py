"""Parsing of records: of lists and details, in every language, and errors with their paths."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.document_templates import AFFECTED_FIELDS, build_detail_template, build_list_template
from fieldgate.events.documents import TemplateRenderer
from fieldgate.events.ingest.parsing import InvalidEvent, parse_event
from fieldgate.events.model import District, Event, EventLink, FeaturedDocument, FieldReport, KeyFigure, Visibility
from fieldgate.events.sync.merge_translations import merge_translations
from fieldgate.events.visibility import FULL_SCOPE
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from tests.events.samples import events, localized_texts
from tests.events.test_document_templates import DIRECTORY

MINIMAL = {"id": 7, "name": "Floods", "disaster_start_date": "2026-07-14"}
START = datetime(2026, 7, 14, tzinfo=UTC)

figures = st.builds(
    KeyFigure, id=st.integers(1, 9), number=st.just("12"), deck=localized_texts(), source=st.just("IFRC")
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


def render(event: Event, language: Language, build: Any = build_list_template) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.json.decode(TemplateRenderer(DIRECTORY, language).render(build(event), FULL_SCOPE))
    return record


def in_all_languages(event: Event, build: Any) -> list[dict[str, Any]]:
    return [render(event, language, build) for language in Language]


@given(detailed)
def test_records_in_all_languages_round_trip(event: Event) -> None:
    """Parsed, merged and rendered again, list and detail records are the same in every language."""
    seen = {lang: {**render(event, lang, build_detail_template), **render(event, lang)} for lang in Language}
    merged = parse_event(merge_translations(seen), DIRECTORY)
    assert in_all_languages(merged, build_list_template) == in_all_languages(event, build_list_template)
    assert in_all_languages(merged, build_detail_template) == in_all_languages(event, build_detail_template)
    assert merged.visibility == event.visibility
    again = parse_event(render(event, Language.FRENCH), DIRECTORY, Language.FRENCH, merged)
    assert again == merged, "an unchanged record changes nothing"


@given(detailed)
def test_detail_record_alone_round_trips(event: Event) -> None:
    seen = {language: render(event, language, build_detail_template) for language in Language}
    merged = parse_event(merge_translations(seen), DIRECTORY)
    assert in_all_languages(merged, build_detail_template) == in_all_languages(event, build_detail_template)
    for language in Language:
        kept = parse_event(render(event, language, build_detail_template), DIRECTORY, language, event)
        assert in_all_languages(kept, build_list_template) == in_all_languages(event, build_list_template), (
            "the other figures are kept"
        )


def test_minimal_record() -> None:
    event = parse_event(MINIMAL, DIRECTORY)
    assert event == Event(id=7, name={"en": "Floods"}, disaster_start_date=START, created_at=START, updated_at=START)
    assert event.visibility == 1, "the default"


def test_record_of_the_live_system() -> None:
    record = {
        **MINIMAL,
        "dtype": {"id": 12, "name": "Type 12", "summary": "", "translation_module_original_language": "en"},
        "countries": [{"id": 123, "average_household_size": "4.60"}, {"id": 14}],
        "num_affected": "1200",
        "glide": None,
        "slug": "",
        "created_at": "2026-07-15T06:12:09.512345Z",
        "updated_at": "2026-07-15T08:12:09+02:00",
        "appeals": [
            {"id": 1, "aid": "x", "atype": 0, "status": 1, "amount_requested": "1500.50", "num_beneficiaries": 10.0}
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
    field_reports=(FieldReport(id=1, created_at=START, updated_at=START, num_affected=5, recent_affected=1),),
)


@pytest.mark.parametrize(
    ("language", "name", "expected"),
    [
        (Language.FRENCH, "Crues", {"en": "Floods", "fr": "Crues"}),
        (Language.FRENCH, "Inondations", {"en": "Floods", "fr": "Inondations"}),
        (Language.FRENCH, "Floods", {"en": "Floods"}),  # the translation was removed, and this is the fallback
        (Language.ARABIC, "Floods", {"en": "Floods", "fr": "Crues"}),
        (Language.ARABIC, "فيضانات", {"en": "Floods", "fr": "Crues", "ar": "فيضانات"}),
        (Language.ENGLISH, "Crues", {"fr": "Crues"}),
    ],
)
def test_text_in_one_language_keeps_the_others(language: Language, name: str, expected: dict[str, str]) -> None:
    event = parse_event({**MINIMAL, "name": name}, DIRECTORY, language, BEFORE)
    assert event.name == expected
    assert (event.summary, event.visibility, event.slug) == ({"es": "Mucho"}, 3, "floods"), (
        "fields not in the record are kept"
    )
    assert event.field_reports == BEFORE.field_reports


WHOLE_NUMBER = "Enter a whole number from 0 to 9007199254740992."
TIMESTAMP = "Enter a date or a time such as 2026-11-15 or 2026-11-15T08:30:00Z."
REPORT = {"id": 1, "created_at": "2026-07-14", "updated_at": "2026-07-14"}
APPEAL = {"id": 1, "aid": "x", "atype": 0, "status": 0}
# (fields, path of the error, English message)
INVALID_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"id": None}, "id", "This field is required."),
    ({"id": -1}, "id", f"“-1” is not valid. {WHOLE_NUMBER}"),
    ({"id": 2**60}, "id", f"“{2**60}” is not valid. {WHOLE_NUMBER}"),
    ({"id": "seven"}, "id", f"“seven” is not valid. {WHOLE_NUMBER}"),
    ({"id": True}, "id", f"“True” is not valid. {WHOLE_NUMBER}"),
    ({"id": [7]}, "id", WHOLE_NUMBER),
    ({"name": None}, "name", "This field is required."),
    ({"name": ""}, "name", "This field is required."),
    ({"name": " "}, "name", "This field is required."),
    ({"name": {}}, "name", "This field is required."),
    ({"name": "x" * 257}, "name", "Enter text of at most 256 characters."),
    ({"name": "a\0b"}, "name", "Null characters are not allowed."),
    ({"name": ["x"]}, "name", "Enter text of at most 1048576 characters."),
    ({"name": {"en": "x", "de": "y"}}, "name.de", "“de” is not valid. Choose one of: ar, en, es, fr."),
    ({"name": {"en": "x", "fr": 5}}, "name.fr", "“5” is not valid. Enter text of at most 1048576 characters."),
    ({"disaster_start_date": None}, "disaster_start_date", "This field is required."),
    ({"disaster_start_date": "soon"}, "disaster_start_date", f"“soon” is not valid. {TIMESTAMP}"),
    ({"updated_at": 5}, "updated_at", f"“5” is not valid. {TIMESTAMP}"),
    ({"created_at": {"x": 1}}, "created_at", TIMESTAMP),
    ({"dtype": 999}, "dtype", "There is no disaster type 999."),
    ({"dtype": {"name": "x"}}, "dtype", f"“None” is not valid. {WHOLE_NUMBER}"),
    ({"countries": [14, 999]}, "countries.1", "There is no country 999."),
    ({"countries": [{"id": "x"}]}, "countries.0", f"“x” is not valid. {WHOLE_NUMBER}"),
    ({"countries": 14}, "countries", "Send a list."),
    ({"num_affected": -5}, "num_affected", f"“-5” is not valid. {WHOLE_NUMBER}"),
    ({"num_affected": 1.5}, "num_affected", f"“1.5” is not valid. {WHOLE_NUMBER}"),
    ({"glide": "x" * 19}, "glide", f"“{'x' * 19}” is not valid. Enter text of at most 18 characters."),
    ({"slug": "7-floods"}, "slug",
     "“7-floods” is not valid. Enter at most 50 lowercase letters, digits, - and _, not starting with a digit."),
    ({"slug": "Floods"}, "slug",
     "“Floods” is not valid. Enter at most 50 lowercase letters, digits, - and _, not starting with a digit."),
    *(({"slug": slug}, "slug",
       f"“{slug}” is not valid. The slug cannot be a number or one of: deleted, export, mini.")
      for slug in ("mini", "deleted", "export", "-5")),
    ({"visibility": 5}, "visibility", "“5” is not valid. Choose one of: 1, 2, 3, 4."),
    ({"visibility": "all"}, "visibility", "“all” is not valid. Choose one of: 1, 2, 3, 4."),
    ({"ifrc_severity_level": 3}, "ifrc_severity_level", "“3” is not valid. Choose one of: 0, 1, 2."),
    ({"auto_generated": "maybe"}, "auto_generated", "“maybe” is not valid. Enter true or false."),
    ({"auto_generated_source": "me"}, "auto_generated_source",
     "“me” is not valid. Choose one of: GDACs scraper, WHO scraper, Field report DMIS ingest, Field report admin, "
     "Appeal admin, New field report."),
    ({"translation_module_original_language": "de"}, "translation_module_original_language",
     "“de” is not valid. Choose one of: en, fr, ar, es."),
    ({"appeals": {}}, "appeals", "Send a list."),
    ({"appeals": [5]}, "appeals.0", "Send an object."),
    ({"appeals": [APPEAL, {**APPEAL, "id": 2, "atype": 9}]}, "appeals.1.atype",
     "“9” is not valid. Choose one of: 0, 1, 2, 3."),
    ({"appeals": [{**APPEAL, "amount_funded": "much"}]}, "appeals.0.amount_funded",
     "“much” is not valid. Enter a number."),
    ({"appeals": [{**APPEAL, "amount_funded": "inf"}]}, "appeals.0.amount_funded",
     "“inf” is not valid. Enter a number."),
    ({"appeals": [{"id": 1, "atype": 0, "status": 0}]}, "appeals.0.aid", "This field is required."),
    ({"field_reports": [{**REPORT, "visibility": 0}]}, "field_reports.0.visibility",
     "“0” is not valid. Choose one of: 1, 2, 3, 4."),
    ({"field_reports": [{**REPORT, "countries": [999]}]}, "field_reports.0.countries.0", "There is no country 999."),
    ({"field_reports": [{**REPORT, "contacts": [{"id": 1, "name": 5}]}]}, "field_reports.0.contacts.0.name",
     "“5” is not valid. Enter text."),
    ({"parent_event": "x"}, "parent_event", f"“x” is not valid. {WHOLE_NUMBER}"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "path", "message"), INVALID_FIELDS, ids=lambda each: str(each)[:60])
def test_invalid_fields(fields: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(InvalidEvent) as error:
        parse_event({**MINIMAL, **fields}, DIRECTORY)
    assert [(found_path, str(found_message)) for found_path, found_message in error.value.errors] == [(path, message)]
    translated = error.value.errors[0][1]
    assert all(translate(translated, language) != message for language in Language if language is not Language.ENGLISH)


def test_single_affected_figure_is_the_current_one() -> None:
    for index, name in enumerate(AFFECTED_FIELDS, start=1):
        event = parse_event({**MINIMAL, "field_reports": [{**REPORT, name: 5}]}, DIRECTORY)
        assert event.field_reports[0].recent_affected == index
