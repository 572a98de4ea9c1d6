"""`/api/v2/permission-assignments/`: assign or remove permissions for many users on many assets in one transaction."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import asset_not_found
from fieldgate.assets.sharing.applying import SharingCommand, apply_changes
from fieldgate.assets.sharing.io.request_parsing import (
    MAX_ITEMS,
    lacks_filters,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
    user_not_found_message,
)
from fieldgate.assets.sharing.io.serializers import CHANGE_EXAMPLE, encode_changes
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest, PermissionChange, Planner
from fieldgate.assets.sharing.model.references import InvalidReference, parse_reference
from fieldgate.assets.sharing.routes.constants import BATCH_PATH, MAX_LIST_BYTES, TAG
from fieldgate.assets.sharing.schemas import ChangeRecord, DryRunQuery, ManyAdded, ManyRemoved
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.errors import BadRequest, Conflict, Forbidden
from fieldgate.http.operations import ResponseKind, operation
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import User
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.submission_filters import Filters

MAX_ROWS = 20_000  # written by one request

_BATCH_FIELDS = {"user": "users", "permission": "permissions"}  # by the field of a single assignment


@operation(
    "POST",
    BATCH_PATH + "add/",
    ResponseKind.RECORD,
    response=ChangeRecord,
    title=Message("Assign to many users on many assets"),
    description=Message(
        "Assigns every permission to every user on every asset, in addition to what they have. Nothing is written if "
        "one assignment is refused. The caller must manage all of the assets."
    ),
    tag=TAG,
    body_schema=ManyAdded,
    max_body=MAX_LIST_BYTES,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 413, 415),
)
async def many_added(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    command = SharingCommand(action=Action.ASSIGN, user=user, is_dry_run=query.dry_run)
    parsed = parse_struct(ManyAdded, _validate_lists(body))
    return await _apply_batch(command, parsed, language, store)


@operation(
    "POST",
    BATCH_PATH + "remove/",
    ResponseKind.RECORD,
    response=ChangeRecord,
    title=Message("Remove from many users on many assets"),
    description=Message(
        "Removes every permission from every user on every asset, with the permissions that depend on it. Nothing is "
        "written if one removal is refused. The caller must manage all of the assets."
    ),
    tag=TAG,
    body_schema=ManyRemoved,
    max_body=MAX_LIST_BYTES,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 409, 413, 415),
)
async def many_removed(
    user: User, body: JSONObject, query: DryRunQuery, language: Language, store: AssignmentStore
) -> Raw:
    command = SharingCommand(action=Action.REMOVE, user=user, is_dry_run=query.dry_run)
    parsed = parse_struct(ManyRemoved, _validate_lists(body))
    return await _apply_batch(command, parsed, language, store)


def _validate_lists(body: JSONObject) -> JSONObject:
    """Return the body. Raise `ValidationError` for lists that are empty, too long or not of strings."""
    errors = ErrorCollector()
    for field in ("assets", "users", "permissions"):
        given = body.get(field)
        if given == []:
            errors.add(field, Message("Name at least one."))
        elif isinstance(given, list) and len(given) > MAX_ITEMS:
            errors.add(field, too_many_message(MAX_ITEMS))
        elif isinstance(given, list) and not all(isinstance(each, str) for each in given):
            errors.add(field, Message("Send a list of texts."))
    errors.raise_if_any()
    return body


class _BatchRequest(msgspec.Struct, frozen=True):
    """A parsed body, without duplicates. Names and permissions that are invalid are None; `errors` reports them."""

    uids: list[str]
    usernames: list[str | None]
    permissions: list[str | None]
    filters: Filters | None
    errors: ErrorCollector


def _parse_batch(body: ManyRemoved) -> _BatchRequest:
    errors = ErrorCollector()
    assets = [_parse_uid(text, errors) for text in dict.fromkeys(body.assets)]
    names = [parse_user(text, "users", errors) for text in dict.fromkeys(body.users)]
    permissions = [parse_permission(text, "permissions", errors) for text in dict.fromkeys(body.permissions)]
    filters = None
    if isinstance(body, ManyAdded):
        filters = parse_partial_permissions(permissions, body.partial_permissions, "partial_permissions", errors)
    uids = list(dict.fromkeys(uid for uid in assets if uid is not None))
    if len(uids) < len(set(assets)):  # permissions on the other assets do not matter then
        errors.raise_if_any()
    return _BatchRequest(uids, names, list(dict.fromkeys(permissions)), filters, errors)


def _reject_oversized(batch: _BatchRequest, action: Action) -> None:
    """Limit the rows to write: assets x users x permissions, with those that they imply."""
    permissions = [each for each in batch.permissions if each is not None]
    expand = rules.with_implied if action is Action.ASSIGN else rules.with_dependent
    rows_per_user = max(len(expand(permissions, asset_type)) for asset_type in rules.ASSIGNABLE)
    users = len({username_key(name) for name in batch.usernames if name is not None})
    count = len(batch.uids) * users * max(rows_per_user, 1)
    if count > MAX_ROWS:
        raise BadRequest(
            PluralMessage(
                "This comes to {count} assignment; the limit is {most} per request. Send fewer assets or users in "
                "each request.",
                "This comes to {count} assignments; the limit is {most} per request. Send fewer assets or users in "
                "each request.",
                count,
                most=MAX_ROWS,
            )
        )


_PLANNERS: dict[Action, Planner] = {Action.ASSIGN: planning.plan_assign, Action.REMOVE: planning.plan_remove}


async def _apply_batch(command: SharingCommand, body: ManyRemoved, language: Language, store: AssignmentStore) -> Raw:
    size = len(body.assets) + len(body.users) + len(body.permissions)
    batch = await run_by_cost(size, _parse_batch, body)
    _reject_oversized(batch, command.action)
    async with store.transaction(batch.uids, read_only=command.is_dry_run) as transaction:
        grantees = await transaction.find_grantees(name for name in batch.usernames if name is not None)
        all_grants = await _load_managed(
            transaction, command.user, batch.uids, [grantee.id for grantee in grantees.values()]
        )
        requests = _grant_requests(batch, grantees, command.action)
        if command.action is Action.REMOVE:
            _reject_owners(all_grants, {request.user.id: request.user for request in requests})
        cost = len(all_grants) * len(requests)
        plan = _PLANNERS[command.action]
        changes = await run_by_cost(cost, _plan_all, all_grants, requests, batch.errors, plan)
        await apply_changes(transaction, command, changes, batch.errors)
    return await run_by_cost(cost, encode_changes, changes, language, is_dry_run=command.is_dry_run)


def _grant_requests(batch: _BatchRequest, grantees: Mapping[str, Grantee], action: Action) -> list[GrantRequest]:
    permissions = [
        permission
        for permission in batch.permissions
        if permission is not None and not (action is Action.ASSIGN and lacks_filters(permission, batch.filters))
    ]
    return [
        GrantRequest(grantee, permission, batch.filters if permission == PARTIAL else None)
        for grantee in _active_grantees(batch.usernames, grantees, batch.errors)
        for permission in permissions
    ]


def _reject_owners(all_grants: Iterable[AssetGrants], grantees: Mapping[int, Grantee]) -> None:
    for grants in all_grants:
        if owner := grantees.get(grants.scope.owner_id):
            raise Conflict(
                Message(
                    "{user} owns the asset {uid}, and an owner's permissions cannot be removed.",
                    user=owner.username,
                    uid=grants.uid,
                )
            )


async def _load_managed(
    transaction: SharingTransaction, user: User, uids: Sequence[str], user_ids: Sequence[int]
) -> list[AssetGrants]:
    """Return the assets. Raise an error that names the first one that the user does not manage."""
    found = {grants.uid: grants for grants in await transaction.load_many(uids, [user.id, *user_ids])}
    for uid in uids:
        if uid not in found:
            raise asset_not_found(uid)
        if "manage_asset" not in found[uid].authorize(user).allowed:
            raise Forbidden(Message("You do not manage the asset {uid}.", uid=uid))
    return [found[uid] for uid in uids]


def _parse_uid(text: str, errors: ErrorCollector) -> str | None:
    try:
        return parse_reference("assets", text)
    except InvalidReference as invalid:
        errors.add("assets", invalid.message)
        return None


def _active_grantees(
    names: Iterable[str | None], grantees: Mapping[str, Grantee], errors: ErrorCollector
) -> list[Grantee]:
    """Return each user once. A disabled user counts as unknown."""
    found: dict[Grantee, None] = {}
    for name in names:
        grantee = None if name is None else grantees.get(username_key(name))
        if grantee is not None and grantee.is_active:
            found[grantee] = None
        elif name is not None:
            errors.add("users", user_not_found_message(name))
    return list(found)


def _plan_all(
    all_grants: Iterable[AssetGrants], requests: Sequence[GrantRequest], errors: ErrorCollector, plan: Planner
) -> list[PermissionChange]:
    """Plan the requests on every asset. Errors name the asset."""
    changes: list[PermissionChange] = []
    for grants in all_grants:
        own_errors = ErrorCollector()
        changes += plan(grants, requests, own_errors)
        for field, message in own_errors.items():
            with_asset = Message("{message} (asset {uid})", message=message, uid=grants.uid)
            errors.add(_BATCH_FIELDS.get(field, field), with_asset)
    return changes


OPERATIONS = (many_added, many_removed)
