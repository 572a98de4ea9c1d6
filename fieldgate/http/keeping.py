"""Ready answers, kept within a bound of memory. The version of the data is part of the key, so none is stale."""

from collections import OrderedDict
from collections.abc import Hashable

from fieldgate.http.answers import Answer


class Kept:
    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._held = 0
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()

    def get(self, key: Hashable) -> Answer | None:
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer, and let go of those not asked for the longest where memory needs it."""
        if answer.size > self._bound // 4:
            return
        replaced = self._answers.pop(key, None)
        self._held += answer.size - (replaced.size if replaced else 0)
        self._answers[key] = answer
        while self._held > self._bound:
            _, dropped = self._answers.popitem(last=False)
            self._held -= dropped.size

    @property
    def held(self) -> int:
        """Bytes in use."""
        return self._held
