"""The cache of whole responses. A key has the data versions, so an entry is never stale; the oldest ones go first."""

from fieldgate.cache import BoundedCache
from fieldgate.http.response.responses import Response

# What was requested, the cache audience, and the data versions.
CacheKey = tuple[bytes, str, tuple[int, ...]]

MAX_KEY_CHARS = 4096  # responses to longer requests are not cached


class ResponseCache:
    def __init__(self, max_bytes: int) -> None:
        self._responses = BoundedCache[CacheKey, Response](max_bytes)
        self.get = self._responses.get

    def put(self, key: CacheKey, response: Response) -> None:
        """Store a response. Evicts the least recently used ones over the limit."""
        request, audience, _ = key
        if len(request) + len(audience) <= MAX_KEY_CHARS:
            # Roughly the memory of an entry; a character of the audience can take four bytes.
            self._responses.put(key, response, response.size + len(request) + 4 * len(audience))

    @property
    def used_bytes(self) -> int:
        return self._responses.used_size
