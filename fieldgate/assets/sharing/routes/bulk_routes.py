"""`…/permission-assignments/bulk/` and `clone/`: replace or remove many assignments of an asset in one request."""

from collections.abc import Sequence

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import AssetAuthorizer, asset_not_found
from fieldgate.assets.schemas import AssignmentRecord
from fieldgate.assets.sharing.applying import SharingCommand, apply_changes
from fieldgate.assets.sharing.io.request_parsing import (
    estimate_parse_cost,
    parse_assignments,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
    user_not_found_message,
)
from fieldgate.assets.sharing.io.serializers import (
    ASSIGNMENT_EXAMPLE,
    CHANGE_EXAMPLE,
    encode_assignments,
    encode_changes,
)
from fieldgate.assets.sharing.loading import load_managed, resolve_requests
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest
from fieldgate.assets.sharing.model.references import InvalidReference, parse_reference
from fieldgate.assets.sharing.routes.constants import ASSIGNMENTS_PATH, MAX_LIST_BYTES, OWNER_PROTECTED, TAG
from fieldgate.assets.sharing.schemas import (
    AssignmentBody,
    ChangeRecord,
    ClearBody,
    CloneBody,
    DryRunQuery,
    UserPermissionsBody,
)
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.errors import Conflict, Forbidden, ValidationError
from fieldgate.http.operations import PreviewResult, ResponseKind, delete, operation, patch
from fieldgate.http.request.body_parsing import JSONArray, RawFields
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import User

MAX_PERMISSIONS = 100  # in one list; there are ten


@operation(
    "POST",
    ASSIGNMENTS_PATH + "bulk/",
    ResponseKind.RECORD,
    response=list[AssignmentRecord],
    alternate_response=ChangeRecord,
    title=Message("Replace all assignments"),
    description=Message(
        "Replaces all assignments except the owner's with those in the array and the permissions they imply. Nothing "
        "is written if one entry is invalid. Errors name fields by their position in the array, such as 0.user."
    ),
    tag=TAG,
    body_schema=list[AssignmentBody],
    max_body=MAX_LIST_BYTES,
    example=[ASSIGNMENT_EXAMPLE],
    error_statuses=(403, 404, 413, 415),
)
async def assignment_replacement(
    uid: str,
    user: User,
    body: JSONArray,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> Raw:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    errors = ErrorCollector()
    parsed = await run_by_cost(estimate_parse_cost(body), parse_assignments, body, errors)
    command = SharingCommand(action=Action.REPLACE, user=user, is_dry_run=query.dry_run)
    async with store.transaction([uid], read_only=query.dry_run) as transaction:
        requests = await resolve_requests(transaction, parsed, errors)
        grants = await load_managed(transaction, uid, user)
        return await _replace_all(transaction, command, grants, requests, errors, language)


@patch(
    ASSIGNMENTS_PATH + "bulk/",
    response=ChangeRecord,
    title=Message("Replace the permissions of a user"),
    description=Message(
        "Replaces all permissions of one user on an asset with those in the list and the permissions they imply. Other "
        "users keep theirs."
    ),
    tag=TAG,
    body_schema=UserPermissionsBody,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 413, 415),
)
async def user_permissions_replacement(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> Raw:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    fields = parse_struct(UserPermissionsBody, body)
    errors = ErrorCollector()
    name = parse_user(fields.user, "user", errors)
    permissions = _parse_permissions(fields.permissions, errors)
    filters = parse_partial_permissions(permissions, fields.partial_permissions, "partial_permissions", errors)
    command = SharingCommand(action=Action.REPLACE, user=user, is_dry_run=query.dry_run)
    async with store.transaction([uid], read_only=query.dry_run) as transaction:
        grants, grantee = await _load_with_grantee(transaction, uid, user, name)
        grants.authorize(user).require("manage_asset")
        if name is not None and (grantee is None or not grantee.is_active):
            errors.add("user", user_not_found_message(name))
        errors.raise_if_any()  # in the names, before the rules look at them
        known = [each for each in permissions if each is not None]
        changes = [] if grantee is None else planning.plan_replace_user(grants, grantee, known, filters, errors)
        await apply_changes(transaction, command, changes, errors)
    return encode_changes(changes, language, is_dry_run=query.dry_run)


async def _load_with_grantee(
    transaction: SharingTransaction, uid: str, user: User, name: str | None
) -> tuple[AssetGrants, Grantee | None]:
    """Return an asset with the assignments of the caller and of the user with a name, and that user."""
    grantee = None if name is None else (await transaction.find_grantees([name])).get(username_key(name))
    return await transaction.load(uid, [user.id] if grantee is None else [user.id, grantee.id]), grantee


def _parse_permissions(given: Sequence[str], errors: ErrorCollector) -> list[str | None]:
    if len(given) > MAX_PERMISSIONS:
        raise ValidationError({"permissions": [too_many_message(MAX_PERMISSIONS)]})
    return [parse_permission(each, "permissions", errors) for each in given]


@delete(
    ASSIGNMENTS_PATH + "bulk/",
    alternate_response=ChangeRecord,
    title=Message("Remove a user"),
    description=Message("Removes all permissions of one user on an asset. Users can remove themselves."),
    tag=TAG,
    body_schema=ClearBody,
    alternate_example=CHANGE_EXAMPLE,
    error_statuses=(403, 404, 409, 413, 415),
)
async def assignment_clearing(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> PreviewResult | None:
    asset = await authorizer.authorize(uid, user)
    name = _parse_username(parse_struct(ClearBody, body).username, is_needed="manage_asset" in asset.allowed)
    errors = ErrorCollector()
    command = SharingCommand(action=Action.REMOVE_ALL, user=user, is_dry_run=query.dry_run)
    async with store.transaction([uid], read_only=query.dry_run) as transaction:
        grants, grantee = await _load_with_grantee(transaction, uid, user, name)
        if grantee is None or grantee.id != user.id:
            grants.authorize(user).require("manage_asset")
        if grantee is not None and grantee.id == grants.scope.owner_id:
            raise Conflict(OWNER_PROTECTED)
        changes = [] if grantee is None else planning.plan_remove_all(grants, grantee, errors, field="username")
        await apply_changes(transaction, command, changes, errors)
    return PreviewResult(encode_changes(changes, language, is_dry_run=True)) if query.dry_run else None


def _parse_username(text: str, *, is_needed: bool) -> str:
    if not text.strip():
        if not is_needed:  # this caller can only remove their own permissions, whatever name is missing
            raise Forbidden
        raise ValidationError({"username": [Message("This field is required.")]})
    try:
        return parse_reference("users", text)
    except InvalidReference as invalid:
        raise ValidationError({"username": [invalid.message]}) from None


@patch(
    ASSIGNMENTS_PATH + "clone/",
    response=list[AssignmentRecord],
    alternate_response=ChangeRecord,
    title=Message("Clone assignments"),
    description=Message(
        "Replaces all assignments except the owner's with those of another asset, as far as you can see them, "
        "including those of that asset's owner."
    ),
    tag=TAG,
    body_schema=CloneBody,
    example=[ASSIGNMENT_EXAMPLE],
    error_statuses=(403, 404, 413, 415),
)
async def assignment_cloning(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> Raw:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    source_uid = _parse_source(parse_struct(CloneBody, body).clone_from, uid)
    await authorizer.authorize(source_uid, user)
    command = SharingCommand(action=Action.CLONE, user=user, is_dry_run=query.dry_run, source_uid=source_uid)
    async with store.transaction([uid, source_uid], read_only=query.dry_run) as transaction:
        by_uid = {grants.uid: grants for grants in await transaction.load_many([uid, source_uid])}
        for each in (uid, source_uid):
            if each not in by_uid:
                raise asset_not_found(each)
            by_uid[each].authorize(user)
        target = by_uid[uid]
        target.authorize(user).require("manage_asset")
        requests = planning.clone_requests(by_uid[source_uid], target, user)
        return await _replace_all(transaction, command, target, requests, ErrorCollector(), language)


def _parse_source(text: str, target_uid: str) -> str:
    try:
        uid = parse_reference("assets", text)
    except InvalidReference as invalid:
        raise ValidationError({"clone_from": [invalid.message]}) from None
    if uid == target_uid:
        message = Message("This is the asset itself: nothing would change. Name another one.")
        raise ValidationError({"clone_from": [message]})
    return uid


async def _replace_all(
    transaction: SharingTransaction,
    command: SharingCommand,
    grants: AssetGrants,
    requests: Sequence[GrantRequest],
    errors: ErrorCollector,
    language: Language,
) -> Raw:
    cost = grants.cost + planning.estimate_cost(requests)
    changes = await run_by_cost(cost, planning.plan_replace, grants, requests, errors)
    await apply_changes(transaction, command, changes, errors)
    if command.is_dry_run:
        return await run_by_cost(cost, encode_changes, changes, language, is_dry_run=True)
    if any(change.effects for change in changes):
        grants = await transaction.load(grants.uid)
    return await run_by_cost(grants.cost, _encode_all, grants, language)


def _encode_all(grants: AssetGrants, language: Language) -> Raw:
    return encode_assignments(grants, grants.list_all(), language)


OPERATIONS = (assignment_replacement, user_permissions_replacement, assignment_clearing, assignment_cloning)
