"""Addresses of servers and lists: what people type, turned into the address of the server, a path and a query."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from fieldgate_client.errors import FieldgateError

API_ROOT = "/api/v2/"
MAX_URL_CHARS = 2000
_CREDENTIALS = re.compile(r"://[^/?#]*@")


class InvalidURL(FieldgateError, ValueError):
    """Not the address of a server or of a list."""


class ListAddress(msgspec.Struct, frozen=True):
    """A list or record on a server: `server` is the address without `/api/v2/`, `path` begins with a slash."""

    server: str
    path: str
    query: tuple[tuple[str, str], ...] = ()


def parse_server_url(text: str) -> str:
    """The address of a server, without `/api/v2/` and without a slash at the end."""
    text = text.strip()
    if "://" not in text:
        raise InvalidURL(
            f"{text!r} is not the URL of a server. Write it with https://, such as https://field.example."
        )
    if len(text) > MAX_URL_CHARS:
        raise InvalidURL(
            f"The URL of the server must not be longer than {MAX_URL_CHARS} characters."
        )
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidURL(f"{without_credentials(text)} is not a valid URL: {error}.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise InvalidURL(
            f"{text} is not the URL of a server. It must begin with https:// or http://."
        )
    if parts.username or parts.password:
        raise InvalidURL(
            "Do not write credentials into the URL: give the token as `token`, or log in with fieldgate-client login."
        )
    address = f"[{host}]" if ":" in host else host
    is_default = port is None or port == {"http": 80, "https": 443}[parts.scheme]
    root = f"{parts.scheme}://{address}" if is_default else f"{parts.scheme}://{address}:{port}"
    path = parts.path.rstrip("/")
    return root + path.removesuffix(API_ROOT.rstrip("/")).rstrip("/")


def without_credentials(url: str) -> str:
    """A URL for messages, whatever it is: without user name and password."""
    return _CREDENTIALS.sub("://", url)


def parse_list_url(text: str) -> ListAddress:
    """Split the URL of a list, such as https://field.example/api/v2/event/?regions__in=0."""
    parts = urlsplit(text.strip())
    before, root, after = parts.path.partition(API_ROOT)
    server = parse_server_url(
        parts._replace(path=before if root else "", query="", fragment="").geturl()
    )
    path = root + after if root else parts.path or "/"
    if ".." in parts.path.split("/"):
        raise InvalidURL(
            f"{without_credentials(text)} has '..' in its path. Write the address without it."
        )
    return ListAddress(server, path, tuple(parse_qsl(parts.query, keep_blank_values=True)))


def resolve_address(text: str, server: str) -> ListAddress:
    """What people write: `event/`, `/api/v2/event/`, or a URL of the same server; each also with a query."""
    if "://" in text:
        address = parse_list_url(text)
        if origin(address.server) != origin(server):
            raise InvalidURL(f"{text} is not on the server {server}: the token is only sent there.")
        return address
    path, _, query = text.partition("?")
    path = path if path.startswith("/") else API_ROOT + path
    return ListAddress(server, path, tuple(parse_qsl(query, keep_blank_values=True)))


def is_loopback(server: str) -> bool:
    host = urlsplit(server).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def last_path_segment(url: str) -> str:
    """The identifier at the end of the URL of a record: of an asset, a user, a permission."""
    return unquote(urlsplit(url).path.rstrip("/").rpartition("/")[2])


def identifier(text: str) -> str:
    """The identifier of a record that is given by it, or by its path or URL."""
    return last_path_segment(text) if "/" in text else text.strip()


def origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default_port
