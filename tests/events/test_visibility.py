"""Who sees an event, and whether one audience includes another."""

import pytest

from fieldgate.events.model import Visibility
from fieldgate.events.visibility import (
    FULL_SCOPE,
    PUBLIC_SCOPE,
    Audience,
    ViewerScope,
    audience_key,
    viewer_scope,
)
from fieldgate.identity import ANONYMOUS, Caller
from fieldgate.reference.reference_data import Country, ReferenceData

NEPAL, INDIA = 123, 84
MEMBER_LEVELS: frozenset[int] = frozenset({Visibility.PUBLIC, Visibility.MOVEMENT})
SCOPES = (
    PUBLIC_SCOPE,
    ViewerScope(MEMBER_LEVELS),
    ViewerScope(MEMBER_LEVELS, frozenset({NEPAL})),
    ViewerScope(MEMBER_LEVELS, frozenset({INDIA})),
    ViewerScope(MEMBER_LEVELS, frozenset({NEPAL, INDIA})),
    FULL_SCOPE,
)
AUDIENCES = [
    Audience.of(visibility, countries)
    for visibility in Visibility
    for countries in ((), (NEPAL,), (INDIA,), (NEPAL, INDIA))
]

REFERENCE_DATA = ReferenceData(
    [
        Country(id=NEPAL, iso3="NPL", names={"en": "Nepal"}),
        Country(id=INDIA, iso3="IND", names={"en": "India"}),
    ],
    [],
)
# Two of each that see the same.
CALLERS = [
    (ANONYMOUS, PUBLIC_SCOPE),
    (Caller(None, "no longer here", countries=("NPL",)), PUBLIC_SCOPE),
    (Caller(1), ViewerScope(MEMBER_LEVELS)),
    (Caller(2, "someone"), ViewerScope(MEMBER_LEVELS)),
    (Caller(3, countries=("NPL",)), ViewerScope(MEMBER_LEVELS, frozenset({NEPAL}))),
    (Caller(4, countries=("NPL",)), ViewerScope(MEMBER_LEVELS, frozenset({NEPAL}))),
    (Caller(5, countries=("NPL", "IND")), ViewerScope(MEMBER_LEVELS, frozenset({NEPAL, INDIA}))),
    (Caller(6, countries=("IND", "NPL")), ViewerScope(MEMBER_LEVELS, frozenset({NEPAL, INDIA}))),
    (Caller(7, is_superuser=True), FULL_SCOPE),
    (Caller(8, is_ifrc=True, countries=("NPL",)), FULL_SCOPE),
]


def viewers(audience: Audience) -> set[int]:
    """The scopes that see an event with this audience, by their place in `SCOPES`."""
    return {
        place
        for place, scope in enumerate(SCOPES)
        if scope.can_see(audience.visibility, audience.countries)
    }


@pytest.mark.parametrize("audience", AUDIENCES, ids=str)
def test_audience_includes_another_if_its_viewers_do(audience: Audience) -> None:
    for other in AUDIENCES:
        if {audience.visibility, other.visibility} != {
            Visibility.SOCIETIES,
            Visibility.SECRETARIAT,
        }:
            assert audience.includes(other) == (viewers(audience) >= viewers(other)), other


def test_societies_include_the_secretariat_but_not_the_reverse() -> None:
    """Even without countries, when both have the same viewers."""
    secretariat = Audience.of(Visibility.SECRETARIAT, ())
    for countries in ((), (NEPAL,)):
        societies = Audience.of(Visibility.SOCIETIES, countries)
        assert societies.includes(secretariat)
        assert not secretariat.includes(societies)


@pytest.mark.parametrize("audience", AUDIENCES, ids=str)
def test_union_includes_both_and_nobody_else(audience: Audience) -> None:
    for other in AUDIENCES:
        both = audience | other
        assert both.includes(audience), other
        assert both.includes(other), other
        assert viewers(both) == viewers(audience) | viewers(other), other


@pytest.mark.parametrize(("caller", "scope"), CALLERS, ids=str)
def test_scope_of_a_caller(caller: Caller, scope: ViewerScope) -> None:
    assert viewer_scope(caller, REFERENCE_DATA) == scope


def test_callers_have_the_same_key_if_they_see_the_same() -> None:
    for caller, scope in CALLERS:
        for other, other_scope in CALLERS:
            assert (audience_key(caller) == audience_key(other)) == (scope == other_scope), (
                caller,
                other,
            )


def test_contacts_are_for_members() -> None:
    assert [scope.can_see_contacts for scope in SCOPES] == [False, True, True, True, True, True]


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        (Visibility.PUBLIC, [True, True, True, True, True, True]),
        (Visibility.MOVEMENT, [False, True, True, True, True, True]),
        (Visibility.SOCIETIES, [False, False, True, False, True, True]),
        (Visibility.SECRETARIAT, [False, False, False, False, False, True]),
    ],
)
def test_who_sees_an_event_in_nepal(visibility: Visibility, expected: list[bool]) -> None:
    assert [scope.can_see(visibility, (NEPAL,)) for scope in SCOPES] == expected
