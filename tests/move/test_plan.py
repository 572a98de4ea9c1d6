"""What is decided about an asset."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.move.plan import AssetPart, KnownAsset, MoveAction, decide, hashes

QUESTIONS, DETAILS, PUBLICATION, SHARING = AssetPart
SOME_PARTS = st.sets(st.sampled_from(AssetPart))


def state(changed: Collection[AssetPart] = ()) -> dict[str, str]:
    return hashes({part: part in changed for part in AssetPart})


BEFORE = KnownAsset("a", state(), state())


@pytest.mark.parametrize(
    ("there", "here", "taken"),
    [
        ({DETAILS, SHARING}, set(), {DETAILS, SHARING}),
        ({DETAILS, SHARING}, {DETAILS}, {SHARING}),
        ({QUESTIONS}, set(), {QUESTIONS, PUBLICATION}),  # what is published there is published here
        ({QUESTIONS}, {PUBLICATION}, {QUESTIONS}),
        ({PUBLICATION}, {QUESTIONS}, set()),  # questions that were written here are not published
        ({PUBLICATION}, {DETAILS}, {PUBLICATION}),
    ],
)
def test_parts_that_are_taken(
    there: set[AssetPart], here: set[AssetPart], taken: set[AssetPart]
) -> None:
    step = decide(BEFORE, state(there), state(here))
    assert step.taken == taken
    assert step.action is (MoveAction.CHANGE if taken else MoveAction.KEEP)


@given(there=SOME_PARTS, here=SOME_PARTS)
def test_what_was_changed_here_is_never_taken_and_always_reported(
    there: set[AssetPart], here: set[AssetPart]
) -> None:
    step = decide(BEFORE, state(there), state(here))
    assert step.taken.isdisjoint(here)
    assert there - here - step.taken <= ({PUBLICATION} if QUESTIONS in here else set())
    assert (step.action is MoveAction.UNCHANGED) == (not there | here)
    assert all(part.value in step.reason for part in here)


def test_new_and_deleted_assets() -> None:
    assert decide(None, state(), None).action is MoveAction.CREATE
    assert decide(None, state(), None).taken == set(AssetPart)
    for there, reason in (
        ((), "It was deleted here."),
        ({DETAILS}, "changed there and deleted here"),
    ):
        step = decide(BEFORE, state(there), None)
        assert (step.action, step.taken) == (MoveAction.KEEP, frozenset())
        assert reason in step.reason


def test_hashes_do_not_depend_on_the_order_of_keys() -> None:
    first, same, other = (
        {SHARING: {"a": 1, "b": [2]}},
        {SHARING: {"b": [2], "a": 1}},
        {SHARING: {"a": 1, "b": [3]}},
    )
    assert hashes(first) == hashes(same) != hashes(other)
