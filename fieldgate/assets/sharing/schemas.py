"""Schemas of requests that change assignments, of the effects, and of the history."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.http.links import Link
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.permissions.schemas import EffectRecord, PartialRecord

TAG = "Sharing"
ASSIGNMENTS_PATH = ASSETS_PATH + "{uid}/permission-assignments/"
BATCH_PATH = "/api/v2/permission-assignments/"
MAX_LIST_BYTES = 4 * 1024 * 1024  # 4 MiB, of a JSON body with a list

Mode = Literal["add", "replace", "remove"]


class EffectOnSubmissions(EffectRecord, frozen=True, kw_only=True):
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(
            description="If partial_submissions was granted or its filters changed: the new permissions and filters."
        ),
    ] = UNSET
    expires_at: Annotated[
        datetime | UnsetType | None,
        Meta(
            description="When it ends, if it was granted until then or its end changed. null: it does not end."
        ),
    ] = UNSET


class EffectOnUser(EffectOnSubmissions, frozen=True, kw_only=True):
    asset: Annotated[Link, Meta(description="Asset that the permission is on.")]
    user: Annotated[Link, Meta(description="User whose permission changes.")]


class ResultRecord(msgspec.Struct, frozen=True):
    asset: Annotated[Link, Meta(description="Asset that the permissions are on.")]
    user: Annotated[Link, Meta(description="User whose permissions were requested to change.")]
    permissions: Annotated[
        list[Link],
        Meta(description="All permissions of the user afterwards, assigned or inherited."),
    ]


class ChangeRecord(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, Meta(description="True if nothing was written.")]
    counts: Annotated[dict[str, int], Meta(description="Number of effects of each kind.")]
    effects: Annotated[
        list[EffectOnUser], Meta(description="What changes, and why; at most 10,000 entries.")
    ]
    result: Annotated[
        list[ResultRecord],
        Meta(description="Permissions of each user afterwards; at most 10,000 entries."),
    ]


class HistoryRecord(EffectOnSubmissions, frozen=True, kw_only=True):
    date: Annotated[datetime, Meta(description="When the change was made.")]
    by: Annotated[Link, Meta(description="User who made the change.")]
    act: Annotated[
        str,
        Meta(
            description="Requested action: assign, remove, remove_all, replace, clone, import or transfer."
        ),
    ]
    source: Annotated[
        Link | UnsetType, Meta(description="Asset whose assignments were cloned.")
    ] = UNSET
    user: Annotated[Link, Meta(description="User or team whose permission changed.")]
    team__name: Annotated[
        str | UnsetType | None,
        Meta(description="Name of the team at that time; null if you are not in it."),
    ] = UNSET


class DryRunQuery(msgspec.Struct, frozen=True):
    dry_run: Annotated[
        bool,
        Meta(
            description="true, or no value: return the effects and write nothing.",
            extra={"blank": True},
        ),
    ] = False


class TeamsQuery(msgspec.Struct, frozen=True):
    teams: Annotated[
        bool,
        Meta(
            description="true, or no value: with the assignments of teams themselves.",
            extra={"blank": True},
        ),
    ] = False


class ReplacementQuery(DryRunQuery, frozen=True):
    teams: Annotated[
        bool,
        Meta(
            description="true, or no value: teams that are not in the array lose their permissions, too.",
            extra={"blank": True},
        ),
    ] = False


class TableUploadQuery(DryRunQuery, frozen=True):
    mode: Annotated[
        Mode | None, Meta(description="Same as `mode` in the body, which takes precedence.")
    ] = None


_USER = (
    "User: URL, path or username. AnonymousUser is the public, team:NAME is a team that you are in."
)
_PERMISSION = "Permission: URL, path or codename."

# For the OpenAPI document only: grant_parsing checks the content, with its own error messages.
_PARTIAL = {
    "type": "object",
    "properties": {
        "url": {
            "type": "string",
            "description": "Permission on submissions: URL, path or codename.",
        },
        "filters": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object"},
            "description": "Queries; the permission covers submissions that match any of them.",
        },
    },
    "required": ["url", "filters"],
}
_PARTIALS = Annotated[list[Any], Meta(extra_json_schema={"items": _PARTIAL})] | None
_PARTIALS_DESCRIPTION = (
    "Required with partial_submissions: permissions on submissions, with their filters."
)


_END = str | UnsetType | None
_END_DESCRIPTION = (
    "When it ends: a time such as 2026-12-31T17:00:00Z, or a date, which is the end of that day in UTC. null: it does "
    "not end. If it is absent, the end stays as it is."
)


class AssignmentBody(msgspec.Struct, frozen=True, kw_only=True):
    user: Annotated[str | UnsetType, Meta(description=_USER + " Required without `team`.")] = UNSET
    team: Annotated[
        str, Meta(description="Team that you are in, instead of a user: URL, path, name or uid.")
    ] = ""
    permission: Annotated[str, Meta(description=_PERMISSION)]
    partial_permissions: Annotated[_PARTIALS, Meta(description=_PARTIALS_DESCRIPTION)] = None
    expires_at: Annotated[_END, Meta(description=_END_DESCRIPTION)] = UNSET
    inherited: Annotated[
        bool | None,
        Meta(
            description="As listed. In a list that is written back, what is inherited is not assigned to the user."
        ),
    ] = None


class UserPermissionsBody(msgspec.Struct, frozen=True):
    user: Annotated[str, Meta(description=_USER)]
    permissions: Annotated[
        list[str],
        Meta(
            description="All permissions that the user will have: URL, path or codename of each. Empty: none."
        ),
    ]
    partial_permissions: Annotated[_PARTIALS, Meta(description=_PARTIALS_DESCRIPTION)] = None
    expires_at: Annotated[_END, Meta(description=_END_DESCRIPTION)] = UNSET


class ClearBody(msgspec.Struct, frozen=True):
    username: Annotated[
        str, Meta(description="User to remove: URL, path or username. Required.")
    ] = ""


class CloneBody(msgspec.Struct, frozen=True):
    clone_from: Annotated[
        str, Meta(description="Asset to copy assignments from: URL, path or uid.")
    ]


class ManyRemoved(msgspec.Struct, frozen=True):
    assets: Annotated[
        list[str], Meta(description="Assets: URL, path or uid of each.", min_length=1)
    ]
    users: Annotated[
        list[str], Meta(description="Users: URL, path or username of each.", min_length=1)
    ]
    permissions: Annotated[
        list[str], Meta(description="Permissions: URL, path or codename of each.", min_length=1)
    ]


class ManyAdded(ManyRemoved, frozen=True):
    partial_permissions: Annotated[_PARTIALS, Meta(description=_PARTIALS_DESCRIPTION)] = None
    expires_at: Annotated[_END, Meta(description=_END_DESCRIPTION)] = UNSET


class TableBody(msgspec.Struct, frozen=True):
    file: Annotated[
        UploadedFile | None, Meta(description="CSV table, as a part of a multipart body.")
    ] = None
    text: Annotated[str, Meta(description="CSV table as text, in JSON or a form.")] = ""
    mode: Annotated[
        Mode | None,
        Meta(
            description="add (default): add the assignments; replace: replace all assignments; remove: remove them."
        ),
    ] = None


class TransferBody(msgspec.Struct, frozen=True):
    to: Annotated[str, Meta(description="The new owner: URL, path or username.")]


class TransferRecord(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: Annotated[bool, Meta(description="True if nothing was changed.")]
    user: Annotated[Link, Meta(description="The former owner.")]
    to: Annotated[Link, Meta(description="The new owner.")]
    count: Annotated[int, Meta(description="Number of assets.")]
    asset_types: Annotated[dict[str, int], Meta(description="Number of assets of each type.")]
    assignments_removed: Annotated[
        int,
        Meta(
            description="Number of assignments of the new owner on these assets; an owner needs none."
        ),
    ]
