"""`/api/v2/assets/{uid}/permission-assignments/`: the permission assignments of an asset, and their history.

Every write supports a dry run. Writes check the caller's permissions again after locking the asset.
"""

from functools import partial

from fieldgate.accounts.teams import TeamStore
from fieldgate.assets.asset_lists import LIST_TOPICS
from fieldgate.assets.authorization import audience_key
from fieldgate.assets.schemas import AssignmentRecord
from fieldgate.assets.sharing.changes import SharingChange, apply_change
from fieldgate.assets.sharing.grant_parsing import (
    ErrorCollector,
    end_in_the_past_message,
    parse_assignment,
)
from fieldgate.assets.sharing.grants import (
    Action,
    AssetGrants,
    Grant,
    ListedAssignment,
    PermissionChange,
    run_by_cost,
)
from fieldgate.assets.sharing.schemas import (
    ASSIGNMENTS_PATH,
    TAG,
    AssignmentBody,
    ChangeRecord,
    DryRunQuery,
    HistoryRecord,
    TeamsQuery,
)
from fieldgate.assets.sharing.serializers import (
    assignment_record,
    encode_assignments,
    encode_changes,
    history_record,
)
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.operations import AssetLimit, Created, PreviewResult, RecordResult, Routes
from fieldgate.http.request.body_parsing import RawFields
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User
from fieldgate.pagination import ListResult, PageRequest

routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.get(
    ASSIGNMENTS_PATH,
    response=list[AssignmentRecord],
    title=Message("Permission assignments"),
    description=Message(
        "All permission assignments of an asset, sorted by username and permission, as one array. Managers of the "
        "asset see all of them; other users see their own, the owner's and the public's. What people have through a "
        "team is listed for each of them; above 1,000 records, people with access through teams only are left out, and "
        "`Fieldgate-Left-Out` says how many records that are."
    ),
    depends_on=LIST_TOPICS,
    audience_key=audience_key,
)
async def assignment_list(
    uid: str, caller: Caller, query: TeamsQuery, language: Language, store: AssignmentStore
) -> RecordResult:
    grants = await store.load_visible(await store.authorize(uid, caller), caller)
    return await run_by_cost(
        grants.cost, _encode_list, grants, caller, language, with_teams=query.teams
    )


def _encode_list(
    grants: AssetGrants, caller: Caller, language: Language, *, with_teams: bool
) -> RecordResult:
    records = encode_assignments(grants, grants.visible_to(caller, with_teams=with_teams), language)
    left_out = sum(each.user.id in grants.left_out for each in grants.through_teams)
    return RecordResult(
        records, headers=[(b"fieldgate-left-out", b"%d" % left_out)] if left_out else []
    )


@routes.post(
    ASSIGNMENTS_PATH,
    response=AssignmentRecord,
    alternate_response=ChangeRecord,
    title=Message("Assign a permission"),
    description=Message(
        "Assigns a permission on an asset to a user, with the permissions it implies, and removes permissions that "
        "contradict it. An assignment that exists already is returned unchanged."
    ),
    body_schema=AssignmentBody,
    scope=Scope.SHARING,
)
async def assignment_creation(
    uid: str,
    user: User,
    body: RawFields,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> Created | PreviewResult:
    (await store.authorize(uid, user)).require("manage_asset")
    errors = ErrorCollector()
    fields = parse_struct(AssignmentBody, body)
    grant = parse_assignment(fields, errors)
    change = SharingChange(
        action=Action.ASSIGN,
        by=user,
        uids=[uid],
        grants=[] if grant is None else [grant],
        errors=errors,
        is_dry_run=query.dry_run,
        field_names={"user": "team"} if fields.team else {},
    )
    if query.dry_run:
        changes = await store.change([uid], partial(apply_change, change=change), is_dry_run=True)
        return PreviewResult(encode_changes(changes, language, is_dry_run=True))
    asset, assigned = await store.change([uid], partial(_assign, change=change))
    record = assignment_record(asset, assigned, language)
    return Created(record, record.url)


def _assign(
    transaction: SharingTransaction, change: SharingChange
) -> tuple[AssetGrants, ListedAssignment]:
    [changed] = apply_change(transaction, change)
    asset = transaction.load(
        change.uids[0], [changed.user.id, change.by.id]
    )  # the caller may know the team
    wanted = changed.user, change.grants[0].permission, False
    for each in asset.list_all(with_teams=True):
        if (each.user, each.permission, each.is_inherited) == wanted:
            return asset, asset.hide_teams([each], change.by)[0]
    raise ValidationError({"expires_at": [end_in_the_past_message()]})  # it ended meanwhile


@routes.get_list(
    ASSIGNMENTS_PATH + "history/",
    response=HistoryRecord,
    title=Message("History of assignments"),
    description=Message(
        "All changes of permission assignments, newest first. Only for managers of the asset."
    ),
    error_statuses=(403,),
)
async def assignment_history(
    uid: str,
    page: PageRequest,
    caller: Caller,
    language: Language,
    store: AssignmentStore,
    teams: TeamStore,
) -> ListResult[HistoryRecord]:
    asset = await store.authorize(uid, caller)
    asset.require("manage_asset")
    count, effects = await store.history(uid, page)
    known = await teams.known_ids(caller, [entry.subject_id for entry, _ in effects])
    return ListResult(
        count,
        [history_record(*each, asset.asset_type, known, language, caller) for each in effects],
    )


@routes.get(
    ASSIGNMENTS_PATH + "{assignment}/",
    response=AssignmentRecord,
    title=Message("Permission assignment"),
    description=Message("One permission that a user has on an asset."),
)
async def assignment_detail(
    uid: str, assignment: str, caller: Caller, language: Language, store: AssignmentStore
) -> AssignmentRecord:
    grants = await store.load_visible(await store.authorize(uid, caller), caller)
    return assignment_record(grants, _find(grants, assignment, caller), language)


def _find(grants: AssetGrants, assignment_uid: str, caller: Caller) -> ListedAssignment:
    """Return an assignment that the caller can see."""
    listed = grants.visible_to(caller, with_teams=True, with_all_members=True)
    for assignment in listed:
        if assignment.uid == assignment_uid:
            return assignment
    raise NotFound(Message("There is no assignment {uid}.", uid=assignment_uid[:50]))


@routes.delete(
    ASSIGNMENTS_PATH + "{assignment}/",
    alternate_response=ChangeRecord,
    title=Message("Remove a permission"),
    description=Message(
        "Removes a permission, with the permissions that depend on it. A permission that comes from the collection or "
        "from a team is denied to this user on this asset; the others in the team keep it. Users who do not manage the "
        "asset can remove their own."
    ),
    error_statuses=(409,),
    scope=Scope.SHARING,
)
async def assignment_deletion(
    uid: str,
    assignment: str,
    user: User,
    query: DryRunQuery,
    language: Language,
    store: AssignmentStore,
) -> PreviewResult | None:
    await store.authorize(uid, user)

    def remove(transaction: SharingTransaction) -> list[PermissionChange]:
        grants = transaction.load(uid)
        grants.authorize(user)
        found = _find(grants, assignment, user)
        change = SharingChange(
            action=Action.REMOVE,
            by=user,
            uids=[uid],
            grants=[Grant(found.user.reference, found.permission)],
            is_dry_run=query.dry_run,
            allows_own=True,
        )
        return apply_change(transaction, change)

    changes = await store.change([uid], remove, is_dry_run=query.dry_run)
    return (
        PreviewResult(encode_changes(changes, language, is_dry_run=True)) if query.dry_run else None
    )
