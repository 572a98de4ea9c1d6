"""The rules: invariants after any sequence of actions, and tables of examples."""

from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason, RuleViolation
from fieldgate.permissions.rules import PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import (
    ANY_SUBMISSIONS,
    PARTIALLY_GRANTABLE,
    filters_json_size,
    with_implied_filters,
)
from tests.permissions.permission_strategies import (
    ASSIGNABLE,
    MOMENTS,
    PUBLIC_PERMISSIONS,
    Assign,
    ExternalChange,
    Remove,
    Step,
    any_codenames,
    any_partial_filters,
    apply_steps,
    asset_types,
    check_effects,
    check_invariants,
    codenames,
    end_of,
    has_contradiction,
    initial_states,
    partial_filters,
    reachable_states,
    requested_ends,
    state_at,
    step_sequences,
    steps,
    with_implied,
)
from tests.permissions.test_catalogue import TABLE

SEEN = {"view_submissions": ({"_submitted_by": "amina"},)}
Situation = tuple[PermissionState, str]


def holding(*codenames: str, **more: Any) -> PermissionState:
    granted = with_implied(codenames, "survey")
    return PermissionState(
        **{"granted": granted, "filters": SEEN if PARTIAL in granted else {}, **more}
    )


# After any sequence of actions


@given(asset_types, initial_states, step_sequences)
def test_invariants_hold_and_effects_are_the_difference(
    asset_type: str, standing: PermissionState, sequence: list[Step]
) -> None:
    for act in sequence:
        try:
            outcome = act(standing, asset_type)
        except RuleViolation:
            continue
        check_invariants(outcome.state, asset_type)
        for moment in MOMENTS:
            check_invariants(state_at(outcome.state, moment), asset_type)
        if not isinstance(act, ExternalChange):
            check_effects(standing, outcome)
        standing = outcome.state


@given(reachable_states(), any_codenames, any_partial_filters)
def test_assigned_permissions_are_held_with_implied_ones(
    situation: Situation, asked: list[str], which: Any
) -> None:
    standing, asset_type = situation
    allowed = (
        ASSIGNABLE[asset_type] & PUBLIC_PERMISSIONS
        if standing.is_public
        else ASSIGNABLE[asset_type]
    )
    is_possible = set(asked) <= allowed and not has_contradiction(
        with_implied(set(asked) & set(TABLE), asset_type)
    )
    if PARTIAL in asked:
        is_possible = (
            is_possible
            and bool(which)
            and all(each in PARTIALLY_GRANTABLE and given for each, given in which.items())
        )
    try:
        granted = rules.assign(standing, asked, asset_type, which).state.granted
    except RuleViolation:
        assert not is_possible
    else:
        assert is_possible
        expected = with_implied(asked, asset_type)
        assert expected <= granted
        assert granted - expected - {"add_submissions"} <= standing.granted
        lost = standing.granted - granted
        assert all(
            TABLE[one][2] & set(expected) or any(one in TABLE[by][2] for by in expected)
            for one in lost
        )


@given(reachable_states(), st.sampled_from(sorted(TABLE)), partial_filters)
def test_removed_permissions_are_not_held(situation: Situation, codename: str, which: Any) -> None:
    standing, asset_type = situation
    if codename in rules.assignable(asset_type, to_public=standing.is_public):
        assigned = rules.assign(standing, codename, asset_type, which).state
        removed = rules.remove(assigned, codename, asset_type)
        check_invariants(removed.state, asset_type)
        check_effects(assigned, removed)
        left = rules.own_permissions(removed.state, asset_type)
        assert codename not in left
        assert not any(codename in TABLE[each][1] for each in left)
        assert left <= rules.own_permissions(assigned, asset_type) | standing.teams


@given(reachable_states(), any_codenames)
def test_remove_removes_exactly_named_and_dependent(situation: Situation, asked: list[str]) -> None:
    standing, asset_type = situation
    before = rules.own_permissions(standing, asset_type)
    left = rules.own_permissions(rules.remove(standing, asked, asset_type).state, asset_type)
    gone = {each for each in before if each in asked or TABLE[each][1] & set(asked)}
    # What contradicted it and teams pass on comes into force.
    left -= {
        each
        for each in standing.teams - before
        if any(has_contradiction({each, other}) for other in gone)
    }
    if before - left - gone == {PARTIAL}:  # only the filters of add_submissions were left
        assert "add_submissions" in gone
        assert set(standing.filters) <= {"add_submissions", "change_submissions"}
    else:
        assert left == before - gone


def _outcome(act: Any, *arguments: Any) -> RuleOutcome | str:
    try:
        return act(*arguments)  # type: ignore[no-any-return]
    except RuleViolation as refused:
        return str(refused)


@given(reachable_states(), any_codenames, any_partial_filters)
def test_order_of_codenames_does_not_matter(
    situation: Situation, asked: list[str], which: Any
) -> None:
    standing, asset_type = situation
    for act in (rules.assign, rules.replace):
        first = _outcome(act, standing, asked, asset_type, which)
        assert all(
            _outcome(act, standing, each, asset_type, which) == first
            for each in permutations(asked)
        )
        assert _outcome(act, standing, [*asked, *asked], asset_type, which) == first
    first = _outcome(rules.remove, standing, asked, asset_type)
    assert all(
        _outcome(rules.remove, standing, each, asset_type) == first for each in permutations(asked)
    )


@given(reachable_states(), st.sampled_from(sorted(TABLE)), partial_filters)
def test_joining_a_team_equals_assigning_by_hand(
    situation: Situation, codename: str, which: Any
) -> None:
    """Apart from denials, and from what is for some submissions: there an assignment to the person wins."""
    standing, asset_type = situation
    outside = msgspec.structs.replace(
        standing, teams=frozenset(), team_filters={}, denied=frozenset()
    )
    if standing.is_public or codename not in ASSIGNABLE[asset_type]:
        return
    of_team = rules.assign(PermissionState(), codename, asset_type, which).state
    inside = msgspec.structs.replace(outside, teams=of_team.granted, team_filters=of_team.filters)
    by_hand = rules.assign(outside, codename, asset_type, which).state
    held = rules.own_permissions(inside, asset_type)
    if not has_contradiction(outside.granted | of_team.granted):
        assert held == rules.own_permissions(by_hand, asset_type)
    elif PARTIAL in outside.granted:
        assert held == rules.own_permissions(outside, asset_type) | {
            each for each in of_team.granted if not has_contradiction({PARTIAL, each})
        }
    else:
        assert held == (rules.own_permissions(outside, asset_type) | of_team.granted) - {PARTIAL}


@given(reachable_states(), codenames, partial_filters)
def test_assigning_one_by_one_equals_all_at_once(
    situation: Situation, asked: list[str], which: Any
) -> None:
    standing, asset_type = situation
    together = _outcome(rules.assign, standing, asked, asset_type, which)
    for order in permutations(asked):
        removed = apply_steps([Remove([each]) for each in order], asset_type, standing)
        assert removed == rules.remove(standing, asked, asset_type).state
        if isinstance(together, RuleOutcome):
            assert (
                apply_steps([Assign([each], which) for each in order], asset_type, standing)
                == together.state
            )


@given(reachable_states(), codenames, partial_filters)
def test_replace_is_exact_and_idempotent(
    situation: Situation, asked: list[str], which: Any
) -> None:
    standing, asset_type = situation
    outcome = _outcome(rules.replace, standing, asked, asset_type, which)
    if isinstance(outcome, RuleOutcome):
        listed = with_implied(asked, asset_type)
        with_adding = (
            {"add_submissions"}
            if PARTIAL in asked and {"add_submissions", "change_submissions"} & set(which)
            else set()
        )
        assert rules.own_permissions(outcome.state, asset_type) == listed | with_adding
        again = rules.replace(outcome.state, asked, asset_type, which)
        assert again == RuleOutcome(outcome.state, ())
        shown = rules.own_permissions(
            outcome.state, asset_type
        )  # sending back the list changes nothing
        filters = rules.own_filters(outcome.state, asset_type)
        assert rules.replace(outcome.state, shown, asset_type, filters).effects == ()


@given(reachable_states(), codenames)
def test_denied_permissions_are_not_held_later_either(
    situation: Situation, asked: list[str]
) -> None:
    standing, asset_type = situation
    outcome = rules.deny(standing, asked, asset_type)
    check_invariants(outcome.state, asset_type)
    later = msgspec.structs.replace(outcome.state, teams=with_implied(asked, asset_type))
    assert standing.is_public or not rules.own_permissions(later, asset_type) & {*asked}


@given(reachable_states())
def test_who_is_not_listed_keeps_exactly_what_teams_passed_on(situation: Situation) -> None:
    standing, asset_type = situation
    outcome = rules.replace_direct(standing, [], asset_type)
    check_effects(standing, outcome)
    assert outcome.state.granted == frozenset()
    kept = rules.passed_on(standing, asset_type) & standing.teams
    # Some submissions: those that were assigned are not those of the team.
    assert rules.own_permissions(outcome.state, asset_type) == kept - ({PARTIAL} & standing.granted)
    assert rules.replace_direct(outcome.state, [], asset_type) == RuleOutcome(outcome.state, ())


@given(reachable_states())
def test_remove_all_leaves_nothing(situation: Situation) -> None:
    standing, asset_type = situation
    outcome = rules.remove_all(standing, asset_type)
    check_invariants(outcome.state, asset_type)
    check_effects(standing, outcome)
    assert rules.own_permissions(outcome.state, asset_type) == frozenset()
    assert rules.effective_permissions(outcome.state, asset_type) == standing.public
    assert rules.remove_all(outcome.state, asset_type).effects == ()


@given(asset_types, steps)
def test_owner_cannot_be_changed(asset_type: str, act: Step) -> None:
    owner = PermissionState(is_owner=True)
    if not isinstance(act, ExternalChange):
        with pytest.raises(
            RuleViolation, match="The owner already has every permission"
        ) as refused:
            act(owner, asset_type)
        assert refused.value.field == "user"
    assert rules.effective_permissions(owner, asset_type) == ASSIGNABLE[asset_type] - {PARTIAL}


# What can be assigned, by type (every row of the table)


@pytest.mark.parametrize("codename", sorted(TABLE))
def test_inherited_from_a_collection(codename: str) -> None:
    held_there = with_implied([codename], "collection")
    expected = held_there & {"view_asset", "change_asset"}
    assert rules.inherited(held_there, "survey") == expected
    assert rules.effective_permissions(PermissionState(collection=expected), "survey") == expected


def test_effective_permissions_include_the_public() -> None:
    public = frozenset({"view_asset", "view_submissions"})
    assert rules.effective_permissions(PermissionState(public=public), "survey") == public
    some = holding(PARTIAL, public=public)
    assert rules.effective_permissions(some, "survey") == {*public, PARTIAL}, (
        "what is held for some submissions is not lost"
    )


# Assigning


def told(outcome: RuleOutcome) -> list[str]:
    return [str(effect.message()) for effect in outcome.effects]


def test_assigning_held_permissions_changes_nothing() -> None:
    for codename in ASSIGNABLE["survey"]:
        standing = holding(codename)
        assert rules.assign(standing, codename, "survey", SEEN) == RuleOutcome(standing, ())


def test_assigning_partial_again_replaces_filters() -> None:
    others = {"view_submissions": ({"_submitted_by": "omar"},)}
    outcome = rules.assign(holding(PARTIAL), PARTIAL, "survey", others)
    assert outcome.state.filters == others
    assert told(outcome) == ["partial_submissions: now for other submissions, as asked."]


def test_one_and_true_are_different_filters() -> None:
    one, true = ({"view_submissions": ({"q": value},)} for value in (1, True))
    outcome = rules.assign(holding(PARTIAL, filters=one), PARTIAL, "survey", true)
    assert outcome.effects == (Effect(PARTIAL, EffectKind.FILTERED, EffectReason.ASKED),)
    both = with_implied_filters(
        {"view_submissions": (*one["view_submissions"], *true["view_submissions"])}
    )
    assert len(both["view_submissions"]) == 2


def test_filters_from_a_database_compare_equal() -> None:
    standing = holding(PARTIAL, filters={"view_submissions": [{"_submitted_by": "amina"}]})
    assert rules.assign(standing, PARTIAL, "survey", SEEN).effects == ()


def test_assigning_lifts_denials_of_implied_only() -> None:
    both = frozenset({"view_asset", "change_asset"})
    standing = PermissionState(collection=both, denied=both)
    seeing = rules.assign(standing, "view_asset", "survey")
    assert seeing.state.granted == {"view_asset"}
    assert seeing.state.denied == {"change_asset"}
    changing = rules.assign(standing, "change_asset", "survey")
    assert (changing.state.granted, changing.state.denied) == (both, frozenset())
    assert told(changing) == [
        "change_asset: granted, as asked.",
        "view_asset: granted, implied by change_asset.",
        "change_asset: no longer denied here, as asked.",
        "view_asset: no longer denied here, implied by change_asset.",
    ]


def test_nearest_cause_is_reported() -> None:
    assigned = rules.assign(PermissionState(), ["manage_asset", "change_submissions"], "survey")
    assert "view_submissions: granted, implied by change_submissions." in told(assigned)
    assert "validate_submissions: granted, implied by manage_asset." in told(assigned)
    removed = rules.remove(assigned.state, ["view_asset", "view_submissions"], "survey")
    assert "change_submissions: removed, as it requires view_submissions." in told(removed)
    assert "change_asset: removed, as it requires view_asset." in told(removed)


A, B = {"_submitted_by": {"$in": ["amina"]}}, {"_submitted_by": {"$in": ["omar"]}}


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (None, "Say which submissions partial_submissions is for."),
        ({}, "Say which submissions partial_submissions is for."),
        ({"view_submissions": ()}, "Give at least one filter for view_submissions."),
        (
            {PARTIAL: (A,)},
            "partial_submissions cannot be given for some submissions only. Choose one of: add_sub",
        ),
        (
            {"view_asset": (A,)},
            "view_asset cannot be given for some submissions only. Choose one of: add_sub",
        ),
        (
            {"nothing": (A,)},
            "nothing cannot be given for some submissions only. Choose one of: add_sub",
        ),
    ],
)
def test_empty_filters_are_refused(sent: Any, message: str) -> None:
    for act in (rules.assign, rules.replace):
        with pytest.raises(RuleViolation, match=f"^{message}") as refused:
            act(PermissionState(), [PARTIAL], "survey", sent)
        assert refused.value.field == "partial_permissions"


def test_number_of_filters_is_limited() -> None:
    filters = [{"_submitted_by": str(number)} for number in range(1001)]
    assert (
        len(with_implied_filters({"view_submissions": tuple(filters[:1000])})["view_submissions"])
        == 1000
    )
    with pytest.raises(RuleViolation) as refused:
        with_implied_filters({"view_submissions": tuple(filters)})
    assert "at most 1000 " in str(refused.value.message)
    with pytest.raises(RuleViolation):  # each implies one for viewing and one for adding
        with_implied_filters({"change_submissions": tuple(filters[:334])})


def test_size_of_filters_is_limited() -> None:
    around = len('{"view_submissions":[{"a":""}]}')
    largest = with_implied_filters({"view_submissions": ({"a": "x" * (64 * 1024 - around)},)})
    assert filters_json_size(largest) == 64 * 1024
    with pytest.raises(RuleViolation) as refused:
        with_implied_filters({"view_submissions": ({"a": "x" * (64 * 1024 - around + 1)},)})
    assert "at most 64 KiB" in str(refused.value.message)


# Removing (every row of the table)


def test_removing_inherited_denies_dependent_ones() -> None:
    passed = frozenset({"view_asset", "change_asset"})
    both = PermissionState(granted=passed, collection=passed)
    changing = rules.remove(both, "change_asset", "survey")
    assert changing.state.granted == {"view_asset"}
    assert changing.state.denied == {"change_asset"}
    assert rules.own_permissions(changing.state, "survey") == {"view_asset"}
    seeing = rules.remove(
        PermissionState(collection=frozenset({"view_asset"})), "view_asset", "survey"
    )
    assert seeing.state.denied == passed, "should the collection pass down more one day"
    assert told(seeing) == [
        "view_asset: denied here, as asked, though the collection or a team grants it.",
        "change_asset: denied here, as it requires view_asset.",
    ]
    public = rules.remove(
        PermissionState(collection=frozenset({"view_asset"}), is_public=True),
        "view_asset",
        "survey",
    )
    assert public.state.denied == {"view_asset"}, "the public can never be passed anything else"


def test_removing_add_removes_partial_filters_that_need_it() -> None:
    changing = rules.assign(
        PermissionState(), PARTIAL, "survey", {"change_submissions": (A,)}
    ).state
    outcome = rules.remove(changing, "add_submissions", "survey")
    assert outcome.state.filters == {"view_submissions": (A,)}
    assert told(outcome) == [
        "add_submissions: removed, as asked.",
        "partial_submissions: now for fewer submissions, as some permissions require add_submissions.",
    ]
    adding = rules.assign(PermissionState(), PARTIAL, "survey", {"add_submissions": (A,)}).state
    outcome = rules.remove(adding, "add_submissions", "survey")
    assert outcome.state == PermissionState(granted=frozenset({"view_asset"}))
    assert told(outcome)[-1] == "partial_submissions: removed, as it requires add_submissions."


# Replacing


def test_replace_does_not_assign_inherited_again() -> None:
    passed = frozenset({"view_asset", "change_asset"})
    assert rules.replace(PermissionState(collection=passed), sorted(passed), "survey").effects == ()
    fewer = rules.replace(PermissionState(collection=passed), ["view_asset"], "survey")
    assert fewer.state == PermissionState(collection=passed, denied=frozenset({"change_asset"}))
    assert told(fewer) == ["change_asset: denied here, as the new list does not name it."]
    none = rules.replace(PermissionState(collection=passed), [], "survey")
    assert none.state.denied == passed
    more = rules.replace(PermissionState(collection=passed), ["view_submissions"], "survey")
    assert more.state.granted == {"view_asset", "view_submissions"}
    assert more.state.denied == {"change_asset"}


def test_replace_leaves_partial_submissions_of_a_team_to_the_team() -> None:
    filters = with_implied_filters({"add_submissions": ({},)})
    teams = rules.assign(PermissionState(), PARTIAL, "survey", filters).state.granted
    member = PermissionState(teams=teams, team_filters=filters)
    assert rules.replace(member, sorted(teams), "survey", filters) == RuleOutcome(member, ())


def test_an_end_that_is_so_already_can_be_written_back() -> None:
    member = PermissionState(
        granted=frozenset({"view_asset"}), ends={"view_asset": FIRST}, teams=frozenset({VIEW})
    )
    assert rules.replace(
        member, ["view_asset"], "survey", None, {"view_asset": FIRST}
    ) == RuleOutcome(member, ())
    with pytest.raises(RuleViolation, match="would not end"):
        rules.replace(member, ["view_asset"], "survey", None, {"view_asset": SECOND})


def test_full_permission_removes_partial_submissions_of_a_team() -> None:
    member = PermissionState(teams=frozenset({VIEW, PARTIAL}), team_filters=SEEN)
    outcome = rules.assign(member, "view_submissions", "survey")
    assert (
        Effect(PARTIAL, EffectKind.REMOVED, EffectReason.CONTRADICTED, "view_submissions")
        in outcome.effects
    )


def test_recompute_implied_after_type_change() -> None:
    held = rules.with_implied(["manage_asset"], "empty")
    outcome = rules.recompute_implied(PermissionState(granted=held), "survey")
    assert outcome.state.granted == rules.with_implied(["manage_asset"], "survey")
    assert {(each.kind, each.reason) for each in outcome.effects} == {
        (EffectKind.GRANTED, EffectReason.IMPLIED)
    }
    assert rules.recompute_implied(outcome.state, "survey") == RuleOutcome(outcome.state, ())
    filters = with_implied_filters(ANY_SUBMISSIONS)
    partial = rules.assign(PermissionState(), PARTIAL, "survey", filters).state
    assert rules.recompute_implied(partial, "survey") == RuleOutcome(partial, ())


@pytest.mark.parametrize("asset_type", ASSIGNABLE)
@pytest.mark.parametrize("codename", [*sorted(TABLE), "fly_asset", ""])
def test_assignable_by_type(asset_type: str, codename: str) -> None:
    if codename in ASSIGNABLE[asset_type]:
        granted = rules.assign(PermissionState(), codename, asset_type, SEEN).state.granted
        assert granted == with_implied([codename], asset_type)
    else:
        with pytest.raises(
            RuleViolation, match=f"^{codename} cannot be assigned on an asset of this type.$"
        ) as refused:
            rules.assign(PermissionState(), codename, asset_type, SEEN)
        assert refused.value.field == "permission"
    assert rules.assignable(asset_type) == ASSIGNABLE[asset_type]


@pytest.mark.parametrize("asset_type", ASSIGNABLE)
@pytest.mark.parametrize("codename", sorted(TABLE))
def test_assignable_to_the_public(asset_type: str, codename: str) -> None:
    public = PermissionState(is_public=True)
    possible = ASSIGNABLE[asset_type] & PUBLIC_PERMISSIONS
    assert rules.assignable(asset_type, to_public=True) == possible
    if codename in possible:
        assert rules.assign(public, codename, asset_type).state.granted <= possible
    elif codename in ASSIGNABLE[asset_type]:
        with pytest.raises(RuleViolation, match=f"^The public cannot be given {codename}.$"):
            rules.assign(public, codename, asset_type, SEEN)


@pytest.mark.parametrize("codename", sorted(TABLE["partial_submissions"][2]))
def test_full_permission_removes_partial_and_filters(codename: str) -> None:
    outcome = rules.assign(holding(PARTIAL), codename, "survey")
    assert PARTIAL not in outcome.state.granted
    assert outcome.state.filters == {}
    because = "view_submissions" if codename == "manage_asset" else codename
    assert f"partial_submissions: removed, contradicted by {because}." in told(outcome)


def test_partial_removes_contradicted_permissions_of_a_manager() -> None:
    outcome = rules.assign(holding("manage_asset"), PARTIAL, "survey", SEEN)
    assert outcome.state.granted == {PARTIAL, "view_asset", "change_asset", "add_submissions"}
    assert told(outcome) == [
        "partial_submissions: granted, as asked.",
        "change_submissions: removed, contradicted by partial_submissions.",
        "delete_submissions: removed, contradicted by partial_submissions.",
        "manage_asset: removed, contradicted by partial_submissions.",
        "validate_submissions: removed, contradicted by partial_submissions.",
        "view_submissions: removed, contradicted by partial_submissions.",
    ]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"view_submissions": (A,)}, {"view_submissions": (A,)}),
        (
            {"change_submissions": (A,)},
            {"add_submissions": (A,), "view_submissions": (A,), "change_submissions": (A,)},
        ),
        ({"delete_submissions": (A,)}, {"view_submissions": (A,), "delete_submissions": (A,)}),
        ({"validate_submissions": (A,)}, {"view_submissions": (A,), "validate_submissions": (A,)}),
        ({"add_submissions": (A,)}, {"add_submissions": (A,)}),
        ({"view_submissions": (A, A)}, {"view_submissions": (A,)}),
        (
            {"view_submissions": (A,), "delete_submissions": (A,)},
            {"view_submissions": (A,), "delete_submissions": (A,)},
        ),
        (
            {"delete_submissions": (B,), "view_submissions": (A,)},
            {"view_submissions": (A, B), "delete_submissions": (B,)},
        ),
        ({"view_submissions": ({},)}, {"view_submissions": ({},)}),
    ],
)
def test_filters_include_implied_ones(sent: Any, stored: Any) -> None:
    outcome = rules.assign(PermissionState(), PARTIAL, "survey", sent)
    assert outcome.state.filters == stored
    assert list(outcome.state.filters) == [each for each in PARTIALLY_GRANTABLE if each in stored]
    adding = "add_submissions: granted, implied by partial_submissions."
    assert (
        (adding in told(outcome))
        == ("add_submissions" in stored)
        == ("add_submissions" in outcome.state.granted)
    )
    assert with_implied_filters(outcome.state.filters) == stored


@pytest.mark.parametrize("codename", sorted(TABLE["partial_submissions"][2]))
def test_contradictions_cannot_be_assigned_together(codename: str) -> None:
    for act in (rules.assign, rules.replace):
        with pytest.raises(RuleViolation, match="contradict each other: assign one of them"):
            act(PermissionState(), [PARTIAL, codename], "survey", SEEN)
    assert rules.find_contradiction([codename, PARTIAL], "survey") is not None
    assert rules.find_contradiction(TABLE.keys() - {PARTIAL}, "survey") is None


def test_only_inherited_permissions_are_denied() -> None:
    assert rules.remove(holding("change_asset"), "view_asset", "survey").state == PermissionState()


def test_replace_removes_what_is_not_listed_or_implied() -> None:
    outcome = rules.replace(
        holding("validate_submissions", "change_asset"), ["view_submissions"], "survey"
    )
    assert outcome.state.granted == {"view_asset", "view_submissions"}
    assert told(outcome) == [
        "change_asset: removed, as the new list does not name it.",
        "validate_submissions: removed, as the new list does not name it.",
    ]
    assert rules.replace(holding("manage_asset"), [], "survey").state == PermissionState()


def test_replace_assigns_what_is_inherited_but_denied() -> None:
    denied = PermissionState(
        collection=frozenset({"view_asset"}), denied=frozenset({"view_asset", "change_asset"})
    )
    outcome = rules.replace(denied, "view_asset", "survey")
    assert outcome.state.granted == {"view_asset"}
    assert outcome.state.denied == {"change_asset"}


# Ends

FIRST, SECOND, THIRD = MOMENTS
CHANGE, VIEW, DATA = "change_asset", "view_asset", "view_submissions"
FORM = ("view_asset", "change_asset", "manage_asset")


@given(reachable_states(), codenames, partial_filters, requested_ends)
def test_named_permissions_end_when_asked(
    situation: Situation, asked: list[str], which: Any, ends: Any
) -> None:
    """Later only if another one that is asked for needs them for longer. What they imply ends with them."""
    standing, asset_type = situation
    try:
        after = Assign(asked, which, ends)(standing, asset_type).state
    except RuleViolation:
        return
    for each in asked:
        wanted = (
            end_of(standing, each) if each in standing.granted else end_of(PermissionState(), each)
        )
        if each in ends:
            wanted = end_of(PermissionState(ends={each: ends[each]} if ends[each] else {}), each)
        others = [end_of(after, other) for other in asked if each in TABLE[other][1]]
        if PARTIAL in asked and each == "add_submissions" and each in after.filters:
            others.append(end_of(after, PARTIAL))
        assert end_of(after, each) == max([wanted, *others])
    for each in after.granted - standing.granted - set(asked):
        together = [
            end_of(after, other) for other in asked if each in TABLE[other][1] or other == PARTIAL
        ]
        assert end_of(after, each) in together


def ending(**ends: Any) -> PermissionState:
    """Permissions with what they imply, and their ends; None: never."""
    return PermissionState(
        granted=with_implied(ends, "survey"),
        ends={each: end for each, end in ends.items() if end is not None},
    )


@pytest.mark.parametrize(
    ("before", "ends", "after", "effects"),
    [
        # New permissions, and what they imply, end together.
        ({}, {CHANGE: FIRST}, {CHANGE: FIRST, VIEW: FIRST}, []),
        # What is implied and held already ends with the later of both.
        ({VIEW: FIRST}, {CHANGE: SECOND}, {CHANGE: SECOND, VIEW: SECOND}, ["view_asset implied"]),
        ({VIEW: THIRD}, {CHANGE: SECOND}, {CHANGE: SECOND, VIEW: THIRD}, []),
        ({VIEW: None}, {CHANGE: SECOND}, {CHANGE: SECOND}, []),
        ({VIEW: FIRST}, {CHANGE: None}, {}, ["view_asset implied"]),
        # What needs a permission ends with it.
        ({CHANGE: None, VIEW: None}, {VIEW: FIRST}, {CHANGE: FIRST, VIEW: FIRST},
         ["change_asset dependent", "view_asset asked"]),
        # What ended together moves together, in both directions.
        ({CHANGE: SECOND, VIEW: SECOND}, {CHANGE: FIRST}, {CHANGE: FIRST, VIEW: FIRST},
         ["change_asset asked", "view_asset implied"]),
        ({CHANGE: None, VIEW: None}, {CHANGE: FIRST}, {CHANGE: FIRST, VIEW: FIRST},
         ["change_asset asked", "view_asset implied"]),
        ({CHANGE: FIRST, VIEW: FIRST}, {CHANGE: THIRD}, {CHANGE: THIRD, VIEW: THIRD},
         ["change_asset asked", "view_asset implied"]),
        ({CHANGE: FIRST, VIEW: FIRST}, {CHANGE: None}, {}, ["change_asset asked", "view_asset implied"]),
        # Not what ended at another time, or what something else needs for longer.
        ({CHANGE: SECOND, VIEW: THIRD}, {CHANGE: FIRST},
         {CHANGE: FIRST, VIEW: THIRD}, ["change_asset asked"]),
        ({CHANGE: SECOND, DATA: SECOND, VIEW: SECOND}, {CHANGE: FIRST},
         {CHANGE: FIRST, DATA: SECOND, VIEW: SECOND}, ["change_asset asked"]),
        # An end that is absent stays.
        ({CHANGE: FIRST, VIEW: FIRST}, {}, {CHANGE: FIRST, VIEW: FIRST}, []),
    ],
)  # fmt: skip
def test_ends(before: Any, ends: Any, after: Any, effects: list[str]) -> None:
    asked = list(ends) or list(before)
    outcome = rules.assign(ending(**before), asked, "survey", None, ends)
    assert outcome.state.ends == after
    changed = [each for each in outcome.effects if each.kind is EffectKind.ENDS]
    assert [f"{each.permission} {each.reason.value}" for each in changed] == effects


def test_what_a_contradiction_removed_does_not_come_back() -> None:
    after = rules.assign(
        holding("view_submissions"), PARTIAL, "survey", SEEN, {PARTIAL: FIRST}
    ).state
    assert state_at(after, FIRST).granted == {"view_asset"}


def test_removing_keeps_the_ends_of_the_rest_and_replacing_sets_them() -> None:
    state = ending(change_asset=FIRST, view_asset=SECOND)
    assert rules.remove(state, "change_asset", "survey").state.ends == {"view_asset": SECOND}
    assert rules.replace(state, ["view_asset"], "survey").state.ends == {"view_asset": SECOND}
    assert rules.replace(
        state, ["view_asset"], "survey", None, {"view_asset": FIRST}
    ).state.ends == {"view_asset": FIRST}
    assert rules.remove_all(state, "survey").state.ends == {}
    of_template = PermissionState(granted=frozenset(FORM), ends=dict.fromkeys(FORM, FIRST))
    as_form = rules.recompute_implied(of_template, "survey").state
    assert as_form.ends == dict.fromkeys(as_form.granted, FIRST)
    assert "view_submissions" in as_form.granted
