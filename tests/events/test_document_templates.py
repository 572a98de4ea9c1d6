"""What callers of every language and sight are given of an event is the record, and nothing more than they may see."""

import msgspec
from hypothesis import given

from fieldgate.events.document_templates import TemplateRenderer, build_detail_template, build_list_template
from fieldgate.events.model import Event, pack, unpack
from fieldgate.events.schemas import EventDetail, EventRecord
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, ViewerScope
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import Country, DisasterType, ReferenceData
from tests.events.samples import COUNTRIES, TYPES, event_lists

DIRECTORY = ReferenceData(
    [Country(id=number, names={"en": f"Country {number}", "fr": f"Pays {100 - number}"}) for number in COUNTRIES],
    [DisasterType(id=number, names={"en": f"Type {number}"}) for number in TYPES],
)
SIGHTS = (PUBLIC_SCOPE, FULL_SCOPE, ViewerScope(frozenset({1, 3}), frozenset({14})))


@given(event_lists(4))
def test_documents_are_records_for_everybody(events: list[Event]) -> None:
    for language in Language:
        reader = TemplateRenderer(DIRECTORY, language)
        for sight in SIGHTS:
            for event in events:
                listed = reader.render(build_list_template(event), sight)
                alone = reader.render(build_detail_template(event), sight)
                assert not any(byte < 0x20 for byte in listed + alone), "a mark was left"
                record = msgspec.json.decode(listed, type=EventRecord, strict=True)
                detail = msgspec.json.decode(alone, type=EventDetail, strict=True)
                assert record.id == detail.id == event.id
                seen = {
                    report.id for report in event.field_reports if sight.can_see(report.visibility, report.countries)
                }
                assert {report.id for report in record.field_reports} == seen
                assert {report.id for report in detail.field_reports} == seen
                people = [*detail.contacts, *(each for report in record.field_reports for each in report.contacts)]
                if not sight.can_see_contacts:
                    assert people == []
                assert [country.id for country in record.countries] == sorted(
                    event.countries, key=lambda number: (DIRECTORY.country_name(language, number), number)
                )


@given(event_lists(3))
def test_what_is_stored_is_what_was_given(events: list[Event]) -> None:
    for event in events:
        assert unpack(pack(event)) == event
        assert pack(unpack(pack(event))) == pack(event)
