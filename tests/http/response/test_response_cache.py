"""The response cache: its limit, and what it evicts."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.http.response.response_cache import MAX_KEY_CHARS, CacheKey, ResponseCache
from fieldgate.http.response.responses import Response

ENTRY_BYTES = Response(200, [], b"").size


def key_of(name: str, audience: str = "", version: int = 1) -> CacheKey:
    return name.encode(), audience, (version,)


def response_of(total_bytes: int) -> Response:
    """A response that takes this many bytes in the cache under a key of one character."""
    return Response(200, [], b"x" * (total_bytes - ENTRY_BYTES - 1))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6000)), max_size=200))
def test_cache_stays_within_its_limit(puts: list[tuple[int, int]]) -> None:
    cache = ResponseCache(10_000)
    stored: dict[CacheKey, Response] = {}
    for number, size in puts:
        key = (b"x" * number, "y", (number,))
        response = Response(200, [], b"x" * size)
        cache.put(key, response)
        stored[key] = response
        is_small = response.size + number + 4 <= 5_000
        assert cache.get(key) is (response if is_small else None)
        assert cache.used_bytes <= 10_000
    found = {key: response for key, response in stored.items() if cache.get(key) is response}
    assert cache.used_bytes == sum(
        response.size + len(key[0]) + 4 for key, response in found.items()
    )


def test_audience_and_versions_are_part_of_the_key() -> None:
    cache = ResponseCache(10_000)
    cache.put(key_of("a", "ifrc", 1), response_of(1_000))
    assert cache.get(key_of("a", "ifrc", 2)) is None
    assert cache.get(key_of("a", "", 1)) is None


def test_long_keys_are_not_stored() -> None:
    cache = ResponseCache(1_000_000)
    cache.put(key_of("a" * (MAX_KEY_CHARS - 1), "b"), response_of(1_000))
    assert cache.get(key_of("a" * (MAX_KEY_CHARS - 1), "b")) is not None
    cache.put(key_of("a" * MAX_KEY_CHARS, "b"), response_of(1_000))
    assert cache.get(key_of("a" * MAX_KEY_CHARS, "b")) is None
