"""Errors of the remote server, and retries."""

from typing import Any

import httpx
import pytest

from fieldgate.events.sync import remote
from fieldgate.events.sync.remote import RemoteError, RemoteServer
from tests.events.sync.conftest import SyncTarget


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(401, json={"detail": "Invalid token."}), "answered 401"),
        (httpx.Response(404), "answered 404"),
        (httpx.Response(200, text="<html>"), "did not return JSON of this API"),
        (httpx.Response(200, json={"hello": 1}), "did not return a list of this API"),
        (httpx.Response(503), "answered 503, 8 times. Run the command again later"),
        (httpx.ConnectError("refused"), "is unreachable: refused, 8 times"),
    ],
    ids=str,
)
async def test_unusable_servers(target: SyncTarget, response: Any, message: str) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return httpx.Response(response.status_code, content=response.content)

    with pytest.raises(RemoteError, match=message):
        await target.sync(httpx.MockTransport(respond))


def test_retry_delay() -> None:
    assert remote._retry_delay(3, None) <= remote.MAX_BACKOFF_SECONDS
    assert remote._retry_delay(0, 5.0) == 5
    assert remote._retry_delay(0, 1e9) == remote.MAX_RETRY_AFTER_SECONDS
    assert remote._parse_retry_after("12") == 12
    assert remote._parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert remote._parse_retry_after("soon") is None


@pytest.mark.parametrize(
    ("base_url", "source"),
    [
        ("https://goadmin.ifrc.org/", "https://goadmin.ifrc.org"),
        ("HTTP://amina:secret@Example.org:80/api/v2/", "http://example.org"),
        ("http://127.0.0.1:8000/go/api/v2", "http://127.0.0.1:8000/go"),
    ],
)
async def test_stored_name_of_a_source(base_url: str, source: str) -> None:
    async with RemoteServer(base_url) as server:
        assert server.source == source


def test_url_that_is_too_long() -> None:
    with pytest.raises(RemoteError, match="not be longer than 500 characters"):
        RemoteServer("https://example.org/" + "x" * 500)
