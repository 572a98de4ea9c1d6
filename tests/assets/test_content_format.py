"""Upgrades of stored form content from one format to the next."""

from copy import deepcopy
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.content_format import CONTENT_FORMAT, FIRST_FORMAT, STEPS, Content, Step, upgrade_content

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
CONTENTS = st.dictionaries(st.text(), JSON, max_size=5)


def add_step(key: str) -> Step:
    """A step that does not commute with others: it records what it has seen."""

    def step(content: Content) -> Content:
        return {**content, key: sorted(content)}

    return step


STEP_LISTS = st.lists(st.text(min_size=1).map(add_step), max_size=5)


def test_current_format_counts_the_steps() -> None:
    assert FIRST_FORMAT + len(STEPS) == CONTENT_FORMAT


@given(CONTENTS)
def test_current_content_is_unchanged(content: dict[str, Any]) -> None:
    assert upgrade_content(deepcopy(content), CONTENT_FORMAT) == content


@given(CONTENTS, STEP_LISTS)
def test_first_format_goes_through_all_steps(content: dict[str, Any], steps: list[Step]) -> None:
    expected = reduce(lambda upgraded, step: step(upgraded), steps, content)
    assert upgrade_content(content, FIRST_FORMAT, steps) == expected


@given(CONTENTS, STEP_LISTS, st.data())
def test_upgrade_in_two_releases_equals_upgrade_in_one(
    content: dict[str, Any], steps: list[Step], data: st.DataObject
) -> None:
    """Whichever release wrote the content, and whichever ones rewrote it since."""
    written = data.draw(st.integers(0, len(steps)))
    rewritten = data.draw(st.integers(written, len(steps)))
    between = upgrade_content(content, FIRST_FORMAT + written, steps[:rewritten])
    upgraded = upgrade_content(between, FIRST_FORMAT + rewritten, steps)
    assert upgraded == upgrade_content(content, FIRST_FORMAT + written, steps)


@given(CONTENTS, STEP_LISTS, st.integers(0, 3))
def test_content_of_a_newer_release_is_unchanged(content: dict[str, Any], steps: list[Step], newer: int) -> None:
    assert upgrade_content(content, FIRST_FORMAT + len(steps) + newer, steps) == content


@pytest.mark.parametrize("version", [0, -1])
def test_formats_before_the_first_are_an_error(version: int) -> None:
    with pytest.raises(ValueError, match=f"has no format {version}"):
        upgrade_content({}, version)


def test_real_steps_accept_the_content_of_collections() -> None:
    assert isinstance(upgrade_content({}, FIRST_FORMAT), dict)


def test_format_2_has_no_title_and_a_boolean_lock() -> None:
    settings = {"form_title": "Homes", "id_string": "homes", "kobo--lock_all": "TRUE"}
    assert upgrade_content({"settings": settings}, 1) == {"settings": {"id_string": "homes", "kobo--lock_all": True}}
    assert upgrade_content({"settings": {"kobo--lock_all": "no"}}, 1) == {"settings": {"kobo--lock_all": False}}
    assert upgrade_content({"survey": []}, 1) == {"survey": []}
