"""Acts on an asset as a whole: for everybody concerned, what the rules make of it. Nothing is read or written here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.concurrency import FILTER_COST
from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind
from fieldgate.permissions.rules import PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import Filter, Filters, filters_json_size
from fieldgate.permissions.violations import RuleViolation

MAX_ERRORS = 100  # mistakes of one request; whoever has more reads the first
MAX_WRITTEN_FILTER_BYTES = 64 * 1024**2  # of filters, written by one act


class Action(Enum):
    """What was done, as the history calls it."""

    ASSIGN = "assign"
    REMOVE = "remove"
    REMOVE_ALL = "remove_all"
    REPLACE = "replace"
    CLONE = "clone"
    IMPORT = "import"  # into an asset that had no type yet


class GrantRequest(msgspec.Struct, frozen=True):
    """A permission for somebody. `where` is its place in the request, as the names of wrong fields begin."""

    user: Grantee
    permission: str
    filters: Filters | None = None
    field_prefix: str = ""


def estimate_cost(requests: Iterable[GrantRequest]) -> int:
    """Roughly, how many wishes without filters take as long as these."""
    return sum(1 if wish.filters is None else FILTER_COST for wish in requests)


class PermissionChange(msgspec.Struct, frozen=True):
    """What an act does to one user's standing on one asset."""

    grants: AssetGrants
    user: Grantee
    before: PermissionState
    after: PermissionState
    effects: tuple[Effect, ...]

    def filters_of(self, effect: Effect) -> Filters | None:
        """Which submissions an effect is about."""
        is_about = effect.permission == PARTIAL and effect.kind in (EffectKind.GRANTED, EffectKind.FILTERED)
        return self.after.filters if is_about else None

    @property
    def filter_bytes(self) -> int:
        """Bytes of filters to be written: with the assignment, and with its history."""
        about = [given for effect in self.effects if (given := self.filters_of(effect)) is not None]
        return 2 * sum(map(filters_json_size, about))


def reject_oversized(changes: Iterable[PermissionChange]) -> None:
    """The same filters for ever so many users are more than one transaction should write."""
    if sum(change.filter_bytes for change in changes) > MAX_WRITTEN_FILTER_BYTES:
        said = PluralMessage(
            "These filters are too large for so many at once: in all, {count} MiB can be written.",
            "These filters are too large for so many at once: in all, {count} MiB can be written.",
            MAX_WRITTEN_FILTER_BYTES // 1024**2,
        )
        raise ValidationError({"partial_permissions": [said]})


class ErrorCollector:
    """Everything wrong with a request, told at once."""

    def __init__(self) -> None:
        self._fields: dict[str, list[Message]] = {}
        self._seen: set[tuple[str, str]] = set()

    def add(self, field: str, message: Message) -> None:
        said = field, str(message)
        if said not in self._seen and len(self._seen) < MAX_ERRORS:
            self._seen.add(said)
            self._fields.setdefault(field, []).append(message)

    def add_all(self, invalid: ValidationError, field_prefix: str = "") -> None:
        for field, messages in invalid.fields.items():
            for message in messages:
                self.add(field_prefix + field, message)

    def items(self) -> list[tuple[str, Message]]:
        return [(field, message) for field, messages in self._fields.items() for message in messages]

    def raise_if_any(self) -> None:
        """Raise `Invalid` if there is any."""
        if self._fields:
            raise ValidationError(self._fields)


def plan_assign(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Everybody gets what is wished, beside what he has."""

    def assign(standing: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.assign(standing, permissions, grants.asset_type, filters)

    return _plan(grants, _group_by_user(requests), assign, errors)


def plan_remove(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Everybody loses what is wished, with what cannot be without it."""

    def remove(standing: PermissionState, permissions: Sequence[str], _: Filters | None) -> RuleOutcome:
        return rules.remove(standing, permissions, grants.asset_type)

    return _plan(grants, _group_by_user(requests), remove, errors)


def plan_replace(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Everybody holds what is wished and nothing else: also who is not in the list. Who is disabled is left alone."""

    def replace(standing: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.replace(standing, permissions, grants.asset_type, filters)

    wanted = _group_by_user(requests)
    for person in grants.holders():
        if person.is_active:
            wanted.setdefault(person, [])
    return _plan(grants, wanted, replace, errors)


def plan_type_change(grants: AssetGrants) -> list[PermissionChange]:
    """Everybody holds what comes with his permissions on an asset of the type that it is of now."""
    changes = []
    for number in grants.scope.direct:
        before = grants.scope.state_of(number)
        outcome = rules.recompute_implied(before, grants.asset_type)
        changes.append(PermissionChange(grants, grants.grantees_by_id[number], before, outcome.state, outcome.effects))
    return changes


def plan_remove_all(grants: AssetGrants, user: Grantee) -> list[PermissionChange]:
    """Somebody loses all he holds."""
    before = grants.scope.state_of(user.id)
    outcome = rules.remove_all(before, grants.asset_type)
    return [PermissionChange(grants, user, before, outcome.state, outcome.effects)]


def clone_requests(source: AssetGrants, target: AssetGrants, caller: Caller) -> list[GrantRequest]:
    """What makes the target shared as a caller sees the source to be; its owner is one of those it is shared with.

    Who may not see all of it must not learn of the rest by cloning it.
    """
    return [
        GrantRequest(shown.user, shown.permission, shown.filters)
        for shown in source.visible_to(caller)
        if shown.user.id != target.scope.owner_id
    ]


_Planner = Callable[[PermissionState, Sequence[str], Filters | None], RuleOutcome]


def _group_by_user(requests: Iterable[GrantRequest]) -> dict[Grantee, list[GrantRequest]]:
    found: dict[Grantee, list[GrantRequest]] = {}
    for wish in requests:
        found.setdefault(wish.user, []).append(wish)
    return found


def _plan(
    grants: AssetGrants, by_user: Mapping[Grantee, Sequence[GrantRequest]], apply: _Planner, errors: ErrorCollector
) -> list[PermissionChange]:
    changes = []
    # Of a thousand users most are alike. The filters are kept too, or others could come to have their identity.
    seen: dict[object, tuple[RuleOutcome, Filters | None]] = {}
    for user, wishes in by_user.items():
        before = grants.scope.state_of(user.id)
        permissions, filters = tuple(wish.permission for wish in wishes), _merge_filters(wishes)
        alike = None if before.filters else (_cache_key(before), permissions, id(filters))
        try:
            outcome = seen[alike][0] if alike in seen else apply(before, permissions, filters)
        except RuleViolation as refused:
            where, reason = _find_offender(before, wishes, apply, refused)
            errors.add(where + reason.field, reason.message)
            continue
        if alike is not None:
            seen[alike] = outcome, filters
        changes.append(PermissionChange(grants, user, before, outcome.state, outcome.effects))
    return changes


def _cache_key(state: PermissionState) -> tuple[object, ...]:
    return tuple(getattr(state, name) for name in PermissionState.__struct_fields__ if name != "filters")


def _merge_filters(requests: Iterable[GrantRequest]) -> Filters | None:
    """The filters of several wishes for one user: any of them lets a submission through."""
    found = [wish.filters for wish in requests if wish.filters is not None]
    if len(found) < 2:
        return found[0] if found else None
    joined: dict[str, list[Filter]] = {}
    for filters in found:
        for codename, given in filters.items():
            joined.setdefault(codename, []).extend(given)
    return {codename: tuple(given) for codename, given in joined.items()}


def _find_offender(
    before: PermissionState, requests: Sequence[GrantRequest], apply: _Planner, violation: RuleViolation
) -> tuple[str, RuleViolation]:
    """Which wish it is that cannot be, and why: the first that cannot be alone, else the last of those together."""
    for wish in requests:
        try:
            apply(before, [wish.permission], wish.filters)
        except RuleViolation as alone:
            return wish.field_prefix, alone
    return requests[-1].field_prefix, violation
