"""Errors of the remote server, and retries."""

from typing import Any

import httpx
import pytest

from fieldgate.events.sync.remote import RemoteError, RemoteServer
from fieldgate.i18n.languages import Language
from tests.events.sync.conftest import SyncTarget


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(401, json={"detail": "Invalid token."}), "answered 401"),
        (httpx.Response(404), "answered 404"),
        (httpx.Response(200, text="<html>"), "did not answer JSON of this API"),
        (httpx.Response(200, json={"hello": 1}), "did not answer JSON of this API: .* `results`"),
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


PAGE = {"count": 1, "next": None, "previous": None, "results": [{"id": 1}]}


@pytest.mark.parametrize(
    ("base_url", "token", "authorization"),
    [
        ("https://field.example", "", None),
        ("https://field.example", "t0ken", "Token t0ken"),
        ("https://amina:se%20cret@field.example", "", "Basic YW1pbmE6c2UgY3JldA=="),
    ],
)
async def test_headers_of_a_request(base_url: str, token: str, authorization: str | None) -> None:
    requests: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json=PAGE)

    async with RemoteServer(base_url, token, transport=httpx.MockTransport(respond)) as server:
        await server.list_of("event/", Language.FRENCH).fetch_page(20, 10)
    first = requests[0]
    assert first.url == "https://field.example/api/v2/event/?limit=10&offset=20&start=20"
    assert first.headers["User-Agent"].startswith("fieldgate/")
    assert (first.headers["Accept"], first.headers["Accept-Language"]) == ("application/json", "fr")
    assert first.headers.get("Authorization") == authorization


async def test_redirect_to_another_server_is_not_followed(target: SyncTarget) -> None:
    requested: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        requested.append(request.url.host)
        return httpx.Response(302, headers={"Location": "https://other.example/api/v2/event/"})

    message = r"redirects to https://other\.example/api/v2/event/.* of the server\.$"
    with pytest.raises(RemoteError, match=message):
        await target.sync(httpx.MockTransport(respond), "t0ken")
    assert requested == ["127.0.0.1"]


async def test_server_cannot_write_to_the_terminal(target: SyncTarget) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(400, json={"detail": "\x1b[2Jno\x07"})

    with pytest.raises(RemoteError, match=r"answered 400: no$"):
        await target.sync(httpx.MockTransport(respond))


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
