"""The rules of holding, assigning and removing permissions.

What a user may do with an asset, in this order:

1. The owner may do everything.
2. A permission that is denied to the user is not held, nor is any that implies it.
3. `partial_submissions` that is assigned to the user wins over permissions on all submissions from teams.
4. Otherwise the user holds all that is assigned to the user, to the user's teams, or to either on the collection, with
   what it implies. A permission on all submissions removes `partial_submissions`.
5. Everybody holds what the public holds.

A `PermissionState` is everything that decides what a user may do with an asset. An action on it returns the new state
and the effects, each with its reason:

    outcome = assign(PermissionState(granted=frozenset({"view_asset"})), "view_submissions", "survey")
    outcome.state.granted   # view_asset, view_submissions
    outcome.effects         # view_submissions granted, because it was asked for

Invariants, which every action keeps, in whatever order it names permissions:

* `granted` contains all permissions that its members imply and the asset type supports, and no contradictions.
* `denied` contains, with a permission, all permissions that imply it and could be inherited from a collection.
* Nothing is both granted and denied.
* No permission ends before one that implies it.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import ADD, BY_CODENAME, PARTIAL, implied
from fieldgate.permissions.effects import (
    Effect,
    EffectKind,
    EffectReason,
    RuleViolation,
    contradiction_message,
    not_for_public_message,
    not_for_type_message,
)
from fieldgate.permissions.submission_filters import Filters, filters_equal, required_filters

Codenames = frozenset[str]
RequestedEnds = Mapping[str, datetime | None]  # of named permissions; None: never; absent: as it is

NEVER, _PAST = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)

_BASE_PERMISSIONS = frozenset({"view_asset", "change_asset", "manage_asset"})
ASSIGNABLE: Mapping[str, Codenames] = {
    "survey": frozenset(BY_CODENAME) - {"discover_asset"},
    "template": _BASE_PERMISSIONS,
    "block": _BASE_PERMISSIONS,
    "question": _BASE_PERMISSIONS,
    "empty": _BASE_PERMISSIONS,
    "collection": _BASE_PERMISSIONS | {"discover_asset"},
    "text": frozenset(),
}
_OWNED: Mapping[str, Codenames] = {
    asset_type: taken - {PARTIAL} for asset_type, taken in ASSIGNABLE.items()
}
PUBLIC_ASSIGNABLE = frozenset({"view_asset", "discover_asset", ADD, "view_submissions"})
INHERITABLE = frozenset({"view_asset", "change_asset"})  # from a collection by the assets in it
# By type and codename, computed once: one request can be about a thousand users.
_CLOSURES: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {codename: (implied(codename) | {codename}) & taken for codename in BY_CODENAME}
    for asset_type, taken in ASSIGNABLE.items()
}
_DEPENDENTS: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {
        codename: frozenset(each for each in taken if codename in implied(each))
        for codename in BY_CODENAME
    }
    for asset_type, taken in ASSIGNABLE.items()
}
_CONTRADICTIONS: Mapping[str, Codenames] = {
    codename: frozenset(permission.contradicts) for codename, permission in BY_CODENAME.items()
}


ON_ALL_SUBMISSIONS = frozenset(
    each for each in BY_CODENAME if _CONTRADICTIONS[PARTIAL] & (implied(each) | {each})
)  # what partial_submissions contradicts


def _conflict(first: str, second: str, asset_type: str) -> bool:
    """Whether permissions contradict each other, directly or by what they imply."""
    together = _CLOSURES[asset_type][first] | _CLOSURES[asset_type][second]
    return any(_CONTRADICTIONS[each] & together for each in together)


_CONFLICTS: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {
        first: frozenset(second for second in BY_CODENAME if _conflict(first, second, asset_type))
        for first in BY_CODENAME
    }
    for asset_type in ASSIGNABLE
}


class PermissionState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a user may do with an asset."""

    is_owner: bool = False
    is_public: bool = False  # this is the state of the public itself
    granted: Codenames = frozenset()
    denied: Codenames = frozenset()
    filters: Filters = {}
    collection: Codenames = frozenset()  # inherited from the collection
    teams: Codenames = frozenset()  # of the user's teams
    team_filters: Filters = {}
    public: Codenames = frozenset()  # granted to the public, and so to everybody
    # When permissions end; those that never do are absent. All that is in the state has not ended.
    ends: Mapping[str, datetime] = {}  # of those granted
    collection_ends: Mapping[str, datetime] = {}
    team_ends: Mapping[str, datetime] = {}
    public_ends: Mapping[str, datetime] = {}


class RuleOutcome(msgspec.Struct, frozen=True):
    state: PermissionState
    effects: tuple[Effect, ...]


# Permissions held


def assignable(asset_type: str, *, to_public: bool = False) -> Codenames:
    """Return what can be assigned on an asset of this type."""
    return ASSIGNABLE[asset_type] & PUBLIC_ASSIGNABLE if to_public else ASSIGNABLE[asset_type]


def with_implied(codenames: Iterable[str], asset_type: str) -> Codenames:
    """Return the permissions and all they imply, as far as the asset type supports them."""
    closures = _CLOSURES[asset_type]
    return frozenset().union(*(closures.get(each, ()) for each in codenames))


def with_dependent(codenames: Iterable[str], asset_type: str) -> Codenames:
    """Return the permissions and all that imply one of them."""
    needed = frozenset(codenames)
    return needed.union(*(_DEPENDENTS[asset_type].get(each, ()) for each in needed))


def owner_permissions(asset_type: str) -> Codenames:
    """Return what the owner of an asset always has."""
    return _OWNED[asset_type]


def inherited(codenames: Codenames, asset_type: str) -> Codenames:
    """Return what an asset inherits from a collection on which these permissions are held."""
    return codenames & INHERITABLE & ASSIGNABLE[asset_type]


def own_permissions(state: PermissionState, asset_type: str) -> Codenames:
    """Return what a user holds as owner, by assignment, or through the collection or teams."""
    if state.is_owner:
        return owner_permissions(asset_type)
    return state.granted | passed_on(state, asset_type)


def passed_on(state: PermissionState, asset_type: str) -> Codenames:
    """Return what a user holds through the collection or teams."""
    passed = state.collection | state.teams
    if not passed:
        return passed
    if state.denied:
        passed -= with_dependent(state.denied, asset_type)
    if PARTIAL in state.granted:
        return passed - ON_ALL_SUBMISSIONS
    if PARTIAL in passed:
        has_lost_filters = state.team_filters and not _team_filters(state, asset_type)
        if has_lost_filters or ON_ALL_SUBMISSIONS & (passed | state.granted):
            return passed - {PARTIAL}
    return passed


def own_filters(state: PermissionState, asset_type: str) -> Filters:
    """Return for which submissions a user holds `partial_submissions`."""
    if PARTIAL in state.granted:
        return state.filters
    return _team_filters(state, asset_type) if PARTIAL in passed_on(state, asset_type) else {}


def _team_filters(state: PermissionState, asset_type: str) -> Filters:
    denied = with_dependent(state.denied, asset_type)
    return {
        codename: given for codename, given in state.team_filters.items() if codename not in denied
    }


def effective_permissions(state: PermissionState, asset_type: str) -> Codenames:
    """Return what a user may do: the own permissions and those of the public.

    A user with a permission for some submissions may still view all of them if the public may.
    """
    return own_permissions(state, asset_type) | state.public


def own_ends(state: PermissionState, asset_type: str) -> Mapping[str, datetime]:
    """Return when the own permissions end: what is held in several ways ends with the last of them."""
    if not state.ends and not state.collection_ends and not state.team_ends:
        return {}
    passed = passed_on(state, asset_type)
    latest = {
        each: max(
            state.ends.get(each, NEVER) if each in state.granted else _PAST,
            _passed_end(state, each) if each in passed else _PAST,
        )
        for each in state.granted | passed
    }
    return {each: end for each, end in latest.items() if end != NEVER}


def _passed_end(state: PermissionState, codename: str) -> datetime:
    """Return when the collection and the teams stop passing a permission on, which at least one of them does."""
    return max(
        state.collection_ends.get(codename, NEVER) if codename in state.collection else _PAST,
        state.team_ends.get(codename, NEVER) if codename in state.teams else _PAST,
    )


def find_contradiction(codenames: Iterable[str], asset_type: str) -> tuple[str, str] | None:
    """Return two permissions that contradict each other, directly or by what they imply, if there are any."""
    conflicts = _CONFLICTS[asset_type]
    named = sorted(frozenset(codenames))
    for position, first in enumerate(named):
        for second in named[position + 1 :]:
            if second in conflicts[first]:
                return first, second
    return None


# Actions


def assign(
    state: PermissionState,
    codenames: Iterable[str] | str,
    asset_type: str,
    filters: Filters | None = None,
    ends: RequestedEnds | None = None,
) -> RuleOutcome:
    """Assign permissions. partial_submissions needs `filters`, which say for which submissions."""
    requested = _as_codenames(codenames)
    _validate(state, requested, asset_type)
    _validate_ends(state, requested, asset_type, ends or {})
    assigned = _apply_grant(state, requested, asset_type, required_filters(requested, filters))
    return _apply_ends(state, assigned, requested, ends or {})


def remove(state: PermissionState, codenames: Iterable[str] | str, asset_type: str) -> RuleOutcome:
    """Remove permissions and all that imply them. Inherited ones are denied."""
    _reject_owner(state)
    return _apply_removal(state, _as_codenames(codenames), asset_type, EffectReason.ASKED)


def replace(
    state: PermissionState,
    codenames: Iterable[str] | str,
    asset_type: str,
    filters: Filters | None = None,
    ends: RequestedEnds | None = None,
) -> RuleOutcome:
    """Replace all permissions by these and the ones they imply.

    Permissions in the list that the collection or a team passes on as listed are not assigned a second time.
    """
    requested = _as_codenames(codenames)
    _validate(state, requested, asset_type)
    _validate_ends(state, requested, asset_type, ends or {})
    new_filters = required_filters(requested, filters)
    needed = requested - _held_already(state, requested, asset_type, new_filters, ends or {})
    replaced = _apply_grant(state, needed, asset_type, new_filters if PARTIAL in needed else {})
    closure = _granted_closure(requested, asset_type, new_filters)
    # Twice: without partial_submissions, what a team passes on may come into force.
    while surplus := own_permissions(replaced.state, asset_type) - closure:
        removed = _apply_removal(replaced.state, surplus, asset_type, EffectReason.NOT_LISTED)
        replaced = RuleOutcome(removed.state, replaced.effects + removed.effects)
    return _apply_ends(state, replaced, requested, ends or {})


def replace_direct(
    state: PermissionState,
    codenames: Iterable[str] | str,
    asset_type: str,
    filters: Filters | None = None,
    ends: RequestedEnds | None = None,
) -> RuleOutcome:
    """Replace all permissions by these and what teams pass on already.

    What teams would pass on only now, because `partial_submissions` is removed, is denied.
    """
    requested, asked = _as_codenames(codenames), ends or {}
    _validate(state, requested, asset_type)
    new_filters = required_filters(requested, filters)
    closure = _granted_closure(requested, asset_type, new_filters)
    passed = passed_on(state, asset_type)
    outlasting = {
        each
        for each in passed - {PARTIAL}
        if _passed_end(state, each) >= (asked.get(each) or NEVER)
    }
    needed = (
        requested - outlasting - _held_already(state, requested, asset_type, new_filters, asked)
    )
    _validate_ends(state, needed, asset_type, asked)
    granted = _apply_grant(state, needed, asset_type, new_filters if PARTIAL in needed else {})
    apart = msgspec.structs.replace(
        granted.state,
        collection=state.collection - state.teams,
        teams=frozenset(),
        team_filters={},
        team_ends={},
    )
    surplus = own_permissions(apart, asset_type) - closure
    removed = _apply_removal(apart, surplus, asset_type, EffectReason.NOT_LISTED)
    after = msgspec.structs.replace(
        removed.state,
        collection=state.collection,
        teams=state.teams,
        team_filters=state.team_filters,
        team_ends=state.team_ends,
    )
    effects = granted.effects + removed.effects
    while (
        regained := passed_on(after, asset_type) - (passed - ({PARTIAL} & state.granted)) - closure
    ):
        denied = _apply_removal(after, regained, asset_type, EffectReason.NOT_LISTED)
        after, effects = denied.state, effects + denied.effects
    return _apply_ends(state, RuleOutcome(after, effects), needed, asked)


def extend(
    state: PermissionState,
    codenames: Iterable[str] | str,
    asset_type: str,
    filters: Filters | None = None,
    ends: RequestedEnds | None = None,
) -> RuleOutcome:
    """Assign permissions, except those that the collection or a team passes on as listed."""
    requested = _as_codenames(codenames)
    _validate(state, requested, asset_type)
    held = _held_already(
        state, requested, asset_type, required_filters(requested, filters), ends or {}
    )
    if held == requested:
        return RuleOutcome(state, ())
    needed = requested - held
    return assign(state, needed, asset_type, filters if PARTIAL in needed else None, ends)


def remove_all(state: PermissionState, asset_type: str) -> RuleOutcome:
    """Remove all permissions, and deny the inherited ones."""
    _reject_owner(state)
    return _apply_removal(
        state, state.granted | state.collection | state.teams, asset_type, EffectReason.ASKED
    )


def deny(state: PermissionState, codenames: Iterable[str], asset_type: str) -> RuleOutcome:
    """Deny permissions, whether they are passed on now or later."""
    requested = _as_codenames(codenames) & (
        INHERITABLE if state.is_public else ASSIGNABLE[asset_type]
    )
    passed = state.teams | with_implied(requested, asset_type)
    denied = remove(msgspec.structs.replace(state, teams=passed), requested, asset_type)
    return RuleOutcome(msgspec.structs.replace(denied.state, teams=state.teams), denied.effects)


def recompute_implied(state: PermissionState, asset_type: str) -> RuleOutcome:
    """Recompute implied permissions after a type change."""
    return _apply_ends(
        state, _apply_grant(state, state.granted, asset_type, state.filters), frozenset(), {}
    )


# Parts of actions


def _held_already(
    state: PermissionState,
    requested: Codenames,
    asset_type: str,
    filters: Filters,
    ends: RequestedEnds,
) -> Codenames:
    """Return what of a list is not assigned but passed on, until the same time and for the same submissions."""
    return frozenset(
        each
        for each in (passed_on(state, asset_type) - state.granted) & requested
        if (each not in ends or (ends[each] or NEVER) == _passed_end(state, each))
        and (each != PARTIAL or filters_equal(filters, _team_filters(state, asset_type)))
    )


def _apply_grant(
    state: PermissionState, requested: Codenames, asset_type: str, new_filters: Filters
) -> RuleOutcome:
    granted = _granted_closure(requested, asset_type, new_filters)
    removed = with_dependent(_contradicted(granted), asset_type) & state.granted
    after = (state.granted - removed) | granted
    effects = [
        *(
            Effect(each, EffectKind.GRANTED, *_grant_reason(each, requested))
            for each in _requested_first(granted - state.granted, requested)
        ),
        *(
            Effect(
                each,
                EffectKind.REMOVED,
                EffectReason.CONTRADICTED,
                _contradicting_permission(each, granted, requested),
            )
            for each in sorted(removed)
        ),
        *(
            Effect(each, EffectKind.ALLOWED, *_grant_reason(each, requested))
            for each in _requested_first(granted & state.denied, requested)
        ),
    ]
    filters = state.filters
    if PARTIAL in requested and not filters_equal(new_filters, state.filters):
        filters = new_filters
        if PARTIAL in state.granted:
            effects.append(Effect(PARTIAL, EffectKind.FILTERED, EffectReason.ASKED))
    new_state = msgspec.structs.replace(
        state,
        granted=after,
        denied=state.denied - granted,
        filters=filters if PARTIAL in after else {},
        ends=_ends_of(after, state),
    )
    no_longer_passed = (
        passed_on(state, asset_type) - own_permissions(new_state, asset_type) - removed
    )
    effects += [
        Effect(
            each,
            EffectKind.REMOVED,
            EffectReason.CONTRADICTED,
            _contradicting_permission(each, granted, requested),
        )
        for each in sorted(no_longer_passed)
    ]
    return RuleOutcome(new_state, tuple(effects))


def _apply_removal(
    state: PermissionState, requested: Codenames, asset_type: str, reason: EffectReason
) -> RuleOutcome:
    concerned = with_dependent(requested, asset_type)
    removed = concerned & state.granted
    # Also what the collection does not pass down yet: it might later, and would imply what is denied now.
    could_pass = (INHERITABLE & assignable(asset_type, to_public=state.is_public)) | state.teams
    passed = (state.collection | state.teams) & concerned
    denied = (with_dependent(passed, asset_type) & could_pass) - state.denied
    effects = [
        *(
            Effect(each, EffectKind.REMOVED, *_removal_reason(each, requested, reason))
            for each in _requested_first(removed, requested)
        ),
        *(
            Effect(each, EffectKind.DENIED, *_removal_reason(each, requested, reason))
            for each in _requested_first(denied, requested)
        ),
    ]
    granted = state.granted - removed
    filters = state.filters if PARTIAL in granted else {}
    if ADD in removed and ADD in filters:
        filters = {
            each: given
            for each, given in filters.items()
            if each != ADD and ADD not in implied(each)
        }
        effects.append(
            Effect(
                PARTIAL,
                EffectKind.FILTERED if filters else EffectKind.REMOVED,
                EffectReason.DEPENDENT,
                ADD,
            )
        )
        granted = granted if filters else granted - {PARTIAL}
    after = msgspec.structs.replace(
        state,
        granted=granted,
        denied=state.denied | denied,
        filters=filters,
        ends=_ends_of(granted, state),
    )
    if lost := (state.granted - granted) & {PARTIAL, *ON_ALL_SUBMISSIONS}:
        regained = passed_on(after, asset_type) - passed_on(state, asset_type)
        because = max(lost, key=_breadth)
        effects += [
            Effect(each, EffectKind.ALLOWED, EffectReason.DEPENDENT, because)
            for each in sorted(regained)
        ]
    return RuleOutcome(after, tuple(effects))


def _ends_of(granted: Codenames, state: PermissionState) -> Mapping[str, datetime]:
    return {each: end for each, end in state.ends.items() if each in granted}


def _apply_ends(
    before: PermissionState, outcome: RuleOutcome, requested: Codenames, asked: RequestedEnds
) -> RuleOutcome:
    """Set the ends of requested permissions, and those of the permissions that imply them or that they imply.

    * What needs a permission that is asked to end earlier, ends with it, unless it is requested, too.
    * What a permission implies ends with it if both ended together before and nothing else needs it for longer.
    * Whatever is implied ends with the last that implies it.
    """
    after = outcome.state
    if not before.ends and not any(asked.values()):
        return outcome
    ended = {each: before.ends.get(each, NEVER) for each in before.granted & after.granted}
    ends = dict(ended)
    for each in requested & after.granted:
        if each in asked:
            ends[each] = asked[each] or NEVER
        else:
            ends.setdefault(each, NEVER)
    named = [each for each in sorted(asked) if each in ends and each in requested]
    others = sorted(ended.keys() - requested)
    cut = [other for other in others if any(_implies(other, each, after) for each in named)]
    for other in cut:
        ends[other] = min(
            ends[other], *(ends[each] for each in named if _implies(other, each, after))
        )
    for each in (*named, *cut):
        for other in others:
            if _implies(each, other, after) and ended[other] == ended.get(each):
                ends[other] = min(ends[other], ends[each])
    last = {each: max(_ends_implying(each, ends, after), default=NEVER) for each in after.granted}
    changed = sorted(each for each, end in ended.items() if last[each] != end)
    effects = [
        Effect(each, EffectKind.ENDS, *_end_reason(each, named, last[each] < ended[each], after))
        for each in changed
    ]
    limited = {each: end for each, end in last.items() if end != NEVER}
    return RuleOutcome(msgspec.structs.replace(after, ends=limited), (*outcome.effects, *effects))


def _ends_implying(
    each: str, ends: Mapping[str, datetime], state: PermissionState
) -> Iterable[datetime]:
    return (end for other, end in ends.items() if other == each or _implies(other, each, state))


def _implies(one: str, other: str, state: PermissionState) -> bool:
    """Adding some submissions implies adding any."""
    return other in implied(one) or (one == PARTIAL and other == ADD and ADD in state.filters)


def _as_codenames(codenames: Iterable[str] | str) -> Codenames:
    return frozenset((codenames,) if isinstance(codenames, str) else codenames)


def _granted_closure(requested: Codenames, asset_type: str, new_filters: Filters) -> Codenames:
    """Return what a grant includes. Adding some submissions implies adding any: a filter needs an existing one."""
    granted = with_implied(requested, asset_type)
    return granted | {ADD} if ADD in new_filters else granted


def _contradicted(codenames: Codenames) -> Codenames:
    return frozenset().union(*(_CONTRADICTIONS[each] for each in codenames))


def _requested_first(codenames: Codenames, requested: Codenames) -> list[str]:
    return sorted(codenames, key=lambda each: (each not in requested, each))


# Of several causes the nearest is reported, so that the order in which they are named does not matter.


def _grant_reason(each: str, requested: Codenames) -> tuple[EffectReason, str]:
    if each in requested:
        return EffectReason.ASKED, ""
    return EffectReason.IMPLIED, min(
        (one for one in requested if each in implied(one)), key=_breadth, default=PARTIAL
    )


def _removal_reason(
    each: str, requested: Codenames, reason: EffectReason
) -> tuple[EffectReason, str]:
    if each in requested:
        return reason, ""
    return EffectReason.DEPENDENT, max(
        (one for one in requested if one in implied(each)), key=_breadth
    )


def _end_reason(
    each: str, named: Collection[str], is_earlier: bool, state: PermissionState
) -> tuple[EffectReason, str]:
    if each in named:
        return EffectReason.ASKED, ""
    needed = [one for one in named if _implies(each, one, state)]
    if is_earlier and needed:
        return EffectReason.DEPENDENT, max(needed, key=_breadth)
    implying = [one for one in state.granted if _implies(one, each, state)]
    return EffectReason.IMPLIED, min(implying, key=lambda one: (one not in named, _breadth(one)))


def _contradicting_permission(each: str, granted: Codenames, requested: Codenames) -> str:
    needed = implied(each) | {each}
    return min(
        (one for one in granted if _CONTRADICTIONS[one] & needed),
        key=lambda one: (one not in requested, _breadth(one)),
    )


def _breadth(codename: str) -> tuple[int, str]:
    return len(implied(codename)), codename


# Validation


def _validate(state: PermissionState, requested: Codenames, asset_type: str) -> None:
    _reject_owner(state)
    for codename in sorted(requested):
        if codename not in ASSIGNABLE[asset_type]:
            raise RuleViolation("permission", not_for_type_message(codename))
        if state.is_public and codename not in PUBLIC_ASSIGNABLE:
            raise RuleViolation("permission", not_for_public_message(codename))
    if pair := find_contradiction(requested, asset_type):
        raise RuleViolation("permission", contradiction_message(*pair))


def _validate_ends(
    state: PermissionState, requested: Codenames, asset_type: str, ends: RequestedEnds
) -> None:
    """Refuse an end after which the collection or a team would go on to pass the permission on."""
    for codename in sorted(requested):
        end = ends.get(codename)
        if end is None or (codename in state.granted and state.ends.get(codename) == end):
            continue  # it is so already
        passed = state.collection | state.teams
        lifted = _CLOSURES[asset_type][codename] & state.denied
        outlasting = codename in passed and _passed_end(state, codename) > end
        if lifted or outlasting:
            message = Message(
                "This would not end: the collection or a team passes {permission} on as well. Set the end there.",
                permission=min(lifted & passed or lifted, default=codename),
            )
            raise RuleViolation("expires_at", message)


def _reject_owner(state: PermissionState) -> None:
    if state.is_owner:
        raise RuleViolation(
            "user",
            Message("The owner already has every permission; it cannot be assigned or removed."),
        )
