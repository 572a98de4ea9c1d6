"""Ready answers, kept within a bound of memory. The version of the data is part of the key, so none is stale."""

from collections import OrderedDict

from fieldgate.http.answers import Answer

Key = tuple[str, tuple[int, ...]]  # what was asked, and the versions of the data it was answered from

LONGEST_KEY = 4096  # characters; an answer to a longer question is made each time


class Kept:
    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held = 0
        self._answers: OrderedDict[Key, Answer] = OrderedDict()

    def get(self, key: Key) -> Answer | None:
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, key: Key, answer: Answer) -> None:
        """Keep an answer, and let go of those not asked for the longest where memory needs it."""
        if len(key[0]) > LONGEST_KEY or answer.size > self._bound // 4:
            return
        replaced = self._answers.pop(key, None)
        if replaced is not None:
            self._held -= _size(key, replaced)
        self._answers[key] = answer
        self._held += _size(key, answer)
        while self._held > self._bound:
            self._held -= _size(*self._answers.popitem(last=False))

    @property
    def held(self) -> int:
        """Bytes in use."""
        return self._held


def _size(key: Key, answer: Answer) -> int:
    """Roughly, the memory an entry takes; a character of a key can take four bytes."""
    return answer.size + 4 * len(key[0])
