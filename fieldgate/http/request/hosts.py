"""The base URL of links, allowed hosts, trusted proxies and client addresses.

The base URL is `FIELDGATE_BASE_URL`, or else the host of the request. `X-Forwarded-*` headers are used only if the
request comes from `FIELDGATE_TRUSTED_PROXIES`. Other hosts than the allowed ones are refused, so that a forged
Host header cannot produce links to another service.
"""

import ipaddress
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from time import monotonic
from urllib.parse import urlsplit

import ifaddr
import msgspec

from fieldgate.errors import BadRequest
from fieldgate.i18n.messages import Message
from fieldgate.runtime.client_networks import is_in_networks
from fieldgate.settings import PREFIX, Settings

FORWARDED_HEADERS = (
    b"x-forwarded-proto",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-prefix",
)

FQDN_TIMEOUT_SECONDS = 1.0
MAX_HOST_CHARS = 300  # of a host or prefix; a DNS name has at most 253

_HOST = re.compile(
    r"(?P<name>[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?\.?|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_PREFIX = re.compile(r"(?:/(?!\.\.?(?:/|$))[A-Za-z0-9._~-]+)*/?")
_PORT = re.compile(r"(?:6553[0-5]|655[0-2]\d|65[0-4]\d\d|6[0-4]\d{3}|[1-5]\d{4}|\d{1,4})", re.ASCII)
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_WILDCARD_ADDRESSES = {"0.0.0.0", "::", ""}  # noqa: S104  (compared with, not bound to)


class BaseURL(msgspec.Struct, frozen=True):
    """The URL of the service as the caller sees it, such as `https://field.example.org/gate`."""

    url: str
    is_secure: bool
    # Whether the client itself used https, as far as is known. A fixed base URL can be https without that.
    is_request_secure: bool = False


class HostPolicy:
    """Which hosts and proxies are accepted, from the settings."""

    def __init__(self, settings: Settings) -> None:
        self._fixed_url = settings.base_url
        self._trusted_proxies = settings.trusted_proxies
        self._allowed_hosts = settings.allowed_hosts or default_hosts(settings)
        self._refused_hosts = RefusedHostLog()
        self._base_url = lru_cache(maxsize=1024)(self._base_url_uncached)
        self.is_trusted_proxy = lru_cache(maxsize=4096)(
            partial(is_in_networks, networks=self._trusted_proxies)
        )

    def base_url_for(self, scheme: str, peer: str, headers: Mapping[bytes, bytes]) -> BaseURL:
        """The base URL for a request; raises `BadRequest` for a host that is not allowed."""
        host = headers.get(b"host", b"")[:MAX_HOST_CHARS]
        if self._trusted_proxies and self.is_trusted_proxy(peer):
            proto, named, port, prefix = (
                _last_member(headers.get(name, b"")) for name in FORWARDED_HEADERS
            )
            return self._base_url(scheme, host, (proto, named, port, prefix))
        return self._base_url(scheme, host, ("", "", "", ""))

    def client_address(self, peer: str, headers: Mapping[bytes, bytes]) -> str:
        """The client's IP address: the last one in X-Forwarded-For that is not a trusted proxy."""
        if not (self._trusted_proxies and self.is_trusted_proxy(peer)):
            return peer
        hops = headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")
        for hop in reversed([hop.strip() for hop in hops if hop.strip()]):
            address = _parse_hop(hop)
            if not self.is_trusted_proxy(address):
                return address
            peer = address
        return peer

    def _base_url_uncached(
        self, scheme: str, host: bytes, forwarded: tuple[str, str, str, str]
    ) -> BaseURL:
        forwarded_scheme, forwarded_host, forwarded_port, prefix = forwarded
        host_header, given_host = (
            ("X-Forwarded-Host", forwarded_host)
            if forwarded_host
            else ("Host", host.decode("latin-1"))
        )
        scheme = forwarded_scheme.lower() or scheme
        match = _HOST.fullmatch(given_host.lower())
        if match is None:
            raise self._invalid(host_header, given_host)
        if not is_allowed(match["name"], self._allowed_hosts):
            self._refused_hosts.unknown_host(host_header, match["name"])
            raise _unknown_host()
        if scheme not in _DEFAULT_PORTS:
            raise self._invalid("X-Forwarded-Proto", scheme)
        port = match["port"] or forwarded_port
        if not _PORT.fullmatch(port or _DEFAULT_PORTS[scheme]):
            raise self._invalid(host_header if match["port"] else "X-Forwarded-Port", port)
        if not _PREFIX.fullmatch(prefix):
            raise self._invalid("X-Forwarded-Prefix", prefix)
        if self._fixed_url:
            is_secure = self._fixed_url.startswith("https:")
            return BaseURL(
                self._fixed_url, is_secure, is_secure and forwarded_scheme.lower() != "http"
            )
        netloc = (
            match["name"]
            if not port or port == _DEFAULT_PORTS[scheme]
            else f"{match['name']}:{port}"
        )
        is_secure = scheme == "https"
        return BaseURL(f"{scheme}://{netloc}{prefix.rstrip('/')}", is_secure, is_secure)

    def _invalid(self, header: str, value: str) -> BadRequest:
        self._refused_hosts.invalid_value(header, value)
        return _unknown_host()


def is_allowed(name: str, entries: Iterable[str]) -> bool:
    """Whether a host is one of the entries; `.example.org` stands for all below it and itself, `*` for any host."""
    name = name.rstrip(".")
    return any(
        entry in ("*", name)
        or (entry.startswith(".") and (name.endswith(entry) or name == entry[1:]))
        for entry in entries
    )


def _unknown_host() -> BadRequest:
    return BadRequest(Message("This service is not configured for the host of the request."))


def default_hosts(settings: Settings) -> tuple[str, ...]:
    """The allowed hosts if `FIELDGATE_ALLOWED_HOSTS` is not set."""
    names = {"localhost", ".localhost", "127.0.0.1", "[::1]", _bracket_ipv6(settings.host)}
    if settings.base_url:
        names.add(_bracket_ipv6(urlsplit(settings.base_url).hostname or ""))
    if settings.host in _WILDCARD_ADDRESSES:
        names.update(_local_hostnames())
        names.update(_bracket_ipv6(address) for address in _local_addresses())
    return tuple(sorted(names - _WILDCARD_ADDRESSES - {"[::]"}))


def _local_hostnames() -> set[str]:
    """The names of this machine. Its full name needs DNS, which may be down: wait for it only briefly."""
    host = socket.gethostname().lower()
    names = {host, f"{host}.local"}
    lookup = threading.Thread(target=lambda: names.add(socket.getfqdn().lower()), daemon=True)
    lookup.start()
    lookup.join(FQDN_TIMEOUT_SECONDS)
    return set(names)


def _local_addresses() -> Iterable[str]:
    for adapter in ifaddr.get_adapters():
        for ip in adapter.ips:
            yield ip.ip if isinstance(ip.ip, str) else ip.ip[0]


def _bracket_ipv6(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host.lower()


def _last_member(header: bytes) -> str:
    """The last member, which the nearest proxy wrote. Clients can forge the earlier ones."""
    return header.decode("latin-1").rsplit(",", 1)[-1].strip()[:MAX_HOST_CHARS]


def _parse_hop(hop: str) -> str:
    """The address in a member of X-Forwarded-For, with or without a port; "" if it is not valid."""
    bare = re.fullmatch(r"\[(.+)\](?::\d+)?|([^:]+):\d+", hop)
    address = (bare[1] or bare[2]) if bare else hop
    try:
        return str(ipaddress.ip_address(address[:MAX_HOST_CHARS]))
    except ValueError:
        return ""


MAX_LOGGED_HOSTS = 20  # per process and window
WINDOW_SECONDS = 10 * 60
MAX_LOGGED_CHARS = 253  # of a DNS name

ALLOWED_HOSTS_VARIABLE = f"{PREFIX}ALLOWED_HOSTS"

log = logging.getLogger("fieldgate.hosts")


class RefusedHostLog:
    """Writes a warning for each refused header of a host or proxy, within limits."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._window_end = 0.0
        self._logged: set[tuple[str, str]] = set()

    def unknown_host(self, header: str, host: str) -> None:
        self._warn(
            header,
            host,
            "Refused a request because %s is %s, which is not an allowed host. "
            f"If this service should answer for it, add it to {ALLOWED_HOSTS_VARIABLE}.",
        )

    def invalid_value(self, header: str, value: str) -> None:
        self._warn(header, value, "Refused a request because %s is %s, which is not valid.")

    def _warn(self, header: str, value: str, text: str) -> None:
        now = self._now()
        if now >= self._window_end:
            self._window_end = now + WINDOW_SECONDS
            self._logged.clear()
        if (header, value) in self._logged or len(self._logged) > MAX_LOGGED_HOSTS:
            return
        self._logged.add((header, value))
        if len(self._logged) > MAX_LOGGED_HOSTS:
            log.warning(
                "More hosts are refused. They are not logged for %d minutes.",
                (self._window_end - now) // 60,
            )
        else:
            log.warning(text, header, ascii(value[:MAX_LOGGED_CHARS]))  # without control characters
