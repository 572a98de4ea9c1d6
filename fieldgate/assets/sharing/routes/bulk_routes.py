"""`…/permission-assignments/bulk/` and `clone/`: replace or remove many assignments of an asset in one request."""

from collections.abc import Iterator
from functools import partial

from msgspec import Raw

from fieldgate.assets.schemas import AssignmentRecord
from fieldgate.assets.sharing.changes import SharingChange, apply_and_reload, change_assignments
from fieldgate.assets.sharing.grant_parsing import (
    ErrorCollector,
    estimate_parse_cost,
    parse_assignments,
    parse_end,
    parse_field,
    parse_partial_permissions,
    parse_permission,
    parse_user,
    too_many_message,
)
from fieldgate.assets.sharing.grants import (
    Action,
    AssetGrants,
    Grant,
    PermissionChange,
    run_by_cost,
)
from fieldgate.assets.sharing.schemas import (
    ASSIGNMENTS_PATH,
    MAX_LIST_BYTES,
    TAG,
    AssignmentBody,
    ChangeRecord,
    ClearBody,
    CloneBody,
    DryRunQuery,
    ReplacementQuery,
    UserPermissionsBody,
)
from fieldgate.assets.sharing.serializers import (
    encode_assignments,
    encode_changes,
)
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.errors import Forbidden, ValidationError
from fieldgate.http.operations import AssetLimit, PreviewResult, Routes
from fieldgate.http.request.body_parsing import JSONArray, RawFields
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.permissions.catalogue import PARTIAL

MAX_PERMISSIONS = 100  # in one list; there are ten
routes = Routes(tag=TAG, scope=Scope.SHARING, asset_limit=AssetLimit.PATH)


@routes.post(
    ASSIGNMENTS_PATH + "bulk/",
    response=list[AssignmentRecord],
    status=200,
    alternate_response=ChangeRecord,
    title=Message("Replace all assignments"),
    description=Message(
        "Replaces all assignments except the owner's with those in the array and the permissions they imply. Nothing "
        "is written if one entry is invalid. Errors name fields by their position in the array, such as 0.user. What "
        "people have through a collection or a team, as listed, stays like that; people who are not named keep what "
        "teams give them. Teams keep their permissions."
    ),
    body_schema=list[AssignmentBody],
    max_body=MAX_LIST_BYTES,
)
async def assignment_replacement(
    uid: str,
    user: User,
    body: JSONArray,
    query: ReplacementQuery,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    (await store.authorize(uid, user)).require("manage_asset")
    errors = ErrorCollector()
    parsed = await run_by_cost(estimate_parse_cost(body), parse_assignments, body, errors)
    change = SharingChange(
        action=Action.REPLACE,
        by=user,
        uids=[uid],
        grants=parsed,
        errors=errors,
        is_dry_run=query.dry_run,
        replaces_all_users=True,
        replaces_teams=query.teams,
    )
    changes, asset = await store.change(
        [uid], partial(apply_and_reload, change=change), is_dry_run=query.dry_run
    )
    return await _encode_replaced(changes, asset, user, language, is_dry_run=query.dry_run)


@routes.patch(
    ASSIGNMENTS_PATH + "bulk/",
    response=ChangeRecord,
    title=Message("Replace the permissions of a user"),
    description=Message(
        "Replaces all permissions of one user on an asset with those in the list and the permissions they imply. Other "
        "users keep theirs."
    ),
    body_schema=UserPermissionsBody,
)
async def user_permissions_replacement(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    (await store.authorize(uid, user)).require("manage_asset")
    errors = ErrorCollector()
    change = SharingChange(
        action=Action.REPLACE,
        by=user,
        uids=[uid],
        grants=_parse_user_permissions(parse_struct(UserPermissionsBody, body), errors),
        errors=errors,
        is_dry_run=query.dry_run,
        field_names={"permission": "permissions"},
    )
    changes = await change_assignments(store, change)
    return encode_changes(changes, language, is_dry_run=query.dry_run)


def _parse_user_permissions(body: UserPermissionsBody, errors: ErrorCollector) -> list[Grant]:
    if len(body.permissions) > MAX_PERMISSIONS:
        raise ValidationError({"permissions": [too_many_message(MAX_PERMISSIONS)]})
    username = parse_user(body.user, "user", errors)
    permissions = [parse_permission(each, "permissions", errors) for each in body.permissions]
    filters = parse_partial_permissions(
        permissions, body.partial_permissions, "partial_permissions", errors
    )
    end = parse_end(body.expires_at, "expires_at", errors)
    if username is None:
        return []
    if errors:
        return [Grant(username, None, is_valid=False)]
    granted = sorted({each for each in permissions if each is not None})
    return [
        Grant(username, None),
        *(
            Grant(username, each, filters if each == PARTIAL else None, expires_at=end)
            for each in granted
        ),
    ]


@routes.delete(
    ASSIGNMENTS_PATH + "bulk/",
    alternate_response=ChangeRecord,
    title=Message("Remove a user"),
    description=Message(
        "Removes all permissions of one user on an asset. Users can remove themselves."
    ),
    body_schema=ClearBody,
    error_statuses=(409,),
)
async def assignment_clearing(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> PreviewResult | None:
    asset = await store.authorize(uid, user)
    name = _parse_username(
        parse_struct(ClearBody, body).username, is_needed="manage_asset" in asset.allowed
    )
    change = SharingChange(
        action=Action.REMOVE_ALL,
        by=user,
        uids=[uid],
        grants=[Grant(name, None)],
        is_dry_run=query.dry_run,
        allows_own=True,
        field_names={"user": "username", "permission": "username"},
    )
    changes = await change_assignments(store, change)
    return (
        PreviewResult(encode_changes(changes, language, is_dry_run=True)) if query.dry_run else None
    )


def _parse_username(text: str, *, is_needed: bool) -> str:
    if not text.strip():
        if (
            not is_needed
        ):  # this caller can only remove their own permissions, whatever name is missing
            raise Forbidden
        raise ValidationError({"username": [Message("This field is required.")]})
    errors = ErrorCollector()
    name = parse_user(text, "username", errors)
    errors.raise_if_any()
    return name or ""


@routes.patch(
    ASSIGNMENTS_PATH + "clone/",
    response=list[AssignmentRecord],
    alternate_response=ChangeRecord,
    title=Message("Clone assignments"),
    description=Message(
        "Replaces all assignments except the owner's with those of another asset, as far as you can see them, "
        "including those of that asset's owner."
    ),
    body_schema=CloneBody,
)
async def assignment_cloning(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    (await store.authorize(uid, user)).require("manage_asset")
    source_uid = _parse_source(parse_struct(CloneBody, body).clone_from, uid)
    await store.authorize(source_uid, user)

    def clone(transaction: SharingTransaction) -> tuple[list[PermissionChange], AssetGrants]:
        target, source = transaction.load(uid, [user.id]), transaction.load(source_uid)
        target.authorize(user)
        source.authorize(user)
        # Only assignments that the caller can see, so that cloning does not disclose the others.
        # With a team come its members.
        visible = [
            each
            for each in source.visible_to(user, with_teams=True)
            if each.user.id != target.scope.owner_id and each.team is None and (each.user.team_name)
        ]
        change = SharingChange(
            action=Action.CLONE,
            by=user,
            uids=[uid],
            grants=[
                *(
                    Grant(
                        each.user.reference,
                        each.permission,
                        each.filters,
                        expires_at=each.expires_at,
                    )
                    for each in visible
                ),
                *(
                    _denials(source, target.scope.owner_id)
                    if source.authorize(user).may_manage
                    else ()
                ),
            ],
            is_dry_run=query.dry_run,
            replaces_all_users=True,
            replaces_teams=True,
            keeps_passed_on=True,
            source_uid=source_uid,
        )
        return apply_and_reload(transaction, change)

    changes, asset = await store.change([uid, source_uid], clone, is_dry_run=query.dry_run)
    return await _encode_replaced(changes, asset, user, language, is_dry_run=query.dry_run)


def _denials(source: AssetGrants, owner_id: int) -> Iterator[Grant]:
    for user_id, rows in source.scope.direct.items():
        grantee = source.grantees_by_id[user_id]
        if grantee.is_active and user_id != owner_id:
            yield from (
                Grant(grantee.reference, row.permission, is_denied=True)
                for row in rows
                if row.is_denied
            )


def _parse_source(text: str, target_uid: str) -> str:
    uid = parse_field("clone_from", "assets", text)
    if uid == target_uid:
        message = Message("This is the asset itself: nothing would change. Name another one.")
        raise ValidationError({"clone_from": [message]})
    return uid


async def _encode_replaced(
    changes: list[PermissionChange],
    asset: AssetGrants,
    user: User,
    language: Language,
    *,
    is_dry_run: bool,
) -> Raw:
    if is_dry_run:
        return await run_by_cost(len(changes), encode_changes, changes, language, is_dry_run=True)
    return await run_by_cost(asset.cost, _encode_all, asset, user, language)


def _encode_all(grants: AssetGrants, user: User, language: Language) -> Raw:
    return encode_assignments(grants, grants.hide_teams(grants.list_all(), user), language)
