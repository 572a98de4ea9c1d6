"""The headers that make a browser save a response as a file."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import date
from urllib.parse import quote

from fieldgate.errors import Header
from fieldgate.http.response.responses import (
    API_CSP,
    NO_STORE,
    PRIVATE_NO_CACHE,
    Response,
    in_chunks,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_NAME_CHARS = 100  # before the suffix; file systems allow 255 bytes
MAX_WORDS_CHARS = 70  # in a name made from words, before the date

# Separators of paths, what Windows refuses, control characters, and those that reverse the order of text: a name could
# seem to have another suffix.
_UNSAFE = re.compile(
    r'[<>:"/\\|?*%\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]'
)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ._()-]")
_NOT_WORDS = re.compile(r"[\W_]+")


def dated_name(words: Iterable[str], day: date) -> str:
    """The name of a file from words and a date, without its suffix. It has letters, digits and hyphens only."""
    joined = "-".join(
        filter(None, [_NOT_WORDS.sub("-", word.casefold()).strip("-") for word in words])
    )
    if len(joined) > MAX_WORDS_CHARS:
        joined = joined[:MAX_WORDS_CHARS]
        if "-" in joined[MAX_WORDS_CHARS // 2 :]:  # otherwise one long word would be lost
            joined = joined.rpartition("-")[0]
    return f"{joined}-{day.isoformat()}"


def ascii_name(name: str) -> str:
    """A name in ASCII, for clients that know no other names."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", letters).strip("-")


def safe_name(name: str) -> str:
    """A name that is one file in any file system; may be empty."""
    return _UNSAFE.sub("_", name)[:MAX_NAME_CHARS].strip(" ._")


def attachment(name: str, suffix: str, fallback: str) -> Header:
    """Content-Disposition for any name (RFC 6266). `fallback` is a plain name, for old clients and for blank names."""
    safe = safe_name(name) or fallback
    plain = fallback if _NOT_PLAIN.search(safe) else safe
    value = f"attachment; filename=\"{plain}{suffix}\"; filename*=UTF-8''{quote(safe + suffix, safe='')}"
    return b"content-disposition", value.encode()


def dated_attachment(
    title: Message, *words: str, day: date, suffix: str, language: Language
) -> Header:
    """The header for a file whose name has a title in a language, other words and a date."""
    name, fallback = (
        dated_name([translate(title, each), *words], day) for each in (language, Language.ENGLISH)
    )
    return attachment(name, suffix, ascii_name(fallback))


def file_headers(
    content_type: bytes, disposition: Header, *more: Header, caching: Header = NO_STORE
) -> list[Header]:
    """The headers of a file. It is never displayed as a page of this site."""
    return [(b"content-type", content_type), disposition, *more, API_CSP, caching]


def stream_file(data: bytes, media_type: str, disposition: Header, *more: Header) -> Response:
    """The response with a file that is compressed already: streams are not compressed."""
    length = (b"content-length", str(len(data)).encode())
    headers = file_headers(
        media_type.encode(), disposition, length, *more, caching=PRIVATE_NO_CACHE
    )
    return Response(200, headers, stream=in_chunks(data))
