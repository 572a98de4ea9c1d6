"""`…/permission-assignments/bulk/`, `clone/` and `csv/`: what everybody holds on an asset, in one request."""

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import Access, no_asset
from fieldgate.assets.sharing.io.csv_table import LARGEST as LARGEST_TABLE
from fieldgate.assets.sharing.io.csv_table import read_table, write_table
from fieldgate.assets.sharing.io.request_parsing import read_list, work_of
from fieldgate.assets.sharing.io.serializers import CHANGE_EXAMPLE, EXAMPLE, assignment_array, change_told
from fieldgate.assets.sharing.loading import OWNERS, PATH, TAG, managed, seen, wished
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import Person, Shared
from fieldgate.assets.sharing.model.planning import Act, Change, Mistakes, Wish
from fieldgate.assets.sharing.model.references import Misnamed, read_name
from fieldgate.assets.sharing.schemas import (
    AssignmentBody,
    AssignmentRecord,
    ChangeRecord,
    ClearBody,
    CloneBody,
    DryRun,
    TableBody,
    Upload,
)
from fieldgate.assets.sharing.store import Session, SharingStore
from fieldgate.concurrency import aside
from fieldgate.errors import Conflict, Forbidden, ValidationError
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import (
    PreviewResult,
    ResponseKind,
    delete,
    operation,
    patch,
    raw,
)
from fieldgate.http.request.body_parsing import JSONArray, RawFields, file_too_large
from fieldgate.http.request.validation import parse_struct
from fieldgate.http.response.responses import API_CSP, NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.settings import Settings

SHORT_LINE = 20  # bytes of a table
LARGEST_LIST = 4 * 1024 * 1024  # bytes of a list that replaces everything


@operation(
    "POST",
    PATH + "bulk/",
    ResponseKind.RECORD,
    response=list[AssignmentRecord],
    alternate_response=ChangeRecord,
    title=Message("Replace all assignments"),
    description=Message(
        "Everybody but the owner holds what the array names, with what that implies, and nothing else: all of it, or "
        "nothing where one entry is wrong. Wrong fields are named by their place in the array, such as 0.user."
    ),
    tag=TAG,
    body_schema=list[AssignmentBody],
    max_body=LARGEST_LIST,
    example=[EXAMPLE],
    error_statuses=(403, 404, 413, 415),
)
async def assignment_replacement(
    uid: str, user: User, body: JSONArray, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    mistakes = Mistakes()
    named = await aside(work_of(body), read_list, body, mistakes)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await wished(session, named, mistakes)
        shared = await managed(session, uid, user)
        return await _replace(session, Act.REPLACE, user, shared, wanted, mistakes, filters, language)


@delete(
    PATH + "bulk/",
    alternate_response=ChangeRecord,
    title=Message("Remove somebody"),
    description=Message("Takes away all that one user holds on an asset. Anyone can leave it."),
    tag=TAG,
    body_schema=ClearBody,
    alternate_example=CHANGE_EXAMPLE,
    error_statuses=(403, 404, 409, 413, 415),
)
async def assignment_clearing(
    uid: str, user: User, body: RawFields, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> PreviewResult | None:
    asset = await access.to(uid, user)
    name = _username(parse_struct(ClearBody, body).username, is_needed="manage_asset" in asset.allowed)
    async with store.session([uid], is_reading=filters.dry_run) as session:
        person = (await session.people([name])).get(username_key(name))
        shared = await session.shared(uid, [user.id] if person is None else [user.id, person.id])
        if person is None or person.id != user.id:
            shared.to(user).need("manage_asset")
        changes = [] if person is None else _cleared(shared, person)
        if filters.dry_run:
            return PreviewResult(change_told(changes, language, is_dry_run=True))
        await session.write(Act.REMOVE_ALL, user, changes)
    return None


def _username(text: str, *, is_needed: bool) -> str:
    """The name in a body; who may remove nobody but himself is told so rather than what is missing."""
    if not text.strip():
        if not is_needed:
            raise Forbidden
        raise ValidationError({"username": [Message("This field is required.")]})
    try:
        return read_name("users", text)
    except Misnamed as misnamed:
        raise ValidationError({"username": [misnamed.message]}) from None


def _cleared(shared: Shared, person: Person) -> list[Change]:
    if person.id == shared.place.owner_id:
        raise Conflict(OWNERS)
    return planning.cleared(shared, person)


@patch(
    PATH + "clone/",
    response=list[AssignmentRecord],
    alternate_response=ChangeRecord,
    title=Message("Share as another asset is"),
    description=Message(
        "All users hold what they hold on another asset, as far as you may see it there, and nothing else; the owner "
        "of that one is among them."
    ),
    tag=TAG,
    body_schema=CloneBody,
    example=[EXAMPLE],
    error_statuses=(403, 404, 413, 415),
)
async def assignment_cloning(
    uid: str, user: User, body: RawFields, filters: DryRun, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    source_uid = _source(parse_struct(CloneBody, body).clone_from, uid)
    await access.to(source_uid, user)
    async with store.session([uid, source_uid], is_reading=filters.dry_run) as session:
        by_uid = {shared.uid: shared for shared in await session.all_shared([uid, source_uid])}
        for each in (uid, source_uid):
            if each not in by_uid:
                raise no_asset(each)
            by_uid[each].to(user)
        target = by_uid[uid]
        target.to(user).need("manage_asset")
        wanted = planning.as_on(by_uid[source_uid], target, user)
        return await _replace(session, Act.CLONE, user, target, wanted, Mistakes(), filters, language, source_uid)


def _source(text: str, target_uid: str) -> str:
    try:
        uid = read_name("assets", text)
    except Misnamed as misnamed:
        raise ValidationError({"clone_from": [misnamed.message]}) from None
    if uid == target_uid:
        said = Message("This is the asset itself: nothing would change. Name another one.")
        raise ValidationError({"clone_from": [said]})
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
    source: str | None = None,
) -> Raw:
    count = shared.size + planning.work_for(wanted)
    changes = await aside(count, planning.replaced, shared, wanted, mistakes)
    mistakes.refuse()
    if filters.dry_run:
        return await aside(count, change_told, changes, language, is_dry_run=True)
    await session.write(act, user, changes, source)
    shared = await session.shared(shared.uid)
    return await aside(shared.size, _everything, shared, language)


def _everything(shared: Shared, language: Language) -> Raw:
    return assignment_array(shared, shared.shown(), language)


@raw(
    PATH + "csv/",
    title=Message("Assignments as a table"),
    description=Message("What the list shows, without the owner's, as CSV: user, permission and, as JSON, filters."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="text/csv",
    no_store=True,
    error_statuses=(404,),
)
async def assignment_table(uid: str, caller: Caller, access: Access, store: SharingStore) -> Response:
    shared = await seen(uid, caller, access, store)
    table = await aside(shared.size, _table_of, shared, caller)
    headers = [
        (b"content-type", Format.CSV.content_type),
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(uid, safe='')}.csv".encode()),
        API_CSP,
        NO_STORE,
    ]
    return Response(200, headers, table)


def _table_of(shared: Shared, caller: Caller) -> bytes:
    return write_table(each for each in shared.shown_to(caller) if each.user.id != shared.place.owner_id)


def _largest_table(_: Settings) -> int:
    return LARGEST_TABLE


@operation(
    "POST",
    PATH + "csv/",
    ResponseKind.RECORD,
    response=ChangeRecord,
    title=Message("Assign from a table"),
    description=Message(
        "Takes in a table such as the one given out: adds what it names, puts it in place of what there is, or takes "
        "it away. Every line that cannot be taken is named, and nothing is written then."
    ),
    tag=TAG,
    body_schema=TableBody,
    file_limit=_largest_table,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 409, 413, 415),
)
async def assignment_table_upload(
    uid: str, user: User, body: RawFields, filters: Upload, language: Language, access: Access, store: SharingStore
) -> Raw:
    (await access.to(uid, user)).need("manage_asset")
    sent = parse_struct(TableBody, body)
    mode = sent.mode or filters.mode or "add"
    field, data = _table(sent)
    mistakes = Mistakes()
    named = await aside(len(data) // SHORT_LINE, read_table, data, field, mistakes, with_filters=mode != "remove")
    act, apply = _MODES[mode]
    async with store.session([uid], is_reading=filters.dry_run) as session:
        wanted = await wished(session, named, mistakes)
        shared = await managed(session, uid, user, None if mode == "replace" else wanted)
        if mode == "remove" and any(wish.user.id == shared.place.owner_id for wish in wanted):
            raise Conflict(OWNERS)
        count = shared.size + planning.work_for(wanted)
        changes = await aside(count, apply, shared, wanted, mistakes)
        mistakes.refuse()
        if not filters.dry_run:
            await session.write(act, user, changes)
    return await aside(count, change_told, changes, language, is_dry_run=filters.dry_run)


_MODES: dict[str, tuple[Act, Callable[[Shared, Iterable[Wish], Mistakes], list[Change]]]] = {
    "add": (Act.ASSIGN, planning.assigned),
    "replace": (Act.REPLACE, planning.replaced),
    "remove": (Act.REMOVE, planning.removed),
}


def _table(body: TableBody) -> tuple[str, bytes]:
    """The field the table was sent in, and the table."""
    if (body.file is None) == (not body.text):
        raise ValidationError({"file": [Message("Send a table, as file or as text.")]})
    field, data = ("text", body.text.encode()) if body.file is None else ("file", body.file.data)
    if len(data) > LARGEST_TABLE:
        raise file_too_large(LARGEST_TABLE)
    return field, data


OPERATIONS = (
    assignment_replacement,
    assignment_clearing,
    assignment_cloning,
    assignment_table,
    assignment_table_upload,
)
