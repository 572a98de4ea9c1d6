"""Choose a language from the Accept-Language header."""

from functools import lru_cache

from fieldgate.http.negotiation.quality_values import MAX_HEADER_BYTES, parse_accepted_values
from fieldgate.i18n.languages import LANGUAGES_BY_CODE, Language


def negotiate(header: bytes) -> Language:
    """The best supported language of an Accept-Language header; English if there is none."""
    return _negotiate_cached(header[:MAX_HEADER_BYTES])


@lru_cache(maxsize=1024)
def _negotiate_cached(header: bytes) -> Language:
    for tag, _ in parse_accepted_values(header):
        primary = tag.split("-", 1)[0].lower()
        if primary == "*":
            return Language.ENGLISH
        if primary in LANGUAGES_BY_CODE:
            return LANGUAGES_BY_CODE[primary]
    return Language.ENGLISH
