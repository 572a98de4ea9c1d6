"""`…/permission-assignments/csv/`: export the assignments of an asset as a CSV table, and import them from one."""

from msgspec import Raw

from fieldgate.assets.sharing.changes import SharingChange, change_assignments
from fieldgate.assets.sharing.csv_table import MAX_TABLE_BYTES, parse_table, write_table
from fieldgate.assets.sharing.grant_parsing import ErrorCollector
from fieldgate.assets.sharing.grants import Action, AssetGrants, run_by_cost
from fieldgate.assets.sharing.schemas import (
    ASSIGNMENTS_PATH,
    TAG,
    ChangeRecord,
    TableBody,
    TableUploadQuery,
)
from fieldgate.assets.sharing.serializers import encode_changes
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import AssetStore
from fieldgate.db import now
from fieldgate.errors import ValidationError
from fieldgate.http.injection import HandlerContext
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.request.body_parsing import RawFields, file_too_large
from fieldgate.http.request.validation import parse_struct
from fieldgate.http.response.attachment import dated_attachment, file_headers
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope, User

MIN_LINE_BYTES = 20  # of a table; to estimate how many lines it has
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.raw(
    ASSIGNMENTS_PATH + "csv/",
    title=Message("Assignments as a table"),
    description=Message(
        "All assignments without the owner's as CSV, with the columns user, permission, filters (JSON) and, if "
        "something ends, expires_at. Teams are in it, and not what their members have through them."
    ),
    media_type="text/csv",
    no_store=True,
    is_costly=True,
)
async def assignment_table(
    uid: str,
    context: HandlerContext,
    language: Language,
    store: AssignmentStore,
    assets: AssetStore,
) -> Response:
    caller = context.logged_caller
    asset = await store.authorize(uid, caller)
    grants = await store.load_visible(asset, caller)
    table = await run_by_cost(grants.cost, _encode_table, grants, caller)
    name = await store.get_asset_name(uid)
    await assets.count_download(caller, asset, name)
    disposition = dated_attachment(
        Message("Sharing"), name, day=now().date(), suffix=".csv", language=language
    )
    return Response(200, file_headers(Format.CSV.content_type, disposition), table)


def _encode_table(grants: AssetGrants, caller: Caller) -> bytes:
    listed = grants.visible_to(caller, with_teams=True)
    return write_table(
        [each for each in listed if each.user.id != grants.scope.owner_id and each.team is None]
    )


@routes.post(
    ASSIGNMENTS_PATH + "csv/",
    response=ChangeRecord,
    status=200,
    title=Message("Assign from a table"),
    description=Message(
        "Imports a table like the exported one: adds its assignments, replaces all assignments with them, or removes "
        "them. If lines are invalid, all of them are reported and nothing is written."
    ),
    body_schema=TableBody,
    file_limit=lambda _: MAX_TABLE_BYTES,
    error_statuses=(409,),
    scope=Scope.SHARING,
)
async def assignment_table_upload(
    uid: str,
    user: User,
    body: RawFields,
    query: TableUploadQuery,
    language: Language,
    store: AssignmentStore,
) -> Raw:
    (await store.authorize(uid, user)).require("manage_asset")
    parsed = parse_struct(TableBody, body)
    mode = parsed.mode or query.mode or "add"
    field, data = _uploaded_table(parsed)
    errors = ErrorCollector()
    grants = await run_by_cost(
        len(data) // MIN_LINE_BYTES, parse_table, data, field, errors, with_filters=mode != "remove"
    )
    change = SharingChange(
        action=_ACTIONS[mode],
        by=user,
        uids=[uid],
        grants=grants,
        errors=errors,
        is_dry_run=query.dry_run,
        replaces_all_users=mode == "replace",
        replaces_teams=mode == "replace",
        keeps_passed_on=mode != "remove",
    )
    changes = await change_assignments(store, change)
    return await run_by_cost(
        len(changes), encode_changes, changes, language, is_dry_run=query.dry_run
    )


_ACTIONS = {"add": Action.ASSIGN, "replace": Action.REPLACE, "remove": Action.REMOVE}


def _uploaded_table(body: TableBody) -> tuple[str, bytes]:
    """Return the name of the field that contains the table, and the table."""
    if (body.file is None) == (not body.text):
        raise ValidationError({"file": [Message("Send a table, as file or as text.")]})
    field, data = ("text", body.text.encode()) if body.file is None else ("file", body.file.data)
    if len(data) > MAX_TABLE_BYTES:
        raise file_too_large(MAX_TABLE_BYTES)
    return field, data
