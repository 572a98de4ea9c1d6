"""Base URLs, allowed hosts and proxies."""

import ipaddress
import socket
from typing import Any

import pytest

from fieldgate.errors import BadRequest
from fieldgate.http.request.hosts import HostPolicy, default_hosts
from fieldgate.runtime.client_networks import is_in_networks
from fieldgate.settings import Settings
from tests.conftest import StartService

PROXY = (ipaddress.ip_network("10.0.0.0/8"),)


def base(settings: dict[str, Any], peer: str = "192.0.2.1", **headers: str) -> str:
    raw = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return HostPolicy(Settings(**settings)).base_url_for("http", peer, raw).url


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", "http://localhost"),
        ("LOCALHOST:8000", "http://localhost:8000"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("127.0.0.1:80", "http://127.0.0.1"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("any.localhost", "http://any.localhost"),
    ],
)
def test_base_url_from_the_host_header(host: str, expected: str) -> None:
    assert base({}, host=host) == expected


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.evil.example", "local host", "localhost:port", "localhost:8000:1", "local/host",
     "localhost#", "localhost@evil.example", "<script>", "localhost:123456", "[::1", "-localhost", "localhost\\evil"],
)  # fmt: skip
def test_other_hosts_are_refused(host: str) -> None:
    with pytest.raises(BadRequest):
        base({}, host=host)


def test_allowed_hosts() -> None:
    allowed = {"allowed_hosts": ("field.example", ".camp.example")}
    for host in (
        "field.example",
        "Field.Example:8443",
        "camp.example",
        "a.b.camp.example",
        "field.example.",
    ):
        assert base(allowed, host=host).lower() == f"http://{host.lower()}"
    for host in ("localhost", "notcamp.example", "xfield.example"):
        with pytest.raises(BadRequest):
            base(allowed, host=host)
    assert base({"allowed_hosts": ("*",)}, host="whatever.example") == "http://whatever.example"


def test_configured_base_url_wins_and_its_host_is_allowed() -> None:
    fixed = {"base_url": "https://field.example/gate"}
    assert base(fixed, host="field.example") == "https://field.example/gate"
    assert base(fixed, host="localhost:8000") == "https://field.example/gate"
    assert base({**fixed, "trusted_proxies": PROXY}, peer="10.0.0.1", host="localhost",
                x_forwarded_proto="http") == "https://field.example/gate"  # fmt: skip


TRUSTED: dict[str, Any] = {"trusted_proxies": PROXY, "allowed_hosts": ("field.example",)}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "http://field.example"),
        ({"x_forwarded_proto": "https"}, "https://field.example"),
        ({"x_forwarded_proto": "HTTPS", "x_forwarded_port": "443"}, "https://field.example"),
        ({"x_forwarded_proto": "https", "x_forwarded_port": "8443"}, "https://field.example:8443"),
        (
            {"x_forwarded_host": "field.example:9443", "x_forwarded_port": "1"},
            "http://field.example:9443",
        ),
        ({"x_forwarded_prefix": "/gate/"}, "http://field.example/gate"),
        ({"x_forwarded_prefix": "/a/b", "x_forwarded_proto": "https"}, "https://field.example/a/b"),
        ({"x_forwarded_host": "evil.example, field.example"}, "http://field.example"),
        ({"x_forwarded_proto": "http, https"}, "https://field.example"),
    ],
)
def test_forwarded_headers_of_a_trusted_proxy(headers: dict[str, str], expected: str) -> None:
    assert base(TRUSTED, peer="10.1.2.3", host="field.example", **headers) == expected
    assert base(TRUSTED, peer="::ffff:10.1.2.3", host="field.example", **headers) == expected


@pytest.mark.parametrize(
    "headers",
    [
        {"x_forwarded_host": "evil.example"},
        {"x_forwarded_proto": "javascript"},
        {"x_forwarded_port": "80x"},
        {"x_forwarded_prefix": "//evil.example"},
        {"x_forwarded_prefix": "/a b"},
        {"x_forwarded_prefix": "/../.."},
        {"x_forwarded_prefix": "/a/./b"},
        {"x_forwarded_port": "65536"},
        {"x_forwarded_prefix": "gate"},
    ],
)
def test_invalid_forwarded_headers_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(BadRequest):
        base(TRUSTED, peer="10.1.2.3", host="field.example", **headers)


def test_forwarded_headers_of_others_are_ignored() -> None:
    forwarded = {
        "x_forwarded_proto": "https",
        "x_forwarded_host": "evil.example",
        "x_forwarded_prefix": "/evil",
    }
    assert base(TRUSTED, host="field.example", **forwarded) == "http://field.example"
    assert base({}, host="localhost", **forwarded) == "http://localhost"


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.7, 10.9.9.9", "198.51.100.7"),
        ("10.0.0.1", "10.2.2.2", "10.2.2.2"),
        ("10.0.0.1", "198.51.100.7:5555", "198.51.100.7"),
        ("10.0.0.1", "[2001:db8::7]:5555", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "nonsense", ""),
        ("10.0.0.1", "198.51.100.7, nonsense", ""),
    ],
)
def test_client_address(peer: str, header: str, expected: str) -> None:
    assert (
        HostPolicy(Settings(**TRUSTED)).client_address(peer, {b"x-forwarded-for": header.encode()})
        == expected
    )


def test_default_hosts_when_bound_to_all() -> None:
    hosts = default_hosts(Settings(host="0.0.0.0"))
    assert socket.gethostname().lower() in hosts
    assert "127.0.0.1" in hosts
    assert "0.0.0.0" not in hosts
    assert "10.9.8.7" in default_hosts(Settings(host="10.9.8.7"))
    assert "[fd00::7]" in default_hosts(Settings(host="fd00::7"))


def test_is_in_networks() -> None:
    assert not is_in_networks("nonsense", PROXY)
    assert not is_in_networks("::1", PROXY)
    assert is_in_networks("::ffff:10.0.0.1", PROXY)


async def test_links_behind_a_proxy_with_prefix_and_https(start: StartService) -> None:
    loopback = (ipaddress.ip_network("127.0.0.0/8"),)
    async with start(
        trusted_proxies=loopback, allowed_hosts=("field.example", "127.0.0.1")
    ) as service:
        headers = {
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "field.example",
            "X-Forwarded-Prefix": "/gate",
            "X-Request-ID": "from-the-proxy",
        }
        answer = await service.get("/api/v2/permissions/?limit=3", headers=headers)
        body = answer.json()
        assert body["next"] == "https://field.example/gate/api/v2/permissions/?limit=3&offset=3"
        assert (
            body["results"][0]["url"]
            == "https://field.example/gate/api/v2/permissions/add_submissions/"
        )
        assert answer.headers["X-Request-ID"] == "from-the-proxy"
        page = await service.get("/api/v2/permissions/?format=api", headers=headers)
        assert 'href="/gate/static/' in page.text


async def test_other_host_is_refused_except_for_health_checks(start: StartService) -> None:
    async with start() as service:
        for host in ("evil.example", "a b"):
            answer = await service.get(
                "/api/v2/permissions/", headers={"Host": host, "Accept-Language": "fr"}
            )
            assert answer.status_code == 400
            assert answer.json() == {
                "detail": "Ce service ne répond pas pour l'hôte de la requête."
            }
        for path in ("/healthz", "/readyz"):
            assert (await service.get(path, headers={"Host": "evil.example"})).status_code == 200
        assert (await service.get("/nowhere", headers={"Host": "evil.example"})).status_code == 400
