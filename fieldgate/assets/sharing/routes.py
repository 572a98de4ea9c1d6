"""`/api/v2/assets/{uid}/permission-assignments/`: who may do what with an asset, and changing it.

Every write can be a dry run; whether the caller may do it is asked again once nobody else can change the asset.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import THE_PUBLIC
from fieldgate.assets.sharing import changing
from fieldgate.assets.sharing.access import Access, no_asset
from fieldgate.assets.sharing.aside import aside
from fieldgate.assets.sharing.changing import Act, Change, Mistakes, Wish
from fieldgate.assets.sharing.naming import Misnamed, read_name
from fieldgate.assets.sharing.records import (
    AssignmentBody,
    AssignmentRecord,
    ChangeRecord,
    ClearBody,
    CloneBody,
    DryRun,
    HistoryRecord,
    TableBody,
    Upload,
)
from fieldgate.assets.sharing.shared import Held, Person, Shared, Shown
from fieldgate.assets.sharing.showing import assignment_array, assignment_record, change_told, history_record
from fieldgate.assets.sharing.store import Session, SharingStore
from fieldgate.assets.sharing.table import LARGEST as LARGEST_TABLE
from fieldgate.assets.sharing.table import read_table, write_table
from fieldgate.assets.sharing.wanted import Named, read_assignment, read_list, wishes
from fieldgate.http.answers import DATA_POLICY, NEVER_STORE, Answer
from fieldgate.http.bodies import WholeList, file_too_large
from fieldgate.http.credentials import Caller, User
from fieldgate.http.errors import Conflict, Forbidden, Invalid, NotFound
from fieldgate.http.language import Language, Message
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import (
    Created,
    Instead,
    Shape,
    change,
    creation,
    deletion,
    detail,
    listing,
    operation,
    ready,
)
from fieldgate.http.pagination import Page, Slice
from fieldgate.settings import Settings

TAG = "Sharing"
PATH = "/api/v2/assets/{uid}/permission-assignments/"
SHORT_LINE = 20  # bytes of a table
LARGEST_LIST = 4 * 1024 * 1024  # bytes of a list that replaces everything

OWNERS = Message("The owner's permissions cannot be taken away.")

_BASE = "http://127.0.0.1:8000/api/v2/"
_ASSET = f"{_BASE}assets/aKm3pVw8ZtQ2xYcRnB5dFh/"
_EXAMPLE: dict[str, Any] = {
    "url": f"{_ASSET}permission-assignments/pKm3pVw8ZtQ2xYcRnB5dFh/",
    "user": f"{_BASE}users/amina/",
    "permission": f"{_BASE}permissions/view_asset/",
    "label": "View form",
}
_EFFECT: dict[str, Any] = {
    "user": f"{_BASE}users/amina/",
    "permission": f"{_BASE}permissions/view_asset/",
    "effect": "granted",
    "reason": "implied",
    "because": f"{_BASE}permissions/change_asset/",
    "message": "view_asset: granted, implied by change_asset.",
}
CHANGE_EXAMPLE: dict[str, Any] = {
    "dry_run": True,
    "counts": {"granted": 1},
    "effects": [{"asset": _ASSET, **_EFFECT}],
    "result": [{"asset": _ASSET, "user": _EFFECT["user"], "permissions": [_EFFECT["permission"]]}],
}


@detail(
    PATH,
    of=list[AssignmentRecord],
    title=Message("Permission assignments"),
    about=Message(
        "Who may do what with an asset, by username and permission, as one array. Who manages it sees all; "
        "others see their own, the owner's and what everybody may."
    ),
    tag=TAG,
    example=[_EXAMPLE],
    refusals=(404,),
)
async def assignment_list(uid: str, caller: Caller, language: Language, access: Access, store: SharingStore) -> Raw:
    shared = await _seen(uid, caller, access, store)
    return await aside(shared.size, _list, shared, caller, language)


def _list(shared: Shared, caller: Caller, language: Language) -> Raw:
    return assignment_array(shared, shared.shown_to(caller), language)


@creation(
    PATH,
    of=AssignmentRecord,
    also=ChangeRecord,
    title=Message("Assign a permission"),
    about=Message(
        "Gives somebody a permission on an asset, with all that it implies; what contradicts it is taken away. "
        "What is there already is answered as it is."
    ),
    tag=TAG,
    example=_EXAMPLE,
    also_example=CHANGE_EXAMPLE,
    refusals=(403, 404, 413, 415),
)
async def assignment_creation(
    uid: str, user: User, body: AssignmentBody, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Created | Instead:
    (await access.to(uid, user)).need("manage_asset")
    mistakes = Mistakes()
    named = read_assignment(body, mistakes)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await _wishes(session, [] if named is None else [named], mistakes)
        changes = changing.assigned(await _managed(session, uid, user, wanted), wanted, mistakes)
        mistakes.refuse()
        if filters.dry_run:
            return Instead(change_told(changes, language, is_dry_run=True))
        await session.write(Act.ASSIGN, user, changes)
        shared = await session.shared(uid, [wanted[0].user.id])
    record = assignment_record(shared, _direct(shared, wanted[0]), language)
    return Created(record, record.url)


def _direct(shared: Shared, wish: Wish) -> Shown:
    """What was assigned, as it is stored now."""
    rows = shared.place.here[wish.user.id]
    row = next(row for row in rows if isinstance(row, Held) and row.permission == wish.permission)
    return Shown(row.uid, wish.user, row.permission, row.filters)


@operation(
    "POST",
    PATH + "bulk/",
    Shape.RECORD,
    of=list[AssignmentRecord],
    also=ChangeRecord,
    title=Message("Replace all assignments"),
    about=Message(
        "Everybody but the owner holds what the array names, with what that implies, and nothing else: all of it, or "
        "nothing where one entry is wrong. Wrong fields are named by their place in the array, such as 0.user."
    ),
    tag=TAG,
    takes=list[AssignmentBody],
    most_bytes=LARGEST_LIST,
    example=[_EXAMPLE],
    refusals=(403, 404, 413, 415),
)
async def assignment_replacement(
    uid: str, user: User, body: WholeList, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    mistakes = Mistakes()
    named = await aside(len(body), read_list, body, mistakes)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await _wishes(session, named, mistakes)
        shared = await _managed(session, uid, user)
        return await _replace(session, Act.REPLACE, user, shared, wanted, mistakes, filters, language)


@deletion(
    PATH + "bulk/",
    also=ChangeRecord,
    title=Message("Remove somebody"),
    about=Message("Takes away all that one user holds on an asset. Who does not manage it can leave it himself."),
    tag=TAG,
    also_example=CHANGE_EXAMPLE,
    refusals=(403, 404, 409, 413, 415),
)
async def assignment_clearing(
    uid: str, user: User, body: ClearBody, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Instead | None:
    asset = await access.to(uid, user)
    name = _username(body.username, is_needed="manage_asset" in asset.allowed)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        person = (await session.people([name])).get(username_key(name))
        shared = await session.shared(uid, [user.id] if person is None else [user.id, person.id])
        if person is None or person.id != user.id:
            shared.to(user).need("manage_asset")
        changes = [] if person is None else _cleared(shared, person)
        if filters.dry_run:
            return Instead(change_told(changes, language, is_dry_run=True))
        await session.write(Act.REMOVE_ALL, user, changes)
    return None


def _username(text: str, *, is_needed: bool) -> str:
    """The name in a body; who may remove nobody but himself is told so rather than what is missing."""
    if not text.strip():
        if not is_needed:
            raise Forbidden
        raise Invalid({"username": [Message("This field is required.")]})
    try:
        return read_name("users", text)
    except Misnamed as misnamed:
        raise Invalid({"username": [misnamed.message]}) from None


def _cleared(shared: Shared, person: Person) -> list[Change]:
    if person.id == shared.place.owner_id:
        raise Conflict(OWNERS)
    return changing.cleared(shared, person)


@change(
    PATH + "clone/",
    of=list[AssignmentRecord],
    also=ChangeRecord,
    title=Message("Share as another asset is"),
    about=Message(
        "Everybody holds what he holds on another asset, and nothing else; the owner of that one is among them."
    ),
    tag=TAG,
    example=[_EXAMPLE],
    refusals=(403, 404, 413, 415),
)
async def assignment_cloning(
    uid: str, user: User, body: CloneBody, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    source_uid = _source(body.clone_from, uid)
    await access.to(source_uid, user)
    async with store.session([uid, source_uid], is_reading=filters.dry_run) as session:
        by_uid = {shared.uid: shared for shared in await session.all_shared([uid, source_uid])}
        for each in (uid, source_uid):
            if each not in by_uid:
                raise no_asset(each)
            by_uid[each].to(user)
        target = by_uid[uid]
        target.to(user).need("manage_asset")
        wanted = changing.as_on(by_uid[source_uid], target)
        return await _replace(session, Act.CLONE, user, target, wanted, Mistakes(), filters, language)


def _source(text: str, target_uid: str) -> str:
    try:
        uid = read_name("assets", text)
    except Misnamed as misnamed:
        raise Invalid({"clone_from": [misnamed.message]}) from None
    if uid == target_uid:
        said = Message("This is the asset itself: nothing would change. Name another one.")
        raise Invalid({"clone_from": [said]})
    return uid


async def _replace(
    session: Session,
    act: Act,
    user: User,
    shared: Shared,
    wanted: Sequence[Wish],
    mistakes: Mistakes,
    filters: DryRun,
    language: Language,
) -> Raw:
    count = shared.size + len(wanted)
    changes = await aside(count, changing.replaced, shared, wanted, mistakes)
    mistakes.refuse()
    if filters.dry_run:
        return await aside(count, change_told, changes, language, is_dry_run=True)
    await session.write(act, user, changes)
    shared = await session.shared(shared.uid)
    return await aside(shared.size, _everything, shared, language)


def _everything(shared: Shared, language: Language) -> Raw:
    return assignment_array(shared, shared.shown(), language)


@ready(
    PATH + "csv/",
    title=Message("Assignments as a table"),
    about=Message("What the list shows, without the owner's, as CSV: user, permission and, as JSON, filters."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="text/csv",
    refusals=(404,),
)
async def assignment_table(uid: str, caller: Caller, access: Access, store: SharingStore) -> Answer:
    shared = await _seen(uid, caller, access, store)
    table = await aside(shared.size, _table_of, shared, caller)
    headers = [
        (b"content-type", Format.CSV.content_type),
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(uid, safe='')}.csv".encode()),
        DATA_POLICY,
        NEVER_STORE,
    ]
    return Answer(200, headers, table)


def _table_of(shared: Shared, caller: Caller) -> bytes:
    return write_table(each for each in shared.shown_to(caller) if each.user.id != shared.place.owner_id)


def _largest_table(_: Settings) -> int:
    return LARGEST_TABLE


@operation(
    "POST",
    PATH + "csv/",
    Shape.RECORD,
    of=ChangeRecord,
    title=Message("Assign from a table"),
    about=Message(
        "Takes in a table such as the one given out: adds what it names, puts it in place of what there is, or takes "
        "it away. Every line that cannot be taken is named, and nothing is written then."
    ),
    tag=TAG,
    file_limit=_largest_table,
    example=CHANGE_EXAMPLE,
    refusals=(403, 404, 409, 413, 415),
)
async def assignment_table_upload(
    uid: str, user: User, body: TableBody, filters: Upload, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    mode = body.mode or filters.mode or "add"
    field, data = _table(body)
    mistakes = Mistakes()
    named = await aside(len(data) // SHORT_LINE, read_table, data, field, mistakes, with_filters=mode != "remove")
    act, apply = _MODES[mode]
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await _wishes(session, named, mistakes)
        shared = await _managed(session, uid, user, None if mode == "replace" else wanted)
        if mode == "remove" and any(wish.user.id == shared.place.owner_id for wish in wanted):
            raise Conflict(OWNERS)
        count = shared.size + len(wanted)
        changes = await aside(count, apply, shared, wanted, mistakes)
        mistakes.refuse()
        if not filters.dry_run:
            await session.write(act, user, changes)
    return await aside(count, change_told, changes, language, is_dry_run=filters.dry_run)


_MODES: dict[str, tuple[Act, Callable[[Shared, Iterable[Wish], Mistakes], list[Change]]]] = {
    "add": (Act.ASSIGN, changing.assigned),
    "replace": (Act.REPLACE, changing.replaced),
    "remove": (Act.REMOVE, changing.removed),
}


def _table(body: TableBody) -> tuple[str, bytes]:
    """The field the table was sent in, and the table."""
    if (body.file is None) == (not body.text):
        raise Invalid({"file": [Message("Send a table, as file or as text.")]})
    field, data = ("text", body.text.encode()) if body.file is None else ("file", body.file.data)
    if len(data) > LARGEST_TABLE:
        raise file_too_large(LARGEST_TABLE)
    return field, data


@listing(
    PATH + "history/",
    of=HistoryRecord,
    title=Message("History of assignments"),
    about=Message("Everything that ever changed in who may do what, the newest first; for those who manage the asset."),
    tag=TAG,
    example={"date": "2026-11-15T08:30:00Z", "by": f"{_BASE}users/omar/", "act": "assign", **_EFFECT},
    refusals=(403, 404),
)
async def assignment_history(
    uid: str, page: Page, caller: Caller, language: Language, access: Access, store: SharingStore
) -> Slice[HistoryRecord]:
    asset = await access.to(uid, caller)
    asset.need("manage_asset")
    count, rows = await store.history(asset.id, page)
    return Slice(count, [history_record(row, language) for row in rows])


@detail(
    PATH + "{assignment}/",
    of=AssignmentRecord,
    title=Message("Permission assignment"),
    about=Message("One permission that somebody holds on an asset."),
    tag=TAG,
    example=_EXAMPLE,
    refusals=(404,),
)
async def assignment_detail(
    uid: str, assignment: str, caller: Caller, language: Language, access: Access, store: SharingStore
) -> AssignmentRecord:
    await access.to(uid, caller)
    async with store.session([uid], is_reading=True) as session:
        shared, shown = await _one(session, uid, assignment, caller)
    return assignment_record(shared, shown, language)


@deletion(
    PATH + "{assignment}/",
    also=ChangeRecord,
    title=Message("Remove a permission"),
    about=Message(
        "Takes a permission away, with all that cannot be without it. What comes from the collection is denied here. "
        "Who does not manage the asset can give up his own."
    ),
    tag=TAG,
    also_example=CHANGE_EXAMPLE,
    refusals=(403, 404, 409),
)
async def assignment_deletion(
    uid: str, assignment: str, user: User, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Instead | None:
    await access.to(uid, user)
    mistakes = Mistakes()
    async with store.session([uid], is_reading=filters.dry_run) as session:
        shared, shown = await _one(session, uid, assignment, user)
        if shown.user.id != user.id or shared.place.owner_id == user.id:
            shared.to(user).need("manage_asset")
        if shown.user.id == shared.place.owner_id:
            raise Conflict(OWNERS)
        changes = changing.removed(shared, [Wish(shown.user, shown.permission)], mistakes)
        if filters.dry_run:
            return Instead(change_told(changes, language, is_dry_run=True))
        await session.write(Act.REMOVE, user, changes)
    return None


async def _seen(uid: str, caller: Caller, access: Access, store: SharingStore) -> Shared:
    """The asset with what the caller may be shown of its assignments."""
    asset = await access.to(uid, caller)
    known = (THE_PUBLIC if caller.id is None else caller.id, asset.owner_id)
    async with store.session([uid], is_reading=True) as session:
        return await session.shared(uid, None if "manage_asset" in asset.allowed else known)


async def _one(session: Session, uid: str, assignment: str, caller: Caller) -> tuple[Shared, Shown]:
    """An assignment the caller may see, with what decides about it."""
    holder = await session.holder(uid, assignment)
    known = [number for number in (holder, caller.id) if number is not None]
    shared = await session.shared(uid, known)
    shared.to(caller)
    for shown in shared.shown_to(caller):
        if shown.uid == assignment:
            return shared, shown
    raise NotFound(Message("There is no assignment {uid}.", uid=assignment[:50]))


async def _wishes(session: Session, named: Sequence[Named], mistakes: Mistakes) -> list[Wish]:
    """What is wanted, for the users who were named."""
    return wishes(named, await session.people(each.user for each in named), mistakes)


async def _managed(session: Session, uid: str, user: User, wanted: Iterable[Wish] | None = None) -> Shared:
    """The asset, with the assignments of those concerned, or of everybody; refused unless the caller manages it."""
    of_users = None if wanted is None else {user.id, *(wish.user.id for wish in wanted)}
    shared = await session.shared(uid, of_users)
    shared.to(user).need("manage_asset")
    return shared


OPERATIONS = (
    assignment_list,
    assignment_creation,
    assignment_replacement,
    assignment_clearing,
    assignment_cloning,
    assignment_table,
    assignment_table_upload,
    assignment_history,
    assignment_detail,
    assignment_deletion,
)
