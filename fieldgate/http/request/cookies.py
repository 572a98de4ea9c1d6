"""Read and set cookies."""

from http.cookies import SimpleCookie
from urllib.parse import urlsplit

from fieldgate.errors import Header
from fieldgate.http.request.hosts import BaseURL

MAX_COOKIE_CHARS = 4096  # longer cookies are ignored


def read_cookie(header: bytes, name: bytes) -> bytes:
    """The value of one cookie, or b"". Malformed cookies of others are skipped."""
    if name in header:
        for pair in header.split(b";"):
            key, _, value = pair.strip().partition(b"=")
            if key == name and len(value) <= MAX_COOKIE_CHARS:
                return value
    return b""


def set_cookie(name: bytes, value: str, base_url: BaseURL, max_age: int, *, http_only: bool) -> Header:
    """The header that sets a cookie for the whole service; `max_age` 0 removes it."""
    cookie: SimpleCookie = SimpleCookie()
    key = name.decode()
    cookie[key] = value
    cookie[key].update({"path": urlsplit(base_url.url).path + "/", "max-age": str(max_age), "samesite": "Lax"})
    cookie[key]["httponly"] = http_only
    cookie[key]["secure"] = base_url.is_secure
    return (b"set-cookie", cookie[key].OutputString().encode())
