"""Change assignments: the one way for a single assignment, lists, tables, clones and many assets at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import chain
from operator import itemgetter

import msgspec
from msgspec import UnsetType
from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import Assignment, AuthorizedAsset, asset_not_found, check_token
from fieldgate.assets.sharing.grant_parsing import ErrorCollector, grantee_not_found_message
from fieldgate.assets.sharing.grants import (
    Action,
    AssetGrants,
    Grant,
    Grantee,
    PermissionChange,
    requested_cost,
)
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.errors import Conflict, Forbidden, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import RuleViolation
from fieldgate.permissions.rules import PermissionState, RequestedEnds, RuleOutcome
from fieldgate.permissions.submission_filters import Filter, Filters


class SharingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A requested change of assignments. `errors` are those found while parsing the request, if it can have several."""

    action: Action
    by: User
    uids: Sequence[str]
    grants: Sequence[Grant]
    errors: ErrorCollector = msgspec.field(default_factory=ErrorCollector)
    is_dry_run: bool
    replaces_all_users: bool = False  # users without a grant lose their permissions
    replaces_teams: bool = False  # teams without a grant, too
    keeps_passed_on: bool = (
        False  # what a user has through a team stays; what is passed on is not assigned again
    )
    allows_own: bool = False  # users who do not manage the asset may change their own permissions
    names_assets: bool = False  # the request is for several assets, so errors name the asset
    field_names: Mapping[
        str, str
    ] = {}  # fields of the request that are not named like those of one assignment
    source_uid: str | None = None  # of the asset that is cloned

    def field_name(self, field: str) -> str:
        return self.field_names.get(field, field)


async def change_assignments(
    store: AssignmentStore, change: SharingChange
) -> list[PermissionChange]:
    """Make a change in a transaction of its own; see `apply_change`."""
    return await store.change(
        change.uids, partial(apply_change, change=change), is_dry_run=change.is_dry_run
    )


def apply_and_reload(
    transaction: SharingTransaction, change: SharingChange
) -> tuple[list[PermissionChange], AssetGrants]:
    """Make a change of one asset. Returns the asset afterwards, too, with the assignments of the users concerned."""
    changes = apply_change(transaction, change)
    user_ids = None if change.replaces_all_users else [each.user.id for each in changes]
    return changes, transaction.load(change.uids[0], user_ids)


def apply_change(transaction: SharingTransaction, change: SharingChange) -> list[PermissionChange]:
    """Look up users and assets, apply the permission rules, and write, unless it is a dry run.

    Raise an error if there are no such assets, if the caller may not make the change, or if any part of it is invalid.
    """
    grantees = transaction.find_grantees(
        (grant.username for grant in change.grants), change.by, change.uids
    )
    user_ids = [change.by.id, *(grantee.id for grantee in grantees.values())]
    loaded = transaction.load_many(change.uids, None if change.replaces_all_users else user_ids)
    by_user = _group_by_user(change, grantees)
    assets = _authorized(change, {asset.uid: asset for asset in loaded}, by_user)
    if change.by.limits.assets is not None:
        check_token(change.by, transaction.find_inside(asset.id for asset in assets))
    cost = sum(asset.cost for asset in assets) + len(assets) * requested_cost(change.grants)
    changes = transaction.run_by_cost(cost, _plan, change, assets, by_user)
    change.errors.raise_if_any()
    _check_own_end(change, assets, changes)
    if not change.is_dry_run:
        transaction.write(change.action, change.by, changes, change.source_uid)
    return changes


async def apply_type_change(
    store: AssignmentStore, connection: AsyncConnection, uid: str, user: User
) -> None:
    """Recompute implied permissions after new content changed the type of a locked asset."""

    def apply(sync_connection: Connection) -> None:
        transaction = store.in_transaction(sync_connection)
        transaction.write(Action.IMPORT, user, plan_type_change(transaction.load(uid)))

    await connection.run_sync(apply)


def _group_by_user(
    change: SharingChange, grantees: Mapping[str, Grantee]
) -> dict[Grantee, list[Grant]]:
    """Return what is requested for each user. A disabled user counts as unknown, but can lose all permissions."""
    found: dict[Grantee, list[Grant]] = {}
    for grant in change.grants:
        grantee = grantees.get(username_key(grant.username))
        if change.action is Action.REMOVE_ALL:
            found |= {} if grantee is None else {grantee: [grant]}
        elif grantee is None or not grantee.is_active:
            field = grant.field_prefix + change.field_name("user")
            change.errors.add(field, grantee_not_found_message(grant.username))
        elif grant.is_valid:
            found.setdefault(grantee, []).append(grant)
    return found


def _authorize(change: SharingChange, asset: AssetGrants | None, uid: str) -> AuthorizedAsset:
    if asset is not None:
        with suppress(NotFound):
            return asset.authorize(change.by)
    if change.names_assets:  # there can be several
        raise NotFound(Message("There is no asset {uid}.", uid=uid[:50]))
    raise asset_not_found()


def _authorized(
    change: SharingChange, found: Mapping[str, AssetGrants], users: Iterable[Grantee]
) -> list[AssetGrants]:
    """Return the assets in order. Raise an error about the first that the caller may not change like this."""
    user_ids = {user.id for user in users}
    for uid in change.uids:
        authorized = _authorize(change, found.get(uid), uid)
        if change.names_assets and not authorized.may_manage:
            raise Forbidden(Message("You do not manage the asset {uid}.", uid=uid))
        if not (change.allows_own and user_ids == {change.by.id}):
            authorized.require("manage_asset")
    assets = [found[uid] for uid in change.uids]
    if change.action in (Action.REMOVE, Action.REMOVE_ALL):
        for asset in assets:
            if asset.scope.owner_id in user_ids:
                raise Conflict(_owner_protected_message(change, asset))
    return assets


def _check_own_end(
    change: SharingChange, assets: Iterable[AssetGrants], changes: Iterable[PermissionChange]
) -> None:
    """Refuse a manager whose access ends to give access that lasts longer, to anybody."""
    if change.by.is_superuser:
        return
    own_ends = {asset.uid: _own_end(asset, change.by) for asset in assets}
    for each in changes:
        end = own_ends.get(each.asset.uid)
        if end is not None and each.lasts_longer_than(end):
            raise Forbidden(
                Message("Your own access ends. You cannot give access that lasts longer.")
            )


def _own_end(asset: AssetGrants, user: User) -> datetime | None:
    """Return when a user's permission to manage an asset ends."""
    return rules.own_ends(asset.scope.state_of(user.id), asset.asset_type).get("manage_asset")


def _owner_protected_message(change: SharingChange, asset: AssetGrants) -> Message:
    if not change.names_assets:
        return Message("The owner's permissions cannot be removed.")
    return Message(
        "{user} owns the asset {uid}, and an owner's permissions cannot be removed.",
        user=asset.grantees_by_id[asset.scope.owner_id].username,
        uid=asset.uid,
    )


def _plan(
    change: SharingChange, assets: Iterable[AssetGrants], by_user: Mapping[Grantee, Sequence[Grant]]
) -> list[PermissionChange]:
    changes: list[PermissionChange] = []
    for asset in assets:
        unlisted: dict[Grantee, list[Grant]] = {
            each: [] for each in _replaced(change, asset) if each not in by_user
        }
        rule = (_KEEPING_RULES if change.keeps_passed_on else _RULES)[change.action]
        named_teams, named_people = _split(by_user)
        other_teams, other_people = _split(unlisted)
        of_teams = plan_changes(rule, asset, {**named_teams, **other_teams})
        changed = _with_changes(asset, of_teams[0])
        planned = [
            of_teams,
            plan_changes(rule, changed, named_people),
            # A list may be older than the team, or too long to have its members: they keep what it passes on.
            plan_changes(rules.replace_direct, changed, other_people),
        ]
        changes += chain.from_iterable(made for made, _ in planned)
        for each in chain.from_iterable(refusals for _, refusals in planned):
            message = each.violation.message
            if change.names_assets:
                message = Message("{message} (asset {uid})", message=message, uid=asset.uid)
            change.errors.add(each.field_prefix + change.field_name(each.violation.field), message)
    return changes


def _split(
    by_user: Mapping[Grantee, Sequence[Grant]],
) -> tuple[dict[Grantee, Sequence[Grant]], ...]:
    """Separate teams from people."""
    return tuple(
        {each: by_user[each] for each in by_user if each.is_team is is_team}
        for is_team in (True, False)
    )


def _with_changes(asset: AssetGrants, changes: Iterable[PermissionChange]) -> AssetGrants:
    """Return an asset with changed assignments of teams, to plan those of people by them."""
    direct = {**asset.scope.direct}
    for change in changes:
        after = change.after
        granted = [
            Assignment(
                each, False, after.filters if each == PARTIAL else None, after.ends.get(each)
            )
            for each in after.granted
        ]
        direct[change.user.id] = [*granted, *(Assignment(each, True) for each in after.denied)]
    return msgspec.structs.replace(asset, scope=msgspec.structs.replace(asset.scope, direct=direct))


def _replaced(change: SharingChange, asset: AssetGrants) -> list[Grantee]:
    """Return who loses permissions if there is no grant for them."""
    if not change.replaces_all_users:
        return []
    return [
        each
        for each in asset.holders()
        if each.is_active and (change.replaces_teams or not each.is_team)
    ]


class RefusedGrant(msgspec.Struct, frozen=True):
    """A request that the rules do not allow. `field_prefix` is that of the grant to blame."""

    field_prefix: str
    violation: RuleViolation


_Rule = Callable[[PermissionState, Sequence[str], str, Filters | None, RequestedEnds], RuleOutcome]

_RULES: dict[Action, _Rule] = {
    Action.ASSIGN: rules.assign,
    Action.REMOVE: lambda state, permissions, asset_type, *_: rules.remove(
        state, permissions, asset_type
    ),
    Action.REMOVE_ALL: lambda state, _, asset_type, *__: rules.remove_all(state, asset_type),
    Action.REPLACE: rules.replace,
}
_KEEPING_RULES: dict[Action, _Rule] = {
    Action.ASSIGN: rules.extend,
    Action.REPLACE: rules.replace_direct,
    Action.CLONE: rules.replace_direct,
}


def plan_changes(
    rule: _Rule, asset: AssetGrants, by_user: Mapping[Grantee, Sequence[Grant]]
) -> tuple[list[PermissionChange], list[RefusedGrant]]:
    """Apply the rule of an action to what is requested for each user."""
    changes, refused = [], []
    # Most of a thousand users are in the same state. The filters are stored, too: an id is only unique while its
    # object exists.
    outcomes: dict[object, tuple[RuleOutcome, Filters | None]] = {}
    for user, grants in by_user.items():
        before = asset.scope.state_of(user.id)
        filters = _merge_filters(grants)
        ends = tuple(sorted(_requested_ends(grants).items(), key=itemgetter(0)))
        key = (
            None
            if before.filters or before.team_filters
            else (_cache_key(before), _permissions(grants), _flags(grants), id(filters), ends)
        )
        try:
            outcome = outcomes[key][0] if key in outcomes else _apply(rule, asset, before, grants)
        except RuleViolation as violation:
            refused.append(_find_offender(rule, asset, before, grants, violation))
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
        changes.append(
            PermissionChange(
                asset, asset.grantees_by_id[user_id], before, outcome.state, outcome.effects
            )
        )
    return changes


def _permissions(grants: Iterable[Grant]) -> tuple[str, ...]:
    return tuple(grant.permission for grant in grants if grant.permission is not None)


def _flags(grants: Iterable[Grant]) -> tuple[tuple[bool, bool], ...]:
    return tuple((grant.is_inherited, grant.is_denied) for grant in grants)


def _cache_key(state: PermissionState) -> tuple[object, ...]:
    """Everything but the filters."""
    ends = tuple(
        tuple(sorted(each.items())) for each in (state.ends, state.collection_ends, state.team_ends)
    )
    held = state.granted, state.denied, state.collection, state.teams, state.public
    return state.is_owner, state.is_public, *held, *ends


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


def _requested_ends(grants: Iterable[Grant]) -> dict[str, datetime | None]:
    """Return the ends that are asked for. If a permission is named twice, it ends with the later one."""
    ends: dict[str, datetime | None] = {}
    for grant in grants:
        end = grant.expires_at
        if grant.permission is not None and not isinstance(end, UnsetType):
            known = ends.get(grant.permission, end)
            ends[grant.permission] = None if end is None or known is None else max(known, end)
    return ends


def _apply(
    rule: _Rule, asset: AssetGrants, before: PermissionState, grants: Sequence[Grant]
) -> RuleOutcome:
    kept = [each for each in grants if not each.is_denied]
    if any(each.is_inherited for each in grants):
        passed = rules.passed_on(before, asset.asset_type)
        kept = [each for each in kept if not each.is_inherited or each.permission in passed]
        if rule is rules.replace and not kept:
            rule = rules.replace_direct
    outcome = rule(
        before, _permissions(kept), asset.asset_type, _merge_filters(kept), _requested_ends(kept)
    )
    denied = [each.permission for each in grants if each.is_denied and each.permission is not None]
    if not denied:
        return outcome
    without = rules.deny(outcome.state, denied, asset.asset_type)
    return RuleOutcome(without.state, outcome.effects + without.effects)


def _find_offender(
    rule: _Rule,
    asset: AssetGrants,
    before: PermissionState,
    grants: Sequence[Grant],
    violation: RuleViolation,
) -> RefusedGrant:
    """Find the grant to blame: the first that is refused on its own, else the last one."""
    for grant in grants:
        try:
            _apply(rule, asset, before, [grant])
        except RuleViolation as cause:
            return RefusedGrant(grant.field_prefix, cause)
    return RefusedGrant(grants[-1].field_prefix, violation)
