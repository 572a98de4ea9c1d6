"""Rendered templates are valid records, hold nothing the caller may not see, and CSV rows are those of the records."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.document_templates import build_detail_template, build_list_template
from fieldgate.events.documents import (
    DocumentRenderer,
    RecordShape,
    TemplateRenderer,
    build_document,
    to_mini,
)
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.schemas import EventDetail, EventRecord, MiniEvent
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from tests.events.record_rows import to_rows
from tests.events.samples import COUNTRIES, TYPES, event_lists, localized_texts

DIRECTORY = ReferenceData(
    [
        Country(id=number, names={"en": f"Country {number}", "fr": f"Pays {100 - number}"})
        for number in COUNTRIES
    ],
    [DisasterType(id=number, names={"en": f"Type {number}"}) for number in TYPES],
)
SCOPES = (PUBLIC_SCOPE, FULL_SCOPE, ViewerScope(frozenset({1, 3}), frozenset({14})))


@given(event_lists(4))
def test_rendered_templates_are_valid_records(events: list[Event]) -> None:
    for language in Language:
        renderer = TemplateRenderer(DIRECTORY, language)
        for scope in SCOPES:
            for event in events:
                listed = renderer.render(build_list_template(event), scope)
                alone = renderer.render(build_detail_template(event), scope)
                assert not any(byte < 0x20 for byte in listed + alone), "a placeholder was left"
                record = msgspec.json.decode(listed, type=EventRecord, strict=True)
                detail = msgspec.json.decode(alone, type=EventDetail, strict=True)
                assert record.id == detail.id == event.id
                seen = {
                    report.id
                    for report in event.field_reports
                    if scope.can_see(report.visibility, report.countries)
                }
                assert {report.id for report in record.field_reports} == seen
                assert {report.id for report in detail.field_reports} == seen
                preview = (
                    event.countries
                    if event.countries_for_preview is None
                    else event.countries_for_preview
                )
                short = msgspec.json.decode(to_mini(listed), type=MiniEvent, strict=True)
                for each in (detail, short):
                    assert sorted(country.id for country in each.countries_for_preview) == sorted(
                        preview
                    )
                people = [
                    *detail.contacts,
                    *(each for report in record.field_reports for each in report.contacts),
                ]
                if not scope.can_see_contacts:
                    assert people == []
                assert [country.id for country in record.countries] == sorted(
                    event.countries,
                    key=lambda number: (DIRECTORY.country_records.name(language, number), number),
                )


@given(event_lists(3))
def test_pack_and_unpack(events: list[Event]) -> None:
    for event in events:
        assert unpack(pack(event)) == event
        assert pack(unpack(pack(event))) == pack(event)


# Formulas, quotes, line ends, HTML, and the marks of templates.
HOSTILE = "=+-@＝﹣'\",;\r\n\t <p>&amp;é\x00\x01\x02\x03\x04\x05\x06\x08\x0b\x1a\x1c\x1fc1d:"
hostile_texts = st.text(alphabet=HOSTILE, max_size=8)
REFERENCE_DATA = ReferenceData(
    [
        Country(
            id=number,
            region=number % 6 if number % 6 < 5 else None,
            iso="=A" if number == 14 else None,
            names={"en": f'"Côte", {number}', "fr": f"-Pays \x03{100 - number}\x03"},
            society_names={"en": "\x04=Society\x1c\x06"},
        )
        for number in COUNTRIES
    ],
    [
        DisasterType(id=number, names={"en": f"@Type {number}"}, summaries={"en": "<p>=a</p>"})
        for number in TYPES
    ],
)


@st.composite
def hostile_events(draw: st.DrawFn) -> list[Event]:
    """Events whose texts are hostile in some languages."""
    texts = st.dictionaries(st.sampled_from(("en", "fr", "ar", "es")), hostile_texts, min_size=1)
    changes = {
        "name": texts,
        "summary": texts | localized_texts(),
        "glide": hostile_texts,
        "slug": hostile_texts,
    }
    return [
        msgspec.structs.replace(
            event,
            **{field: draw(values) for field, values in changes.items() if draw(st.booleans())},
        )
        for event in draw(event_lists(4))
    ]


def row_of_record(
    renderer: DocumentRenderer, event: Event, scope: ViewerScope, language: Language
) -> bytes:
    return encode_csv(
        to_rows([renderer.templates.render(build_list_template(event), scope)], language)
    )


@given(event_lists(4) | hostile_events())
def test_rows_are_those_of_the_records(events: list[Event]) -> None:
    documents = [build_document(event) for event in events]
    for language in Language:
        renderer = DocumentRenderer(REFERENCE_DATA, language)
        for scope in SCOPES:
            expected = [row_of_record(renderer, event, scope, language) for event in events]
            assert renderer.render(documents, scope, RecordShape.ROW) == expected
            assert renderer.render_joined_rows(documents, scope) == b"".join(expected)
            records = [
                renderer.templates.render(build_list_template(event), scope) for event in events
            ]
            assert renderer.render(documents, scope, RecordShape.RECORD) == records
