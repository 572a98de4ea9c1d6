"""Events of a server like IFRC GO: visibility, texts, fields of the mini list, and when details are requested."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from fieldgate_client.walk import OVERLAP
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

from fieldgate.events.sync import event_puller, synchronizer
from fieldgate.events.sync.remote import RemoteError
from fieldgate.events.tables import sources
from fieldgate.events.writes import BulkWriteResult
from fieldgate.i18n.languages import Language
from fieldgate.i18n.localized_text import in_language, without_fallbacks
from tests.data.events import load_events
from tests.data.sql import write_sql
from tests.events.event_service import make_event
from tests.events.sync.conftest import SyncTarget, serve
from tests.events.sync.go_server import TOKEN, GoServer, go_event, list_record, mini_record

PATH = "/api/v2/event/"


async def test_public_events_are_public_here(target: SyncTarget) -> None:
    await load_events(
        target.database_url, [make_event(1, visibility=1), make_event(2, visibility=2)]
    )
    with GoServer([go_event(1), go_event(2), go_event(3), go_event(4, visibility=1)]) as server:
        assert (await target.pull(server)).events == BulkWriteResult(created=1, changed=2)
    async with serve(target) as copy:
        listed = (await copy.get(PATH)).json()["results"]
        assert [record["id"] for record in listed] == [3, 2, 1], "without credentials"
        assert (await copy.get(f"{PATH}2/")).json()["visibility"] == 3


async def test_with_a_token_the_detail_says_who_can_see_an_event(target: SyncTarget) -> None:
    events = [go_event(visibility, visibility=visibility) for visibility in (1, 2, 3, 4)]
    with GoServer(events) as server:
        await target.pull(server, TOKEN)
        stored = target.stored(1, 2, 3, 4)
        assert [event and event.visibility for event in stored] == [1, 2, 3, 4]
        await target.pull(server)
        assert target.stored(1, 2, 3, 4) == stored, "a run without a token leaves the others alone"
        server.events[3] |= {"visibility": 2, "updated_at": "2026-05-01T00:00:00Z"}
        await target.pull(server, TOKEN)
    [hidden] = target.stored(3)
    assert hidden is not None
    assert hidden.visibility == 2


REPORT = {
    "id": 5, "status": 9, "visibility": 3, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    "countries": [84], "contacts": [], "num_affected": 7, "recent_affected": 1,
    "summary": {"es": "Mucha agua", "fr": "Beaucoup d'eau"}, "description": {"ar": "ماء"},
    "translation_module_original_language": "es",
}  # fmt: skip
TEXTS: list[tuple[str, dict[str, str]]] = [
    ("es", {"es": "Inundación", "fr": "Crue"}),
    ("ar", {"ar": "فيضان", "fr": "Crue"}),
    ("ar", {"ar": "فيضان", "es": "Inundación"}),
    ("es", {"es": "Inundación", "en": "Flood"}),
    ("es", {"es": "Inundación"}),
    ("fr", {"fr": "Crue", "en": "Flood", "ar": "فيضان"}),
    ("en", {"en": "Flood", "fr": "Crue", "es": "Inundación", "ar": "فيضان"}),
    ("en", {"es": "Inundación"}),
]


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_texts_are_those_of_the_source_in_every_language(
    target: SyncTarget, token: str
) -> None:
    events = [
        go_event(
            id_,
            name=texts,
            summary=texts,
            translation_module_original_language=original,
            field_reports=[REPORT],
        )
        for id_, (original, texts) in enumerate(TEXTS, start=1)
    ]
    with GoServer(events) as server:
        await target.pull(server, token)
    async with serve(target) as copy:
        for language in ("en", "fr", "es", "ar"):
            page = (await copy.get(PATH, headers={"Accept-Language": language})).json()
            for record in page["results"]:
                expected = list_record(server.events[record["id"]], language)
                names = ("name", "summary", "translation_module_original_language")
                assert [record[name] for name in names] == [expected[name] for name in names]
                report, expected_report = record["field_reports"][0], expected["field_reports"][0]
                for name in ("summary", "description"):
                    assert report[name] == expected_report[name]
    [stored] = target.stored(1)
    assert stored is not None
    assert stored.name["fr"] == "Crue", "the French translation is French"


def mini_events() -> list[dict[str, Any]]:
    return [
        go_event(
            1,
            auto_generated_source="New field report",
            countries=[123, 84],
            countries_for_preview=[84],
        ),
        go_event(
            2,
            auto_generated_source="WHO scraper",
            countries=[123, 84],
            countries_for_preview=[84, 123],
        ),
        go_event(3, auto_generated_source="a source of another release", countries_for_preview=[]),
        *(go_event(id_) for id_ in range(4, 30)),
    ]


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_fields_that_only_the_mini_list_has(target: SyncTarget, token: str) -> None:
    with GoServer(mini_events()) as server:
        assert (await target.pull(server, token)).events == BulkWriteResult(created=29)
        async with serve(target) as copy:
            found = (await copy.get(f"{PATH}?auto_generated_source=New field report")).json()
            assert [record["id"] for record in found["results"]] == [1]
            for record in (await copy.get(f"{PATH}mini/")).json()["results"]:
                expected = mini_record(server.events[record["id"]], "en")
                for each in (record, (await copy.get(f"{PATH}{record['id']}/")).json()):
                    preview = [country["id"] for country in each["countries_for_preview"]]
                    assert sorted(preview) == sorted(
                        country["id"] for country in expected["countries_for_preview"]
                    )
                known = expected["auto_generated_source"] if record["id"] != 3 else None
                assert record["auto_generated_source"] == known
        server.events[1] |= {"auto_generated_source": None, "countries_for_preview": [123, 84]}
        assert (await target.pull(server, token)).events == BulkWriteResult(changed=1, unchanged=28)


# Detail records


async def test_details_are_requested_where_the_list_record_changed(target: SyncTarget) -> None:
    with GoServer([go_event(id_) for id_ in range(1, 41)]) as server:
        await target.pull(server, TOKEN)
        assert sorted(server.detail_requests()) == list(range(1, 41))

        server.requests.clear()
        assert (await target.pull(server, TOKEN)).events == BulkWriteResult(unchanged=40)
        assert server.detail_requests() == []

        for id_ in (3, 7):
            server.events[id_] |= {"visibility": 1, "updated_at": "2026-05-01T00:00:00Z"}
        assert (await target.pull(server, TOKEN)).events == BulkWriteResult(changed=2, unchanged=38)
        assert sorted(server.detail_requests()) == [3, 7]

        server.requests.clear()
        server.events[5]["contacts"] = [
            {"id": 1, "name": "Amina", "ctype": "", "title": "", "email": "", "phone": None}
        ]
        assert (await target.pull(server, TOKEN, full=True)).events == BulkWriteResult(
            changed=1, unchanged=39
        )
        assert sorted(server.detail_requests()) == list(range(1, 41)), "--full requests all of them"


async def test_all_details_are_requested_once_a_week(target: SyncTarget) -> None:
    with GoServer([go_event(id_) for id_ in range(1, 6)]) as server:
        await target.pull(server, TOKEN)
        for days, requested in ((6, []), (8, [1, 2, 3, 4, 5])):
            with write_sql(target.database_url) as connection:
                rows = connection.execute(select(sources.c.id, sources.c.detail_at)).all()
                for row in rows:
                    older = update(sources).where(sources.c.id == row.id)
                    connection.execute(older.values(detail_at=row.detail_at - timedelta(days=days)))
            server.requests.clear()
            await target.pull(server, TOKEN)
            assert sorted(server.detail_requests()) == requested


async def test_details_that_were_requested_without_a_token_are_requested_with_one(
    target: SyncTarget,
) -> None:
    with GoServer([go_event(id_) for id_ in range(1, 31)]) as server:
        await target.pull(server)
        server.hidden_from_lists.add(4)
        await target.pull(server)
        assert set(server.detail_requests()) == {4}
        server.hidden_from_lists.clear()
        server.requests.clear()
        await target.pull(server, TOKEN)
        assert sorted(server.detail_requests()) == list(range(1, 31))


async def test_stopped_run_keeps_the_details_it_has(
    target: SyncTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synchronizer, "PAGE_SIZE", 50)
    monkeypatch.setattr(event_puller, "BATCH_SIZE", 10)
    with GoServer([go_event(id_) for id_ in range(1, 121)]) as server:

        def stop(path: str) -> None:
            if len(server.detail_requests()) > 75:
                server.statuses[path.removeprefix("/api/v2/").partition("?")[0]] = [401]

        server.before = stop
        with pytest.raises(RemoteError, match="401"):
            await target.pull(server, TOKEN)
        first = set(server.detail_requests())
        state = target.state(with_token=True, source=server.base_url)
        assert state.position is not None
        stored = [event.id for event in target.stored(*range(1, 121)) if event]
        assert len(stored) >= 60
        assert set(stored) <= first

        server.before, server.statuses = lambda path: None, {}
        server.requests.clear()
        report = await target.pull(server, TOKEN)
        assert (report.resumed, report.events.created) == (True, 120 - len(stored))
        assert sorted(server.detail_requests()) == sorted(set(range(1, 121)) - set(stored)), (
            "only what is not stored"
        )
        offsets = [path for path in server.requests if "event/?limit=50&offset=" in path]
        assert f"offset={state.position.end - OVERLAP}" in offsets[0]
    assert [event.id for event in target.stored(*range(1, 121)) if event] == list(range(1, 121))


CODES = tuple(language.value for language in Language)
# Few texts, so that equal ones are common; an empty text is a missing one.
texts_by_language = st.fixed_dictionaries(
    {}, optional={code: st.sampled_from(("", "a", "b", "c")) for code in CODES}
)
codes = st.sampled_from(CODES)


def shown_by(texts: Mapping[str, str], order: tuple[str, ...]) -> dict[str, str]:
    """What a server shows in each language: the text in that language, else the first one in the order."""
    return {
        code: next((texts[each] for each in (code, *order) if texts.get(each)), "")
        for code in CODES
    }


def shown_by_live_system(texts: Mapping[str, str]) -> dict[str, str]:
    return shown_by(texts, ("en", "fr", "es", "ar"))


def shown_by_fieldgate(texts: Mapping[str, str], original: str) -> dict[str, str]:
    return {code: in_language(texts, Language(code), original) for code in CODES}


@given(texts_by_language, codes, st.booleans())
def test_readers_get_the_texts_of_the_source(
    texts: dict[str, str], original: str, is_fieldgate: bool
) -> None:
    shown = shown_by_fieldgate(texts, original) if is_fieldgate else shown_by_live_system(texts)
    stored = without_fallbacks(shown, original)
    assert shown_by_fieldgate(stored, original) == shown
    for code, text in texts.items():
        if text and text != shown[original]:
            assert stored.get(code) == text, "no translation is lost"
    assert set(stored.values()) <= set(texts.values()), "no text is invented"
    for code in stored:
        fewer = {each: text for each, text in stored.items() if each != code}
        assert len(set(shown.values())) == 1 or shown_by_fieldgate(fewer, original) != shown, (
            "no text is superfluous"
        )
