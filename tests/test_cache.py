"""The bounded cache: size limits, least recently used eviction, and a comparison with a naive model."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.cache import BoundedCache


def test_missing_key_is_none() -> None:
    assert BoundedCache[str, int](2).get("a") is None


def test_count_bound_evicts_oldest() -> None:
    cache = BoundedCache[str, int](2)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    assert [cache.get(key) for key in "abc"] == [None, 1, 2]
    assert len(cache) == cache.used_size == 2


def test_get_marks_entry_as_used() -> None:
    cache = BoundedCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_put_again_replaces_value_and_marks_entry_as_used() -> None:
    cache = BoundedCache[str, int](20)
    cache.put("a", 1, size=10)
    cache.put("b", 2, size=10)
    cache.put("a", 3, size=9)
    assert cache.used_size == 19
    cache.put("c", 4, size=2)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]


def test_byte_bound_evicts_as_many_as_needed() -> None:
    cache = BoundedCache[str, int](10)
    for number, key in enumerate("abcde"):
        cache.put(key, number, size=2)
    cache.put("f", 5, size=5)
    assert [cache.get(key) for key in "abcdef"] == [None, None, None, 3, 4, 5]
    assert cache.used_size == 9


def test_entry_of_half_the_bound_is_stored() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("a", 1, size=5)
    assert cache.get("a") == 1


def test_entry_larger_than_half_the_bound_is_not_stored() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("a", 1, size=2)
    cache.put("b", 2, size=6)
    assert (cache.get("a"), cache.get("b")) == (1, None)


def test_too_large_replacement_removes_the_old_value() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("a", 1, size=2)
    cache.put("a", 2, size=6)
    assert cache.get("a") is None
    assert cache.used_size == 0


def test_cache_of_one_entry_holds_the_newest() -> None:
    cache = BoundedCache[str, int](1)
    cache.put("a", 1)
    cache.put("b", 2)
    assert (cache.get("a"), cache.get("b")) == (None, 2)


def test_cache_of_size_zero_stores_nothing() -> None:
    cache = BoundedCache[str, int](0)
    cache.put("a", 1)
    assert cache.get("a") is None
    assert len(cache) == cache.used_size == 0


def test_discard_frees_the_size() -> None:
    cache = BoundedCache[str, int](10)
    cache.put("a", 1, size=3)
    cache.discard("a")
    cache.discard("never stored")
    assert cache.get("a") is None
    assert len(cache) == cache.used_size == 0


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
