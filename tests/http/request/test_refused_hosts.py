"""Refused hosts in the log: enough to correct the settings, never a flood."""

import ipaddress
import logging

import pytest

from fieldgate.errors import BadRequest
from fieldgate.http.request import hosts
from fieldgate.http.request.hosts import HostPolicy, RefusedHostLog
from fieldgate.settings import Settings

ADVICE = "If this service should answer for it, add it to FIELDGATE_ALLOWED_HOSTS."


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "fieldgate.hosts")


def refuse(policy: HostPolicy, peer: str = "192.0.2.1", **headers: str) -> None:
    raw = {
        name.replace("_", "-").encode(): value.encode("latin-1") for name, value in headers.items()
    }
    with pytest.raises(BadRequest):
        policy.base_url_for("http", peer, raw)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"host": "Evil.Example:81"}, f"Host is 'evil.example', which is not an allowed host. {ADVICE}"),
        ({"host": ""}, "Host is '', which is not valid."),
        ({"host": "a\x1b[2J"}, r"Host is 'a\x1b[2J', which is not valid."),
        ({"host": "caf\xe9"}, r"Host is 'caf\xe9', which is not valid."),
        ({"host": "x" * 500}, f"Host is '{'x' * 253}', which is not an allowed host. {ADVICE}"),
        ({"host": "localhost", "x_forwarded_host": "evil.example"},
         f"X-Forwarded-Host is 'evil.example', which is not an allowed host. {ADVICE}"),
        ({"host": "localhost", "x_forwarded_proto": "gopher"}, "X-Forwarded-Proto is 'gopher', which is not valid."),
        ({"host": "localhost", "x_forwarded_port": "x"}, "X-Forwarded-Port is 'x', which is not valid."),
        ({"host": "localhost:99999"}, "Host is '99999', which is not valid."),
        ({"host": "localhost", "x_forwarded_prefix": "//a"}, "X-Forwarded-Prefix is '//a', which is not valid."),
    ],
)  # fmt: skip
def test_log_names_the_header_and_the_value(
    headers: dict[str, str], expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    policy = HostPolicy(Settings(trusted_proxies=(ipaddress.ip_network("192.0.2.1"),)))
    for _ in range(3):
        refuse(policy, **headers)
    assert caplog.messages == [f"Refused a request because {expected}"]


def test_number_of_lines_is_limited(caplog: pytest.LogCaptureFixture) -> None:
    times = [0.0]
    log = RefusedHostLog(lambda: times[0])
    for number in range(1000):
        log.unknown_host("Host", f"{number}.example")
        log.unknown_host("Host", f"{number}.example")
    assert len(caplog.messages) == hosts.MAX_LOGGED_HOSTS + 1
    assert caplog.messages[-1] == "More hosts are refused. They are not logged for 10 minutes."
    times[0] += hosts.WINDOW_SECONDS
    log.unknown_host("Host", "0.example")
    assert len(caplog.messages) == hosts.MAX_LOGGED_HOSTS + 2
    assert "'0.example'" in caplog.messages[-1]
