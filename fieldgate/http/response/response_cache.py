"""Ready answers, kept within a bound of memory. The version of the data is part of the key, so none is stale."""

from collections import OrderedDict

from fieldgate.http.response.responses import Answer

# What was asked, as whom, and the versions of the data it was answered from.
Key = tuple[bytes, str, tuple[int, ...]]

LONGEST_KEY = 4096  # characters; an answer to a longer question is made each time


class Kept:
    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held = 0
        self._answers: OrderedDict[Key, tuple[Answer, int]] = OrderedDict()

    def get(self, key: Key) -> Answer | None:
        found = self._answers.get(key)
        if found is None:
            return None
        self._answers.move_to_end(key)
        return found[0]

    def put(self, key: Key, answer: Answer) -> None:
        """Keep an answer, and let go of those not asked for the longest where memory needs it."""
        # Roughly, the memory an entry takes; a character of who asks can take four bytes.
        size = answer.size + len(key[0]) + 4 * len(key[1])
        if len(key[0]) + len(key[1]) > LONGEST_KEY or size > self._bound // 2:
            return
        self._held += size - self._answers.pop(key, (answer, 0))[1]
        self._answers[key] = answer, size
        while self._held > self._bound:
            self._held -= self._answers.popitem(last=False)[1][1]

    @property
    def held(self) -> int:
        """Bytes in use."""
        return self._held
