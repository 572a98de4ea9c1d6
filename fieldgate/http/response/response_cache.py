"""Ready answers, kept within a bound of memory. The version of the data is part of the key, so none is stale."""

from collections import OrderedDict

from fieldgate.http.response.responses import Response

# What was asked, as whom, and the versions of the data it was answered from.
CacheKey = tuple[bytes, str, tuple[int, ...]]

MAX_KEY_CHARS = 4096  # characters; an answer to a longer question is made each time


class ResponseCache:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = 0
        self._responses: OrderedDict[CacheKey, tuple[Response, int]] = OrderedDict()

    def get(self, key: CacheKey) -> Response | None:
        found = self._responses.get(key)
        if found is None:
            return None
        self._responses.move_to_end(key)
        return found[0]

    def put(self, key: CacheKey, response: Response) -> None:
        """Keep an answer, and let go of those not asked for the longest where memory needs it."""
        # Roughly, the memory an entry takes; a character of who asks can take four bytes.
        size = response.size + len(key[0]) + 4 * len(key[1])
        if len(key[0]) + len(key[1]) > MAX_KEY_CHARS or size > self._max_bytes // 2:
            return
        self._used_bytes += size - self._responses.pop(key, (response, 0))[1]
        self._responses[key] = response, size
        while self._used_bytes > self._max_bytes:
            self._used_bytes -= self._responses.popitem(last=False)[1][1]

    @property
    def used_bytes(self) -> int:
        """Bytes in use."""
        return self._used_bytes
