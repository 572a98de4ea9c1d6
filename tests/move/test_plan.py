"""What is decided about an asset."""

import pytest

from fieldgate.move.plan import KnownAsset, MoveAction, Step, decide, hash_of

BEFORE = KnownAsset("a", "content", "details", "local")


@pytest.mark.parametrize(
    ("before", "content", "details", "local", "action", "replaces"),
    [
        (None, "content", "details", None, MoveAction.CREATE, False),
        (BEFORE, "content", "details", "local", MoveAction.UNCHANGED, False),
        (BEFORE, "content", "details", "other", MoveAction.KEEP, False),
        (BEFORE, "content", "details", None, MoveAction.KEEP, False),
        (BEFORE, "new", "details", "local", MoveAction.CHANGE, True),
        (BEFORE, "content", "new", "local", MoveAction.CHANGE, False),
        (BEFORE, "new", "new", "other", MoveAction.KEEP, False),
        (BEFORE, "new", "new", None, MoveAction.KEEP, False),
    ],
)
def test_decision(
    before: KnownAsset | None, content: str, details: str, local: str | None, action: MoveAction, replaces: bool
) -> None:
    step: Step = decide(before, KnownAsset("a", content, details), local)
    assert (step.action, step.replaces_content, bool(step.reason)) == (action, replaces, action is MoveAction.KEEP)


def test_hashes_do_not_depend_on_the_order_of_keys() -> None:
    assert hash_of({"a": 1, "b": [2]}) == hash_of({"b": [2], "a": 1}) != hash_of({"a": 1, "b": [3]})
