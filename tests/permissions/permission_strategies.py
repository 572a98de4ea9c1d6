"""Standings that acts can lead to, and what must be true of each: told from the tables of the interface, not from the
rules that are tested."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from hypothesis import strategies as st

from fieldgate.permissions import rules
from fieldgate.permissions.rules import (
    PARTIAL,
    PARTIALLY_GRANTABLE,
    EffectKind,
    PermissionState,
    RuleOutcome,
    RuleViolation,
)
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
PUBLIC = {"view_asset", "discover_asset", "add_submissions", "view_submissions"}
NO_PERMISSIONS = ("delete_asset", "", "VIEW_ASSET")

Act = Callable[[PermissionState, str], RuleOutcome]


def closed(codenames: Iterable[str], asset_type: str) -> frozenset[str]:
    """The permissions with all they imply, as far as the type takes them."""
    asked = set(codenames)
    return frozenset((asked | {each for one in asked for each in TABLE[one][1]}) & ASSIGNABLE[asset_type])


def contradict(codenames: Iterable[str]) -> bool:
    held = set(codenames)
    return any(TABLE[each][2] & held for each in held)


# What is sent

types = st.sampled_from(["survey", "survey", "survey", "collection", "block"])
filters = st.dictionaries(
    st.sampled_from(PARTIALLY_GRANTABLE),
    st.lists(
        st.dictionaries(st.sampled_from(["_submitted_by", "q1"]), st.sampled_from(["amina", 1, True, 1.5]), max_size=1),
        min_size=1,
        max_size=2,
    ).map(tuple),
    min_size=1,
    max_size=3,
)
one = st.sampled_from(sorted(TABLE)).map(lambda codename: [codename])
codenames = one | st.lists(st.sampled_from(sorted(TABLE)), min_size=1, max_size=3, unique=True)
# Now and then something nobody can be given, or filters that say nothing.
any_codenames = codenames | st.lists(st.sampled_from([*sorted(TABLE), *NO_PERMISSIONS]), max_size=3)
any_filters = st.none() | filters | st.sampled_from([{}, {"view_submissions": ()}, {"view_asset": ({},)}, {"": ({},)}])


class Assign(msgspec.Struct, frozen=True):
    codenames: list[str]
    filters: Any

    def __call__(self, standing: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.assign(standing, self.codenames, asset_type, self.filters)


class Remove(msgspec.Struct, frozen=True):
    codenames: list[str]

    def __call__(self, standing: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.remove(standing, self.codenames, asset_type)


class Replace(msgspec.Struct, frozen=True):
    codenames: list[str]
    filters: Any

    def __call__(self, standing: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.replace(standing, self.codenames, asset_type, self.filters)


class RemoveAll(msgspec.Struct, frozen=True):
    def __call__(self, standing: PermissionState, asset_type: str) -> RuleOutcome:
        return rules.remove_all(standing, asset_type)


class Elsewhere(msgspec.Struct, frozen=True):
    """Somebody changed the collection, or what the public may do."""

    collection: frozenset[str]
    public: frozenset[str]

    def __call__(self, standing: PermissionState, asset_type: str) -> RuleOutcome:
        collection = rules.inherited(closed(self.collection, "collection"), asset_type)
        if asset_type == "collection":  # it is in no other
            collection = frozenset()
        public = frozenset() if standing.is_public else closed(self.public & ASSIGNABLE[asset_type], asset_type)
        if standing.is_public:
            collection &= PUBLIC
        return RuleOutcome(msgspec.structs.replace(standing, collection=collection, public=public), ())


acts: st.SearchStrategy[Act] = st.one_of(
    st.builds(Assign, codenames, filters),
    st.builds(Assign, any_codenames, any_filters),
    st.builds(Remove, one),
    st.builds(Remove, any_codenames),
    st.builds(Replace, codenames, filters),
    st.builds(Replace, any_codenames, any_filters),
    st.builds(RemoveAll),
    st.builds(
        Elsewhere,
        st.frozensets(st.sampled_from(sorted(ASSIGNABLE["collection"])), max_size=2),
        st.frozensets(st.sampled_from(sorted(PUBLIC)), max_size=2),
    ),
)
# Chance alone seldom comes to hold much, or something for some submissions only.
openings: st.SearchStrategy[list[Act]] = st.one_of(
    st.just([]),
    st.builds(lambda which: [Assign([PARTIAL], which)], filters),
    st.just([Assign(["manage_asset"], None)]),
    st.just([Elsewhere(frozenset({"change_asset"}), frozenset()), Remove(["view_asset"])]),
)
sequences: st.SearchStrategy[list[Act]] = st.builds(
    lambda opening, more: [*opening, *more], openings, st.lists(acts, min_size=1, max_size=6)
)
beginnings = st.builds(PermissionState, is_public=st.sampled_from([False, False, False, True]))


def after(acts: Iterable[Act], asset_type: str, standing: PermissionState | None = None) -> PermissionState:
    """The standing that a sequence of acts leads to; what is refused changes nothing."""
    standing = standing or PermissionState()
    for act in acts:
        try:
            standing = act(standing, asset_type).state
        except RuleViolation:
            continue
    return standing


@st.composite
def situations(draw: Any) -> tuple[PermissionState, str]:
    """A standing that can come about, and the type of the asset."""
    asset_type = draw(types)
    return after(draw(sequences), asset_type, draw(beginnings)), asset_type


# What must be true


def check(standing: PermissionState, asset_type: str) -> None:
    """What holds for every standing, whatever was done."""
    granted, denied = standing.granted, standing.denied
    for kept in (
        granted,
        denied,
        standing.collection,
        standing.public,
        rules.effective_permissions(standing, asset_type),
    ):
        assert type(kept) is frozenset
    assert closed(granted, asset_type) == granted
    assert not contradict(granted)
    assert not standing.is_public or granted <= PUBLIC
    assert not granted & denied
    assert denied <= {"view_asset", "change_asset"}
    if "view_asset" in denied and not standing.is_public:
        assert "change_asset" in denied
    effective = rules.effective_permissions(standing, asset_type)
    assert closed(effective, asset_type) == effective
    assert bool(standing.filters) == (PARTIAL in granted)
    for codename, given in standing.filters.items():
        assert given
        for each in TABLE[codename][1] & set(PARTIALLY_GRANTABLE):
            assert all(one in standing.filters[each] for one in given)
    assert "add_submissions" not in standing.filters or "add_submissions" in granted


def check_effects(before: PermissionState, outcome: RuleOutcome, asked: Iterable[str] = ()) -> None:
    """The effects are the difference, each told once and with a reason that holds."""
    now = outcome.state
    by_what: dict[EffectKind, list[str]] = {what: [] for what in EffectKind}
    for effect in outcome.effects:
        by_what[effect.kind].append(effect.permission)
        assert effect.permission in str(effect.message())
        assert effect.because in str(effect.message())
    assert sorted(by_what[EffectKind.GRANTED]) == sorted(now.granted - before.granted)
    assert sorted(by_what[EffectKind.REMOVED]) == sorted(before.granted - now.granted)
    assert sorted(by_what[EffectKind.DENIED]) == sorted(now.denied - before.denied)
    assert sorted(by_what[EffectKind.ALLOWED]) == sorted(before.denied - now.denied)
    is_filtered = PARTIAL in before.granted & now.granted and (
        msgspec.json.encode(now.filters) != msgspec.json.encode(before.filters)
    )
    assert by_what[EffectKind.FILTERED] == [PARTIAL] * is_filtered
    assert (now.is_owner, now.is_public, now.collection, now.public) == (
        before.is_owner, before.is_public, before.collection, before.public,
    )  # fmt: skip
