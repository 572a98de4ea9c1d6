"""Servers that try to get at the token or the terminal."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fieldgate_client.cli.stored_servers import StoredServer, StoredServers, save_servers

from tests.client.cli.conftest import RunClient

TOKEN = "fgt_very-secret"


class StandIn:
    """Answers every request in the same way, and keeps the credentials that it got."""

    def __init__(self, status: int, headers: dict[str, str], body: str) -> None:
        self.status, self.headers, self.body = status, headers, body
        self.credentials: list[str | None] = []
        self.url = ""
        self.posted = (405, "{}")


@contextmanager
def stand_in(status: int, body: object, headers: dict[str, str] | None = None) -> Iterator[StandIn]:
    answer = StandIn(
        status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(body, ensure_ascii=False)
    )

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer.credentials.append(self.headers.get("Authorization"))
            self._answer(answer.status, answer.body.replace("ECHO", self.headers.get("Authorization") or "nothing"))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer(*answer.posted)

        def _answer(self, status: int, body: str) -> None:
            content = body.encode()
            self.send_response(status)
            for name, value in {**answer.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        answer.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield answer
        finally:
            server.shutdown()
            thread.join()


def test_token_that_the_server_repeats_is_hidden(run: RunClient, config: Path) -> None:
    with stand_in(400, {"detail": "bad header: ECHO \x1b]0;owned\x07\x9b2J\nsecond line"}) as server:
        save_servers(config, StoredServers("x", {"x": StoredServer(server.url, TOKEN)}))
        for more in ((), ("--debug",)):
            done = run("fetch", "event/", "--out", "-", *more)
            assert done.code == 1
            assert server.credentials[-1] == f"Token {TOKEN}"
            assert TOKEN not in done.out + done.err
            assert "bad header: Token [hidden]" in done.err
            assert not any(ord(each) < 32 and each != "\n" for each in done.err)
        assert done.err.splitlines()[-1].endswith("second line (status 400)"), "on one line"


def test_token_does_not_follow_redirects_to_others(run: RunClient, config: Path) -> None:
    body: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}
    with stand_in(200, body) as other, stand_in(302, {}, {"Location": f"{other.url}/api/v2/event/"}) as server:
        save_servers(config, StoredServers("x", {"x": StoredServer(server.url, TOKEN)}))
        run("fetch", "event/", "--out", "-")
        assert server.credentials == [f"Token {TOKEN}"]
        assert set(other.credentials) <= {None}


def test_stored_token_is_for_its_server_only(run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}
    with stand_in(200, body) as other, stand_in(200, body) as own:
        save_servers(config, StoredServers("x", {"x": StoredServer(own.url, TOKEN)}))
        monkeypatch.setenv("FIELDGATE_TOKEN", "from-the-environment")
        done = run("fetch", f"{other.url}/api/v2/list/", "--out", "-")
        assert done.code == 0
        assert "FIELDGATE_TOKEN is not used" in done.err
        assert run("fetch", f"{own.url}/api/v2/list/", "--out", "-").code == 0
        assert set(other.credentials) == {None}
        assert set(own.credentials) == {f"Token {TOKEN}"}


def test_token_from_a_server_like_ifrc_go(run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no `/token/`, and answers 400 to a wrong password."""
    with stand_in(404, {"detail": "Not found."}) as server:
        for status, body in ((400, {"statusCode": 400, "error_message": "Wrong."}), (200, {"token": TOKEN})):
            server.posted = (status, json.dumps(body))
            monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
            done = run("login", server.url, "--username", "amina")
            if status == 400:
                assert (done.code, done.err) == (3, "fieldgate-client login: error: Wrong. (status 400)\n")
        assert server.credentials[-1] == f"Token {TOKEN}", "checked before it is stored"
        assert (done.code, config.exists()) == (1, False), "the stand-in has no lists"


def test_password_is_not_sent_after_a_redirect(run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in(200, {"token": "x"}) as other, stand_in(302, {}, {"Location": f"{other.url}/token/"}) as server:
        monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
        done = run("login", server.url, "--username", "amina")
        assert done.code == 4
        assert "redirects to" in done.err
        assert other.credentials == []
        assert not config.exists()


@pytest.mark.parametrize("token", ["", "two words", "a\r\nX-Evil: 1", None, 7])
def test_answer_that_is_no_token(run: RunClient, config: Path, monkeypatch: pytest.MonkeyPatch, token: object) -> None:
    with stand_in(200, {"token": token}) as server:
        monkeypatch.setattr("sys.stdin", io.StringIO("password\n"))
        done = run("login", server.url, "--username", "amina")
        assert done.code != 0
        assert not config.exists()
