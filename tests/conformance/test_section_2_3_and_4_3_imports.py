"""Sections 2.3 and 4.3: the import record and the imports of the requesting user."""

import pytest

from fieldgate.imports.worker import ImportWorker
from fieldgate.settings import Settings
from tests.conftest import BASE, Service
from tests.imports.test_worker import Desk
from tests.imports.workbooks import SURVEY, xlsx

PATH = "/api/v2/imports/"
TWO_LANGUAGES = (
    ("type", "name", "label::English (en)", "label::French (fr)"),
    ("geopoint", "place", "Where are you?", "Où êtes-vous ?"),
)


@pytest.fixture
async def desk(service: Service) -> Desk:
    headers = {"Authorization": f"Token {await service.token()}"}
    return Desk(service, headers, ImportWorker(Settings(), service.database))


async def finished(desk: Desk, book: bytes, **fields: str) -> dict[str, object]:
    """The record of an import, whoever else's imports wait before it."""
    url = await desk.send(book, **fields)
    while (record := await desk.get(url))["status"] == "processing":
        assert await desk.worker.process_one()
    return record


async def test_2_3_url_is_the_address_of_the_import(desk: Desk) -> None:
    """url: {base_url}/api/v2/imports/<import_uid>/."""
    record = await desk.get(await desk.send(xlsx()))
    assert record["url"] == f"{BASE}{PATH}{record['uid']}/"


async def test_2_3_every_field_is_there_with_its_type(desk: Desk) -> None:
    """url, status, messages, uid, date_created: strings, and messages an object."""
    record = await finished(desk, xlsx())
    for name in ("url", "status", "uid", "date_created"):
        assert isinstance(record[name], str)
    assert isinstance(record["messages"], dict)


async def test_2_3_messages_hold_updated_an_array_of_objects(desk: Desk) -> None:
    """messages.updated: an array, whose elements have uid, kind, summary, owner__username."""
    first = await finished(desk, xlsx())
    assert first["messages"]["updated"] == []  # type: ignore[index]
    uid = first["messages"]["created"][0]["uid"]  # type: ignore[index]
    second = await finished(desk, xlsx(), destination=uid)
    [element] = second["messages"]["updated"]  # type: ignore[index]
    assert set(element) == {"uid", "kind", "summary", "owner__username"}
    assert all(isinstance(element[name], str) for name in ("uid", "kind", "owner__username"))
    assert element["uid"] == uid


async def test_2_3_summary_has_six_keys_with_their_types(desk: Desk) -> None:
    """geo boolean; labels, columns, languages arrays; row_count integer; default_translation string."""
    record = await finished(desk, xlsx(survey=TWO_LANGUAGES))
    summary = record["messages"]["created"][0]["summary"]  # type: ignore[index]
    assert set(summary) == {"geo", "labels", "columns", "languages", "row_count", "default_translation"}
    assert summary["geo"] is True
    assert summary["labels"] == ["Where are you?"]
    assert {"type", "name", "label"} <= set(summary["columns"])
    assert summary["languages"] == ["English (en)", "French (fr)"]
    assert summary["row_count"] == 1
    assert summary["default_translation"] == "English (en)"


async def test_4_3_lists_the_files_the_requesting_user_has_imported(desk: Desk, service: Service) -> None:
    """The requester's imports, in the envelope."""
    sent = [await desk.send(xlsx(survey=SURVEY), name=name) for name in ("one", "two")]
    body = await desk.get(PATH)
    assert (body["count"], body["next"], body["previous"]) == (2, None, None)
    assert [record["url"] for record in body["results"]] == sent


async def test_4_3_allowed_methods(service: Service) -> None:
    """GET, POST, HEAD, OPTIONS."""
    for method in ("GET", "HEAD", "OPTIONS"):
        answer = await service.request(method, PATH)
        assert (answer.status_code, answer.headers["Allow"]) == (200, "GET, POST, HEAD, OPTIONS")


async def test_4_3_an_anonymous_requester_gets_an_empty_answer(service: Service, desk: Desk) -> None:
    """Empty for the public, whatever others have imported."""
    await desk.send(xlsx())
    body = (await service.get(PATH)).json()
    assert body == {"count": 0, "next": None, "previous": None, "results": []}


async def test_4_3_a_user_with_no_imports(desk: Desk) -> None:
    """count 0, next null, previous null, no records."""
    assert await desk.get(PATH) == {"count": 0, "next": None, "previous": None, "results": []}


async def test_4_3_the_list_depends_on_who_asks(service: Service, desk: Desk) -> None:
    """Section 5: only the requester's imports; another user's is 404."""
    url = await desk.send(xlsx())
    other = {"Authorization": f"Bearer {await service.token()}"}
    assert (await service.get(PATH, headers=other)).json()["count"] == 0
    assert (await service.get(url, headers=other)).status_code == 404
