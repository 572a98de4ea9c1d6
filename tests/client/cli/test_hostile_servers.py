"""Servers that try to get at the token or the terminal."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from fieldgate_client.cli.stored_servers import StoredServer, StoredServers, save_servers

from tests.client.cli.conftest import RunClient
from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

TOKEN = "fgt_very-secret"


class StandIn(LoopbackServer):
    """Answers every GET in the same way, with the credentials that it got in place of ECHO."""

    def __init__(self, status: int, body: object, **headers: str) -> None:
        super().__init__(self.answer)
        self.status, self.text, self.headers = status, json.dumps(body, ensure_ascii=False), headers
        self.posted: Reply = json_reply({}, 405)

    def answer(self, request: ReceivedRequest) -> Reply:
        if request.method == "POST":
            return self.posted
        text = self.text.replace("ECHO", request.headers.get("authorization", "nothing"))
        return Reply(self.status, text.encode(), (*self.headers.items(),))

    @property
    def credentials(self) -> list[str | None]:
        return [
            request.headers.get("authorization")
            for request in self.requests
            if request.method == "GET"
        ]


def test_token_that_the_server_repeats_is_hidden(run: RunClient, config: Path) -> None:
    with StandIn(400, {"detail": "bad header: ECHO \x1b]0;owned\x07\x9b2J\nsecond line"}) as server:
        save_servers(config, StoredServers("x", {"x": StoredServer(server.base_url, TOKEN)}))
        for more in ((), ("--debug",)):
            done = run("fetch", "event/", "--out", "-", *more)
            assert done.code == 1
            assert server.credentials[-1] == f"Token {TOKEN}"
            assert TOKEN not in done.out + done.err
            assert "bad header: Token [hidden]" in done.err
            assert not any(ord(each) < 32 and each != "\n" for each in done.err)
        assert done.err.splitlines()[-1].endswith("second line (status 400)"), "on one line"


def test_stored_token_is_for_its_server_only(
    run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}
    with StandIn(200, body) as other, StandIn(200, body) as own:
        save_servers(config, StoredServers("x", {"x": StoredServer(own.base_url, TOKEN)}))
        monkeypatch.setenv("FIELDGATE_TOKEN", "from-the-environment")
        done = run("fetch", f"{other.base_url}/api/v2/list/", "--out", "-")
        assert done.code == 0
        assert "FIELDGATE_TOKEN is not used" in done.err
        assert run("fetch", f"{own.base_url}/api/v2/list/", "--out", "-").code == 0
        assert set(other.credentials) == {None}
        assert set(own.credentials) == {f"Token {TOKEN}"}


def test_token_from_a_server_like_ifrc_go(
    run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no `/token/`, and answers 400 to a wrong password."""
    with StandIn(404, {"detail": "Not found."}) as server:
        for status, body in (
            (400, {"statusCode": 400, "error_message": "Wrong."}),
            (200, {"token": TOKEN}),
        ):
            server.posted = json_reply(body, status)
            monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
            done = run("login", server.base_url, "--username", "amina")
            if status == 400:
                assert (done.code, done.err) == (
                    3,
                    "fieldgate-client login: error: Wrong. (status 400)\n",
                )
        assert server.credentials[-1] == f"Token {TOKEN}", "checked before it is stored"
        assert (done.code, config.exists()) == (1, False), "the stand-in has no lists"


def test_password_is_not_sent_after_a_redirect(
    run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        StandIn(200, {"token": "x"}) as other,
        StandIn(302, {}, Location=f"{other.base_url}/token/") as server,
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
        done = run("login", server.base_url, "--username", "amina")
        assert done.code == 4
        assert "redirects to" in done.err
        assert other.credentials == []
        assert not config.exists()


@pytest.mark.parametrize("token", ["", "two words", "a\r\nX-Evil: 1", None, 7])
def test_answer_that_is_no_token(
    run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch, token: object
) -> None:
    with StandIn(200, {"token": token}) as server:
        monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
        done = run("login", server.base_url, "--username", "amina")
        assert done.code != 0
        assert not config.exists()
