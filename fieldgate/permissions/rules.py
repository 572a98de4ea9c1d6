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

from fieldgate.i18n.messages import Message
from fieldgate.permissions.catalogue import BY_CODENAME, implied

Codenames = frozenset[str]
Filter = Mapping[str, Any]
Filters = Mapping[str, tuple[Filter, ...]]  # which submissions a permission is for, by codename; any of them

ADD = "add_submissions"
PARTIAL = "partial_submissions"

_ON_FORMS = frozenset({"view_asset", "change_asset", "manage_asset"})
ASSIGNABLE: Mapping[str, Codenames] = {
    "survey": frozenset(BY_CODENAME) - {"discover_asset"},
    "template": _ON_FORMS,
    "block": _ON_FORMS,
    "question": _ON_FORMS,
    "empty": _ON_FORMS,
    "collection": _ON_FORMS | {"discover_asset"},
    "text": frozenset(),
}
FOR_THE_PUBLIC = frozenset({"view_asset", "discover_asset", ADD, "view_submissions"})
PASSED_DOWN = frozenset({"view_asset", "change_asset"})  # from a collection to what is in it
# What can be given for some submissions only, in the order in which it is told.
PARTIALLY = (ADD, "view_submissions", "change_submissions", "delete_submissions", "validate_submissions")
MOST_FILTERS = 1_000  # of one assignment, with those they imply
MOST_FILTER_BYTES = 64 * 1024  # of the same, as JSON
# Stands for whatever submissions, where it makes no difference which.
WHICHEVER: Filters = {"view_submissions": ({},)}

# By type and codename, made once: a request can ask for a thousand users.
_WITH: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {codename: (implied(codename) | {codename}) & taken for codename in BY_CODENAME}
    for asset_type, taken in ASSIGNABLE.items()
}
_UNDER: Mapping[str, Mapping[str, Codenames]] = {
    asset_type: {codename: frozenset(each for each in taken if codename in implied(each)) for codename in BY_CODENAME}
    for asset_type, taken in ASSIGNABLE.items()
}
_AGAINST: Mapping[str, Codenames] = {
    codename: frozenset(permission.contradicts) for codename, permission in BY_CODENAME.items()
}


class Refused(Exception):
    """An act that the rules do not allow. `field` is what of a request is wrong."""

    def __init__(self, field: str, message: Message) -> None:
        super().__init__(str(message))
        self.field = field
        self.message = message


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what somebody may do with an asset."""

    is_owner: bool = False
    is_public: bool = False  # it is the public's own standing
    granted: Codenames = frozenset()
    denied: Codenames = frozenset()
    filters: Filters = {}
    collection: Codenames = frozenset()  # what the collection passes down
    public: Codenames = frozenset()  # what the public holds, and so everybody


class What(Enum):
    """What happened to a permission."""

    GRANTED = "granted"
    REMOVED = "removed"
    DENIED = "denied"  # the collection still passes it down, and it is not let in here
    ALLOWED = "allowed"  # the denial is gone
    FILTERED = "filtered"  # the submissions it is for changed


class Why(Enum):
    """Why it happened."""

    ASKED = "asked"
    IMPLIED = "implied"  # by `because`
    CONTRADICTED = "contradicted"  # by `because`
    DEPENDENT = "dependent"  # on `because`, which is removed
    NOT_LISTED = "not_listed"  # in what replaces everything


class Effect(msgspec.Struct, frozen=True):
    permission: str
    what: What
    why: Why
    because: str = ""

    def told(self) -> Message:
        """The effect as a sentence."""
        return Message(_SENTENCES[self.what, self.why].text, permission=self.permission, because=self.because)


_SENTENCES = {
    (What.GRANTED, Why.ASKED): Message("{permission}: granted, as asked."),
    (What.GRANTED, Why.IMPLIED): Message("{permission}: granted, implied by {because}."),
    (What.REMOVED, Why.ASKED): Message("{permission}: removed, as asked."),
    (What.REMOVED, Why.CONTRADICTED): Message("{permission}: removed, contradicted by {because}."),
    (What.REMOVED, Why.DEPENDENT): Message("{permission}: removed, as it cannot be without {because}."),
    (What.REMOVED, Why.NOT_LISTED): Message("{permission}: removed, as the new list does not name it."),
    (What.DENIED, Why.ASKED): Message("{permission}: denied here, as asked, though the collection grants it."),
    (What.DENIED, Why.DEPENDENT): Message("{permission}: denied here, as it cannot be without {because}."),
    (What.DENIED, Why.NOT_LISTED): Message("{permission}: denied here, as the new list does not name it."),
    (What.ALLOWED, Why.ASKED): Message("{permission}: no longer denied here, as asked."),
    (What.ALLOWED, Why.IMPLIED): Message("{permission}: no longer denied here, implied by {because}."),
    (What.FILTERED, Why.ASKED): Message("{permission}: now for other submissions, as asked."),
    (What.FILTERED, Why.DEPENDENT): Message("{permission}: now for less, as some of it cannot be without {because}."),
}


class Outcome(msgspec.Struct, frozen=True):
    standing: Standing
    effects: tuple[Effect, ...]


# What is held


def assignable(asset_type: str, *, to_public: bool = False) -> Codenames:
    """What can be assigned on an asset of this type."""
    return ASSIGNABLE[asset_type] & FOR_THE_PUBLIC if to_public else ASSIGNABLE[asset_type]


def with_implied(codenames: Iterable[str], asset_type: str) -> Codenames:
    """The permissions and all they imply, as far as the type takes them."""
    closures = _WITH[asset_type]
    return frozenset().union(*(closures.get(each, ()) for each in codenames))


def with_dependent(codenames: Iterable[str], asset_type: str) -> Codenames:
    """The permissions and all that cannot be without one of them."""
    gone = frozenset(codenames)
    return gone.union(*(_UNDER[asset_type].get(each, ()) for each in gone))


def owners(asset_type: str) -> Codenames:
    """What an owner has, always."""
    return ASSIGNABLE[asset_type] - {PARTIAL}


def passed_down(held: Codenames, asset_type: str) -> Codenames:
    """What comes to an asset from a collection on which this is held."""
    return held & PASSED_DOWN & ASSIGNABLE[asset_type]


def held(standing: Standing, asset_type: str) -> Codenames:
    """What somebody holds on the asset for himself: as its owner, by assignment, or by the collection."""
    if standing.is_owner:
        return owners(asset_type)
    return standing.granted | (standing.collection - standing.denied)


def effective(standing: Standing, asset_type: str) -> Codenames:
    """What somebody may do: what he holds, and what everybody may.

    So one may hold something for some submissions and see all of them, as everybody does.
    """
    return held(standing, asset_type) | standing.public


def contradiction(codenames: Iterable[str], asset_type: str) -> tuple[str, str] | None:
    """Two permissions that cannot be held together, by themselves or by what they imply; None if all can."""
    for pair in combinations(sorted(frozenset(codenames)), 2):
        together = with_implied(pair, asset_type)
        if _contradicted(together) & together:
            return pair
    return None


# Acts


def assign(
    standing: Standing, codenames: Iterable[str] | str, asset_type: str, filters: Filters | None = None
) -> Outcome:
    """Assign permissions; `filters` says which submissions, where partial_submissions is among them."""
    asked = _asked(codenames)
    _check(standing, asked, asset_type)
    return _with(standing, asked, asset_type, _wanted(asked, filters))


def remove(standing: Standing, codenames: Iterable[str] | str, asset_type: str) -> Outcome:
    """Remove permissions, with what cannot be without them. What the collection passes down is denied."""
    _refuse_owner(standing)
    return _without(standing, _asked(codenames), asset_type, Why.ASKED)


def replace(
    standing: Standing, codenames: Iterable[str] | str, asset_type: str, filters: Filters | None = None
) -> Outcome:
    """Let somebody hold these permissions and what they imply, and nothing else.

    What the collection passes down and the list names stays as it is, and is not assigned a second time.
    """
    asked = _asked(codenames)
    _check(standing, asked, asset_type)
    wanted = _wanted(asked, filters)
    passing = standing.collection - standing.denied - standing.granted
    assigned = _with(standing, asked - passing, asset_type, wanted)
    surplus = held(assigned.standing, asset_type) - _granting(asked, asset_type, wanted)
    left = _without(assigned.standing, surplus, asset_type, Why.NOT_LISTED)
    return Outcome(left.standing, assigned.effects + left.effects)


def remove_all(standing: Standing, asset_type: str) -> Outcome:
    """Take away everything somebody holds, and deny what the collection passes down."""
    _refuse_owner(standing)
    return _without(standing, held(standing, asset_type), asset_type, Why.ASKED)


def close(standing: Standing, asset_type: str) -> Outcome:
    """Add what comes with the permissions on an asset of a type that it was not of before."""
    return _with(standing, standing.granted, asset_type, standing.filters)


# Parts of acts


def _with(standing: Standing, asked: Codenames, asset_type: str, wanted: Filters) -> Outcome:
    granted = _granting(asked, asset_type, wanted)
    removed = with_dependent(_contradicted(granted), asset_type) & standing.granted
    after = (standing.granted - removed) | granted
    effects = [
        *(Effect(each, What.GRANTED, *_cause(each, asked)) for each in _in_order(granted - standing.granted, asked)),
        *(Effect(each, What.REMOVED, Why.CONTRADICTED, _rival(each, granted, asked)) for each in sorted(removed)),
        *(Effect(each, What.ALLOWED, *_cause(each, asked)) for each in _in_order(granted & standing.denied, asked)),
    ]
    filters = standing.filters
    if PARTIAL in asked and not _are_same(wanted, standing.filters):
        filters = wanted
        if PARTIAL in standing.granted:
            effects.append(Effect(PARTIAL, What.FILTERED, Why.ASKED))
    return Outcome(
        msgspec.structs.replace(
            standing, granted=after, denied=standing.denied - granted, filters=filters if PARTIAL in after else {}
        ),
        tuple(effects),
    )


def _without(standing: Standing, asked: Codenames, asset_type: str, why: Why) -> Outcome:
    removed = with_dependent(asked, asset_type) & standing.granted
    # Also what the collection does not pass down yet: one day it might, and it cannot be without what is denied now.
    could_pass = PASSED_DOWN & assignable(asset_type, to_public=standing.is_public)
    denied = (with_dependent(standing.collection & asked, asset_type) & could_pass) - standing.denied
    effects = [
        *(Effect(each, What.REMOVED, *_fate(each, asked, why)) for each in _in_order(removed, asked)),
        *(Effect(each, What.DENIED, *_fate(each, asked, why)) for each in _in_order(denied, asked)),
    ]
    granted = standing.granted - removed
    filters = standing.filters if PARTIAL in granted else {}
    if ADD in removed and ADD in filters:
        filters = {each: given for each, given in filters.items() if each != ADD and ADD not in implied(each)}
        effects.append(Effect(PARTIAL, What.FILTERED if filters else What.REMOVED, Why.DEPENDENT, ADD))
        granted = granted if filters else granted - {PARTIAL}
    after = msgspec.structs.replace(standing, granted=granted, denied=standing.denied | denied, filters=filters)
    return Outcome(after, tuple(effects))


def _asked(codenames: Iterable[str] | str) -> Codenames:
    return frozenset((codenames,) if isinstance(codenames, str) else codenames)


def _granting(asked: Codenames, asset_type: str, wanted: Filters) -> Codenames:
    """All that comes with what is asked for. Who may add some submissions may add: there is none yet to look at."""
    granted = with_implied(asked, asset_type)
    return granted | {ADD} if ADD in wanted else granted


def _contradicted(codenames: Codenames) -> Codenames:
    return frozenset().union(*(_AGAINST[each] for each in codenames))


def _in_order(codenames: Codenames, asked: Codenames) -> list[str]:
    return sorted(codenames, key=lambda each: (each not in asked, each))


# Of several causes the nearest is told, so that it does not matter in which order they were named.


def _cause(each: str, asked: Codenames) -> tuple[Why, str]:
    """Why it is granted."""
    if each in asked:
        return Why.ASKED, ""
    return Why.IMPLIED, min((one for one in asked if each in implied(one)), key=_reach, default=PARTIAL)


def _fate(each: str, asked: Codenames, why: Why) -> tuple[Why, str]:
    """Why it is removed or denied, where others are asked to be."""
    if each in asked:
        return why, ""
    return Why.DEPENDENT, max((one for one in asked if one in implied(each)), key=_reach)


def _rival(each: str, granted: Codenames, asked: Codenames) -> str:
    """What it gives way to."""
    needed = implied(each) | {each}
    return min((one for one in granted if _AGAINST[one] & needed), key=lambda one: (one not in asked, _reach(one)))


def _reach(codename: str) -> tuple[int, str]:
    return len(implied(codename)), codename


# Filters


class WholeFilters(dict[str, tuple[Filter, ...]]):
    """Filters with those they imply, each once, and no more than can be kept."""

    size = 0  # bytes, as JSON


def size_of(filters: Filters) -> int:
    return filters.size if isinstance(filters, WholeFilters) else len(msgspec.json.encode(filters))


def with_implied_filters(filters: Filters) -> WholeFilters:
    """Who may change some submissions may see and add them: their filters hold for those as well, each once."""
    if isinstance(filters, WholeFilters):  # a request can give the same to a thousand users
        return filters
    _check_filters(filters)
    whole = WholeFilters()
    for codename in PARTIALLY:
        implying = [each for each in PARTIALLY if each in filters and codename in implied(each)]
        together = [one for each in (codename, *implying) for one in filters.get(each, ())]
        if together:
            whole[codename] = tuple({_written(one): one for one in together}.values())
    if sum(map(len, whole.values())) > MOST_FILTERS:
        raise Refused("partial_permissions", too_many_filters())
    whole.size = len(msgspec.json.encode(whole))
    if whole.size > MOST_FILTER_BYTES:
        raise Refused("partial_permissions", too_large_filters())
    return whole


def _check_filters(filters: Filters) -> None:
    for codename, given in filters.items():
        if codename not in PARTIALLY:
            message = Message(
                "{permission} cannot be given for some submissions only. Choose one of: {choices}.",
                permission=codename,
                choices=", ".join(PARTIALLY),
            )
            raise Refused("partial_permissions", message)
        if not given:
            message = Message("Give at least one filter for {permission}.", permission=codename)
            raise Refused("partial_permissions", message)


def _wanted(asked: Codenames, filters: Filters | None) -> Filters:
    if PARTIAL not in asked:
        return {}
    if not filters:
        message = Message("Say which submissions {permission} is for.", permission=PARTIAL)
        raise Refused("partial_permissions", message)
    return with_implied_filters(filters)


def _are_same(filters: Filters, others: Filters) -> bool:
    """Whether they let the same submissions through, in whatever order they are told."""
    return filters.keys() == others.keys() and all(
        set(map(_written, given)) == set(map(_written, others[codename])) for codename, given in filters.items()
    )


def _written(one: Filter) -> bytes:
    """What a filter is compared by: to Python, 1 and true are the same."""
    return msgspec.json.encode(one, order="sorted")


# Refusals


def _check(standing: Standing, asked: Codenames, asset_type: str) -> None:
    _refuse_owner(standing)
    for codename in sorted(asked):
        if codename not in ASSIGNABLE[asset_type]:
            raise Refused("permission", not_for_type(codename))
        if standing.is_public and codename not in FOR_THE_PUBLIC:
            raise Refused("permission", not_for_public(codename))
    if pair := contradiction(asked, asset_type):
        raise Refused("permission", contradicting(*pair))


def _refuse_owner(standing: Standing) -> None:
    if standing.is_owner:
        raise Refused("user", Message("The owner has every permission already; it cannot be assigned or removed."))


def not_for_type(codename: str) -> Message:
    return Message("{permission} cannot be assigned on an asset of this type.", permission=codename)


def not_for_public(codename: str) -> Message:
    return Message("The public cannot be given {permission}.", permission=codename)


def too_many_filters() -> Message:
    return Message(
        "These are too many filters: at most {most} are taken for one assignment, with those that they imply for other"
        " permissions.",
        most=MOST_FILTERS,
    )


def too_large_filters() -> Message:
    return Message(
        "These filters are too large: at most {most} KiB of JSON are taken for one assignment, with those that they"
        " imply for other permissions.",
        most=MOST_FILTER_BYTES // 1024,
    )


def contradicting(one: str, other: str) -> Message:
    return Message("{one} and {other} contradict each other: assign one of them.", one=one, other=other)
