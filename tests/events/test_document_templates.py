"""Rendered templates are valid records, and hold nothing the caller may not see."""

import msgspec
from hypothesis import given

from fieldgate.events.document_templates import build_detail_template, build_list_template
from fieldgate.events.documents import TemplateRenderer, to_mini
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.schemas import EventDetail, EventRecord, MiniEvent
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from tests.events.samples import COUNTRIES, TYPES, event_lists

DIRECTORY = ReferenceData(
    [Country(id=number, names={"en": f"Country {number}", "fr": f"Pays {100 - number}"}) for number in COUNTRIES],
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
                    report.id for report in event.field_reports if scope.can_see(report.visibility, report.countries)
                }
                assert {report.id for report in record.field_reports} == seen
                assert {report.id for report in detail.field_reports} == seen
                preview = event.countries if event.countries_for_preview is None else event.countries_for_preview
                short = msgspec.json.decode(to_mini(listed), type=MiniEvent, strict=True)
                for each in (detail, short):
                    assert sorted(country.id for country in each.countries_for_preview) == sorted(preview)
                people = [*detail.contacts, *(each for report in record.field_reports for each in report.contacts)]
                if not scope.can_see_contacts:
                    assert people == []
                assert [country.id for country in record.countries] == sorted(
                    event.countries, key=lambda number: (DIRECTORY.country_name(language, number), number)
                )


@given(event_lists(3))
def test_pack_and_unpack(events: list[Event]) -> None:
    for event in events:
        assert unpack(pack(event)) == event
        assert pack(unpack(pack(event))) == pack(event)
