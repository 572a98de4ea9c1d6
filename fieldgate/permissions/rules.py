"""What holding, assigning and removing permissions means: the one definition, which everything else asks.

A `Standing` is all that decides what somebody may do with one asset. An act on it gives the standing afterwards and
the effects, each with its reason:

    outcome = assign(Standing(granted=frozenset({"view_asset"})), "view_submissions", "survey")
    outcome.standing.granted   # view_asset, view_submissions
    outcome.effects            # view_submissions granted: asked for

What a standing grants directly is closed (it holds all that its permissions imply, as far as the type of asset takes
it) and holds no two that contradict each other. What it denies is closed the other way round: with a permission, all
that imply it and could be passed down are denied. Nothing is both granted and denied. Every act keeps it so, whatever
the order in which it names permissions.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import combinations
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.permissions.catalogue import BY_CODENAME, implied

Codenames = frozenset[str]
Filter = Mapping[str, Any]
Filters = Mapping[str, tuple[Filter, ...]]  # which submissions a permission is for, by codename; any of them

ADD = "add_submissions"
PARTIAL = "partial_submissions"

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
PUBLIC_ASSIGNABLE = frozenset({"view_asset", "discover_asset", ADD, "view_submissions"})
INHERITABLE = frozenset({"view_asset", "change_asset"})  # from a collection to what is in it
# What can be given for some submissions only, in the order in which it is told.
PARTIALLY_GRANTABLE = (ADD, "view_submissions", "change_submissions", "delete_submissions", "validate_submissions")
MAX_FILTERS = 1_000  # of one assignment, with those they imply
MAX_FILTER_BYTES = 64 * 1024  # of the same, as JSON
# Stands for whatever submissions, where it makes no difference which.
ANY_SUBMISSIONS: Filters = {"view_submissions": ({},)}

# By type and codename, made once: a request can ask for a thousand users.
_CLOSURES: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {codename: (implied(codename) | {codename}) & taken for codename in BY_CODENAME}
    for asset_type, taken in ASSIGNABLE.items()
}
_DEPENDENTS: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {codename: frozenset(each for each in taken if codename in implied(each)) for codename in BY_CODENAME}
    for asset_type, taken in ASSIGNABLE.items()
}
_CONTRADICTIONS: Mapping[str, Codenames] = {
    codename: frozenset(permission.contradicts) for codename, permission in BY_CODENAME.items()
}


class RuleViolation(Exception):
    """An act that the rules do not allow. `field` is what of a request is wrong."""

    def __init__(self, field: str, message: Message) -> None:
        super().__init__(str(message))
        self.field = field
        self.message = message


class PermissionState(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what somebody may do with an asset."""

    is_owner: bool = False
    is_public: bool = False  # it is the public's own standing
    granted: Codenames = frozenset()
    denied: Codenames = frozenset()
    filters: Filters = {}
    collection: Codenames = frozenset()  # what the collection passes down
    public: Codenames = frozenset()  # what the public holds, and so everybody


class EffectKind(Enum):
    """What happened to a permission."""

    GRANTED = "granted"
    REMOVED = "removed"
    DENIED = "denied"  # the collection still passes it down, and it is not let in here
    ALLOWED = "allowed"  # the denial is gone
    FILTERED = "filtered"  # the submissions it is for changed


class EffectReason(Enum):
    """Why it happened."""

    ASKED = "asked"
    IMPLIED = "implied"  # by `because`
    CONTRADICTED = "contradicted"  # by `because`
    DEPENDENT = "dependent"  # on `because`, which is removed
    NOT_LISTED = "not_listed"  # in what replaces everything


class Effect(msgspec.Struct, frozen=True):
    permission: str
    kind: EffectKind
    reason: EffectReason
    because: str = ""

    def message(self) -> Message:
        """The effect as a sentence."""
        return Message(_EFFECT_MESSAGES[self.kind, self.reason].text, permission=self.permission, because=self.because)


_EFFECT_MESSAGES = {
    (EffectKind.GRANTED, EffectReason.ASKED): Message("{permission}: granted, as asked."),
    (EffectKind.GRANTED, EffectReason.IMPLIED): Message("{permission}: granted, implied by {because}."),
    (EffectKind.REMOVED, EffectReason.ASKED): Message("{permission}: removed, as asked."),
    (EffectKind.REMOVED, EffectReason.CONTRADICTED): Message("{permission}: removed, contradicted by {because}."),
    (EffectKind.REMOVED, EffectReason.DEPENDENT): Message("{permission}: removed, as it cannot be without {because}."),
    (EffectKind.REMOVED, EffectReason.NOT_LISTED): Message("{permission}: removed, as the new list does not name it."),
    (EffectKind.DENIED, EffectReason.ASKED): Message(
        "{permission}: denied here, as asked, though the collection grants it."
    ),
    (EffectKind.DENIED, EffectReason.DEPENDENT): Message(
        "{permission}: denied here, as it cannot be without {because}."
    ),
    (EffectKind.DENIED, EffectReason.NOT_LISTED): Message(
        "{permission}: denied here, as the new list does not name it."
    ),
    (EffectKind.ALLOWED, EffectReason.ASKED): Message("{permission}: no longer denied here, as asked."),
    (EffectKind.ALLOWED, EffectReason.IMPLIED): Message("{permission}: no longer denied here, implied by {because}."),
    (EffectKind.FILTERED, EffectReason.ASKED): Message("{permission}: now for other submissions, as asked."),
    (EffectKind.FILTERED, EffectReason.DEPENDENT): Message(
        "{permission}: now for less, as some of it cannot be without {because}."
    ),
}


class RuleOutcome(msgspec.Struct, frozen=True):
    state: PermissionState
    effects: tuple[Effect, ...]


# What is held


def assignable(asset_type: str, *, to_public: bool = False) -> Codenames:
    """What can be assigned on an asset of this type."""
    return ASSIGNABLE[asset_type] & PUBLIC_ASSIGNABLE if to_public else ASSIGNABLE[asset_type]


def with_implied(codenames: Iterable[str], asset_type: str) -> Codenames:
    """The permissions and all they imply, as far as the type takes them."""
    closures = _CLOSURES[asset_type]
    return frozenset().union(*(closures.get(each, ()) for each in codenames))


def with_dependent(codenames: Iterable[str], asset_type: str) -> Codenames:
    """The permissions and all that cannot be without one of them."""
    gone = frozenset(codenames)
    return gone.union(*(_DEPENDENTS[asset_type].get(each, ()) for each in gone))


def owner_permissions(asset_type: str) -> Codenames:
    """What an owner has, always."""
    return ASSIGNABLE[asset_type] - {PARTIAL}


def inherited(codenames: Codenames, asset_type: str) -> Codenames:
    """What comes to an asset from a collection on which this is held."""
    return codenames & INHERITABLE & ASSIGNABLE[asset_type]


def own_permissions(state: PermissionState, asset_type: str) -> Codenames:
    """What somebody holds on the asset for himself: as its owner, by assignment, or by the collection."""
    if state.is_owner:
        return owner_permissions(asset_type)
    return state.granted | (state.collection - state.denied)


def effective_permissions(state: PermissionState, asset_type: str) -> Codenames:
    """What somebody may do: what he holds, and what everybody may.

    So one may hold something for some submissions and see all of them, as everybody does.
    """
    return own_permissions(state, asset_type) | state.public


def find_contradiction(codenames: Iterable[str], asset_type: str) -> tuple[str, str] | None:
    """Two permissions that cannot be held together, by themselves or by what they imply; None if all can."""
    for pair in combinations(sorted(frozenset(codenames)), 2):
        together = with_implied(pair, asset_type)
        if _contradicted(together) & together:
            return pair
    return None


# Acts


def assign(
    state: PermissionState, codenames: Iterable[str] | str, asset_type: str, filters: Filters | None = None
) -> RuleOutcome:
    """Assign permissions; `filters` says which submissions, where partial_submissions is among them."""
    asked = _as_codenames(codenames)
    _validate(state, asked, asset_type)
    return _apply_grant(state, asked, asset_type, _required_filters(asked, filters))


def remove(state: PermissionState, codenames: Iterable[str] | str, asset_type: str) -> RuleOutcome:
    """Remove permissions, with what cannot be without them. What the collection passes down is denied."""
    _reject_owner(state)
    return _apply_removal(state, _as_codenames(codenames), asset_type, EffectReason.ASKED)


def replace(
    state: PermissionState, codenames: Iterable[str] | str, asset_type: str, filters: Filters | None = None
) -> RuleOutcome:
    """Let somebody hold these permissions and what they imply, and nothing else.

    What the collection passes down and the list names stays as it is, and is not assigned a second time.
    """
    asked = _as_codenames(codenames)
    _validate(state, asked, asset_type)
    wanted = _required_filters(asked, filters)
    passing = state.collection - state.denied - state.granted
    assigned = _apply_grant(state, asked - passing, asset_type, wanted)
    surplus = own_permissions(assigned.state, asset_type) - _granted_closure(asked, asset_type, wanted)
    left = _apply_removal(assigned.state, surplus, asset_type, EffectReason.NOT_LISTED)
    return RuleOutcome(left.state, assigned.effects + left.effects)


def remove_all(state: PermissionState, asset_type: str) -> RuleOutcome:
    """Take away everything somebody holds, and deny what the collection passes down."""
    _reject_owner(state)
    return _apply_removal(state, own_permissions(state, asset_type), asset_type, EffectReason.ASKED)


def recompute_implied(state: PermissionState, asset_type: str) -> RuleOutcome:
    """Add what comes with the permissions on an asset of a type that it was not of before."""
    return _apply_grant(state, state.granted, asset_type, state.filters)


# Parts of acts


def _apply_grant(state: PermissionState, requested: Codenames, asset_type: str, new_filters: Filters) -> RuleOutcome:
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
                each, EffectKind.REMOVED, EffectReason.CONTRADICTED, _contradicting_permission(each, granted, requested)
            )
            for each in sorted(removed)
        ),
        *(
            Effect(each, EffectKind.ALLOWED, *_grant_reason(each, requested))
            for each in _requested_first(granted & state.denied, requested)
        ),
    ]
    filters = state.filters
    if PARTIAL in requested and not _filters_equal(new_filters, state.filters):
        filters = new_filters
        if PARTIAL in state.granted:
            effects.append(Effect(PARTIAL, EffectKind.FILTERED, EffectReason.ASKED))
    return RuleOutcome(
        msgspec.structs.replace(
            state, granted=after, denied=state.denied - granted, filters=filters if PARTIAL in after else {}
        ),
        tuple(effects),
    )


def _apply_removal(state: PermissionState, requested: Codenames, asset_type: str, reason: EffectReason) -> RuleOutcome:
    removed = with_dependent(requested, asset_type) & state.granted
    # Also what the collection does not pass down yet: one day it might, and it cannot be without what is denied now.
    could_pass = INHERITABLE & assignable(asset_type, to_public=state.is_public)
    denied = (with_dependent(state.collection & requested, asset_type) & could_pass) - state.denied
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
        filters = {each: given for each, given in filters.items() if each != ADD and ADD not in implied(each)}
        effects.append(
            Effect(PARTIAL, EffectKind.FILTERED if filters else EffectKind.REMOVED, EffectReason.DEPENDENT, ADD)
        )
        granted = granted if filters else granted - {PARTIAL}
    after = msgspec.structs.replace(state, granted=granted, denied=state.denied | denied, filters=filters)
    return RuleOutcome(after, tuple(effects))


def _as_codenames(codenames: Iterable[str] | str) -> Codenames:
    return frozenset((codenames,) if isinstance(codenames, str) else codenames)


def _granted_closure(requested: Codenames, asset_type: str, new_filters: Filters) -> Codenames:
    """All that comes with what is asked for. Who may add some submissions may add: there is none yet to look at."""
    granted = with_implied(requested, asset_type)
    return granted | {ADD} if ADD in new_filters else granted


def _contradicted(codenames: Codenames) -> Codenames:
    return frozenset().union(*(_CONTRADICTIONS[each] for each in codenames))


def _requested_first(codenames: Codenames, requested: Codenames) -> list[str]:
    return sorted(codenames, key=lambda each: (each not in requested, each))


# Of several causes the nearest is told, so that it does not matter in which order they were named.


def _grant_reason(each: str, requested: Codenames) -> tuple[EffectReason, str]:
    """Why it is granted."""
    if each in requested:
        return EffectReason.ASKED, ""
    return EffectReason.IMPLIED, min((one for one in requested if each in implied(one)), key=_breadth, default=PARTIAL)


def _removal_reason(each: str, requested: Codenames, reason: EffectReason) -> tuple[EffectReason, str]:
    """Why it is removed or denied, where others are asked to be."""
    if each in requested:
        return reason, ""
    return EffectReason.DEPENDENT, max((one for one in requested if one in implied(each)), key=_breadth)


def _contradicting_permission(each: str, granted: Codenames, requested: Codenames) -> str:
    """What it gives way to."""
    needed = implied(each) | {each}
    return min(
        (one for one in granted if _CONTRADICTIONS[one] & needed), key=lambda one: (one not in requested, _breadth(one))
    )


def _breadth(codename: str) -> tuple[int, str]:
    return len(implied(codename)), codename


# Filters


class NormalizedFilters(dict[str, tuple[Filter, ...]]):
    """Filters with those they imply, each once, and no more than can be kept."""

    json_size = 0  # bytes, as JSON


def filters_json_size(filters: Filters) -> int:
    return filters.json_size if isinstance(filters, NormalizedFilters) else len(msgspec.json.encode(filters))


def with_implied_filters(filters: Filters) -> NormalizedFilters:
    """Who may change some submissions may see and add them: their filters hold for those as well, each once."""
    if isinstance(filters, NormalizedFilters):  # a request can give the same to a thousand users
        return filters
    _check_filters(filters)
    whole = NormalizedFilters()
    for codename in PARTIALLY_GRANTABLE:
        implying = [each for each in PARTIALLY_GRANTABLE if each in filters and codename in implied(each)]
        together = [one for each in (codename, *implying) for one in filters.get(each, ())]
        if together:
            whole[codename] = tuple({_canonical_json(one): one for one in together}.values())
    if sum(map(len, whole.values())) > MAX_FILTERS:
        raise RuleViolation("partial_permissions", too_many_filters_message())
    whole.json_size = len(msgspec.json.encode(whole))
    if whole.json_size > MAX_FILTER_BYTES:
        raise RuleViolation("partial_permissions", filters_too_large_message())
    return whole


def _check_filters(filters: Filters) -> None:
    for codename, given in filters.items():
        if codename not in PARTIALLY_GRANTABLE:
            message = Message(
                "{permission} cannot be given for some submissions only. Choose one of: {choices}.",
                permission=codename,
                choices=", ".join(PARTIALLY_GRANTABLE),
            )
            raise RuleViolation("partial_permissions", message)
        if not given:
            message = Message("Give at least one filter for {permission}.", permission=codename)
            raise RuleViolation("partial_permissions", message)


def _required_filters(requested: Codenames, filters: Filters | None) -> Filters:
    if PARTIAL not in requested:
        return {}
    if not filters:
        message = Message("Say which submissions {permission} is for.", permission=PARTIAL)
        raise RuleViolation("partial_permissions", message)
    return with_implied_filters(filters)


def _filters_equal(filters: Filters, others: Filters) -> bool:
    """Whether they let the same submissions through, in whatever order they are told."""
    return filters.keys() == others.keys() and all(
        set(map(_canonical_json, given)) == set(map(_canonical_json, others[codename]))
        for codename, given in filters.items()
    )


def _canonical_json(one: Filter) -> bytes:
    """What a filter is compared by: to Python, 1 and true are the same."""
    return msgspec.json.encode(one, order="sorted")


# Refusals


def _validate(state: PermissionState, requested: Codenames, asset_type: str) -> None:
    _reject_owner(state)
    for codename in sorted(requested):
        if codename not in ASSIGNABLE[asset_type]:
            raise RuleViolation("permission", not_for_type_message(codename))
        if state.is_public and codename not in PUBLIC_ASSIGNABLE:
            raise RuleViolation("permission", not_for_public_message(codename))
    if pair := find_contradiction(requested, asset_type):
        raise RuleViolation("permission", contradiction_message(*pair))


def _reject_owner(state: PermissionState) -> None:
    if state.is_owner:
        raise RuleViolation(
            "user", Message("The owner has every permission already; it cannot be assigned or removed.")
        )


def not_for_type_message(codename: str) -> Message:
    return Message("{permission} cannot be assigned on an asset of this type.", permission=codename)


def not_for_public_message(codename: str) -> Message:
    return Message("The public cannot be given {permission}.", permission=codename)


def too_many_filters_message() -> Message:
    return PluralMessage(
        "These are too many filters: at most {count} is taken for one assignment, with those that they imply for other"
        " permissions.",
        "These are too many filters: at most {count} are taken for one assignment, with those that they imply for other"
        " permissions.",
        MAX_FILTERS,
    )


def filters_too_large_message() -> Message:
    return PluralMessage(
        "These filters are too large: at most {count} KiB of JSON is taken for one assignment, with those that they"
        " imply for other permissions.",
        "These filters are too large: at most {count} KiB of JSON are taken for one assignment, with those that they"
        " imply for other permissions.",
        MAX_FILTER_BYTES // 1024,
    )


def contradiction_message(one: str, other: str) -> Message:
    return Message("{one} and {other} contradict each other: assign one of them.", one=one, other=other)
