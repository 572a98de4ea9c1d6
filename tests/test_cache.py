"""The bounded cache: size limits, least recently used eviction, and a comparison with a naive model."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.cache import BoundedCache


class NaiveCache:
    """The same rules on a list of (key, value, size), oldest use first."""

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self.entries: list[tuple[int, int, int]] = []

    def get(self, key: int) -> int | None:
        found = [entry for entry in self.entries if entry[0] == key]
        self.discard(key)
        self.entries += found
        return found[0][1] if found else None

    def put(self, key: int, value: int, size: int) -> None:
        self.discard(key)
        if size > max(1, self.max_size // 2):
            return
        self.entries.append((key, value, size))
        while self.used_size > self.max_size:
            self.entries.pop(0)

    def discard(self, key: int) -> None:
        self.entries = [entry for entry in self.entries if entry[0] != key]

    @property
    def used_size(self) -> int:
        return sum(size for _, _, size in self.entries)


KEYS = st.integers(0, 6)
STEPS = st.one_of(
    st.tuples(st.just("get"), KEYS),
    st.tuples(st.just("discard"), KEYS),
    st.tuples(st.just("put"), KEYS, st.integers(), st.integers(1, 12)),
)


@given(st.integers(0, 20), st.lists(STEPS, max_size=60))
def test_behaves_like_naive_model(max_size: int, steps: list[tuple[str, int]]) -> None:
    cache, model = BoundedCache[int, int](max_size), NaiveCache(max_size)
    for name, *arguments in steps:
        assert getattr(cache, name)(*arguments) == getattr(model, name)(*arguments)
        assert cache.used_size == model.used_size <= max_size
        assert len(cache) == len(model.entries)
