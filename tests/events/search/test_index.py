"""An index after changes equals one that is built from scratch."""

import subprocess
import sys
from array import array

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from fieldgate.events.search.index import INT64_MAX, MAX_IN_PLACE_CHANGES, IdLookup
from fieldgate.events.search.int_arrays import int64_array

ids = st.lists(st.integers(-INT64_MAX, INT64_MAX), unique=True, max_size=40)


@given(ids, st.data())
def test_id_lookup_with_changes_equals_rebuilt(known: list[int], data: st.DataObject) -> None:
    before = BitMap(range(len(known)))
    gone = data.draw(st.sets(st.sampled_from(known))) if known else set()
    # What was deleted may come back under its id.
    fresh = data.draw(
        st.lists(st.integers(-INT64_MAX, INT64_MAX) | st.sampled_from([0, *gone]), unique=True, max_size=40)
    )
    new = [number for number in fresh if number not in known or number in gone]
    all_ids = int64_array([*known, *new])
    alive = BitMap(place for place, number in enumerate(all_ids) if place >= len(known) or number not in gone)
    found = IdLookup.from_ids(int64_array(known), before).with_changes(gone, new, all_ids, alive)
    rebuilt = IdLookup.from_ids(all_ids, alive)
    assert (found.ids, found.positions) == (rebuilt.ids, rebuilt.positions)
    for number in {*known, *new}:
        place = found.position(number)
        assert (place is None) == (number in gone and number not in new)
        assert place is None or all_ids[place] == number


def test_many_changes_are_sorted() -> None:
    known, new = int64_array(range(0, 400, 2)), list(range(399, 399 - 2 * (MAX_IN_PLACE_CHANGES + 1), -2))
    all_ids = known + int64_array(new)
    alive = BitMap(range(len(all_ids)))
    found = IdLookup.from_ids(known, BitMap(range(len(known)))).with_changes(set(), new, all_ids, alive)
    assert found.ids == int64_array(sorted(all_ids))
    assert found.positions == array("I", sorted(range(len(all_ids)), key=all_ids.__getitem__))


def test_ids_out_of_range_are_not_found() -> None:
    by_id = IdLookup.from_ids(int64_array([7]), BitMap([0]))
    assert by_id.position(INT64_MAX + 1) is None
    assert by_id.position(-INT64_MAX - 2) is None
    assert by_id.position(7) == 0


# In a process of its own: this one has numpy already.
GROWING = """
import sys
from fieldgate.events.search import int_arrays
from fieldgate.events.search.index import IndexBuilder, IndexRow

int_arrays.NUMPY_THRESHOLD = 3
builder = IndexBuilder()
builder.add([IndexRow(1, 1, 1, 1, "v3"), IndexRow(2, 2, 2, 2, "v3")])
index = builder.build()
print(len(index), "numpy" in sys.modules)
index = index.with_changes([IndexRow(3, 3, 3, 3, "v3")], [])
print(len(index), "numpy" in sys.modules)
"""


def test_growing_index_loads_numpy() -> None:
    """It grows in a thread; queries run on the event loop, which loading numpy would block."""
    told = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, check=True, timeout=60)
    assert told.stdout.splitlines() == ["2 False", "3 True"]
