"""Addresses that people write: of servers, lists and records."""

from typing import Any

import pytest
from fieldgate_client import Client, InvalidURL
from fieldgate_client.server_url import ListAddress, resolve_address

from tests.client.stand_ins.loopback_server import LoopbackServer, json_reply

SERVER = "https://field.example"
FILTER = (("dtype", "12"), ("search", "a b"))


@pytest.mark.parametrize(
    ("text", "path", "query"),
    [
        ("event/", "/api/v2/event/", ()),
        ("/api/v2/event/", "/api/v2/event/", ()),
        ("event/?dtype=12&search=a+b", "/api/v2/event/", FILTER),
        ("/token/?dtype=12&search=a%20b", "/token/", FILTER),
        (f"{SERVER}/api/v2/event/?dtype=12&search=a+b", "/api/v2/event/", FILTER),
    ],
)
def test_paths_and_queries(text: str, path: str, query: tuple[tuple[str, str], ...]) -> None:
    assert resolve_address(text, SERVER) == ListAddress(SERVER, path, query)


def test_other_servers_are_refused() -> None:
    with pytest.raises(InvalidURL, match="the token is only sent there"):
        resolve_address("https://other.example/api/v2/event/", SERVER)


def test_filters_of_an_address_are_sent() -> None:
    """Without them, everything would come back. What belongs to one page in a browser is left out."""
    empty: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}
    with LoopbackServer(lambda _: json_reply(empty)) as server, Client(server.base_url) as client:
        address = (
            f"{server.base_url}/api/v2/event/?dtype=12&limit=20&offset=40&format=api&search=flood"
        )
        client.list(address, search="cyclone").first()
        wanted = {"dtype": "12", "search": "cyclone", "limit": "1", "offset": "0", "start": "0"}
        assert server.requests[-1].query == wanted
        client.get(f"{server.base_url}/api/v2/event/7/?language=fr")
        assert server.requests[-1].target == "/api/v2/event/7/?language=fr"


def test_credentials_are_not_repeated() -> None:
    for text in ("https://amina:secret@field.example:1x/", "https://amina:secret@[::/"):
        with pytest.raises(InvalidURL, match="//") as refused:
            Client(text)
        assert "secret" not in str(refused.value)


def test_paths_that_leave_the_server_are_refused() -> None:
    with pytest.raises(InvalidURL, match="in its path"):
        resolve_address(
            "https://field.example/kobo/../other/api/v2/event/", "https://field.example/kobo"
        )
