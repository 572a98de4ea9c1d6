"""Sections 2.3 and 4.3: the import record and the imports of the requesting user."""

import pytest

from tests.conftest import BASE_URL, Service
from tests.data.imports import import_worker
from tests.imports.test_worker import LIBRARY, ImportHarness
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/imports/"
TWO_LANGUAGES = (
    ("type", "name", "label::English (en)", "label::French (fr)"),
    ("geopoint", "place", "Where are you?", "Où êtes-vous ?"),
)


@pytest.fixture
async def harness(service: Service) -> ImportHarness:
    headers = {"Authorization": f"Token {await service.create_token()}"}
    return ImportHarness(service, headers, import_worker(service))


async def finished(harness: ImportHarness, book: bytes, **fields: str) -> dict[str, object]:
    """The record of a finished import."""
    url = await harness.send(book, **fields)
    while (record := await harness.get(url))["status"] == "processing":
        assert await harness.worker.process_one()
    return record


async def test_2_3_url_is_the_address_of_the_import(harness: ImportHarness) -> None:
    """url: {base_url}/api/v2/imports/<import_uid>/."""
    record = await harness.get(await harness.send(xlsx()))
    assert record["url"] == f"{BASE_URL}{PATH}{record['uid']}/"


async def test_2_3_every_field_is_there_with_its_type(harness: ImportHarness) -> None:
    """url, status, messages, uid, date_created: strings, and messages an object."""
    record = await finished(harness, xlsx())
    for name in ("url", "status", "uid", "date_created"):
        assert isinstance(record[name], str)
    assert isinstance(record["messages"], dict)


async def test_2_3_messages_hold_updated_an_array_of_objects(harness: ImportHarness) -> None:
    """messages.updated: an array, whose elements have uid, kind, summary, owner__username."""
    first = await finished(harness, xlsx())
    assert first["messages"]["updated"] == []  # type: ignore[index]
    uid = first["messages"]["created"][0]["uid"]  # type: ignore[index]
    second = await finished(harness, xlsx(), destination=uid)
    [element] = second["messages"]["updated"]  # type: ignore[index]
    assert set(element) == {"uid", "kind", "summary", "owner__username"}
    assert all(isinstance(element[name], str) for name in ("uid", "kind", "owner__username"))
    assert element["uid"] == uid


async def test_2_3_messages_hold_updated_while_it_is_processed(harness: ImportHarness) -> None:
    """messages: an object that holds the key updated, an array, from the first answer on."""
    record = await harness.get(await harness.send(xlsx()))
    assert record["status"] == "processing"
    assert record["messages"] == {"updated": []}


async def test_2_3_messages_hold_updated_after_an_error(harness: ImportHarness) -> None:
    """messages: an object that holds the key updated, an array, also when nothing was imported."""
    record = await finished(harness, xlsx(survey=(("type", "name"), ("florb", "x"))))
    assert record["status"] == "error"
    assert record["messages"]["updated"] == []  # type: ignore[index]


async def test_2_3_created_asset_of_a_library_has_a_summary(harness: ImportHarness) -> None:
    """An element of messages has uid, kind, summary and owner__username; so has a library's."""
    record = await finished(harness, xlsx(library=LIBRARY), library="true")
    assert record["status"] == "complete"
    created = record["messages"]["created"]  # type: ignore[index]
    assert created
    for element in created:
        assert set(element) == {"uid", "kind", "summary", "owner__username"}
        assert isinstance(element["summary"], dict)


async def test_2_3_default_translation_without_languages(harness: ImportHarness) -> None:
    """default_translation: a string; null when the form names no language."""
    record = await finished(harness, xlsx(survey=SURVEY))
    summary = record["messages"]["created"][0]["summary"]  # type: ignore[index]
    assert summary["languages"] == []
    assert summary["default_translation"] is None


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html"])
async def test_4_5_format_api_selects_the_page_of_imports(
    harness: ImportHarness, accept: str
) -> None:
    """format=api selects the browsable rendering, whatever Accept says."""
    headers = {**harness.headers, "Accept": accept}
    url = await harness.send(xlsx())
    for path in (PATH, url):
        answer = await harness.service.get(f"{path}?format=api", headers=headers)
        assert answer.status_code == 200
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "<h1" in answer.text


async def test_2_3_summary_has_six_keys_with_their_types(harness: ImportHarness) -> None:
    """geo boolean; labels, columns, languages arrays; row_count integer; default_translation string."""
    record = await finished(harness, xlsx(survey=TWO_LANGUAGES))
    summary = record["messages"]["created"][0]["summary"]  # type: ignore[index]
    assert set(summary) == {
        "geo",
        "labels",
        "columns",
        "languages",
        "row_count",
        "default_translation",
    }
    assert summary["geo"] is True
    assert summary["labels"] == ["Where are you?"]
    assert {"type", "name", "label"} <= set(summary["columns"])
    assert summary["languages"] == ["English (en)", "French (fr)"]
    assert summary["row_count"] == 1
    assert summary["default_translation"] == "English (en)"


async def test_4_3_lists_the_files_the_requesting_user_has_imported(
    harness: ImportHarness, service: Service
) -> None:
    """The requester's imports, in the envelope."""
    sent = [await harness.send(xlsx(survey=SURVEY), name=name) for name in ("one", "two")]
    body = await harness.get(PATH)
    assert (body["count"], body["next"], body["previous"]) == (2, None, None)
    assert [record["url"] for record in body["results"]] == sent


async def test_4_3_allowed_methods(service: Service) -> None:
    """GET, POST, HEAD, OPTIONS."""
    for method in ("GET", "HEAD", "OPTIONS"):
        answer = await service.request(method, PATH)
        assert (answer.status_code, answer.headers["Allow"]) == (200, "GET, POST, HEAD, OPTIONS")


async def test_4_3_anonymous_list_is_empty(service: Service, harness: ImportHarness) -> None:
    """Empty for anonymous callers."""
    await harness.send(xlsx())
    body = (await service.get(PATH)).json()
    assert body == {"count": 0, "next": None, "previous": None, "results": []}


async def test_4_3_a_user_with_no_imports(harness: ImportHarness) -> None:
    """count 0, next null, previous null, no records."""
    assert await harness.get(PATH) == {"count": 0, "next": None, "previous": None, "results": []}


async def test_4_3_the_list_depends_on_the_caller(service: Service, harness: ImportHarness) -> None:
    """Section 5: only the requester's imports; another user's is 404."""
    url = await harness.send(xlsx())
    other = {"Authorization": f"Bearer {await service.create_token()}"}
    assert (await service.get(PATH, headers=other)).json()["count"] == 0
    assert (await service.get(url, headers=other)).status_code == 404
