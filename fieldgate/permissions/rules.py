"""What holding, assigning and removing permissions means: the one definition, which everything else asks.

A `Standing` is all that decides what somebody may do with one asset. An act on it gives the standing afterwards and
the effects, each with its reason:

    outcome = assign(Standing(granted=frozenset({"partial_submissions", "view_asset"})), "view_submissions", "survey")
    outcome.standing.granted   # view_asset, view_submissions
    outcome.effects            # view_submissions granted: asked for; partial_submissions removed: contradicted by it

What a standing grants directly is closed (it holds all that its permissions imply, as far as the type of asset takes
it) and holds no two that contradict each other. What it denies is closed the other way round: with a permission, all
that imply it are denied. Every act keeps it so.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec

from fieldgate.http.language import Message
from fieldgate.permissions.catalogue import BY_CODENAME, implied

PARTIAL = "partial_submissions"
Codenames = frozenset[str]
Filter = Mapping[str, Any]
Filters = Mapping[str, tuple[Filter, ...]]  # which submissions a permission is for, by codename; any of them

_ON_FORMS = frozenset({"view_asset", "change_asset", "manage_asset"})
ASSIGNABLE: Mapping[str, Codenames] = {
    "survey": frozenset(BY_CODENAME) - {"discover_asset"},
    "template": _ON_FORMS,
    "block": _ON_FORMS,
    "question": _ON_FORMS,
    "empty": _ON_FORMS,
    "collection": _ON_FORMS | {"discover_asset"},
}
FOR_THE_PUBLIC = frozenset({"view_asset", "discover_asset", "add_submissions", "view_submissions"})
PASSED_DOWN = frozenset({"view_asset", "change_asset"})  # from a collection to what is in it
# What can be given for some submissions only, in the order in which it is told.
PARTIALLY = ("add_submissions", "view_submissions", "change_submissions", "delete_submissions", "validate_submissions")


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
    asked = frozenset(codenames)
    return (asked | {each for codename in asked for each in implied(codename)}) & ASSIGNABLE[asset_type]


def with_dependent(codenames: Iterable[str], asset_type: str) -> Codenames:
    """The permissions and all that cannot be without one of them."""
    gone = frozenset(codenames)
    return gone | {each for each in ASSIGNABLE[asset_type] if implied(each) & gone}


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
    """What somebody may do: what he holds, and what everybody may."""
    own = held(standing, asset_type)
    # A restriction to some submissions says nothing where all of them are open to everybody.
    moot = {each for each in own for contradicted in BY_CODENAME[each].contradicts if contradicted in standing.public}
    return (own - moot) | standing.public


def contradiction(codenames: Iterable[str], asset_type: str) -> tuple[str, str] | None:
    """Two permissions that cannot be held together, by themselves or by what they imply; None if all can."""
    asked = sorted(frozenset(codenames))
    for one in asked:
        for other in asked:
            together = with_implied([other], asset_type)
            if together & set(BY_CODENAME[one].contradicts):
                return one, other
    return None


# Acts


def assign(
    standing: Standing, codenames: Sequence[str] | str, asset_type: str, filters: Filters | None = None
) -> Outcome:
    """Assign permissions; `filters` where partial_submissions is among them. The order makes no difference."""
    asked = (codenames,) if isinstance(codenames, str) else tuple(dict.fromkeys(codenames))
    _check(standing, asked, asset_type)
    wanted = _whole_filters(asked, filters)
    asked = _with_unfiltered(asked, wanted)
    effects = [*_granting(asked, standing.granted, asset_type)]
    granted = with_implied(asked, asset_type)
    removed = dict(_contradicted(granted, standing.granted, asset_type))
    effects += [
        *(Effect(each, What.REMOVED, Why.CONTRADICTED, by) for each, by in sorted(removed.items())),
        *_allowing(asked, standing.denied & granted),
    ]
    if wanted is not None and PARTIAL in standing.granted and wanted != standing.filters:
        effects.append(Effect(PARTIAL, What.FILTERED, Why.ASKED))
    after = (standing.granted - removed.keys()) | granted
    kept = wanted if wanted is not None else standing.filters
    return Outcome(
        msgspec.structs.replace(
            standing,
            granted=after,
            denied=standing.denied - granted,
            filters=kept if PARTIAL in after else {},
        ),
        tuple(effects),
    )


def remove(standing: Standing, codenames: Sequence[str] | str, asset_type: str) -> Outcome:
    """Remove permissions, with what cannot be without them. What the collection passes down is denied."""
    asked = (codenames,) if isinstance(codenames, str) else tuple(dict.fromkeys(codenames))
    _refuse_owner(standing)
    return _without(standing, asked, asset_type, Why.ASKED)


def replace(standing: Standing, codenames: Sequence[str], asset_type: str, filters: Filters | None = None) -> Outcome:
    """Let somebody hold these permissions and what they imply, and nothing else.

    What the collection passes down and the list names stays as it is, and is not assigned a second time.
    """
    asked = tuple(dict.fromkeys(codenames))
    _check(standing, asked, asset_type)
    all_of_it = with_implied(asked, asset_type)
    passing = standing.collection - standing.denied - standing.granted
    assigned = assign(standing, [each for each in asked if each not in passing], asset_type, filters)
    keep = with_implied([*all_of_it, *_with_unfiltered(asked, _whole_filters(asked, filters))], asset_type)
    gone = sorted(held(assigned.standing, asset_type) - keep)
    left = _without(assigned.standing, gone, asset_type, Why.NOT_LISTED)
    return Outcome(left.standing, (*assigned.effects, *left.effects))


def remove_all(standing: Standing, asset_type: str) -> Outcome:
    """Take away everything somebody holds, and deny what the collection passes down."""
    _refuse_owner(standing)
    return _without(standing, sorted(held(standing, asset_type)), asset_type, Why.ASKED)


# Parts of acts


def _without(standing: Standing, asked: Sequence[str], asset_type: str, why: Why) -> Outcome:
    reasons = _dependent(asked, asset_type, why)
    removed = {each: reason for each, reason in reasons.items() if each in standing.granted}
    # Also what the collection does not pass down yet: one day it might, and it cannot be without what is denied now.
    closed = with_dependent(standing.collection.intersection(asked), asset_type) & PASSED_DOWN
    denied = {each: reason for each, reason in reasons.items() if each in closed - standing.denied}
    effects = [
        *(Effect(each, What.REMOVED, *reason) for each, reason in removed.items()),
        *(Effect(each, What.DENIED, *reason) for each, reason in denied.items()),
    ]
    granted = standing.granted - removed.keys()
    after = msgspec.structs.replace(
        standing,
        granted=granted,
        denied=standing.denied | denied.keys(),
        filters=standing.filters if PARTIAL in granted else {},
    )
    return Outcome(after, tuple(effects))


def _dependent(asked: Sequence[str], asset_type: str, why: Why) -> dict[str, tuple[Why, str]]:
    """What goes with the removed ones, each with its reason."""
    reasons: dict[str, tuple[Why, str]] = dict.fromkeys(asked, (why, ""))
    for each in asked:
        for other in sorted(with_dependent([each], asset_type) - {each}):
            reasons.setdefault(other, (Why.DEPENDENT, each))
    return reasons


def _granting(asked: Sequence[str], there: Codenames, asset_type: str) -> Iterable[Effect]:
    named = [Effect(each, What.GRANTED, Why.ASKED) for each in asked if each not in there]
    seen = there | set(asked)
    for each in asked:
        for other in sorted(with_implied([each], asset_type) - seen):
            named.append(Effect(other, What.GRANTED, Why.IMPLIED, each))
            seen |= {other}
    return named


def _contradicted(granted: Codenames, there: Codenames, asset_type: str) -> Iterable[tuple[str, str]]:
    """What must go for what is granted, and the permission it gives way to."""
    for each in sorted(granted):
        gone = (
            with_dependent(BY_CODENAME[each].contradicts, asset_type) if BY_CODENAME[each].contradicts else frozenset()
        )
        for other in sorted(gone & there):
            yield other, each


def _allowing(asked: Sequence[str], lifted: Codenames) -> Iterable[Effect]:
    for each in sorted(lifted):
        if each in asked:
            yield Effect(each, What.ALLOWED, Why.ASKED)
        else:
            yield Effect(each, What.ALLOWED, Why.IMPLIED, next(one for one in asked if each in implied(one)))


def _whole_filters(asked: Sequence[str], filters: Filters | None) -> Filters | None:
    return None if PARTIAL not in asked else with_implied_filters(filters or {})


def _with_unfiltered(asked: tuple[str, ...], filters: Filters | None) -> tuple[str, ...]:
    """Adding submissions cannot be restricted by what is in them: who may add some may add."""
    if filters and "add_submissions" in filters and "add_submissions" not in asked:
        return (*asked, "add_submissions")
    return asked


def with_implied_filters(filters: Filters) -> Filters:
    """Who may change some submissions may see and add them: their filters hold for those as well, each once."""
    whole: dict[str, list[Filter]] = {}
    for codename, given in filters.items():
        for each in (codename, *sorted(implied(codename))):
            if each in PARTIALLY:
                there = whole.setdefault(each, [])
                there.extend(one for one in given if one not in there)
    return {codename: tuple(whole[codename]) for codename in PARTIALLY if codename in whole}


def _check(standing: Standing, asked: Sequence[str], asset_type: str) -> None:
    _refuse_owner(standing)
    for codename in asked:
        if codename not in ASSIGNABLE[asset_type]:
            raise Refused(
                "permission",
                Message("{permission} cannot be assigned on an asset of this type.", permission=codename),
            )
        if standing.is_public and codename not in FOR_THE_PUBLIC:
            raise Refused("permission", Message("The public cannot be given {permission}.", permission=codename))
    if pair := contradiction(asked, asset_type):
        one, other = pair
        raise Refused(
            "permission",
            Message("{one} and {other} contradict each other: assign one of them.", one=one, other=other),
        )


def _refuse_owner(standing: Standing) -> None:
    if standing.is_owner:
        raise Refused("user", Message("The owner has every permission already; it cannot be assigned or removed."))
