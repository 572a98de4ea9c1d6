"""Keys are remembered exactly, one by one or many at a time."""

from fieldgate_client.seen_keys import Key, SeenKeys
from hypothesis import given
from hypothesis import strategies as st

keys = st.one_of(st.integers(-600, 600), st.integers(), st.sampled_from(["a", "b", "1", "\ud800"]))


@given(st.lists(st.lists(keys, max_size=8), max_size=8))
def test_seen_keys_are_a_set(pages: list[list[Key]]) -> None:
    seen, expected = SeenKeys(), set[Key]()
    for page in pages:
        is_new = []
        for key in page:
            is_new.append(key not in expected)
            expected.add(key)
        assert seen.add_all(page) == is_new
        assert len(seen) == len(expected)
        assert all(key in seen for key in page)
    assert not any(key in seen for key in ({*range(-5, 5), "a", "c"} - expected))
    assert not any(seen.add(key) for key in expected)
