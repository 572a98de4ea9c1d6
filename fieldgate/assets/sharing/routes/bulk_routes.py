"""`…/permission-assignments/bulk/`, `clone/` and `csv/`: what everybody holds on an asset, in one request."""

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

from msgspec import Raw

from fieldgate.accounts.store import username_key
from fieldgate.assets.authorization import AssetAuthorizer, asset_not_found
from fieldgate.assets.sharing.io.csv_table import MAX_TABLE_BYTES as LARGEST_TABLE
from fieldgate.assets.sharing.io.csv_table import parse_table, write_table
from fieldgate.assets.sharing.io.request_parsing import estimate_parse_cost, parse_assignments
from fieldgate.assets.sharing.io.serializers import (
    ASSIGNMENT_EXAMPLE,
    CHANGE_EXAMPLE,
    encode_assignments,
    encode_changes,
)
from fieldgate.assets.sharing.loading import OWNER_PROTECTED, PATH, TAG, load_managed, load_visible, resolve_requests
from fieldgate.assets.sharing.model import planning
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee
from fieldgate.assets.sharing.model.planning import Action, ErrorCollector, GrantRequest, PermissionChange
from fieldgate.assets.sharing.model.references import InvalidReference, parse_reference
from fieldgate.assets.sharing.schemas import (
    AssignmentBody,
    AssignmentRecord,
    ChangeRecord,
    ClearBody,
    CloneBody,
    DryRunQuery,
    TableBody,
    TableUploadQuery,
)
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.concurrency import run_in_thread_if
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

MIN_LINE_BYTES = 20  # bytes of a table
MAX_LIST_BYTES = 4 * 1024 * 1024  # bytes of a list that replaces everything


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
    mistakes = ErrorCollector()
    named = await run_in_thread_if(estimate_parse_cost(body), parse_assignments, body, mistakes)
    async with store.transaction([uid], read_only=query.dry_run) as session:
        wanted = await resolve_requests(session, named, mistakes)
        shared = await load_managed(session, uid, user)
        return await _replace(session, Action.REPLACE, user, shared, wanted, mistakes, query, language)


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
    async with store.transaction([uid], read_only=query.dry_run) as session:
        person = (await session.find_grantees([name])).get(username_key(name))
        shared = await session.load(uid, [user.id] if person is None else [user.id, person.id])
        if person is None or person.id != user.id:
            shared.authorize(user).require("manage_asset")
        changes = [] if person is None else _plan_remove_all(shared, person)
        if query.dry_run:
            return PreviewResult(encode_changes(changes, language, is_dry_run=True))
        await session.write(Action.REMOVE_ALL, user, changes)
    return None


def _parse_username(text: str, *, is_needed: bool) -> str:
    """The name in a body; who may remove nobody but himself is told so rather than what is missing."""
    if not text.strip():
        if not is_needed:
            raise Forbidden
        raise ValidationError({"username": [Message("This field is required.")]})
    try:
        return parse_reference("users", text)
    except InvalidReference as misnamed:
        raise ValidationError({"username": [misnamed.message]}) from None


def _plan_remove_all(grants: AssetGrants, grantee: Grantee) -> list[PermissionChange]:
    if grantee.id == grants.scope.owner_id:
        raise Conflict(OWNER_PROTECTED)
    return planning.plan_remove_all(grants, grantee)


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
    async with store.transaction([uid, source_uid], read_only=query.dry_run) as session:
        by_uid = {shared.uid: shared for shared in await session.load_many([uid, source_uid])}
        for each in (uid, source_uid):
            if each not in by_uid:
                raise asset_not_found(each)
            by_uid[each].authorize(user)
        target = by_uid[uid]
        target.authorize(user).require("manage_asset")
        wanted = planning.clone_requests(by_uid[source_uid], target, user)
        return await _replace(
            session, Action.CLONE, user, target, wanted, ErrorCollector(), query, language, source_uid
        )


def _parse_source(text: str, target_uid: str) -> str:
    try:
        uid = parse_reference("assets", text)
    except InvalidReference as misnamed:
        raise ValidationError({"clone_from": [misnamed.message]}) from None
    if uid == target_uid:
        said = Message("This is the asset itself: nothing would change. Name another one.")
        raise ValidationError({"clone_from": [said]})
    return uid


async def _replace(
    session: SharingTransaction,
    action: Action,
    user: User,
    grants: AssetGrants,
    requests: Sequence[GrantRequest],
    errors: ErrorCollector,
    query: DryRunQuery,
    language: Language,
    source: str | None = None,
) -> Raw:
    count = grants.cost + planning.estimate_cost(requests)
    changes = await run_in_thread_if(count, planning.plan_replace, grants, requests, errors)
    errors.raise_if_any()
    if query.dry_run:
        return await run_in_thread_if(count, encode_changes, changes, language, is_dry_run=True)
    await session.write(action, user, changes, source)
    grants = await session.load(grants.uid)
    return await run_in_thread_if(grants.cost, _encode_all, grants, language)


def _encode_all(grants: AssetGrants, language: Language) -> Raw:
    return encode_assignments(grants, grants.list_all(), language)


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
async def assignment_table(uid: str, caller: Caller, authorizer: AssetAuthorizer, store: AssignmentStore) -> Response:
    shared = await load_visible(uid, caller, authorizer, store)
    table = await run_in_thread_if(shared.cost, _encode_table, shared, caller)
    headers = [
        (b"content-type", Format.CSV.content_type),
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(uid, safe='')}.csv".encode()),
        API_CSP,
        NO_STORE,
    ]
    return Response(200, headers, table)


def _encode_table(grants: AssetGrants, caller: Caller) -> bytes:
    return write_table(each for each in grants.visible_to(caller) if each.user.id != grants.scope.owner_id)


def _max_table_bytes(_: Settings) -> int:
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
    file_limit=_max_table_bytes,
    example={**CHANGE_EXAMPLE, "dry_run": False},
    error_statuses=(403, 404, 409, 413, 415),
)
async def assignment_table_upload(
    uid: str,
    user: User,
    body: RawFields,
    query: TableUploadQuery,
    language: Language,
    authorizer: AssetAuthorizer,
    store: AssignmentStore,
) -> Raw:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    sent = parse_struct(TableBody, body)
    mode = sent.mode or query.mode or "add"
    field, data = _uploaded_table(sent)
    mistakes = ErrorCollector()
    named = await run_in_thread_if(
        len(data) // MIN_LINE_BYTES, parse_table, data, field, mistakes, with_filters=mode != "remove"
    )
    act, apply = _MODES[mode]
    async with store.transaction([uid], read_only=query.dry_run) as session:
        wanted = await resolve_requests(session, named, mistakes)
        shared = await load_managed(session, uid, user, None if mode == "replace" else wanted)
        if mode == "remove" and any(wish.user.id == shared.scope.owner_id for wish in wanted):
            raise Conflict(OWNER_PROTECTED)
        count = shared.cost + planning.estimate_cost(wanted)
        changes = await run_in_thread_if(count, apply, shared, wanted, mistakes)
        mistakes.raise_if_any()
        if not query.dry_run:
            await session.write(act, user, changes)
    return await run_in_thread_if(count, encode_changes, changes, language, is_dry_run=query.dry_run)


_MODES: dict[
    str, tuple[Action, Callable[[AssetGrants, Iterable[GrantRequest], ErrorCollector], list[PermissionChange]]]
] = {
    "add": (Action.ASSIGN, planning.plan_assign),
    "replace": (Action.REPLACE, planning.plan_replace),
    "remove": (Action.REMOVE, planning.plan_remove),
}


def _uploaded_table(body: TableBody) -> tuple[str, bytes]:
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
