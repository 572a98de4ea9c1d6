"""Which scripts of other origins may read our answers (CORS)."""

from collections.abc import Mapping

from fieldgate.errors import Header
from fieldgate.settings import Settings

EXPOSED_HEADERS = (
    "Allow, Content-Language, ETag, Fieldgate-Ignored, Fieldgate-Limit, Link, Location, Preference-Applied, "
    "Retry-After, X-Request-ID"
)
ALLOWED_HEADERS = (
    "Accept, Accept-Language, Authorization, Content-Type, If-None-Match, Prefer, X-CSRFToken, X-Request-ID, "
    "X-Requested-With"
)
PREFLIGHT_MAX_AGE_SECONDS = 24 * 60 * 60  # seconds


class Cors:
    """By default anybody's script may read what the public may read; cookies stay at home."""

    def __init__(self, settings: Settings) -> None:
        self._origins = frozenset(settings.cors_origins)
        self._credentials = settings.cors_credentials
        is_open = "*" in self._origins
        exposed = (b"access-control-expose-headers", EXPOSED_HEADERS.encode())
        # An open service says the same to everybody, so that answers can be kept whole.
        self.base_headers: list[Header] = [(b"access-control-allow-origin", b"*"), exposed] if is_open else [exposed]
        self.vary: tuple[str, ...] = () if is_open else ("Origin",)

    def headers(self, origin: bytes) -> list[Header]:
        """What one origin is told, where only some are let in."""
        if not origin or not self.vary or origin.decode("latin-1").lower() not in self._origins:
            return []
        allowed = [(b"access-control-allow-origin", origin)]
        return [*allowed, (b"access-control-allow-credentials", b"true")] if self._credentials else allowed

    def preflight(self, allowed: bytes, headers: Mapping[bytes, bytes]) -> list[Header]:
        """The answer to a browser's question before a request that is not simple."""
        if b"access-control-request-method" not in headers:
            return []
        return [
            (b"access-control-allow-methods", allowed),
            (b"access-control-allow-headers", ALLOWED_HEADERS.encode()),
            (b"access-control-max-age", str(PREFLIGHT_MAX_AGE_SECONDS).encode()),
        ]
