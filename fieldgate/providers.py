"""Providers of single sign-on (OpenID Connect), as the file that FIELDGATE_SIGN_ON names describes them.

providers = read_providers(Path("sign-on.toml"))
"""

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

DISCOVERY_PATH = "/.well-known/openid-configuration"  # after the issuer
_URL = re.compile(r"[!-~]+")  # no spaces, control characters, or other scripts

_Text = Annotated[str, Meta(min_length=1, max_length=500)]


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[provider]]` of the file. `docs/single-sign-on.md` describes the fields."""

    id: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]{0,39}$")]
    name: Annotated[str, Meta(min_length=1, max_length=60)]
    issuer: _Text
    client_id: _Text
    client_secret: str = ""
    scopes: tuple[_Text, ...] = ("openid", "profile", "email")
    username_claim: _Text = "preferred_username"
    allowed_domains: tuple[_Text, ...] = ()
    trust_email: bool = False
    domain_claim: str = ""  # in place of the domain of `email`
    create_users: bool = False
    countries_claim: str = ""
    ifrc_claim: str = ""
    teams_claim: str = ""
    teams: dict[str, str] = {}  # uids of teams, by values of the claim


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: tuple[Provider, ...]


def read_providers(path: Path) -> tuple[Provider, ...]:
    """Read the file. Raise `ValueError` with a text that says what is wrong."""
    try:
        providers = msgspec.toml.decode(path.read_bytes(), type=_File).provider
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise ValueError(f"cannot read {str(path)!r}: {error}") from None
    ids = [each.id for each in providers]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{str(path)!r} has the same id twice.")
    for each in providers:
        if not is_safe_url(each.issuer) or DISCOVERY_PATH in each.issuer:
            raise ValueError(
                f"the issuer {each.issuer!r} of {each.id} must be an https URL without {DISCOVERY_PATH}."
            )
        if "openid" not in each.scopes:
            raise ValueError(f"the scopes of {each.id} lack openid.")
        if each.teams and not each.teams_claim:
            raise ValueError(f"{each.id} has teams, but no teams_claim.")
    return providers


def is_safe_url(url: str) -> bool:
    """Whether secrets can be sent to a URL: https, or a program on this machine."""
    try:
        parts = urlsplit(url)
        is_http = parts.scheme == "http" and _is_loopback(parts.hostname)
        is_https = parts.scheme == "https" and bool(parts.hostname)
        return (is_http or is_https) and _URL.fullmatch(url) is not None
    except ValueError:
        return False


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False
