"""Acts on an asset as a whole: for everybody concerned, what the rules make of it. Nothing is read or written here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from fieldgate.assets.sharing.model.grants import Person, Shared
from fieldgate.concurrency import WITH_FILTERS
from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Effect, EffectKind, Filter, Filters, PermissionState, RuleOutcome, RuleViolation

MOST_MISTAKES = 100  # mistakes of one request; whoever has more reads the first
MOST_BYTES = 64 * 1024**2  # of filters, written by one act


class Act(Enum):
    """What was done, as the history calls it."""

    ASSIGN = "assign"
    REMOVE = "remove"
    REMOVE_ALL = "remove_all"
    REPLACE = "replace"
    CLONE = "clone"
    IMPORT = "import"  # into an asset that had no type yet


class Wish(msgspec.Struct, frozen=True):
    """A permission for somebody. `where` is its place in the request, as the names of wrong fields begin."""

    user: Person
    permission: str
    filters: Filters | None = None
    where: str = ""


def work_for(wishes: Iterable[Wish]) -> int:
    """Roughly, how many wishes without filters take as long as these."""
    return sum(1 if wish.filters is None else WITH_FILTERS for wish in wishes)


class Change(msgspec.Struct, frozen=True):
    """What an act does to one user's standing on one asset."""

    shared: Shared
    user: Person
    before: PermissionState
    after: PermissionState
    effects: tuple[Effect, ...]

    def filters_of(self, effect: Effect) -> Filters | None:
        """Which submissions an effect is about."""
        is_about = effect.permission == rules.PARTIAL and effect.kind in (EffectKind.GRANTED, EffectKind.FILTERED)
        return self.after.filters if is_about else None

    @property
    def size(self) -> int:
        """Bytes of filters to be written: with the assignment, and with its history."""
        about = [given for effect in self.effects if (given := self.filters_of(effect)) is not None]
        return 2 * sum(map(rules.filters_json_size, about))


def refuse_too_large(changes: Iterable[Change]) -> None:
    """The same filters for ever so many users are more than one transaction should write."""
    if sum(change.size for change in changes) > MOST_BYTES:
        said = Message(
            "These filters are too large for so many at once: in all, {most} MiB can be written.",
            most=MOST_BYTES // 1024**2,
        )
        raise ValidationError({"partial_permissions": [said]})


class Mistakes:
    """Everything wrong with a request, told at once."""

    def __init__(self) -> None:
        self._fields: dict[str, list[Message]] = {}
        self._said: set[tuple[str, str]] = set()

    def note(self, field: str, message: Message) -> None:
        said = field, str(message)
        if said not in self._said and len(self._said) < MOST_MISTAKES:
            self._said.add(said)
            self._fields.setdefault(field, []).append(message)

    def note_all(self, invalid: ValidationError, where: str = "") -> None:
        for field, messages in invalid.fields.items():
            for message in messages:
                self.note(where + field, message)

    def all(self) -> list[tuple[str, Message]]:
        return [(field, message) for field, messages in self._fields.items() for message in messages]

    def refuse(self) -> None:
        """Raise `Invalid` if there is any."""
        if self._fields:
            raise ValidationError(self._fields)


def assigned(shared: Shared, wishes: Iterable[Wish], mistakes: Mistakes) -> list[Change]:
    """Everybody gets what is wished, beside what he has."""

    def assign(standing: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.assign(standing, permissions, shared.asset_type, filters)

    return _changes(shared, _by_user(wishes), assign, mistakes)


def removed(shared: Shared, wishes: Iterable[Wish], mistakes: Mistakes) -> list[Change]:
    """Everybody loses what is wished, with what cannot be without it."""

    def remove(standing: PermissionState, permissions: Sequence[str], _: Filters | None) -> RuleOutcome:
        return rules.remove(standing, permissions, shared.asset_type)

    return _changes(shared, _by_user(wishes), remove, mistakes)


def replaced(shared: Shared, wishes: Iterable[Wish], mistakes: Mistakes) -> list[Change]:
    """Everybody holds what is wished and nothing else: also who is not in the list. Who is disabled is left alone."""

    def replace(standing: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.replace(standing, permissions, shared.asset_type, filters)

    wanted = _by_user(wishes)
    for person in shared.holders():
        if person.is_active:
            wanted.setdefault(person, [])
    return _changes(shared, wanted, replace, mistakes)


def retyped(shared: Shared) -> list[Change]:
    """Everybody holds what comes with his permissions on an asset of the type that it is of now."""
    changes = []
    for number in shared.place.here:
        before = shared.place.standing(number)
        outcome = rules.recompute_implied(before, shared.asset_type)
        changes.append(Change(shared, shared.people[number], before, outcome.state, outcome.effects))
    return changes


def cleared(shared: Shared, user: Person) -> list[Change]:
    """Somebody loses all he holds."""
    before = shared.place.standing(user.id)
    outcome = rules.remove_all(before, shared.asset_type)
    return [Change(shared, user, before, outcome.state, outcome.effects)]


def as_on(source: Shared, target: Shared, caller: Caller) -> list[Wish]:
    """What makes the target shared as a caller sees the source to be; its owner is one of those it is shared with.

    Who may not see all of it must not learn of the rest by cloning it.
    """
    return [
        Wish(shown.user, shown.permission, shown.filters)
        for shown in source.shown_to(caller)
        if shown.user.id != target.place.owner_id
    ]


_Apply = Callable[[PermissionState, Sequence[str], Filters | None], RuleOutcome]


def _by_user(wishes: Iterable[Wish]) -> dict[Person, list[Wish]]:
    found: dict[Person, list[Wish]] = {}
    for wish in wishes:
        found.setdefault(wish.user, []).append(wish)
    return found


def _changes(
    shared: Shared, wanted: Mapping[Person, Sequence[Wish]], apply: _Apply, mistakes: Mistakes
) -> list[Change]:
    changes = []
    # Of a thousand users most are alike. The filters are kept too, or others could come to have their identity.
    seen: dict[object, tuple[RuleOutcome, Filters | None]] = {}
    for user, wishes in wanted.items():
        before = shared.place.standing(user.id)
        permissions, filters = tuple(wish.permission for wish in wishes), _together(wishes)
        alike = None if before.filters else (_without_filters(before), permissions, id(filters))
        try:
            outcome = seen[alike][0] if alike in seen else apply(before, permissions, filters)
        except RuleViolation as refused:
            where, reason = _at_fault(before, wishes, apply, refused)
            mistakes.note(where + reason.field, reason.message)
            continue
        if alike is not None:
            seen[alike] = outcome, filters
        changes.append(Change(shared, user, before, outcome.state, outcome.effects))
    return changes


def _without_filters(standing: PermissionState) -> tuple[object, ...]:
    return tuple(getattr(standing, name) for name in PermissionState.__struct_fields__ if name != "filters")


def _together(wishes: Iterable[Wish]) -> Filters | None:
    """The filters of several wishes for one user: any of them lets a submission through."""
    found = [wish.filters for wish in wishes if wish.filters is not None]
    if len(found) < 2:
        return found[0] if found else None
    joined: dict[str, list[Filter]] = {}
    for filters in found:
        for codename, given in filters.items():
            joined.setdefault(codename, []).extend(given)
    return {codename: tuple(given) for codename, given in joined.items()}


def _at_fault(
    before: PermissionState, wishes: Sequence[Wish], apply: _Apply, refused: RuleViolation
) -> tuple[str, RuleViolation]:
    """Which wish it is that cannot be, and why: the first that cannot be alone, else the last of those together."""
    for wish in wishes:
        try:
            apply(before, [wish.permission], wish.filters)
        except RuleViolation as alone:
            return wish.where, alone
    return wishes[-1].where, refused
