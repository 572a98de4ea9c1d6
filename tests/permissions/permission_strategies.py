"""Hypothesis strategies for reachable permission states, and the invariants of each.

The expected values come from the tables of the interface, not from the rules under test.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st

from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import EffectKind, RuleViolation
from fieldgate.permissions.rules import PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import PARTIALLY_GRANTABLE
from tests.permissions.test_catalogue import TABLE

FORM_PERMISSIONS = {"view_asset", "change_asset", "manage_asset"}
ASSIGNABLE: dict[str, set[str]] = {
    "survey": set(TABLE) - {"discover_asset"},
    "template": FORM_PERMISSIONS,
    "block": FORM_PERMISSIONS,
    "question": FORM_PERMISSIONS,
    "empty": FORM_PERMISSIONS,
    "collection": FORM_PERMISSIONS | {"discover_asset"},
}
PUBLIC_PERMISSIONS = {"view_asset", "discover_asset", "add_submissions", "view_submissions"}
INVALID_CODENAMES = ("delete_asset", "", "VIEW_ASSET")

Step = Callable[[PermissionState, str], RuleOutcome]


def with_implied(codenames: Iterable[str], asset_type: str) -> frozenset[str]:
    """Return the permissions with all they imply, as far as the asset type supports them."""
    asked = set(codenames)
    return frozenset(
        (asked | {each for one in asked for each in TABLE[one][1]}) & ASSIGNABLE[asset_type]
    )


def has_contradiction(codenames: Iterable[str]) -> bool:
    held = set(codenames)
    return any(TABLE[each][2] & held for each in held)


# Requests

asset_types = st.sampled_from(["survey", "survey", "survey", "collection", "block"])
partial_filters = st.dictionaries(
    st.sampled_from(PARTIALLY_GRANTABLE),
    st.lists(
        st.dictionaries(
            st.sampled_from(["_submitted_by", "q1"]),
            st.sampled_from(["amina", 1, True, 1.5]),
            max_size=1,
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
    min_size=1,
    max_size=3,
)
single_codename = st.sampled_from(sorted(TABLE)).map(lambda codename: [codename])
codenames = single_codename | st.lists(
    st.sampled_from(sorted(TABLE)), min_size=1, max_size=3, unique=True
)
# Sometimes with an unknown codename or an empty filter.
any_codenames = codenames | st.lists(
    st.sampled_from([*sorted(TABLE), *INVALID_CODENAMES]), max_size=3
)
any_partial_filters = (
    st.none()
    | partial_filters
    | st.sampled_from([{}, {"view_submissions": ()}, {"view_asset": ({},)}, {"": ({},)}])
)


START = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = [START + timedelta(days=each) for each in (1, 2, 3)]
requested_ends = st.dictionaries(
    st.sampled_from(sorted(TABLE)), st.sampled_from([None, *MOMENTS]), max_size=6
)


class Assign(msgspec.Struct, frozen=True):
    codenames: list[str]
    filters: Any
    ends: Mapping[str, datetime | None] = {}

    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.assign(
            state, self.codenames, asset_type, self.filters, _of(self.codenames, self.ends)
        )


class Remove(msgspec.Struct, frozen=True):
    codenames: list[str]

    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.remove(state, self.codenames, asset_type)


class Replace(Assign, frozen=True):
    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.replace(
            state, self.codenames, asset_type, self.filters, _of(self.codenames, self.ends)
        )


class ReplaceDirect(Assign, frozen=True):
    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.replace_direct(
            state, self.codenames, asset_type, self.filters, _of(self.codenames, self.ends)
        )


def _of(
    codenames: Iterable[str], ends: Mapping[str, datetime | None]
) -> dict[str, datetime | None]:
    return {each: ends[each] for each in codenames if each in ends}


class RemoveAll(msgspec.Struct, frozen=True):
    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.remove_all(state, asset_type)


class ExternalChange(msgspec.Struct, frozen=True):
    """Change the inherited permissions, those of teams, or those of the public."""

    collection: frozenset[str]
    public: frozenset[str]
    teams: tuple[str, ...] = ()  # one permission each
    team_filters: Mapping[str, Any] = {}

    def __call__(self, state: PermissionState, asset_type: str) -> RuleOutcome:
        collection = rules.inherited(with_implied(self.collection, "collection"), asset_type)
        if asset_type == "collection":  # a collection is not in a collection
            collection = frozenset()
        public = (
            frozenset()
            if state.is_public
            else with_implied(self.public & ASSIGNABLE[asset_type], asset_type)
        )
        if state.is_public:
            collection &= PUBLIC_PERMISSIONS
        after = msgspec.structs.replace(state, collection=collection, public=public)
        if state.is_public:
            return RuleOutcome(after, ())
        assigned = [Assign([each], self.team_filters) for each in self.teams]
        teams = [apply_steps([act], asset_type) for act in assigned]
        held = frozenset[str]().union(*(each.granted for each in teams))
        filters = next((each.filters for each in teams if each.filters), {})
        return RuleOutcome(msgspec.structs.replace(after, teams=held, team_filters=filters), ())


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Assign, codenames, partial_filters, requested_ends),
    st.builds(Assign, any_codenames, any_partial_filters),
    st.builds(Remove, single_codename),
    st.builds(Remove, any_codenames),
    st.builds(Replace, codenames, partial_filters, requested_ends),
    st.builds(Replace, any_codenames, any_partial_filters),
    st.builds(ReplaceDirect, codenames, partial_filters, requested_ends),
    st.builds(RemoveAll),
    st.builds(
        ExternalChange,
        st.frozensets(st.sampled_from(sorted(ASSIGNABLE["collection"])), max_size=2),
        st.frozensets(st.sampled_from(sorted(PUBLIC_PERMISSIONS)), max_size=2),
        st.lists(st.sampled_from(sorted(TABLE)), max_size=2).map(tuple),
        partial_filters,
    ),
)
# Random actions seldom lead to many permissions, or to partial ones.
initial_steps: st.SearchStrategy[list[Step]] = st.one_of(
    st.just([]),
    st.builds(lambda which: [Assign([PARTIAL], which)], partial_filters),
    st.just([Assign(["manage_asset"], None)]),
    st.just([ExternalChange(frozenset({"change_asset"}), frozenset()), Remove(["view_asset"])]),
    st.builds(
        lambda which, *teams: [ExternalChange(frozenset(), frozenset(), teams, which)],
        partial_filters,
        st.sampled_from(sorted(TABLE)),
        st.sampled_from([PARTIAL, "view_asset", "change_submissions"]),
    ),
)
step_sequences: st.SearchStrategy[list[Step]] = st.builds(
    lambda opening, more: [*opening, *more], initial_steps, st.lists(steps, min_size=1, max_size=6)
)
initial_states = st.builds(PermissionState, is_public=st.sampled_from([False, False, False, True]))


def apply_steps(
    steps: Iterable[Step], asset_type: str, state: PermissionState | None = None
) -> PermissionState:
    """Return the state after a sequence of actions; refused ones change nothing."""
    state = state or PermissionState()
    for act in steps:
        try:
            state = act(state, asset_type).state
        except RuleViolation:
            continue
    return state


@st.composite
def reachable_states(draw: Any) -> tuple[PermissionState, str]:
    """A reachable state, and the type of the asset."""
    asset_type = draw(asset_types)
    return apply_steps(draw(step_sequences), asset_type, draw(initial_states)), asset_type


# Invariants


def check_invariants(state: PermissionState, asset_type: str) -> None:
    """Check what holds for every state."""
    granted, denied = state.granted, state.denied
    for kept in (
        granted,
        denied,
        state.collection,
        state.public,
        rules.effective_permissions(state, asset_type),
    ):
        assert type(kept) is frozenset
    assert with_implied(granted, asset_type) == granted
    assert not has_contradiction(granted)
    assert not state.is_public or granted <= PUBLIC_PERMISSIONS
    assert not granted & denied
    assert denied <= {"view_asset", "change_asset"} or not state.is_public
    if "view_asset" in denied and not state.is_public:
        assert "change_asset" in denied
    effective = rules.effective_permissions(state, asset_type)
    assert with_implied(effective, asset_type) == effective
    assert bool(state.filters) == (PARTIAL in granted)
    for codename, given in state.filters.items():
        assert given
        for each in TABLE[codename][1] & set(PARTIALLY_GRANTABLE):
            assert all(one in state.filters[each] for one in given)
    assert "add_submissions" not in state.filters or "add_submissions" in granted
    assert state.ends.keys() <= granted
    for one in granted:
        for each in TABLE[one][1] & granted:
            assert end_of(state, each) >= end_of(state, one), (
                "what is implied ends with the last that implies it"
            )


def end_of(state: PermissionState, permission: str) -> datetime:
    return state.ends.get(permission, datetime.max.replace(tzinfo=UTC))


def state_at(state: PermissionState, moment: datetime) -> PermissionState:
    """What is left of a state when permissions have ended, as when rows that have ended do not exist."""
    granted = frozenset(each for each in state.granted if end_of(state, each) > moment)
    ends = {each: end for each, end in state.ends.items() if each in granted}
    filters = state.filters if PARTIAL in granted else {}
    return msgspec.structs.replace(state, granted=granted, ends=ends, filters=filters)


def check_effects(before: PermissionState, outcome: RuleOutcome, asked: Iterable[str] = ()) -> None:
    """Check that the effects are the difference of the states, each once and with a valid reason."""
    now = outcome.state
    by_what: dict[EffectKind, list[str]] = {what: [] for what in EffectKind}
    for effect in outcome.effects:
        by_what[effect.kind].append(effect.permission)
        assert effect.permission in str(effect.message())
        assert effect.because in str(effect.message())
    assert sorted(by_what[EffectKind.GRANTED]) == sorted(now.granted - before.granted)
    # What teams pass on is held or not, as partial_submissions is assigned or not.
    given = now.granted - before.granted
    hidden = frozenset(
        each for each in before.teams if any(has_contradiction({each, other}) for other in given)
    )
    removed = set(by_what[EffectKind.REMOVED])
    assert len(removed) == len(by_what[EffectKind.REMOVED])
    assert before.granted - now.granted <= removed <= (before.granted - now.granted) | hidden
    assert sorted(by_what[EffectKind.DENIED]) == sorted(now.denied - before.denied)
    allowed = set(by_what[EffectKind.ALLOWED])
    lost = before.granted - now.granted
    regained = {
        each for each in before.teams if any(has_contradiction({each, other}) for other in lost)
    }
    assert len(allowed) == len(by_what[EffectKind.ALLOWED])
    assert before.denied - now.denied <= allowed <= (before.denied - now.denied) | regained
    is_filtered = PARTIAL in before.granted & now.granted and (
        msgspec.json.encode(now.filters) != msgspec.json.encode(before.filters)
    )
    assert by_what[EffectKind.FILTERED] == [PARTIAL] * is_filtered
    kept = before.granted & now.granted
    assert by_what[EffectKind.ENDS] == sorted(
        each for each in kept if end_of(before, each) != end_of(now, each)
    )
    assert (now.is_owner, now.is_public, now.collection, now.teams, now.public) == (
        before.is_owner, before.is_public, before.collection, before.teams, before.public,
    )  # fmt: skip
