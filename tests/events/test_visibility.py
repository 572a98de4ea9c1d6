"""Who sees an event, and whether one audience includes another."""

import pytest

from fieldgate.events.model import Event, Visibility, pack, unpack
from fieldgate.events.visibility import FULL_SCOPE, PUBLIC_SCOPE, Audience, ViewerScope
from tests.events.event_service import make_event

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


def viewers(audience: Audience) -> set[int]:
    """The scopes that see an event with this audience, by their place in `SCOPES`."""
    return {place for place, scope in enumerate(SCOPES) if scope.can_see(audience.visibility, audience.countries)}


@pytest.mark.parametrize("audience", AUDIENCES, ids=str)
def test_audience_includes_another_if_its_viewers_do(audience: Audience) -> None:
    for other in AUDIENCES:
        if {audience.visibility, other.visibility} != {Visibility.SOCIETIES, Visibility.SECRETARIAT}:
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


def test_visibility_is_stored_as_its_number() -> None:
    assert [(each.name, each.value) for each in Visibility] == [
        ("MOVEMENT", 1),
        ("SECRETARIAT", 2),
        ("PUBLIC", 3),
        ("SOCIETIES", 4),
    ]
    for visibility in Visibility:
        packed = pack(make_event(1, visibility=visibility))
        assert (b'"visibility":%d' % visibility in packed) == (visibility is not Visibility.MOVEMENT)  # the default
        event: Event = unpack(packed)
        assert event.visibility is visibility
