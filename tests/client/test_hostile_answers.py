"""Servers that answer nonsense: every walk ends with a clear error, and the token stays where it belongs."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fieldgate_client import AsyncClient, Client, response_body
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import (
    ConnectionFailed,
    IncompleteList,
    NotAuthenticated,
    UnexpectedResponse,
)
from fieldgate_client.pages import Page
from fieldgate_client.retries import RetryPolicy
from fieldgate_client.walk import Walk, WalkOptions

from tests.client.quick_retries import QUICK
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)
from tests.imports.workbooks import xlsx

SECRET = "secret-token-of-amina"


def numbers(request: ReceivedRequest) -> tuple[int, int]:
    return int(request.query.get("offset", 0)), int(request.query.get("limit", 50))


def envelope(offset: int, limit: int, ids: range, **more: Any) -> Reply:
    next_ = f"http://other.example/api/v2/event/?limit={limit}&offset={offset + limit}"
    return json_reply(
        {
            "count": 100,
            "next": next_,
            "previous": None,
            "results": [{"id": id_} for id_ in ids],
            **more,
        }
    )


def same_page_for_ever(request: ReceivedRequest) -> Reply:
    offset, limit = numbers(request)
    return envelope(offset, limit, range(limit))


def same_link_for_ever(request: ReceivedRequest) -> Reply:
    return envelope(0, numbers(request)[1], range(numbers(request)[1]))


def endless_list(request: ReceivedRequest) -> Reply:
    offset, limit = numbers(request)
    return envelope(offset, limit, range(offset, offset + limit))


def endless_empty_pages(request: ReceivedRequest) -> Reply:
    return envelope(*numbers(request), range(0), count=None)


def count_too_high(request: ReceivedRequest) -> Reply:
    offset, limit = numbers(request)
    return envelope(offset, limit, range(offset, min(60, offset + limit)), count=10**15, next=None)


def count_too_low(request: ReceivedRequest) -> Reply:
    offset, limit = numbers(request)
    last = {"next": None} if offset + limit >= 100 else {}
    return envelope(offset, limit, range(offset, min(100, offset + limit)), count=30, **last)


def negative_count(request: ReceivedRequest) -> Reply:
    return envelope(*numbers(request), range(5), count=-5, next=None)


def page_left_out(request: ReceivedRequest) -> Reply:
    """Every page lacks one record, although the server counts it."""
    offset, limit = numbers(request)
    last = {"next": None} if offset + limit >= 100 else {}
    return envelope(offset, limit, range(offset + 1, min(100, offset + limit)), **last)


def no_offset_in_links(request: ReceivedRequest) -> Reply:
    return envelope(*numbers(request), range(7), next="http://other.example/?page=2")


ENDLESS: list[Callable[[ReceivedRequest], Reply]] = [
    same_page_for_ever,
    same_link_for_ever,
    endless_list,
    endless_empty_pages,
    count_too_high,
    count_too_low,
    negative_count,
    page_left_out,
    no_offset_in_links,
]


@pytest.mark.parametrize("respond", ENDLESS)
@pytest.mark.parametrize(("has_version", "ordering"), [(True, "id"), (False, "")])
async def test_walks_end_with_an_error(
    respond: Callable[[ReceivedRequest], Reply], has_version: bool, ordering: str
) -> None:
    version = (("Fieldgate-Data-Version", "1"),) if has_version else ()
    with LoopbackServer(
        lambda request: msgspec.structs.replace(respond(request), headers=version)
    ) as server:
        async with AsyncClient(
            server.base_url, SECRET, page_size=20, concurrency=8, options=QUICK
        ) as client:
            found = []
            with pytest.raises((IncompleteList, UnexpectedResponse)):
                async for record in client.list("event/", ordering=ordering or None):
                    found.append(record["id"])
            assert len(found) == len(set(found))
        assert len(server.requests) < 1200
        assert all(
            request.headers["host"] == server.base_url.removeprefix("http://")
            for request in server.requests
        )


def endless_after_its_end(request: ReceivedRequest) -> Reply:
    offset, limit = numbers(request)
    return envelope(offset, limit, range(offset, offset + limit), count=40)


async def test_a_list_that_goes_on_after_its_end() -> None:
    with LoopbackServer(endless_after_its_end) as server:
        async with AsyncClient(
            server.base_url, page_size=20, concurrency=1, options=QUICK
        ) as client:
            with pytest.raises(IncompleteList, match="goes on after the end"):
                [record async for record in client.list("event/")]
        assert len(server.requests) <= 6, "a page more can be one of new records"


async def test_a_list_that_takes_too_long() -> None:
    class SilentSource:
        async def fetch_page(self, offset: int, limit: int, ordering: str) -> Page:
            await asyncio.Event().wait()
            raise AssertionError((offset, limit, ordering))

    with pytest.raises(IncompleteList, match=r"took longer than 0\.01 s"):
        [page async for page in Walk(SilentSource(), WalkOptions(timeout=0.01)).pages()]
    options = msgspec.structs.replace(QUICK, list_timeout=1e-9)
    with LoopbackServer(endless_list) as server:
        async with AsyncClient(server.base_url, page_size=20, options=options) as client:
            with pytest.raises(IncompleteList, match="took longer"):
                [record async for record in client.list("event/")]


@pytest.mark.parametrize(("start", "stop"), [(0, 10), (5, 25), (20, None)])
async def test_slices_of_a_server_that_ignores_the_limit(start: int, stop: int | None) -> None:
    def respond(request: ReceivedRequest) -> Reply:
        offset, _ = numbers(request)
        last = {"next": None} if offset + 20 >= 100 else {}
        return envelope(offset, 20, range(offset, min(100, offset + 20)), **last)

    with LoopbackServer(respond) as server:
        async with AsyncClient(server.base_url, page_size=7, options=QUICK) as client:
            found = [record["id"] async for record in client.list("event/")[start:stop]]
    assert found == [*range(100)][start:stop]


async def test_a_slice_that_lacks_records_is_reported() -> None:
    with LoopbackServer(page_left_out) as server:
        async with AsyncClient(server.base_url, page_size=10, options=QUICK) as client:
            with pytest.raises(IncompleteList):
                [record async for record in client.list("event/")[5:45]]
            assert [record async for record in client.list("event/")[500:]] == []


BODIES = {
    "10,000 levels": b'{"count":1,"next":null,"results":[' + b"[" * 10_000 + b"]" * 10_000 + b"]}",
    "10,000 levels, not a list": b"[" * 10_000,
    "a text": b'"results"',
    "another object": b'{"id": 5}',
    "results without a list": b'{"count":1,"next":null,"results":{"id":1}}',
    "count as text": b'{"count":"1","next":null,"results":[]}',
    "next as number": b'{"count":1,"next":5,"results":[]}',
    "not UTF-8": b'{"count":1,"next":null,"results":[{"id":1,"name":"\xff"}]}',
    "NaN": b'{"count":NaN,"next":null,"results":[]}',
    "a huge number": b'{"count":1' + b"0" * 5000 + b',"next":null,"results":[]}',
    "nothing": b"",
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_are_no_list(name: str) -> None:
    with LoopbackServer(
        lambda request: Reply(200, BODIES[name], (("X-Request-Id", "r1"),))
    ) as server:
        with (
            Client(server.base_url, SECRET, options=QUICK) as client,
            pytest.raises(UnexpectedResponse) as failed,
        ):
            [*client.events()]
        assert (failed.value.status, failed.value.request_id) == (200, "r1")
        assert len(server.requests) <= 8


@pytest.mark.parametrize(
    "record", [b'{"id":1,"name":5,"countries":{}}', b"[]", b'"x"', b'{"id":"abc"}']
)
def test_records_of_other_types(record: bytes) -> None:
    body = b'{"count":1,"next":null,"results":[%b]}' % record
    with (
        LoopbackServer(lambda request: Reply(200, body)) as server,
        Client(server.base_url, options=QUICK) as client,
    ):
        for read in (lambda: [*client.events()], lambda: client.events().first()):
            with pytest.raises(UnexpectedResponse, match="is not as expected"):
                read()


def test_a_body_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_body, "MAX_BODY_BYTES", 1_000_000)
    with LoopbackServer(lambda request: Reply(200, b" " * 1_100_000)) as server:
        with (
            Client(server.base_url, options=QUICK) as client,
            pytest.raises(UnexpectedResponse, match="larger than"),
        ):
            [*client.events()]
        assert len(server.requests) == 1


def redirect(location: str, status: int = 302) -> Reply:
    return Reply(status, headers=(("Location", location),))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_other_servers_are_refused(status: int) -> None:
    """There the token would be missing, and lists would silently be shorter."""
    with LoopbackServer(
        lambda request: json_reply({"count": 0, "next": None, "results": []})
    ) as other:
        target = other.base_url + "/api/v2/event/?limit=1000&offset=0"
        with LoopbackServer(lambda request: redirect(target, status)) as server:
            with Client(server.base_url, SECRET, options=QUICK) as client:
                with pytest.raises(ConnectionFailed, match="redirects to") as failed:
                    [*client.events()]
                assert other.base_url in str(failed.value)
                assert SECRET not in str(failed.value)
            assert len(server.requests) == 1
        assert other.requests == []


@pytest.mark.parametrize(
    "location", ["http://[", "ftp://other.example/", "//other.example/", "http://user:pw@x/"]
)
def test_redirects_to_nowhere(location: str) -> None:
    with (
        LoopbackServer(lambda request: redirect(location)) as server,
        Client(server.base_url, SECRET, options=QUICK) as client,
        pytest.raises(ConnectionFailed),
    ):
        client.events().first()


def test_the_token_is_in_no_message() -> None:
    with LoopbackServer(lambda request: json_reply({"detail": "Invalid token."}, 401)) as server:
        with Client(server.base_url, f" {SECRET}\n", options=QUICK) as client:
            with pytest.raises(NotAuthenticated) as failed:
                client.events().first()
            assert SECRET not in f"{failed.value!r} {failed.value} {client!r} {client.events()!r}"
        assert server.requests[0].headers["authorization"] == f"Token {SECRET}"


async def test_the_answer_to_an_earlier_request_is_refused() -> None:
    """The last page, which has no next one, is sent twice."""
    answers: dict[int, Reply] = {}

    def respond(request: ReceivedRequest) -> Reply:
        offset, limit = numbers(request)
        if offset == 50 and 90 not in answers:
            return Reply(503)
        if offset == 50 and 50 not in answers:
            answers[50] = answers[90]
            return answers[90]
        last = {"next": None} if offset + limit >= 100 else {}
        previous = f"/?limit={limit}&offset={offset - limit}" if offset else None
        reply = envelope(offset, limit, range(offset, offset + limit), **last, previous=previous)
        answers[offset] = msgspec.structs.replace(reply, headers=(("Fieldgate-Data-Version", "1"),))
        return answers[offset]

    with LoopbackServer(respond) as server:
        options = ConnectionOptions(retries=RetryPolicy(first_pause=0.05, longest_pause=0.05))
        async with AsyncClient(
            server.base_url, page_size=10, concurrency=10, options=options
        ) as client:
            records = client.list("event/")
            assert [record["id"] async for record in records] == [*range(100)]
            assert records.report.passes == 1


def test_a_workbook_that_is_cut_off_is_not_saved(tmp_path: Path) -> None:
    file = tmp_path / "form.xlsx"
    file.write_bytes(b"before")
    content = xlsx()

    def respond(request: ReceivedRequest) -> Reply:
        return Reply(200, content[: len(content) // 2]) if "assets" in request.path else Reply(404)

    refused = pytest.raises(UnexpectedResponse, match="complete Excel workbook")
    with (
        LoopbackServer(respond) as server,
        Client(server.base_url, options=QUICK) as client,
        refused,
    ):
        client.download_form("aAbc", file)
    assert file.read_bytes() == b"before"
