"""Behind a real nginx with the shipped configuration."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme

from fieldgate.runtime.process_limits import raise_file_limit
from tests.imports.workbooks import xlsx
from tests.processes import TIMEOUT_SECONDS, ServerProcess, free_port

RUNNING = (Path(__file__).parents[2] / "docs" / "running.md").read_text()
CONFIG = Path(__file__).parents[2] / "packaging" / "nginx.conf"
TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
HOST = "field.example.org"
IMPORTS = "/api/v2/imports/"
MEBIBYTE = 1024 * 1024


class Proxied:
    """The service behind nginx, and a client of the proxy."""

    def __init__(self, served: ServerProcess, port: int, context: ssl.SSLContext) -> None:
        self.served = served
        self.port = port
        self.context = context
        self.client = httpx.Client(
            base_url=f"https://127.0.0.1:{port}", verify=context, timeout=TIMEOUT_SECONDS
        )

    def request(self, method: str, path: str, host: str = HOST, **options: Any) -> httpx.Response:
        headers = {"Host": host, **options.pop("headers", {})}
        return self.client.request(
            method, path, headers=headers, extensions={"sni_hostname": HOST}, **options
        )


def documented_settings() -> dict[str, str]:
    block = re.search(r"```text\n(FIELDGATE_TRUSTED_PROXIES=.*?)```", RUNNING, re.DOTALL)
    assert block
    return dict(line.split("=", 1) for line in block[1].splitlines())


def nginx_config(folder: Path, port: int, backend: int) -> str:
    """The shipped configuration with other ports, certificates and folders."""
    replaced = {
        "user www-data;": "user root;" if os.geteuid() == 0 else "",
        "pid /run/nginx.pid;": f"daemon off; pid {folder}/nginx.pid;",
        "/var/log/nginx/error.log": f"{folder}/error.log",
        "access_log off;": "access_log off;"
        + "".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMPORARY),
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "server 127.0.0.1:8000": f"server 127.0.0.1:{backend}",
        "/etc/ssl/certs/field.example.org.pem": f"{folder}/certificate.pem",
        "/etc/ssl/private/field.example.org.key": f"{folder}/key.pem",
    }
    config = CONFIG.read_text()
    for old, new in replaced.items():
        assert config.count(old) == 1, old
        config = config.replace(old, new)
    return config


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    assert NGINX, "nginx is not installed; `make test` installs it."
    folder = tmp_path_factory.mktemp("nginx")
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    certificate.cert_chain_pems[0].write_to_path(folder / "certificate.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with ServerProcess(folder / "data", "--demo", environment=documented_settings()) as served:
        port = free_port()
        (folder / "nginx.conf").write_text(nginx_config(folder, port, served.port))
        process = subprocess.Popen(
            [NGINX, "-p", folder, "-c", folder / "nginx.conf"], stderr=subprocess.DEVNULL
        )
        proxied = Proxied(served, port, context)
        try:
            _wait_until_ready(proxied, process, folder)
            yield proxied
        finally:
            proxied.client.close()
            process.terminate()
            process.wait(TIMEOUT_SECONDS)


def _wait_until_ready(proxied: Proxied, process: "subprocess.Popen[bytes]", folder: Path) -> None:
    until = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            assert proxied.request("GET", "/readyz").status_code == 200
            return
        except httpx.TransportError:
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)


def authorization(proxied: Proxied) -> dict[str, str]:
    return {"Authorization": f"Token {proxied.served.printed_value('token')}"}


def test_links_have_the_forwarded_host_and_scheme(proxied: Proxied) -> None:
    for host in (HOST, f"{HOST}:8443"):
        page = proxied.request("GET", "/api/v2/permissions/?limit=1", host).json()
        assert page["next"] == f"https://{host}/api/v2/permissions/?limit=1&offset=1"
        assert page["results"][0]["url"] == f"https://{host}/api/v2/permissions/add_submissions/"


def test_upload(proxied: Proxied) -> None:
    response = proxied.request(
        "POST", IMPORTS, files={"file": ("form.xlsx", xlsx())}, headers=authorization(proxied)
    )
    assert response.status_code == 201
    assert response.headers["Location"] == f"https://{HOST}{IMPORTS}{response.json()['uid']}/"


@pytest.mark.parametrize(
    ("size", "is_ours"), [(26 * MEBIBYTE, True), (37 * MEBIBYTE, True), (41 * MEBIBYTE, False)]
)
def test_oversized_upload_is_refused(proxied: Proxied, size: int, is_ours: bool) -> None:
    """A file that is too large gets our message; nginx refuses only bodies that no valid request has."""
    response = proxied.request(
        "POST", IMPORTS, files={"file": ("form.xlsx", bytes(size))}, headers=authorization(proxied)
    )
    assert response.status_code == 413
    if is_ours:
        assert response.json() == {
            "detail": "The file is too large; at most 26214400 bytes are allowed."
        }
    else:
        assert "nginx" in response.text


def test_largest_file_in_base64_is_accepted_by_the_proxy(proxied: Proxied) -> None:
    """It is not a workbook, so our own answer is 400."""
    body = b'{"base64Encoded": "' + b"A" * (25 * MEBIBYTE * 4 // 3) + b'"}'
    headers = {**authorization(proxied), "Content-Type": "application/json"}
    response = proxied.request("POST", IMPORTS, content=body, headers=headers)
    assert (response.status_code, list(response.json())) == (400, ["base64Encoded"])


def test_unknown_forwarded_host_is_refused_and_logged(proxied: Proxied) -> None:
    response = proxied.request("GET", "/api/v2/permissions/", "evil.example")
    assert response.status_code == 400
    assert response.json() == {
        "detail": "This service is not configured for the host of the request."
    }
    proxied.served.log_entry(response.headers["X-Request-ID"])
    lines = [json.loads(line) for line in proxied.served.log.splitlines() if "evil.example" in line]
    assert [(line["level"], line["event"]) for line in lines] == [
        (
            "warning",
            "Refused a request because X-Forwarded-Host is 'evil.example', which is not an allowed host. "
            "If this service should answer for it, add it to FIELDGATE_ALLOWED_HOSTS.",
        )
    ]


def test_client_cannot_forge_forwarded_headers(proxied: Proxied) -> None:
    forged = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Port": "81",
        "X-Forwarded-Prefix": "/evil",
        "X-Forwarded-For": "192.0.2.1",
        "X-Request-ID": "forged",
    }
    response = proxied.request("GET", "/api/v2/permissions/?limit=1", headers=forged)
    assert response.json()["next"] == f"https://{HOST}/api/v2/permissions/?limit=1&offset=1"
    entry = proxied.served.log_entry(response.headers["X-Request-ID"])
    assert entry["request_id"] != "forged"
    # nginx appended the address it saw. It is the proxy's own address here, so the one before it counts.
    assert entry["client"] == "192.0.2.1"


@pytest.mark.nightly
def test_silent_connections_are_closed(proxied: Proxied) -> None:
    """5,000 of them keep nobody out, and nginx closes them."""
    raise_file_limit()
    with ExitStack() as stack:
        silent = [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", proxied.port), TIMEOUT_SECONDS)
            )
            for _ in range(5_000)
        ]
        assert proxied.request("GET", "/api/v2/permissions/").status_code == 200
        for connection in silent:
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""
        assert proxied.request("GET", "/api/v2/permissions/").status_code == 200


@pytest.mark.nightly
def test_dripping_requests_of_one_address_are_limited(proxied: Proxied) -> None:
    head = f"POST /get_auth_token HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9999\r\n\r\n"
    with ExitStack() as stack:
        for _ in range(256):
            connection = socket.create_connection(
                ("127.0.0.1", proxied.port), TIMEOUT_SECONDS, ("127.0.0.2", 0)
            )
            dripping = stack.enter_context(
                proxied.context.wrap_socket(connection, server_hostname=HOST)
            )
            dripping.sendall(head.encode() + b" ")
        late = socket.create_connection(
            ("127.0.0.1", proxied.port), TIMEOUT_SECONDS, ("127.0.0.2", 0)
        )
        with proxied.context.wrap_socket(late, server_hostname=HOST) as refused:
            refused.sendall(head.encode() + b" ")
            assert refused.recv(12) == b"HTTP/1.1 429"
        assert proxied.request("GET", "/api/v2/permissions/").status_code == 200
