"""CORS headers: which scripts of other origins may read responses."""

from collections.abc import Mapping

from fieldgate.errors import Header
from fieldgate.settings import Settings

EXPOSED_HEADERS = (
    "Allow, Content-Language, ETag, Fieldgate-Data-Version, Fieldgate-Ignored, Fieldgate-Kept, Fieldgate-Left-Out, "
    "Fieldgate-Limit, Link, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
)
ALLOWED_HEADERS = (
    "Accept, Accept-Language, Authorization, Content-Type, If-None-Match, Prefer, X-CSRFToken, X-Request-ID, "
    "X-Requested-With"
)
PREFLIGHT_MAX_AGE_SECONDS = 24 * 60 * 60


class Cors:
    """By default scripts of any origin may read public responses, without cookies."""

    def __init__(self, settings: Settings) -> None:
        self._origins = frozenset(settings.cors_origins)
        self._credentials = settings.cors_credentials
        is_open = "*" in self._origins
        exposed = (b"access-control-expose-headers", EXPOSED_HEADERS.encode())
        # With `*` the headers are the same for all origins, so that complete responses can be cached.
        self.base_headers: list[Header] = (
            [(b"access-control-allow-origin", b"*"), exposed] if is_open else [exposed]
        )
        self.vary: tuple[str, ...] = () if is_open else ("Origin",)

    def headers(self, origin: bytes) -> list[Header]:
        """The headers for one origin, if only some are allowed."""
        if not origin or not self.vary or origin.decode("latin-1").lower() not in self._origins:
            return []
        allowed = [(b"access-control-allow-origin", origin)]
        return (
            [*allowed, (b"access-control-allow-credentials", b"true")]
            if self._credentials
            else allowed
        )

    def preflight(self, allowed: bytes, headers: Mapping[bytes, bytes]) -> list[Header]:
        """The headers that answer a preflight request."""
        if b"access-control-request-method" not in headers:
            return []
        return [
            (b"access-control-allow-methods", allowed),
            (b"access-control-allow-headers", ALLOWED_HEADERS.encode()),
            (b"access-control-max-age", str(PREFLIGHT_MAX_AGE_SECONDS).encode()),
        ]
