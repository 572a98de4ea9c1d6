"""`/api/v2/assets/{uid}/permission-assignments/`: the permission assignments of an asset, and their history.

Every write supports a dry run. Writes check the caller's permissions again after locking the asset.
"""

from functools import partial

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.list_sql import LIST_TOPICS, audience_key
from fieldgate.assets.schemas import AssignmentRecord
from fieldgate.assets.sharing.applying import SharingCommand, apply_changes
from fieldgate.assets.sharing.io.request_parsing import UnresolvedGrant, parse_assignment, resolve_grantees
from fieldgate.assets.sharing.io.serializers import (
    ASSIGNMENT_EXAMPLE,
    CHANGE_EXAMPLE,
    HISTORY_EXAMPLE,
    assignment_record,
    encode_assignments,
    encode_changes,
    history_record,
)
from fieldgate.assets.sharing.loading import load_assignment, load_managed, load_visible, resolve_requests
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, ListedAssignment, StoredAssignment
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest
from fieldgate.assets.sharing.routes.constants import ASSIGNMENTS_PATH, OWNER_PROTECTED, TAG
from fieldgate.assets.sharing.schemas import AssignmentBody, ChangeRecord, DryRunQuery, HistoryRecord
from fieldgate.assets.sharing.store import AssignmentStore, SharingConnection
from fieldgate.assets.work_cost import run_by_cost
from fieldgate.errors import Conflict
from fieldgate.http.operations import Created, PreviewResult, delete, get, get_list, post
from fieldgate.http.request.body_parsing import RawFields
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions.catalogue import PARTIAL


@get(
    ASSIGNMENTS_PATH,
    response=list[AssignmentRecord],
    title=Message("Permission assignments"),
    description=Message(
        "All permission assignments of an asset, sorted by username and permission, as one array. Managers of the "
        "asset see all of them; other users see their own, the owner's and the public's."
    ),
    tag=TAG,
    depends_on=LIST_TOPICS,
    audience_key=audience_key,
    strict_freshness=True,
    example=[ASSIGNMENT_EXAMPLE],
    error_statuses=(404,),
)
async def assignment_list(
    uid: str, caller: Caller, language: Language, authorizer: AssetAuthorizer, store: AssignmentStore
) -> Raw:
    grants = await load_visible(uid, caller, authorizer, store)
    return await run_by_cost(grants.cost, _encode_list, grants, caller, language)


def _encode_list(grants: AssetGrants, caller: Caller, language: Language) -> Raw:
    return encode_assignments(grants, grants.visible_to(caller), language)


@post(
    ASSIGNMENTS_PATH,
    response=AssignmentRecord,
    alternate_response=ChangeRecord,
    title=Message("Assign a permission"),
    description=Message(
        "Assigns a permission on an asset to a user, with the permissions it implies, and removes permissions that "
        "contradict it. An assignment that exists already is returned unchanged."
    ),
    tag=TAG,
    body_schema=AssignmentBody,
    example=ASSIGNMENT_EXAMPLE,
    alternate_example=CHANGE_EXAMPLE,
    error_statuses=(403, 404, 413, 415),
)
async def assignment_creation(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> Created | PreviewResult:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    errors = ErrorCollector()
    parsed = parse_assignment(parse_struct(AssignmentBody, body), errors)
    if query.dry_run:
        return PreviewResult(await _preview(uid, user, parsed, errors, language, store))
    if parsed is None:
        raise errors.problem()
    grants, assigned = await store.write(uid, partial(_assign, uid=uid, user=user, unresolved=parsed, errors=errors))
    record = assignment_record(grants, assigned, language)
    return Created(record, record.url)


async def _preview(
    uid: str,
    user: User,
    parsed: UnresolvedGrant | None,
    errors: ErrorCollector,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    async with store.transaction([uid], read_only=True) as transaction:
        requests = await resolve_requests(transaction, [] if parsed is None else [parsed], errors)
        changes = planning.plan_assign(await load_managed(transaction, uid, user, requests), requests, errors)
    errors.raise_if_any()
    return encode_changes(changes, language, is_dry_run=True)


def _assign(
    connection: SharingConnection, *, uid: str, user: User, unresolved: UnresolvedGrant, errors: ErrorCollector
) -> tuple[AssetGrants, ListedAssignment]:
    """Assign a permission. Returns the asset as it was before, and the assignment."""
    grants, grantee = connection.load_with_user(uid, unresolved.user, user.id)
    grants.authorize(user).require("manage_asset")
    grantees = {} if grantee is None else {username_key(unresolved.user): grantee}
    requests = resolve_grantees([unresolved], grantees, errors)
    changes = planning.plan_assign(grants, requests, errors)
    errors.raise_if_any()
    written = connection.write(Action.ASSIGN, user, changes)
    [request], [change] = requests, changes
    before = grants.scope.direct.get(request.user.id, ())
    uids = {row.permission: row.uid for row in before if isinstance(row, StoredAssignment) and not row.is_denied}
    uids |= {str(row["permission"]): str(row["uid"]) for row in written.new if not row["is_denied"]}
    filters = change.after.filters if request.permission == PARTIAL else None
    return grants, ListedAssignment(uids[request.permission], request.user, request.permission, filters)


@get_list(
    ASSIGNMENTS_PATH + "history/",
    response=HistoryRecord,
    title=Message("History of assignments"),
    description=Message("All changes of permission assignments, newest first. Only for managers of the asset."),
    tag=TAG,
    example=HISTORY_EXAMPLE,
    error_statuses=(403, 404),
)
async def assignment_history(
    uid: str, page: PageRequest, caller: Caller, language: Language, authorizer: AssetAuthorizer, store: AssignmentStore
) -> ListResult[HistoryRecord]:
    asset = await authorizer.authorize(uid, caller)
    asset.require("manage_asset")
    count, rows = await store.history(asset.id, page)
    return ListResult(count, [history_record(row, asset.asset_type, language) for row in rows])


@get(
    ASSIGNMENTS_PATH + "{assignment}/",
    response=AssignmentRecord,
    title=Message("Permission assignment"),
    description=Message("One permission that a user has on an asset."),
    tag=TAG,
    example=ASSIGNMENT_EXAMPLE,
    error_statuses=(404,),
)
async def assignment_detail(
    uid: str, assignment: str, caller: Caller, language: Language, authorizer: AssetAuthorizer, store: AssignmentStore
) -> AssignmentRecord:
    await authorizer.authorize(uid, caller)
    async with store.transaction([uid], read_only=True) as transaction:
        grants, found = await load_assignment(transaction, uid, assignment, caller)
    return assignment_record(grants, found, language)


@delete(
    ASSIGNMENTS_PATH + "{assignment}/",
    alternate_response=ChangeRecord,
    title=Message("Remove a permission"),
    description=Message(
        "Removes a permission, with the permissions that depend on it. A permission inherited from the collection is "
        "denied on this asset. Users who do not manage the asset can remove their own."
    ),
    tag=TAG,
    alternate_example=CHANGE_EXAMPLE,
    error_statuses=(403, 404, 409),
)
async def assignment_deletion(
    uid: str,
    assignment: str,
    user: User,
    query: DryRunQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> PreviewResult | None:
    await authorizer.authorize(uid, user)
    errors = ErrorCollector()
    command = SharingCommand(action=Action.REMOVE, user=user, is_dry_run=query.dry_run)
    async with store.transaction([uid], read_only=query.dry_run) as transaction:
        grants, found = await load_assignment(transaction, uid, assignment, user)
        if found.user.id != user.id or grants.scope.owner_id == user.id:
            grants.authorize(user).require("manage_asset")
        if found.user.id == grants.scope.owner_id:
            raise Conflict(OWNER_PROTECTED)
        changes = planning.plan_remove(grants, [GrantRequest(found.user, found.permission)], errors)
        await apply_changes(transaction, command, changes, errors)
    return PreviewResult(encode_changes(changes, language, is_dry_run=True)) if query.dry_run else None


OPERATIONS = (assignment_list, assignment_creation, assignment_history, assignment_detail, assignment_deletion)
