"""Records of any events: complete, the same in every representation, and without what the caller may not see."""

from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fieldgate.events.model import Event
from fieldgate.events.rows import COLUMNS
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language
from tests.data.events import PATH
from tests.events.record_rows import to_rows
from tests.events.samples import event_lists, localized_texts
from tests.events.search.test_lists import EXAMPLES, SCOPES, EventLists, lists

__all__ = ["lists"]

# Formulas, quotes, line ends, HTML, and control characters.
HOSTILE = "=+-@＝﹣'\",;\r\n\t <p>&amp;é\x01\x02\x03\x04\x05\x06\x08\x0b\x1a\x1c\x1fc1d:"
hostile_texts = st.text(alphabet=HOSTILE, max_size=8)


@st.composite
def hostile_events(draw: st.DrawFn) -> list[Event]:
    """Events whose texts are hostile in some languages."""
    texts = st.dictionaries(
        st.sampled_from(("en", "fr", "ar", "es")), hostile_texts.filter(str.strip), min_size=1
    )
    changes = {"name": texts, "summary": texts | localized_texts(), "glide": hostile_texts}
    return [
        msgspec.structs.replace(
            event,
            **{field: draw(values) for field, values in changes.items() if draw(st.booleans())},
        )
        for event in draw(event_lists(4))
    ]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=EXAMPLES // 3,
    phases=[Phase.explicit, Phase.generate],  # to shrink an example takes minutes
)
@given(event_lists(6) | hostile_events(), st.sampled_from(Language))
async def test_records_of_any_events(
    lists: EventLists, events: list[Event], language: Language
) -> None:
    try:
        await lists.load(events)
        for caller in SCOPES:
            await check_records(lists, caller, language)
    finally:
        await lists.delete(list(lists.held))


async def check_records(lists: EventLists, caller: str, language: Language) -> None:
    scope = SCOPES[caller]
    names = lists.reference_data.country_records.by_name(language)
    page = await lists.get(PATH, {}, caller, language, limit=100)
    mini = await lists.get(PATH + "mini/", {}, caller, language, limit=100)
    visible = {
        id_: event
        for id_, event in lists.held.items()
        if scope.can_see(event.visibility, event.countries)
    }
    listed = {record["id"]: record for record in page["results"]}
    assert listed.keys() == {id_ for id_, event in visible.items() if event.parent_event is None}
    assert [record["id"] for record in mini["results"]] == list(listed)
    for short in mini["results"]:
        check_preview(short, visible[short["id"]])
    for id_, event in visible.items():
        detail = await lists.get(f"{PATH}{id_}/", {}, caller, language)
        check_preview(detail, event)
        records = [detail, listed[id_]] if id_ in listed else [detail]
        for record in records:
            check_record(record, event, caller, language, names)
    for id_ in lists.held.keys() - visible.keys():
        headers = lists.headers[caller]
        assert (await lists.service.get(f"{PATH}{id_}/", headers=headers)).status_code == 404
    await check_table(lists, caller, language, page["results"])


def check_preview(record: dict[str, Any], event: Event) -> None:
    preview = (
        event.countries if event.countries_for_preview is None else event.countries_for_preview
    )
    assert sorted(country["id"] for country in record["countries_for_preview"]) == sorted(preview)


def check_record(
    record: dict[str, Any],
    event: Event,
    caller: str,
    language: Language,
    names: list[int],
) -> None:
    """Compare a record with the event. `names` are the ids of countries, ordered by name."""
    assert record["name"] == in_language(event.name, language, event.original_language)
    assert record["summary"] == in_language(event.summary, language, event.original_language)
    assert [country["id"] for country in record["countries"]] == sorted(
        event.countries, key=names.index
    )
    reports = {
        report.id
        for report in event.field_reports
        if SCOPES[caller].can_see(report.visibility, report.countries)
    }
    assert {report["id"] for report in record["field_reports"]} == reports
    people = [
        *record.get("contacts", []),
        *[person for report in record["field_reports"] for person in report.get("contacts", [])],
    ]
    assert caller != "public" or people == []


async def check_table(
    lists: EventLists, caller: str, language: Language, records: list[dict[str, Any]]
) -> None:
    """The rows of CSV are those that a reader of the records would make."""
    headers = {**lists.headers[caller], "Accept-Language": language.value}
    page = await lists.service.get(f"{PATH}?format=csv&limit=100", headers=headers)
    export = await lists.service.get(f"{PATH}export/", headers=headers)
    rows = to_rows([msgspec.json.encode(record) for record in records], language)
    assert page.content == export.content == encode_csv([COLUMNS, *rows])
