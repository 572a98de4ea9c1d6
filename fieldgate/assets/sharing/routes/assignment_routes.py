"""`/api/v2/assets/{uid}/permission-assignments/`: who may do what with an asset, and how it came about.

Every write can be a dry run; whether the caller may do it is asked again once nobody else can change the asset.
"""

from msgspec import Raw

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.sharing.io.request_parsing import parse_assignment
from fieldgate.assets.sharing.io.serializers import (
    ASSIGNMENT_EXAMPLE,
    CHANGE_EXAMPLE,
    HISTORY_EXAMPLE,
    assignment_record,
    encode_assignments,
    encode_changes,
    history_record,
)
from fieldgate.assets.sharing.loading import (
    OWNER_PROTECTED,
    PATH,
    TAG,
    load_assignment,
    load_managed,
    load_visible,
    resolve_requests,
)
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, ListedAssignment, StoredAssignment
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest
from fieldgate.assets.sharing.schemas import AssignmentBody, AssignmentRecord, ChangeRecord, DryRunQuery, HistoryRecord
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.concurrency import run_in_thread_if
from fieldgate.errors import Conflict
from fieldgate.http.operations import (
    Created,
    PreviewResult,
    delete,
    get,
    get_list,
    post,
)
from fieldgate.http.request.body_parsing import RawFields
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import ListResult, PageRequest


@get(
    PATH,
    response=list[AssignmentRecord],
    title=Message("Permission assignments"),
    description=Message(
        "Who may do what with an asset, by username and permission, as one array. Who manages it sees all; "
        "others see their own, the owner's and what everybody may."
    ),
    tag=TAG,
    example=[ASSIGNMENT_EXAMPLE],
    error_statuses=(404,),
)
async def assignment_list(
    uid: str, caller: Caller, language: Language, authorizer: AssetAuthorizer, store: AssignmentStore
) -> Raw:
    shared = await load_visible(uid, caller, authorizer, store)
    return await run_in_thread_if(shared.cost, _encode_list, shared, caller, language)


def _encode_list(grants: AssetGrants, caller: Caller, language: Language) -> Raw:
    return encode_assignments(grants, grants.visible_to(caller), language)


@post(
    PATH,
    response=AssignmentRecord,
    alternate_response=ChangeRecord,
    title=Message("Assign a permission"),
    description=Message(
        "Gives somebody a permission on an asset, with all that it implies; what contradicts it is taken away. "
        "What is there already is answered as it is."
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
    mistakes = ErrorCollector()
    named = parse_assignment(parse_struct(AssignmentBody, body), mistakes)
    async with store.transaction([uid], read_only=query.dry_run) as session:
        wanted = await resolve_requests(session, [] if named is None else [named], mistakes)
        changes = planning.plan_assign(await load_managed(session, uid, user, wanted), wanted, mistakes)
        mistakes.raise_if_any()
        if query.dry_run:
            return PreviewResult(encode_changes(changes, language, is_dry_run=True))
        await session.write(Action.ASSIGN, user, changes)
        shared = await session.load(uid, [wanted[0].user.id])
    record = assignment_record(shared, _stored_assignment(shared, wanted[0]), language)
    return Created(record, record.url)


def _stored_assignment(grants: AssetGrants, wish: GrantRequest) -> ListedAssignment:
    """What was assigned, as it is stored now."""
    rows = grants.scope.direct[wish.user.id]
    row = next(row for row in rows if isinstance(row, StoredAssignment) and row.permission == wish.permission)
    return ListedAssignment(row.uid, wish.user, row.permission, row.filters)


@get_list(
    PATH + "history/",
    response=HistoryRecord,
    title=Message("History of assignments"),
    description=Message(
        "Everything that ever changed in who may do what, the newest first; for those who manage the asset."
    ),
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
    return ListResult(count, [history_record(row, language) for row in rows])


@get(
    PATH + "{assignment}/",
    response=AssignmentRecord,
    title=Message("Permission assignment"),
    description=Message("One permission that somebody holds on an asset."),
    tag=TAG,
    example=ASSIGNMENT_EXAMPLE,
    error_statuses=(404,),
)
async def assignment_detail(
    uid: str, assignment: str, caller: Caller, language: Language, authorizer: AssetAuthorizer, store: AssignmentStore
) -> AssignmentRecord:
    await authorizer.authorize(uid, caller)
    async with store.transaction([uid], read_only=True) as session:
        shared, shown = await load_assignment(session, uid, assignment, caller)
    return assignment_record(shared, shown, language)


@delete(
    PATH + "{assignment}/",
    alternate_response=ChangeRecord,
    title=Message("Remove a permission"),
    description=Message(
        "Takes a permission away, with all that cannot be without it. What comes from the collection is denied here. "
        "Those who do not manage the asset can give up their own."
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
    mistakes = ErrorCollector()
    async with store.transaction([uid], read_only=query.dry_run) as session:
        shared, shown = await load_assignment(session, uid, assignment, user)
        if shown.user.id != user.id or shared.scope.owner_id == user.id:
            shared.authorize(user).require("manage_asset")
        if shown.user.id == shared.scope.owner_id:
            raise Conflict(OWNER_PROTECTED)
        changes = planning.plan_remove(shared, [GrantRequest(shown.user, shown.permission)], mistakes)
        if query.dry_run:
            return PreviewResult(encode_changes(changes, language, is_dry_run=True))
        await session.write(Action.REMOVE, user, changes)
    return None


OPERATIONS = (assignment_list, assignment_creation, assignment_history, assignment_detail, assignment_deletion)
