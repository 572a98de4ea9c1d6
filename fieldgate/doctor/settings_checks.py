"""Checks of the FIELDGATE_* variables."""

import difflib
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from fieldgate.doctor.findings import Finding, ok, warning
from fieldgate.http.request.hosts import is_allowed
from fieldgate.settings import LOOPBACK, PREFIX, Settings, unknown_variables

_CHECK = "settings"
_BROAD_PREFIX = {4: 8, 6: 32}  # a network with fewer bits has many machines that are no proxies


def check_settings(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    findings = [
        *_unknown(environment),
        *_contradictions(settings, environment),
        *_exposed(settings),
    ]
    yield from findings or [ok(_CHECK, "All settings are known and fit together.")]


def _unknown(environment: Mapping[str, str]) -> Iterator[Finding]:
    names = [field.name.upper() for field in msgspec.structs.fields(Settings)]
    for variable in unknown_variables(environment):
        near = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1)
        advice = f"Did you mean {PREFIX}{near[0]}?" if near else "Remove it."
        yield warning(_CHECK, f"{variable} is not a setting and has no effect.", advice)


def _contradictions(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    if settings.database_url and environment.get(f"{PREFIX}DATA", "").strip():
        yield warning(
            _CHECK,
            f"{PREFIX}DATA has no effect on the database, because {PREFIX}DATABASE_URL is set.",
            "Remove one of them.",
        )
    base_host = urlsplit(settings.base_url).hostname
    if base_host and settings.allowed_hosts and not is_allowed(base_host, settings.allowed_hosts):
        yield warning(
            _CHECK,
            f"{base_host}, the host of {PREFIX}BASE_URL, is not in {PREFIX}ALLOWED_HOSTS: its requests are refused.",
            f"Add {base_host} to {PREFIX}ALLOWED_HOSTS.",
        )
    if settings.base_url.startswith("http://") and not is_local(base_host or ""):
        yield warning(
            _CHECK,
            f"{PREFIX}BASE_URL begins with http: passwords and tokens are sent without encryption.",
            "Put a proxy with TLS in front, and use its https address.",
        )


def _exposed(settings: Settings) -> Iterator[Finding]:
    is_exposed = settings.host in {"0.0.0.0", "::"}  # noqa: S104
    if is_exposed and not settings.base_url and not settings.trusted_proxies:
        yield warning(
            _CHECK,
            "The service listens on all addresses, and no proxy is configured.",
            f"Put a proxy with TLS in front, then set {PREFIX}BASE_URL or {PREFIX}TRUSTED_PROXIES.",
        )
    for name, networks in (
        ("TRUSTED_PROXIES", settings.trusted_proxies),
        ("METRICS_FROM", settings.metrics_from),
    ):
        for network in networks:
            if network not in LOOPBACK and network.prefixlen < _BROAD_PREFIX[network.version]:
                yield warning(
                    _CHECK,
                    f"{PREFIX}{name} has {network}, a very large network.",
                    "List single addresses.",
                )


def is_local(host: str) -> bool:
    """Whether a name or address stands for this machine."""
    return (
        host == "localhost"
        or host.endswith(".localhost")
        or host == "::1"
        or host.startswith("127.")
    )
