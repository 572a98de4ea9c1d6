"""Which boxes of the sharing form are ticked. A test in `tests/browser` compares the script with this."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.permissions import rules
from fieldgate.web.pages.sharing_forms import ticked_permissions, update_choices
from fieldgate.web.pages.sharing_people import PERMISSION_ORDER

OFFERED = [each for each in PERMISSION_ORDER if each in rules.assignable("survey")]
EDIT_ALL = {"view_asset", "add_submissions", "view_submissions", "change_submissions"}
SOME = {"view_asset", "partial_submissions"}


def click(choices: list[str], *boxes: str) -> list[str]:
    """Click boxes one after the other, as with the script."""
    for box in boxes:
        ticked = ticked_permissions(choices, "survey") ^ {box}
        choices = update_choices(choices, [each for each in OFFERED if each in ticked], "survey")
    return choices


@pytest.mark.parametrize(
    ("clicks", "expected"),
    [
        ("manage_asset", set(OFFERED) - {"partial_submissions"}),
        ("manage_asset manage_asset", set()),
        ("view_asset manage_asset manage_asset", {"view_asset"}),
        ("view_submissions manage_asset manage_asset", {"view_asset", "view_submissions"}),
        ("change_submissions add_submissions", {"view_asset", "view_submissions"}),
        ("change_submissions", EDIT_ALL),
        # What needs the box goes with it. The rest stays: nobody unticked it.
        ("manage_asset delete_submissions", EDIT_ALL | {"change_asset", "validate_submissions"}),
        ("change_submissions view_submissions", {"view_asset", "add_submissions"}),
        # What a choice excludes comes back with it.
        ("view_submissions partial_submissions", SOME),
        ("view_submissions partial_submissions partial_submissions", {"view_asset", "view_submissions"}),
        ("manage_asset partial_submissions", SOME),
        ("manage_asset partial_submissions partial_submissions", set(OFFERED) - {"partial_submissions"}),
        ("partial_submissions view_submissions", {"view_asset", "view_submissions"}),
        ("partial_submissions manage_asset manage_asset", SOME),
        ("view_submissions partial_submissions view_asset", set()),
        ("delete_submissions partial_submissions view_submissions", {"view_asset", "view_submissions"}),
        (
            "change_submissions partial_submissions view_submissions partial_submissions partial_submissions",
            {"view_asset", "view_submissions"},
        ),
    ],
)  # fmt: skip
def test_boxes_after_clicks(clicks: str, expected: set[str]) -> None:
    assert ticked_permissions(click([], *clicks.split()), "survey") == expected


def test_what_somebody_has_stays_when_manage_is_unticked() -> None:
    held = [each for each in OFFERED if each != "partial_submissions"]
    assert ticked_permissions(click(held, "manage_asset"), "survey") == set(held) - {"manage_asset"}


def test_several_boxes_changed_at_once() -> None:
    """Without the script."""
    everything = ticked_permissions(["manage_asset"], "survey")

    def ticked_after(*boxes: str) -> set[str]:
        return set(ticked_permissions(update_choices(["manage_asset"], boxes, "survey"), "survey"))

    assert ticked_after(*everything) == everything
    assert ticked_after(*everything - {"manage_asset"}) == set()
    two_less = everything - {"manage_asset", "delete_submissions"}
    assert ticked_after(*two_less) == two_less
    assert ticked_after(*everything - {"manage_asset"}, "partial_submissions") == SOME
    assert update_choices([], ["view_asset", "nonsense"], "survey") == ["view_asset", "nonsense"]
    assert ticked_permissions(["view_submissions", "partial_submissions"] * 5000, "survey") == SOME
    assert ticked_permissions(["nonsense", "discover_asset"], "survey") == set()


some_choices = st.lists(st.sampled_from(OFFERED), max_size=8).map(lambda boxes: click([], *boxes))


@given(some_choices, st.sampled_from(OFFERED))
def test_ticked_boxes_can_be_assigned_together(choices: list[str], box: str) -> None:
    ticked = ticked_permissions(click(choices, box), "survey")
    assert rules.with_implied(ticked, "survey") == ticked
    assert rules.find_contradiction(ticked, "survey") is None
    assert (box in ticked) != (box in ticked_permissions(choices, "survey")), (
        "a click changes the box"
    )


@given(some_choices, st.sampled_from(OFFERED))
def test_unticking_undoes_ticking(choices: list[str], box: str) -> None:
    before = ticked_permissions(choices, "survey")
    if box not in before:
        assert ticked_permissions(click(choices, box, box), "survey") == before
