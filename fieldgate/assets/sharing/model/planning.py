"""Plan changes of assignments: apply the permission rules for each user concerned. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.assets.work_cost import FILTER_COST
from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind
from fieldgate.permissions.rules import PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import Filter, Filters, filters_json_size
from fieldgate.permissions.violations import RuleViolation

MAX_ERRORS = 100  # reported for one request
MAX_WRITTEN_FILTER_BYTES = 64 * 1024**2  # 64 MiB, per request


class Action(Enum):
    """What was requested, as recorded in the history."""

    ASSIGN = "assign"
    REMOVE = "remove"
    REMOVE_ALL = "remove_all"
    REPLACE = "replace"
    CLONE = "clone"
    IMPORT = "import"  # a form imported into an asset of another type
    TRANSFER = "transfer"  # of ownership


class GrantRequest(msgspec.Struct, frozen=True):
    """A permission to assign or remove. `field_prefix` is its position in the request, for error messages."""

    user: Grantee
    permission: str
    filters: Filters | None = None
    field_prefix: str = ""


def estimate_cost(requests: Iterable[GrantRequest]) -> int:
    """Estimate the cost, in requests without filters."""
    return sum(1 if request.filters is None else FILTER_COST for request in requests)


class PermissionChange(msgspec.Struct, frozen=True):
    """The change of one user's permissions on one asset."""

    grants: AssetGrants
    user: Grantee
    before: PermissionState
    after: PermissionState
    effects: tuple[Effect, ...]

    def filters_of(self, effect: Effect) -> Filters | None:
        """Return the new filters if the effect sets some."""
        sets_filters = effect.permission == PARTIAL and effect.kind in (EffectKind.GRANTED, EffectKind.FILTERED)
        return self.after.filters if sets_filters else None

    @property
    def filter_bytes(self) -> int:
        """Bytes of filters to write."""
        written = [filters for effect in self.effects if (filters := self.filters_of(effect)) is not None]
        return 2 * sum(map(filters_json_size, written))  # in the assignment and in the history


def reject_oversized(changes: Iterable[PermissionChange]) -> None:
    """Refuse to write more filters than one transaction should."""
    if sum(change.filter_bytes for change in changes) > MAX_WRITTEN_FILTER_BYTES:
        message = Message(
            "These filters are too large for so many assignments at once: the limit is {most} MiB in total.",
            most=MAX_WRITTEN_FILTER_BYTES // 1024**2,
        )
        raise ValidationError({"partial_permissions": [message]})


class ErrorCollector:
    """Collects the errors of a request, to report all of them at once."""

    def __init__(self) -> None:
        self._fields: dict[str, list[Message]] = {}
        self._seen: set[tuple[str, str]] = set()

    def add(self, field: str, message: Message) -> None:
        key = field, str(message)
        if key not in self._seen and len(self._seen) < MAX_ERRORS:
            self._seen.add(key)
            self._fields.setdefault(field, []).append(message)

    def add_all(self, invalid: ValidationError, field_prefix: str = "") -> None:
        for field, messages in invalid.fields.items():
            for message in messages:
                self.add(field_prefix + field, message)

    def items(self) -> list[tuple[str, Message]]:
        return [(field, message) for field, messages in self._fields.items() for message in messages]

    def raise_if_any(self) -> None:
        """Raise `ValidationError` if there are errors."""
        if self._fields:
            raise self.problem()

    def problem(self) -> ValidationError:
        return ValidationError(self._fields)


Planner = Callable[[AssetGrants, Iterable[GrantRequest], ErrorCollector], list[PermissionChange]]


def plan_assign(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Assign the requested permissions, in addition to existing ones."""

    def assign(state: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.assign(state, permissions, grants.asset_type, filters)

    return _plan(grants, _group_by_user(requests), assign, errors)


def plan_remove(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Remove the requested permissions, with those that depend on them."""

    def remove(state: PermissionState, permissions: Sequence[str], _: Filters | None) -> RuleOutcome:
        return rules.remove(state, permissions, grants.asset_type)

    return _plan(grants, _group_by_user(requests), remove, errors)


def plan_replace(
    grants: AssetGrants, requests: Iterable[GrantRequest], errors: ErrorCollector
) -> list[PermissionChange]:
    """Replace all permissions of all users with the requested ones. Disabled users are left alone."""

    def replace(state: PermissionState, permissions: Sequence[str], filters: Filters | None) -> RuleOutcome:
        return rules.replace(state, permissions, grants.asset_type, filters)

    by_user = _group_by_user(requests)
    for grantee in grants.holders():
        if grantee.is_active:
            by_user.setdefault(grantee, [])
    return _plan(grants, by_user, replace, errors)


def plan_replace_user(
    grants: AssetGrants, user: Grantee, permissions: Sequence[str], filters: Filters | None, errors: ErrorCollector
) -> list[PermissionChange]:
    """Replace all permissions of one user with the requested ones."""
    before = grants.scope.state_of(user.id)
    try:
        outcome = rules.replace(before, permissions, grants.asset_type, filters)
    except RuleViolation as violation:
        errors.add("permissions" if violation.field == "permission" else violation.field, violation.message)
        return []
    return [PermissionChange(grants, user, before, outcome.state, outcome.effects)]


def plan_type_change(grants: AssetGrants) -> list[PermissionChange]:
    """Recompute implied permissions after the type of an asset changed."""
    changes = []
    for user_id in grants.scope.direct:
        before = grants.scope.state_of(user_id)
        outcome = rules.recompute_implied(before, grants.asset_type)
        changes.append(PermissionChange(grants, grants.grantees_by_id[user_id], before, outcome.state, outcome.effects))
    return changes


def plan_remove_all(grants: AssetGrants, user: Grantee, errors: ErrorCollector, field: str) -> list[PermissionChange]:
    """Remove all permissions of a user. `field` is the field of the request that names the user."""
    before = grants.scope.state_of(user.id)
    try:
        outcome = rules.remove_all(before, grants.asset_type)
    except RuleViolation as violation:
        errors.add(field, violation.message)
        return []
    return [PermissionChange(grants, user, before, outcome.state, outcome.effects)]


def clone_requests(source: AssetGrants, target: AssetGrants, caller: Caller) -> list[GrantRequest]:
    """Return what to assign on the target so that its assignments equal the source's.

    Only assignments that the caller can see are cloned, so that cloning does not disclose the others.
    """
    return [
        GrantRequest(assignment.user, assignment.permission, assignment.filters)
        for assignment in source.visible_to(caller)
        if assignment.user.id != target.scope.owner_id
    ]


_ApplyRule = Callable[[PermissionState, Sequence[str], Filters | None], RuleOutcome]


def _group_by_user(requests: Iterable[GrantRequest]) -> dict[Grantee, list[GrantRequest]]:
    found: dict[Grantee, list[GrantRequest]] = {}
    for request in requests:
        found.setdefault(request.user, []).append(request)
    return found


def _plan(
    grants: AssetGrants, by_user: Mapping[Grantee, Sequence[GrantRequest]], apply: _ApplyRule, errors: ErrorCollector
) -> list[PermissionChange]:
    changes = []
    # Most of a thousand users are in the same state. The filters are stored, too: an id is only unique while its
    # object exists.
    outcomes: dict[object, tuple[RuleOutcome, Filters | None]] = {}
    public = grants.scope.public_permissions()
    for user, requests in by_user.items():
        before = grants.scope.state_of(user.id, public)
        permissions, filters = tuple(request.permission for request in requests), _merge_filters(requests)
        key = None if before.filters else (_cache_key(before), permissions, id(filters))
        try:
            outcome = outcomes[key][0] if key in outcomes else apply(before, permissions, filters)
        except RuleViolation as violation:
            field_prefix, cause = _find_offender(before, requests, apply, violation)
            errors.add(field_prefix + cause.field, cause.message)
            continue
        if key is not None:
            outcomes[key] = outcome, filters
        changes.append(PermissionChange(grants, user, before, outcome.state, outcome.effects))
    return changes


def _cache_key(state: PermissionState) -> tuple[object, ...]:
    """Everything but the filters."""
    return state.is_owner, state.is_public, state.granted, state.denied, state.collection, state.public


def _merge_filters(requests: Iterable[GrantRequest]) -> Filters | None:
    """Join the filters of several requests for one user: a submission has to match any of them."""
    found = [request.filters for request in requests if request.filters is not None]
    if len(found) < 2:
        return found[0] if found else None
    joined: dict[str, list[Filter]] = {}
    for filters in found:
        for codename, given in filters.items():
            joined.setdefault(codename, []).extend(given)
    return {codename: tuple(given) for codename, given in joined.items()}


def _find_offender(
    before: PermissionState, requests: Sequence[GrantRequest], apply: _ApplyRule, violation: RuleViolation
) -> tuple[str, RuleViolation]:
    """Find the request to blame: the first that is refused on its own, else the last one."""
    for request in requests:
        try:
            apply(before, [request.permission], request.filters)
        except RuleViolation as cause:
            return request.field_prefix, cause
    return requests[-1].field_prefix, violation
