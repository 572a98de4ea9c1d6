"""What assignments, the effects of changing them, and their history look like on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.http.response.links import Link
from fieldgate.permissions.schemas import EffectRecord, PartialRecord

Mode = Literal["add", "replace", "remove"]


class AssignmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of the assignment.")]
    user: Annotated[Link, Meta(description="Who holds the permission.")]
    permission: Annotated[Link, Meta(description="The permission.")]
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(description="Of partial_submissions: what may be done with which submissions."),
    ] = UNSET
    label: Annotated[
        str | dict[str, str],
        Meta(description="The permission in words; of partial_submissions, by what is done with submissions."),
    ]


class EffectOnSubmissions(EffectRecord, frozen=True, kw_only=True):
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(description="Where partial_submissions was granted or filtered: what may be done with which submissions."),
    ] = UNSET


class EffectOnUser(EffectOnSubmissions, frozen=True, kw_only=True):
    asset: Annotated[Link, Meta(description="Where.")]
    user: Annotated[Link, Meta(description="Whose permission.")]


class ResultRecord(msgspec.Struct, frozen=True):
    asset: Annotated[Link, Meta(description="Where.")]
    user: Annotated[Link, Meta(description="Somebody concerned.")]
    permissions: Annotated[list[Link], Meta(description="All that he holds there then, passed down or assigned.")]


class ChangeRecord(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, Meta(description="Whether nothing was written.")]
    counts: Annotated[dict[str, int], Meta(description="How many effects of each kind there are.")]
    effects: Annotated[list[EffectOnUser], Meta(description="What happens, and why; at most 10,000 are told.")]
    result: Annotated[list[ResultRecord], Meta(description="What those concerned hold then; at most 10,000 are told.")]


class HistoryRecord(EffectOnSubmissions, frozen=True, kw_only=True):
    date: Annotated[datetime, Meta(description="When it was done.")]
    by: Annotated[Link, Meta(description="Who did it.")]
    act: Annotated[str, Meta(description="What was asked for: assign, remove, remove_all, replace, clone or import.")]
    source: Annotated[Link | UnsetType, Meta(description="The asset whose assignments were cloned.")] = UNSET
    user: Annotated[Link, Meta(description="Whose permission.")]


class DryRunQuery(msgspec.Struct, frozen=True):
    dry_run: Annotated[
        bool, Meta(description="true, or no value: tell the effects, and write nothing.", extra={"blank": True})
    ] = False


class TableUploadQuery(DryRunQuery, frozen=True):
    mode: Annotated[
        Mode | None, Meta(description="The same as `mode` in the body, which wins where both are sent.")
    ] = None


_USER = "A user: address, path or username. AnonymousUser is the public."
_PERMISSION = "A permission: address, path or codename."


# Told in the description; what is wrong inside has sentences of its own.
_PARTIAL = {
    "type": "object",
    "properties": {
        "url": {"type": "string", "description": "A permission on submissions: address, path or codename."},
        "filters": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object"},
            "description": "Queries; a submission that fits one of them is meant.",
        },
    },
    "required": ["url", "filters"],
}
_PARTIALS = Annotated[list[Any], Meta(extra_json_schema={"items": _PARTIAL})] | None
_ABOUT_PARTIALS = "Needed with partial_submissions: what may be done with which submissions."


class AssignmentBody(msgspec.Struct, frozen=True):
    user: Annotated[str, Meta(description=_USER)]
    permission: Annotated[str, Meta(description=_PERMISSION)]
    partial_permissions: Annotated[_PARTIALS, Meta(description=_ABOUT_PARTIALS)] = None


class ClearBody(msgspec.Struct, frozen=True):
    username: Annotated[str, Meta(description="Who shall lose all permissions; needed.")] = ""


class CloneBody(msgspec.Struct, frozen=True):
    clone_from: Annotated[str, Meta(description="The asset to take assignments from: address, path or uid.")]


class ManyRemoved(msgspec.Struct, frozen=True):
    assets: Annotated[list[str], Meta(description="Assets: address, path or uid of each.", min_length=1)]
    users: Annotated[list[str], Meta(description="Users: address, path or username of each.", min_length=1)]
    permissions: Annotated[list[str], Meta(description="Permissions: address, path or codename of each.", min_length=1)]


class ManyAdded(ManyRemoved, frozen=True):
    partial_permissions: Annotated[_PARTIALS, Meta(description=_ABOUT_PARTIALS)] = None


class TableBody(msgspec.Struct, frozen=True):
    file: Annotated[UploadedFile | None, Meta(description="The table, as a part of a multipart body.")] = None
    text: Annotated[str, Meta(description="The same as text, in JSON or a form.")] = ""
    mode: Annotated[
        Mode | None,
        Meta(description="add (the default): to what there is; replace: in place of it; remove: take it away."),
    ] = None
