"""The cache holds what was put last, within its limit, and no changed records."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.events.documents import RECORD_OVERHEAD_BYTES, RecordCache

BOUND = 4 * RECORD_OVERHEAD_BYTES

tos = st.sampled_from(("fr", "en", ("en", 3)))
numbers = st.integers(1, 8)
puts = st.tuples(
    st.just("put"), tos, st.dictionaries(numbers, st.binary(min_size=1, max_size=2 * RECORD_OVERHEAD_BYTES))
)
gets = st.tuples(st.just("get"), tos, st.lists(numbers, unique=True))
changes = st.tuples(st.just("change"), tos, st.sets(numbers))


@given(st.lists(puts | gets | changes))
def test_cache_against_model(steps: list) -> None:  # type: ignore[type-arg]
    shown = RecordCache(BOUND)
    last: dict[tuple[object, int], bytes] = {}
    left: list[RecordCache] = []
    for what, to, given_ in steps:
        if what == "put":
            shown.put(to, given_)
            last |= {(to, number): record for number, record in given_.items()}
            for earlier in left:
                earlier.put(to, given_)
        elif what == "get":
            for number, record in zip(given_, shown.get(to, given_), strict=True):
                assert record in (None, last.get((to, number)))
        else:
            left.append(shown)
            shown = shown.transfer_unchanged(given_)
            last = {(to, number): record for (to, number), record in last.items() if number not in given_}
        kept = [record for to, number in last if (record := shown.get(to, [number])[0]) is not None]
        assert shown.used_bytes == sum(len(record) + RECORD_OVERHEAD_BYTES for record in kept) <= BOUND
    assert all(earlier.used_bytes == 0 for earlier in left)
