"""Plan changes of assignments: apply the permission rules for each user concerned. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import msgspec

from fieldgate.assets.sharing.grants import AssetGrants, Grant, Grantee
from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind, RuleViolation
from fieldgate.permissions.rules import PermissionState, RuleOutcome
from fieldgate.permissions.submission_filters import Filter, Filters, filters_json_size

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


class PermissionChange(msgspec.Struct, frozen=True):
    """The change of one user's permissions on one asset."""

    asset: AssetGrants
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

    def __bool__(self) -> bool:
        return bool(self._fields)

    def add(self, field: str, message: Message) -> None:
        key = field, str(message)
        if key not in self._seen and len(self._seen) < MAX_ERRORS:
            self._seen.add(key)
            self._fields.setdefault(field, []).append(message)

    def add_all(self, invalid: ValidationError, field_prefix: str = "") -> None:
        for field, messages in invalid.fields.items():
            for message in messages:
                self.add(field_prefix + field, message)

    def raise_if_any(self) -> None:
        """Raise `ValidationError` if there are errors."""
        if self._fields:
            raise ValidationError(self._fields)


class RefusedGrant(msgspec.Struct, frozen=True):
    """A request that the rules do not allow. `field_prefix` is that of the grant to blame."""

    field_prefix: str
    violation: RuleViolation


_Rule = Callable[[PermissionState, Sequence[str], str, Filters | None], RuleOutcome]

_RULES: dict[Action, _Rule] = {
    Action.ASSIGN: rules.assign,
    Action.REMOVE: lambda state, permissions, asset_type, _: rules.remove(state, permissions, asset_type),
    Action.REMOVE_ALL: lambda state, _, asset_type, __: rules.remove_all(state, asset_type),
    Action.REPLACE: rules.replace,
    Action.CLONE: rules.replace,
}


def plan_changes(
    action: Action, asset: AssetGrants, by_user: Mapping[Grantee, Sequence[Grant]]
) -> tuple[list[PermissionChange], list[RefusedGrant]]:
    """Apply the rule of an action to what is requested for each user."""
    changes, refused = [], []
    # Most of a thousand users are in the same state. The filters are stored, too: an id is only unique while its
    # object exists.
    outcomes: dict[object, tuple[RuleOutcome, Filters | None]] = {}
    public = asset.scope.public_permissions()
    for user, grants in by_user.items():
        before = asset.scope.state_of(user.id, public)
        filters = _merge_filters(grants)
        key = None if before.filters else (_cache_key(before), _permissions(grants), id(filters))
        try:
            outcome = outcomes[key][0] if key in outcomes else _apply(action, asset, before, grants)
        except RuleViolation as violation:
            refused.append(_find_offender(action, asset, before, grants, violation))
            continue
        if key is not None:
            outcomes[key] = outcome, filters
        changes.append(PermissionChange(asset, user, before, outcome.state, outcome.effects))
    return changes, refused


def plan_type_change(asset: AssetGrants) -> list[PermissionChange]:
    """Recompute implied permissions after the type of an asset changed. Those of a survey include submissions."""
    changes = []
    for user_id in asset.scope.direct:
        before = asset.scope.state_of(user_id)
        outcome = rules.recompute_implied(before, asset.asset_type)
        changes.append(PermissionChange(asset, asset.grantees_by_id[user_id], before, outcome.state, outcome.effects))
    return changes


def _permissions(grants: Iterable[Grant]) -> tuple[str, ...]:
    return tuple(grant.permission for grant in grants if grant.permission is not None)


def _cache_key(state: PermissionState) -> tuple[object, ...]:
    """Everything but the filters."""
    return state.is_owner, state.is_public, state.granted, state.denied, state.collection, state.public


def _merge_filters(grants: Iterable[Grant]) -> Filters | None:
    """Join the filters of several grants for one user: a submission has to match any of them."""
    found = [grant.filters for grant in grants if grant.filters is not None]
    if len(found) < 2:
        return found[0] if found else None
    joined: dict[str, list[Filter]] = {}
    for filters in found:
        for codename, given in filters.items():
            joined.setdefault(codename, []).extend(given)
    return {codename: tuple(given) for codename, given in joined.items()}


def _apply(action: Action, asset: AssetGrants, before: PermissionState, grants: Sequence[Grant]) -> RuleOutcome:
    return _RULES[action](before, _permissions(grants), asset.asset_type, _merge_filters(grants))


def _find_offender(
    action: Action, asset: AssetGrants, before: PermissionState, grants: Sequence[Grant], violation: RuleViolation
) -> RefusedGrant:
    """Find the grant to blame: the first that is refused on its own, else the last one."""
    for grant in grants:
        try:
            _apply(action, asset, before, [grant])
        except RuleViolation as cause:
            return RefusedGrant(grant.field_prefix, cause)
    return RefusedGrant(grants[-1].field_prefix, violation)
