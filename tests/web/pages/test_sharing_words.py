"""People, filters and the history of sharing in words: functions without I/O."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import BY_CODENAME, implied
from fieldgate.permissions.submission_filters import (
    PARTIALLY_GRANTABLE,
    filters_equal,
    with_implied_filters,
)
from fieldgate.web.pages.sharing_filters import FilterFields, from_filters, to_partial_permissions
from fieldgate.web.pages.sharing_forms import reduce_permissions

API = "http://127.0.0.1:8000/base/api/v2"


def plain(text: str) -> str:
    return text.replace("\u2068", "").replace("\u2069", "").replace("\u00a0", " ")


# Filters

texts = st.text(max_size=6) | st.sampled_from(
    ["_submitted_by", "team", " x", "a,b", "a،b", "$in", ""]
)
values = texts | st.integers() | st.booleans() | st.none() | st.lists(texts, max_size=2)
filter_values = values | st.dictionaries(st.sampled_from(["$in", "$gt"]), values, max_size=1)
filters = st.dictionaries(
    st.sampled_from(PARTIALLY_GRANTABLE),
    st.lists(st.dictionaries(texts, filter_values, max_size=2), min_size=1, max_size=2).map(tuple),
    min_size=1,
    max_size=3,
)


@given(filters)
def test_fields_stand_for_the_same_filters(given_filters: Any) -> None:
    stored = with_implied_filters(given_filters)
    sent = to_partial_permissions(from_filters(stored))
    assert not isinstance(sent, Message)
    again = with_implied_filters({each["url"]: tuple(each["filters"]) for each in sent})
    assert filters_equal(with_names(again), with_names(stored))


def with_names(given_filters: Any) -> Any:
    """The filters, with a name in place of a list of one name, which stands for the same submissions."""

    def with_name(value: Any) -> Any:
        match value:
            case {"$in": [name]}:
                return name
        return value

    return {
        codename: tuple(
            {
                key: with_name(value) if key == "_submitted_by" else value
                for key, value in each.items()
            }
            for each in some
        )
        for codename, some in given_filters.items()
    }


@pytest.mark.parametrize(
    ("stored", "fields"),
    [
        ({"_submitted_by": "omar"}, {"people": "omar"}),
        ({"_submitted_by": {"$in": ["omar", "lucia"]}}, {"people": "omar, lucia"}),
        ({"team": "north"}, {"question": "team", "answer": "north"}),
        (
            {"team": "north", "_submitted_by": "omar"},
            {"people": "omar", "question": "team", "answer": "north"},
        ),
        (
            {"team": "north", "_submitted_by": {"$in": []}},
            {"query": '{"view_submissions":[{"team":"north","_submitted_by":{"$in":[]}}]}'},
        ),
        ({"_submitted_by": {"$in": ["omar"]}}, {"people": "omar"}),  # the same submissions
        (
            {"_submitted_by": ["omar"]},
            {"query": '{"view_submissions":[{"_submitted_by":["omar"]}]}'},
        ),
        (
            {"_submitted_by": {"$in": "omar"}},
            {"query": '{"view_submissions":[{"_submitted_by":{"$in":"omar"}}]}'},
        ),
        ({"age": 5}, {"query": '{"view_submissions":[{"age":5}]}'}),
        ({}, {"query": '{"view_submissions":[{}]}'}),
    ],
)
def test_simple_filters_are_fields(stored: dict[str, Any], fields: dict[str, str]) -> None:
    assert from_filters({"view_submissions": (stored,)}) == FilterFields(
        actions=("view_submissions",), **fields
    )


@given(st.lists(st.sampled_from([*BY_CODENAME, "nothing"])))
def test_implied_permissions_are_not_sent(chosen: list[str]) -> None:
    reduced = reduce_permissions(chosen)

    def closure(names: list[str]) -> set[str]:
        return {
            each
            for name in names
            for each in (name, *(implied(name) if name in BY_CODENAME else ()))
        }

    assert closure(reduced) == closure(chosen)
    assert len(reduced) == len(set(reduced))
    assert not any(
        each in implied(other) for each in reduced for other in reduced if other in BY_CODENAME
    )
