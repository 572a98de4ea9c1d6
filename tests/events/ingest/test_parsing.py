"""Records become events: whatever servers write, in every language, and every mistake is told with its place."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.document_templates import (
    AFFECTED_FIELDS,
    TemplateRenderer,
    build_detail_template,
    build_list_template,
)
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


def shown(event: Event, language: Language, make: Any = build_list_template) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.json.decode(TemplateRenderer(DIRECTORY, language).render(make(event), FULL_SCOPE))
    return record


def in_all_languages(event: Event, make: Any) -> list[dict[str, Any]]:
    return [shown(event, language, make) for language in Language]


@given(detailed)
def test_our_own_records_in_four_languages_make_the_same_event(event: Event) -> None:
    """As far as they carry it: read, merged and shown again, both kinds of record are the same in every language."""
    seen = {lang: {**shown(event, lang, build_detail_template), **shown(event, lang)} for lang in Language}
    merged = parse_event(merge_translations(seen), DIRECTORY)
    assert in_all_languages(merged, build_list_template) == in_all_languages(event, build_list_template)
    assert in_all_languages(merged, build_detail_template) == in_all_languages(event, build_detail_template)
    assert merged.visibility == event.visibility
    again = parse_event(shown(event, Language.FRENCH), DIRECTORY, Language.FRENCH, merged)
    assert again == merged, "what is as it was before changes nothing"


@given(detailed)
def test_the_record_of_one_event_alone_carries_what_it_shows(event: Event) -> None:
    seen = {language: shown(event, language, build_detail_template) for language in Language}
    merged = parse_event(merge_translations(seen), DIRECTORY)
    assert in_all_languages(merged, build_detail_template) == in_all_languages(event, build_detail_template)
    for language in Language:
        kept = parse_event(shown(event, language, build_detail_template), DIRECTORY, language, event)
        assert in_all_languages(kept, build_list_template) == in_all_languages(event, build_list_template), (
            "the other figures stay"
        )


def test_little_is_needed() -> None:
    event = parse_event(MINIMAL, DIRECTORY)
    assert event == Event(id=7, name={"en": "Floods"}, disaster_start_date=START, created_at=START, updated_at=START)
    assert event.visibility == 1, "where it is not known"


def test_as_the_live_system_writes_it() -> None:
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


def test_texts_by_language() -> None:
    event = parse_event({**MINIMAL, "name": {"en": "Floods", "fr": "Crues", "ar": "", "es": None}}, DIRECTORY)
    assert event.name == {"en": "Floods", "fr": "Crues"}


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
        (Language.FRENCH, "Floods", {"en": "Floods"}),  # the translation is gone, and this is the fallback
        (Language.ARABIC, "Floods", {"en": "Floods", "fr": "Crues"}),
        (Language.ARABIC, "فيضانات", {"en": "Floods", "fr": "Crues", "ar": "فيضانات"}),
        (Language.ENGLISH, "Crues", {"fr": "Crues"}),
    ],
)
def test_a_text_in_one_language_leaves_the_others(language: Language, name: str, expected: dict[str, str]) -> None:
    event = parse_event({**MINIMAL, "name": name}, DIRECTORY, language, BEFORE)
    assert event.name == expected
    assert (event.summary, event.visibility, event.slug) == ({"es": "Mucho"}, 3, "floods"), "not in the record: stays"
    assert event.field_reports == BEFORE.field_reports


def test_an_empty_text_is_empty_in_every_language() -> None:
    assert parse_event({**MINIMAL, "summary": ""}, DIRECTORY, before=BEFORE).summary == {}


@pytest.mark.parametrize(
    ("own", "original", "english_first"),
    [
        ({"es": "Inundación"}, "es", False),
        ({"es": "Inundación", "en": "Flood"}, "es", False),
        ({"es": "Inundación", "en": "Flood", "fr": "Flood"}, "es", False),
        ({"en": "Flood", "ar": "فيضان"}, "en", False),
        ({"es": "Inundación"}, "es", True),
        ({"es": "Inundación", "en": "Flood"}, "es", True),
        ({"es": "Inundación", "en": "Flood", "fr": "Crue"}, "es", True),
        ({"en": "Flood", "ar": "فيضان"}, "en", True),
        ({"fr": "Crue", "ar": "فيضان", "en": "Flood"}, "fr", True),
    ],
)
def test_a_translation_is_told_from_a_fallback(own: dict[str, str], original: str, english_first: bool) -> None:
    order = ("en", "fr", "es", "ar") if english_first else (original, "en", "fr", "es", "ar")
    seen = {}
    for language in Language:
        text = next(own[code] for code in (language.value, *order) if code in own)
        seen[language] = {**MINIMAL, "name": text, "translation_module_original_language": original}
    assert merge_translations(seen, english_first=english_first)["name"] == own


def test_what_is_no_text_is_left_for_the_reader_to_refuse() -> None:
    odd = {**MINIMAL, "name": 5, "links": [5, {"title": "x"}], "field_reports": 7}
    assert merge_translations(dict.fromkeys(Language, odd)) == odd


WHOLE = "Enter a whole number from 0 to 9007199254740992."
MOMENT = "Enter a date or a time such as 2026-11-15 or 2026-11-15T08:30:00Z."
REPORT = {"id": 1, "created_at": "2026-07-14", "updated_at": "2026-07-14"}
APPEAL = {"id": 1, "aid": "x", "atype": 0, "status": 0}
# (what is sent, the path that is named, the English message)
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"id": None}, "id", "This field is required."),
    ({"id": -1}, "id", f"“-1” cannot be taken. {WHOLE}"),
    ({"id": 2**60}, "id", f"“{2**60}” cannot be taken. {WHOLE}"),
    ({"id": "seven"}, "id", f"“seven” cannot be taken. {WHOLE}"),
    ({"id": True}, "id", f"“True” cannot be taken. {WHOLE}"),
    ({"id": [7]}, "id", WHOLE),
    ({"name": None}, "name", "This field is required."),
    ({"name": ""}, "name", "This field is required."),
    ({"name": " "}, "name", "This field is required."),
    ({"name": {}}, "name", "This field is required."),
    ({"name": "x" * 257}, "name", "Enter text of at most 256 characters."),
    ({"name": "a\0b"}, "name", "Null characters are not allowed."),
    ({"name": ["x"]}, "name", "Enter text of at most 1048576 characters."),
    ({"name": {"en": "x", "de": "y"}}, "name.de", "“de” cannot be taken. Choose one of: ar, en, es, fr."),
    ({"name": {"en": "x", "fr": 5}}, "name.fr", "“5” cannot be taken. Enter text of at most 1048576 characters."),
    ({"disaster_start_date": None}, "disaster_start_date", "This field is required."),
    ({"disaster_start_date": "soon"}, "disaster_start_date", f"“soon” cannot be taken. {MOMENT}"),
    ({"updated_at": 5}, "updated_at", f"“5” cannot be taken. {MOMENT}"),
    ({"created_at": {"x": 1}}, "created_at", MOMENT),
    ({"dtype": 999}, "dtype", "There is no disaster type 999."),
    ({"dtype": {"name": "x"}}, "dtype", f"“None” cannot be taken. {WHOLE}"),
    ({"countries": [14, 999]}, "countries.1", "There is no country 999."),
    ({"countries": [{"id": "x"}]}, "countries.0", f"“x” cannot be taken. {WHOLE}"),
    ({"countries": 14}, "countries", "Send a list."),
    ({"num_affected": -5}, "num_affected", f"“-5” cannot be taken. {WHOLE}"),
    ({"num_affected": 1.5}, "num_affected", f"“1.5” cannot be taken. {WHOLE}"),
    ({"glide": "x" * 19}, "glide", f"“{'x' * 19}” cannot be taken. Enter text of at most 18 characters."),
    ({"slug": "7-floods"}, "slug",
     "“7-floods” cannot be taken. Enter at most 50 small letters, digits, - and _, not beginning with a digit."),
    ({"slug": "Floods"}, "slug",
     "“Floods” cannot be taken. Enter at most 50 small letters, digits, - and _, not beginning with a digit."),
    *(({"slug": slug}, "slug",
       f"“{slug}” cannot be taken. Choose another name than a number or one of: deleted, export, mini.")
      for slug in ("mini", "deleted", "export", "-5")),
    ({"visibility": 5}, "visibility", "“5” cannot be taken. Choose one of: 1, 2, 3, 4."),
    ({"visibility": "all"}, "visibility", "“all” cannot be taken. Choose one of: 1, 2, 3, 4."),
    ({"ifrc_severity_level": 3}, "ifrc_severity_level", "“3” cannot be taken. Choose one of: 0, 1, 2."),
    ({"auto_generated": "maybe"}, "auto_generated", "“maybe” cannot be taken. Say true or false."),
    ({"auto_generated_source": "me"}, "auto_generated_source",
     "“me” cannot be taken. Choose one of: GDACs scraper, WHO scraper, Field report DMIS ingest, Field report admin, "
     "Appeal admin, New field report."),
    ({"translation_module_original_language": "de"}, "translation_module_original_language",
     "“de” cannot be taken. Choose one of: en, fr, ar, es."),
    ({"appeals": {}}, "appeals", "Send a list."),
    ({"appeals": [5]}, "appeals.0", "Send an object."),
    ({"appeals": [APPEAL, {**APPEAL, "id": 2, "atype": 9}]}, "appeals.1.atype",
     "“9” cannot be taken. Choose one of: 0, 1, 2, 3."),
    ({"appeals": [{**APPEAL, "amount_funded": "much"}]}, "appeals.0.amount_funded",
     "“much” cannot be taken. Enter a number."),
    ({"appeals": [{**APPEAL, "amount_funded": "inf"}]}, "appeals.0.amount_funded",
     "“inf” cannot be taken. Enter a number."),
    ({"appeals": [{"id": 1, "atype": 0, "status": 0}]}, "appeals.0.aid", "This field is required."),
    ({"field_reports": [{**REPORT, "visibility": 0}]}, "field_reports.0.visibility",
     "“0” cannot be taken. Choose one of: 1, 2, 3, 4."),
    ({"field_reports": [{**REPORT, "countries": [999]}]}, "field_reports.0.countries.0", "There is no country 999."),
    ({"field_reports": [{**REPORT, "contacts": [{"id": 1, "name": 5}]}]}, "field_reports.0.contacts.0.name",
     "“5” cannot be taken. Enter text."),
    ({"parent_event": "x"}, "parent_event", f"“x” cannot be taken. {WHOLE}"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "path", "message"), WRONG, ids=lambda each: str(each)[:60])
def test_every_mistake_has_its_place_and_its_message(sent: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(InvalidEvent) as found:
        parse_event({**MINIMAL, **sent}, DIRECTORY)
    assert [(where, str(said)) for where, said in found.value.errors] == [(path, message)]
    said = found.value.errors[0][1]
    assert all(translate(said, language) != message for language in Language if language is not Language.ENGLISH)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidEvent) as found:
        parse_event({"glide": 5, "countries": [1, 2], "appeals": [{}]}, DIRECTORY)
    assert set(found.value.by_field()) == {
        "id", "name", "disaster_start_date", "glide", "countries.0", "countries.1",
        "appeals.0.id", "appeals.0.aid", "appeals.0.atype", "appeals.0.status",
    }  # fmt: skip


def test_of_the_six_figures_the_one_that_is_there_counts() -> None:
    for place, name in enumerate(AFFECTED_FIELDS, start=1):
        event = parse_event({**MINIMAL, "field_reports": [{**REPORT, name: 5}]}, DIRECTORY)
        assert event.field_reports[0].recent_affected == place
