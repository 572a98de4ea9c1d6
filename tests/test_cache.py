"""Caches: size limits, least recently used eviction, a comparison with a naive model; results that threads share."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.cache import BoundedCache, SharedResults


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


THREADS = 8


def run_in_threads(work: Callable[[], int]) -> list[int | str]:
    """The results of work that begins in all threads at the same time. An error is its text."""
    barrier = Barrier(THREADS)

    def run(_: int) -> int | str:
        barrier.wait()
        try:
            return work()
        except RuntimeError as error:
            return str(error)

    with ThreadPoolExecutor(THREADS) as executor:
        return list(executor.map(run, range(THREADS)))


def test_a_result_is_computed_once_for_all_threads() -> None:
    results = SharedResults[int](10, lambda _: 1)
    computed = itertools.count(1)
    is_computing, may_end = Event(), Event()

    def compute() -> int:
        is_computing.set()
        assert may_end.wait(30)
        return next(computed)

    with ThreadPoolExecutor(THREADS) as executor:
        first = executor.submit(results.get, "key", compute)
        assert is_computing.wait(30)
        others = [executor.submit(results.get, "key", compute) for _ in range(THREADS - 1)]
        assert results.get("another key", lambda: 7) == 7, "it does not wait for the first one"
        may_end.set()
        assert [future.result() for future in (first, *others)] == [1] * THREADS
    assert results.get("key", compute) == results.find("key") == 1


def test_an_error_of_one_thread_leaves_the_next_free() -> None:
    results = SharedResults[int](10, lambda _: 1)
    computed = itertools.count(1)

    def compute() -> int:
        number = next(computed)
        if number < THREADS:
            raise RuntimeError(f"error {number}")
        return number

    answers = run_in_threads(lambda: results.get("key", compute))
    errors = [f"error {number}" for number in range(1, THREADS)]
    assert sorted(map(str, answers)) == sorted([*errors, str(THREADS)])
    assert results.get("key", compute) == THREADS
    assert not results._turns, "nothing is kept of keys without a result"


def test_shared_results_are_bounded() -> None:
    results = SharedResults[str](10, len)
    for key in ("abcd", "efgh", "ijkl"):
        assert results.get(key, key.upper) == key.upper()
    assert [results.find(key) for key in ("abcd", "efgh", "ijkl")] == [None, "EFGH", "IJKL"]
    for _ in range(2):  # too large to be kept: computed each time
        assert results.get("long", lambda: "a" * 6) == "a" * 6
    assert results.find("long") is None
    results.put("efgh", "other")
    assert results.find("efgh") == "other"
    assert not results._turns
