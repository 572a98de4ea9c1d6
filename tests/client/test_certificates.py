"""Servers with TLS are verified, although the authorities are loaded late."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
import trustme
from fieldgate_client import Client, ConnectionFailed
from fieldgate_client.certificates import LazyCertificates
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.retries import RetryPolicy

ONE_ATTEMPT = ConnectionOptions(retries=RetryPolicy(attempts=1))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b'{"count": 1, "next": null, "results": [{"id": 5}]}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def url(authority: trustme.CA) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"https://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_unknown_authority_is_refused(url: str) -> None:
    with Client(url, options=ONE_ATTEMPT) as client, pytest.raises(ConnectionFailed, match="certificate verify failed"):
        list(client.events())


def test_an_authority_of_the_environment_is_trusted(
    url: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with Client(url, options=ONE_ATTEMPT) as client:
        assert [event.id for event in client.events()] == [5]
    with (
        Client(url.replace("localhost", "127.0.0.1"), options=ONE_ATTEMPT) as client,
        pytest.raises(ConnectionFailed, match="certificate verify failed"),
    ):
        list(client.events())


def test_settings_are_those_of_httpx() -> None:
    lazy, usual = LazyCertificates(), httpx.create_ssl_context()
    for context in (lazy, lazy._loaded):
        assert context.check_hostname is usual.check_hostname is True
        assert context.verify_mode is usual.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version == usual.minimum_version
    assert lazy._loaded.get_ca_certs() == usual.get_ca_certs()
    assert lazy.get_ca_certs() == []
