"""`/api/v2/assets/{uid}/permission-assignments/`: who may do what with an asset, and how it came about.

Every write can be a dry run; whether the caller may do it is asked again once nobody else can change the asset.
"""

from msgspec import Raw

from fieldgate.assets.authorization import Access
from fieldgate.assets.sharing.io.request_parsing import read_assignment
from fieldgate.assets.sharing.io.serializers import (
    CHANGE_EXAMPLE,
    EXAMPLE,
    HISTORY_EXAMPLE,
    assignment_array,
    assignment_record,
    change_told,
    history_record,
)
from fieldgate.assets.sharing.loading import OWNERS, PATH, TAG, managed, one, seen, wished
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import Held, Shared, Shown
from fieldgate.assets.sharing.model.planning import Act, Mistakes, Wish
from fieldgate.assets.sharing.schemas import AssignmentBody, AssignmentRecord, ChangeRecord, DryRun, HistoryRecord
from fieldgate.assets.sharing.store import SharingStore
from fieldgate.concurrency import aside
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
    example=[EXAMPLE],
    error_statuses=(404,),
)
async def assignment_list(uid: str, caller: Caller, language: Language, access: Access, store: SharingStore) -> Raw:
    shared = await seen(uid, caller, access, store)
    return await aside(shared.size, _list, shared, caller, language)


def _list(shared: Shared, caller: Caller, language: Language) -> Raw:
    return assignment_array(shared, shared.shown_to(caller), language)


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
    example=EXAMPLE,
    alternate_example=CHANGE_EXAMPLE,
    error_statuses=(403, 404, 413, 415),
)
async def assignment_creation(
    uid: str, user: User, body: RawFields, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Created | PreviewResult:
    (await access.to(uid, user)).need("manage_asset")
    mistakes = Mistakes()
    named = read_assignment(parse_struct(AssignmentBody, body), mistakes)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await wished(session, [] if named is None else [named], mistakes)
        changes = planning.assigned(await managed(session, uid, user, wanted), wanted, mistakes)
        mistakes.refuse()
        if filters.dry_run:
            return PreviewResult(change_told(changes, language, is_dry_run=True))
        await session.write(Act.ASSIGN, user, changes)
        shared = await session.shared(uid, [wanted[0].user.id])
    record = assignment_record(shared, _direct(shared, wanted[0]), language)
    return Created(record, record.url)


def _direct(shared: Shared, wish: Wish) -> Shown:
    """What was assigned, as it is stored now."""
    rows = shared.place.here[wish.user.id]
    row = next(row for row in rows if isinstance(row, Held) and row.permission == wish.permission)
    return Shown(row.uid, wish.user, row.permission, row.filters)


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
    uid: str, page: PageRequest, caller: Caller, language: Language, access: Access, store: SharingStore
) -> ListResult[HistoryRecord]:
    asset = await access.to(uid, caller)
    asset.need("manage_asset")
    count, rows = await store.history(asset.id, page)
    return ListResult(count, [history_record(row, language) for row in rows])


@get(
    PATH + "{assignment}/",
    response=AssignmentRecord,
    title=Message("Permission assignment"),
    description=Message("One permission that somebody holds on an asset."),
    tag=TAG,
    example=EXAMPLE,
    error_statuses=(404,),
)
async def assignment_detail(
    uid: str, assignment: str, caller: Caller, language: Language, access: Access, store: SharingStore
) -> AssignmentRecord:
    await access.to(uid, caller)
    async with store.session([uid], is_reading=True) as session:
        shared, shown = await one(session, uid, assignment, caller)
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
    uid: str, assignment: str, user: User, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> PreviewResult | None:
    await access.to(uid, user)
    mistakes = Mistakes()
    async with store.session([uid], is_reading=filters.dry_run) as session:
        shared, shown = await one(session, uid, assignment, user)
        if shown.user.id != user.id or shared.place.owner_id == user.id:
            shared.to(user).need("manage_asset")
        if shown.user.id == shared.place.owner_id:
            raise Conflict(OWNERS)
        changes = planning.removed(shared, [Wish(shown.user, shown.permission)], mistakes)
        if filters.dry_run:
            return PreviewResult(change_told(changes, language, is_dry_run=True))
        await session.write(Act.REMOVE, user, changes)
    return None


OPERATIONS = (assignment_list, assignment_creation, assignment_history, assignment_detail, assignment_deletion)
