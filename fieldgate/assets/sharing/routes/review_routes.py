"""`GET /api/v2/permission-assignments/`: who can use which assets, of all assets that the caller manages."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.accounts.log_store import LogStore
from fieldgate.accounts.schemas import user_path
from fieldgate.assets.schemas import AssignmentRecord, asset_path, assignment_path, team_path
from fieldgate.assets.sharing.grant_parsing import parse_field, parse_permission_field
from fieldgate.assets.sharing.grants import owner_assignment_uid, team_assignment_uid
from fieldgate.assets.sharing.review import ReviewedRow, ReviewFilters, ReviewStore
from fieldgate.assets.sharing.review_files import MAX_FILE_ROWS, stream_review
from fieldgate.assets.sharing.schemas import BATCH_PATH, TAG
from fieldgate.assets.sharing.serializers import team_reference
from fieldgate.assets.sharing.store import decode_filters
from fieldgate.db import AsyncDatabase, now
from fieldgate.db.log import LogObject
from fieldgate.errors import BadRequest
from fieldgate.http.links import Link
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import JSON_OR_HTML, AssetLimit, Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.attachment import dated_attachment, file_headers
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.overload import Exports
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.permissions.catalogue import PARTIAL, permission_path
from fieldgate.permissions.labels import label
from fieldgate.permissions.serializers import partial_records

routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.HANDLER)


class ReviewRecord(AssignmentRecord, frozen=True, kw_only=True):
    """An assignment with its asset, and what tells whether it is still needed."""

    asset: Annotated[Link, Meta(description="Asset that the permission is on.")]
    asset__uid: Annotated[str, Meta(description="Uid of the asset.")]
    asset__name: Annotated[str, Meta(description="Name of the asset.")]
    owner: Annotated[Link, Meta(description="Owner of the asset.")]
    user__username: Annotated[
        str | UnsetType,
        Meta(
            description="Username of the user; AnonymousUser is the public. Absent if a team has it."
        ),
    ] = UNSET
    date_created: Annotated[datetime, Meta(description="When it was assigned.")]
    last_seen: Annotated[
        datetime | None,
        Meta(description="Last login or use of a token by the user; null if there was none."),
    ]


@routes.get_list(
    BATCH_PATH,
    response=ReviewRecord,
    title=Message("Access review"),
    description=Message(
        "All permission assignments on the assets that you manage, without those of their owners; for superusers on "
        "all assets. Those from a collection are listed for each asset in it, those of a team once for the team; what "
        "a person has through teams is listed with `user`. CSV and XLSX have all of them, without pages."
    ),
    formats=(*JSON_OR_HTML, Format.CSV, Format.XLSX),
    no_store=True,
    is_costly=True,
)
async def assignment_review(
    page: PageRequest,
    request: ParsedRequest,
    user: User,
    query: ReviewFilters,
    language: Language,
    store: ReviewStore,
    logs: LogStore,
    database: AsyncDatabase,
    exports: Exports,
) -> ListResult[ReviewRecord] | Response:
    filters = _parse_filters(query)
    if request.format in JSON_OR_HTML:
        count, page_rows = await store.load(user, filters, page)
        return ListResult(count, [_record(row, language) for row in page_rows])
    count = await store.count(user, filters)
    if count > MAX_FILE_ROWS:
        raise BadRequest(
            Message(
                "These are {count} assignments, and a file has at most {most}. Use filters.",
                count=count,
                most=MAX_FILE_ROWS,
            )
        )
    await logs.count_export(user, LogObject("review", request.path))
    rows = store.select_file(user, filters)
    chunks = stream_review(database, rows, is_csv=request.format is Format.CSV)
    suffix = f".{request.format.query_value}"
    disposition = dated_attachment(
        Message("Access review"), day=now().date(), suffix=suffix, language=language
    )
    headers = file_headers(request.format.content_type, disposition)
    return Response(200, headers, stream=exports.stream(chunks, user.quota_id))


def _parse_filters(query: ReviewFilters) -> ReviewFilters:
    """Replace references by the names in them."""
    return msgspec.structs.replace(
        query,
        user=query.user and parse_field("user", "users", query.user),
        owner=query.owner and parse_field("owner", "users", query.owner),
        team=query.team and parse_field("team", "teams", query.team),
        asset=query.asset and parse_field("asset", "assets", query.asset),
        permission=query.permission and parse_permission_field("permission", query.permission),
    )


def _record(row: ReviewedRow, language: Language) -> ReviewRecord:
    return ReviewRecord(
        url=Link(assignment_path(row.asset_uid, _assignment_uid(row))),
        user=UNSET if row.is_team else Link(user_path(row.username)),
        user__username=UNSET if row.is_team else row.username,
        team=Link(team_path(row.team_uid)) if row.is_team else UNSET,
        team__name=row.team_name if row.is_team else UNSET,
        permission=Link(permission_path(row.permission)),
        partial_permissions=partial_records(decode_filters(row.filters) or {})
        if row.permission == PARTIAL
        else UNSET,
        label=label(row.permission, row.asset_type, language),
        inherited=True if row.is_inherited else UNSET,
        via=UNSET if row.via_id is None else team_reference(row.team_uid, row.team_name),
        expires_at=row.expires_at or UNSET,
        asset=Link(asset_path(row.asset_uid)),
        asset__uid=row.asset_uid,
        asset__name=row.asset_name,
        owner=Link(user_path(row.owner)),
        date_created=row.created_at,
        last_seen=row.last_seen,
    )


def _assignment_uid(row: ReviewedRow) -> str:
    """The owner of a collection has no row: the uid is that of the collection. Nor do members of a team."""
    if row.via_id is not None:
        return team_assignment_uid(row.asset_uid, row.user_id, row.permission)
    return (
        owner_assignment_uid(row.uid, row.permission)
        if not row.uid.startswith("p")
        else str(row.uid)
    )
