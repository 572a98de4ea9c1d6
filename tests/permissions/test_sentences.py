"""Permissions, filters, effects and explanations in words, in four languages."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL
from fieldgate.permissions.effects import _EFFECT_MESSAGES, Effect
from fieldgate.permissions.explain import MatchedRule, Rule
from fieldgate.permissions.labels import replace_codenames, short_label
from fieldgate.permissions.sentences import (
    access_sentence,
    describe_submissions,
    effect_reason,
    rule_sentence,
)
from fieldgate.permissions.submission_filters import with_implied_filters
from tests.permissions.permission_strategies import ASSIGNABLE, partial_filters

EN = Language.ENGLISH
NORTH = {"view_submissions": ({"team": "north"},)}
PEOPLE = {"view_submissions": ({"_submitted_by": {"$in": ["amina", "omar"]}},)}


def plain(text: str) -> str:
    """Return the text without the marks that isolate names."""
    return text.replace("\u2068", "").replace("\u2069", "").replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("permissions", "filters", "expected"),
    [
        (["view_asset"], {}, "Can view the form"),
        (
            ["view_asset", "change_asset", "view_submissions"],
            {},
            "Can edit the form and see submissions",
        ),
        (["view_asset", PARTIAL], NORTH, "Can see only submissions where team is “north”"),
        (["view_asset", PARTIAL], PEOPLE, "Can see only submissions from amina and omar"),
        (["manage_asset", "view_asset"], {}, "Can edit everything and share it with others"),
        ([], {}, "Has no access"),
    ],
)
def test_access(permissions: list[str], filters: Any, expected: str) -> None:
    assert plain(access_sentence(permissions, filters, "survey", EN)) == expected


def test_stronger_partial_permission_covers_weaker_ones() -> None:
    filters = with_implied_filters({"change_submissions": ({"team": "north"},)})
    held = ["view_asset", "add_submissions", PARTIAL]
    assert (
        plain(access_sentence(held, filters, "survey", EN))
        == "Can edit only submissions where team is “north”"
    )
    wider = with_implied_filters({**filters, "view_submissions": ({"team": "south"},)})
    assert plain(access_sentence(held, wider, "survey", EN)) == (
        "Can see only submissions where team is “south” or team is “north”"
        " and edit only submissions where team is “north”"
    )


@given(
    st.sampled_from(sorted(ASSIGNABLE)),
    st.sets(st.sampled_from(sorted(BY_CODENAME))),
    partial_filters,
    st.sampled_from(Language),
)
def test_no_codename_in_any_sentence(
    asset_type: str, codenames: set[str], filters: Any, language: Language
) -> None:
    held = rules.with_implied(codenames, asset_type)
    sentence = access_sentence(held, with_implied_filters(filters), asset_type, language)
    assert sentence
    assert not any(codename in sentence for codename in BY_CODENAME)
    assert "{" not in sentence


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([{}], "submissions"),
        ([{"a": 1}, {}], "submissions"),
        (
            [{"_submitted_by": "amina"}, {"_submitted_by": "omar"}],
            "only submissions from amina and omar",
        ),
        ([{"age": {"$gte": 18}}], "only submissions where age is at least “18”"),
        ([{"age": {"$lt": 18}}], "only submissions where age is less than “18”"),
        ([{"age": {"$ne": None}}], "only submissions where age is not “null”"),
        ([{"age": {"$exists": False}}], "only submissions where age is not answered"),
        ([{"team": {"$in": ["a", "b"]}}], "only submissions where team is a or b"),
        ([{"a": "1", "b": True}], "only submissions where a is “1” and b is “true”"),
        (
            [{"_submitted_by": "amina", "team": "x"}],
            "only submissions where they were sent by amina and team is “x”",
        ),
        ([{"$or": [{"a": 1}]}], 'only submissions where they match {"$or":[{"a":1}]}'),
        (
            [{"a": {"$gt": 1, "$lt": 5}}],
            'only submissions where they match {"a":{"$gt":1,"$lt":5}}',
        ),
        ([{"a": {"$unknown": 1}}], 'only submissions where they match {"a":{"$unknown":1}}'),
        (
            [{"_submitted_by": {"$in": list("abcdefg")}}],
            "only submissions from a, b, c, d, e, and 2 others",
        ),
        (
            [{"a": str(each)} for each in range(6)],
            "only submissions where a is “0”, a is “1”, a is “2”, a is “3”, a is “4”, or 1 other",
        ),
    ],
)
def test_filters(filters: list[dict[str, Any]], expected: str) -> None:
    assert plain(describe_submissions(filters, EN)) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["_submitted_by", "$in"]), json_values, max_size=7
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(Language),
)
def test_any_filter_can_be_described(filters: list[dict[str, Any]], language: Language) -> None:
    text = describe_submissions(filters, language)
    assert len(text) < 10_000
    assert text.count("\u2068") == text.count("\u2069")


def test_values_are_isolated_and_cut() -> None:
    text = describe_submissions([{"team": "\u202e" + "x" * 100}], EN)
    assert "\u202e" not in text
    assert "\u2068" + "x" * 60 + "…\u2069" in text


def test_every_effect_has_a_reason() -> None:
    for kind, reason in _EFFECT_MESSAGES:
        for language in Language:
            assert effect_reason(
                Effect("view_asset", kind, reason, "change_asset"), "survey", language
            )


@pytest.mark.parametrize("language", Language)
def test_every_rule_has_a_sentence(language: Language) -> None:
    sentences = {
        rule_sentence(MatchedRule(rule, "view_asset"), "survey", language) for rule in Rule
    }
    assert len(sentences) == len(Rule)


def test_short_labels_and_codenames_in_messages() -> None:
    assert short_label("discover_asset", "survey", EN) == "Discover collection"
    text = "partial_submissions and view_submissions contradict each other; not my_view_asset."
    assert replace_codenames(text, "survey", EN) == (
        "“Act on submissions only from specific users” and “View submissions” contradict each other; not my_view_asset."
    )
