"""Content negotiation: the language, the format and the encoding of a response, by its headers and `format=`."""

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from fieldgate.errors import NotAcceptable, NotFound
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language
from fieldgate.i18n.messages import Message

MAX_HEADER_BYTES = 1000  # longer headers are cut: parsed headers are cached
ENCODINGS = ("br", "zstd", "gzip")  # in our order of preference


def parse_quality_values(header: bytes) -> list[tuple[str, float]]:
    """All members with their q-value, zero included, best first; equals keep their order. Invalid ones are skipped."""
    members: list[tuple[str, float]] = []
    for part in header.decode("latin-1").split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                quality = _parse_quality(value.strip())
        if name and quality >= 0:
            members.append((name, quality))
    return sorted(members, key=lambda member: -member[1])


def _parse_quality(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return -1.0
    return value if 0 <= value <= 1 else -1.0


def negotiate(header: bytes) -> Language:
    """The best supported language of an Accept-Language header; English if there is none."""
    return _negotiate_language_cached(header[:MAX_HEADER_BYTES])


@lru_cache(maxsize=1024)
def _negotiate_language_cached(header: bytes) -> Language:
    for tag in (tag for tag, quality in parse_quality_values(header) if quality > 0):
        primary = tag.split("-", 1)[0].lower()
        if primary == "*":
            return Language.ENGLISH
        if primary in LANGUAGES_BY_CODE:
            return LANGUAGES_BY_CODE[primary]
    return Language.ENGLISH


def negotiate_encoding(accept_encoding: bytes) -> str:
    """Choose the content encoding, "" for none. Our order decides between equal q-values."""
    return _negotiate_encoding_cached(accept_encoding[:MAX_HEADER_BYTES])


@lru_cache(maxsize=1024)
def _negotiate_encoding_cached(accept_encoding: bytes) -> str:
    wanted = {name.lower(): quality for name, quality in parse_quality_values(accept_encoding)}
    best, chosen = 0.0, ""
    for name in ENCODINGS:
        quality = wanted.get(name, wanted.get("*", 0.0))
        if quality > best:
            best, chosen = quality, name
    return chosen


class Format(Enum):
    """A format: its value of `format=`, media type and Content-Type header."""

    JSON = ("json", "application/json", "application/json")
    HTML = ("api", "text/html", "text/html; charset=utf-8")
    CSV = ("csv", "text/csv", "text/csv; charset=utf-8")
    NDJSON = ("ndjson", "application/x-ndjson", "application/x-ndjson")
    XLSX = ("xlsx", *["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"] * 2)
    GEOJSON = ("geojson", *["application/geo+json"] * 2)
    ATOM = ("atom", "application/atom+xml", "application/atom+xml; charset=utf-8")
    BYTES = ("bytes", *["application/octet-stream"] * 2)  # a file of any kind, see `prefers_bytes`

    __hash__ = object.__hash__

    def __init__(self, query_value: str, media_type: str, content_type: str) -> None:
        self.query_value = query_value
        self.media_type = media_type
        self.content_type = content_type.encode()


def choose_format(offered: Sequence[Format], query_value: str, accept: bytes) -> Format:
    """Choose the format of a response. `format=` wins over Accept; the first offered is the default."""
    if query_value:
        for candidate in offered:
            if candidate.query_value == query_value:
                return candidate
        words = ", ".join(candidate.query_value for candidate in offered)
        raise NotFound(
            Message(
                "There is no format {format} here; try one of: {known}.",
                format=query_value[:40],
                known=words,
            )
        )
    return _choose_by_accept(tuple(offered), accept[:MAX_HEADER_BYTES])


def prefers_bytes(media_type: str, accept: bytes) -> bool:
    """Whether a file is requested as `application/octet-stream` rather than by its own media type.

    Generated clients know few media types, but all of them know this one.
    """
    ranges = parse_quality_values(accept[:MAX_HEADER_BYTES])
    as_bytes, as_itself = _rank(Format.BYTES.media_type, ranges, 1), _rank(media_type, ranges, 0)
    return as_bytes is not None and (as_itself is None or as_bytes > as_itself)


@lru_cache(maxsize=1024)
def _choose_by_accept(offered: tuple[Format, ...], accept: bytes) -> Format:
    if not accept.strip():
        return offered[0]
    ranges = parse_quality_values(accept)
    best: tuple[float, int, int, int] | None = None
    chosen = offered[0]
    for order, candidate in enumerate(offered):
        rank = _rank(candidate.media_type, ranges, order)
        if rank is not None and (best is None or rank > best):
            best, chosen = rank, candidate
    if best is None:
        known = ", ".join(candidate.media_type for candidate in offered)
        raise NotAcceptable(
            Message(
                "None of the accepted types is available here; available types: {known}.",
                known=known,
            )
        )
    return chosen


def _rank(
    media_type: str, ranges: Sequence[tuple[str, float]], order: int
) -> tuple[float, int, int, int] | None:
    """Rank a media type: by the q-value of the most specific range that matches, then by how specific it is, then by
    its position in the header, then by our own order. None if the type is not accepted."""
    matches = [
        (specificity, -place, quality)
        for place, (pattern, quality) in enumerate(ranges)
        if (specificity := _specificity(pattern.lower(), media_type)) is not None
    ]
    if not matches:
        return None
    specificity, place, quality = max(matches)
    return (quality, specificity, place, -order) if quality > 0 else None


def _specificity(pattern: str, media_type: str) -> int | None:
    if pattern == media_type:
        return 2
    if pattern == media_type.split("/")[0] + "/*":
        return 1
    return 0 if pattern == "*/*" else None
