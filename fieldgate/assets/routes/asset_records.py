"""Records of assets as JSON, in lists and of a single asset.

Fieldgate stores forms; it has no submissions. Clients of KoboToolbox need the keys nevertheless, so they get the values
of a form without any.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Raw
from sqlalchemy import Row
from sqlalchemy.engine import Connection

from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import AuthorizedAsset, asset_not_found, effective_user_id
from fieldgate.assets.schemas import (
    ASSETS_PATH,
    INVITES_PATH,
    AccessType,
    AssetDetail,
    AssetRecord,
    AssignablePermission,
    AssignmentRecord,
    ChildrenRecord,
    DeployedVersion,
    DeployedVersions,
    DownloadRecord,
    EffectivePermission,
    ProjectOwnership,
    asset_path,
)
from fieldgate.assets.sharing.grants import AssetGrants, run_by_cost
from fieldgate.assets.sharing.serializers import assignment_records
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.assets.store import (
    AssetStore,
    read_children,
    read_deployed_versions,
    read_open_invite,
    read_visible,
)
from fieldgate.assets.tables import SURVEY, versions
from fieldgate.assets.visibility_sql import DISCOVERABLE, VIEW
from fieldgate.db import AsyncDatabase
from fieldgate.http.links import Link, encode
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import permission_path
from fieldgate.permissions.labels import label

XFORM_TYPES = ("survey", "template")
MAX_DEPLOYED_VERSIONS = 100  # in the record of an asset
WORKBOOK_TYPES = ("survey", "template", "block", "question")
# The order in which a user interface offers permissions.
ASSIGNABLE_ORDER = (
    "view_asset", "change_asset", "discover_asset", "manage_asset", "add_submissions", "view_submissions",
    "partial_submissions", "change_submissions", "delete_submissions", "validate_submissions",
)  # fmt: skip

NO_SUBMISSIONS: dict[str, Any] = {
    "deployment__submission_count": 0,
    "deployment__last_submission_time": None,
    "deployment__encrypted": False,
    "deployment__uuid": None,
    "subscribers_count": 0,
    "data_sharing": {},
    "export_settings": [],
}
NO_SUBMISSIONS_DETAIL: dict[str, Any] = {
    "deployment__links": {},
    "deployment__data_download_links": {},
    "files": [],
    "analysis_form_json": {"additional_fields": []},
    "advanced_features": {},
    "report_styles": {},
    "report_custom": {},
    "map_styles": {},
    "map_custom": {},
}
_NO_CHILDREN = ChildrenRecord(0)


def list_fields(
    row: Row[Any], caller: Caller, grants: AssetGrants, children: Mapping[int, int]
) -> dict[str, Any]:
    """Fields of every record. `children` has the number of assets in each collection, by id."""
    is_collection = row.asset_type == "collection"
    return {
        **NO_SUBMISSIONS,
        **_deployment_fields(row),
        "owner_label": row.username,
        "created_by": row.username,  # an asset stays with the user who created it
        "last_modified_by": row.modifier,
        "data": Link(f"{asset_path(row.uid)}data/"),
        "downloads": downloads(row),
        "children": ChildrenRecord(children.get(row.id, 0)) if is_collection else _NO_CHILDREN,
        "access_types": access_types(row, caller, grants) if is_collection else None,
    }


def _deployment_fields(row: Row[Any]) -> dict[str, Any]:
    status = "-" if row.asset_type != SURVEY else "draft"
    if row.deployment_active is not None:
        status = "deployed" if row.deployment_active else "archived"
    return {
        "has_deployment": row.deployment_active is not None,
        "deployment__active": bool(row.deployment_active),
        "deployment_status": status,
        "deployed_version_id": row.deployed_version_uid,
        "date_deployed": row.deployed_at,
    }


def version_fields(
    asset: AuthorizedAsset, row: Row[Any], deployed_numbers: Sequence[int]
) -> dict[str, Any]:
    """Fields of a `DeployedVersion`, given the numbers of all versions of the asset that were deployed."""
    major = bisect_right(deployed_numbers, row.number)
    minor = row.number - (deployed_numbers[major - 1] if major else 0)
    return {
        "url": Link(f"{asset_path(asset.uid)}versions/{row.uid}/"),
        "uid": row.uid,
        "number": row.number,
        "content_hash": row.content_hash,
        "date_deployed": row.deployed_at or False,
        "date_modified": row.created_at,
        "version_number": f"{major}.{minor}" if minor else str(major),
    }


def detail_fields(row: Row[Any], content: dict[str, Any]) -> dict[str, Any]:
    """Fields of a detail record only, with the content and its hash."""
    path = asset_path(row.uid)
    has_workbook = row.asset_type in WORKBOOK_TYPES
    return {
        **NO_SUBMISSIONS_DETAIL,
        "content": Raw(encode(content)),
        "version__content_hash": row.content_hash,
        "xls_link": Link(f"{ASSETS_PATH}{row.uid}.xls") if has_workbook else None,
        "embeds": [DownloadRecord("xform", Link(f"{path}xform/"))] if _has_xform(row) else [],
        "hooks_link": Link(f"{path}hooks/"),
        "exports": Link(f"{path}exports/"),
        "paired_data": Link(f"{path}paired-data/"),
    }


def downloads(row: Row[Any]) -> list[DownloadRecord]:
    formats = ("xls", "xlsx") if row.asset_type in WORKBOOK_TYPES else ()
    if _has_xform(row):
        formats = (*formats, "xml")
    return [DownloadRecord(name, Link(f"{ASSETS_PATH}{row.uid}.{name}")) for name in formats]


def _has_xform(row: Row[Any]) -> bool:
    """A form without questions has none."""
    return bool(row.has_xform) and row.asset_type in XFORM_TYPES


def access_types(row: Row[Any], caller: Caller, grants: AssetGrants) -> list[AccessType]:
    """Why a caller can view a collection."""
    found: list[AccessType] = []
    if caller.id == row.owner_id:
        found.append("owned")
    elif caller.id not in (None, PUBLIC_USER_ID) and VIEW in rules.own_permissions(
        grants.scope.state_of(effective_user_id(caller)), row.asset_type
    ):
        found.append("shared")
    if row.status == DISCOVERABLE:
        found.append("public")
    return found or (["superuser"] if caller.is_superuser else [])


def record_fields(row: Row[Any], caller: Caller) -> dict[str, Any]:
    """Fields of a row with the columns of an asset and its newest version."""
    path = asset_path(row.uid)
    has_parent = row.parent_uid is not None and caller.limits.includes_asset(row.parent_uid)
    return {
        "url": Link(path),
        "uid": row.uid,
        "asset_type": row.asset_type,
        "name": row.name,
        "owner": Link(user_path(row.username)),
        "owner__username": row.username,
        "status": row.status,
        "parent": Link(asset_path(row.parent_uid)) if has_parent else None,
        "settings": row.settings,
        "tag_string": ",".join(row.tags),
        "summary": row.summary,
        "version_id": row.version_uid,
        "version_count": row.version_number,
        "versions": Link(f"{path}versions/"),
        "xform_link": Link(f"{path}xform/") if row.asset_type in XFORM_TYPES else None,
        "date_created": row.created_at,
        "date_modified": row.modified_at,
    }


def permission_records(
    grants: AssetGrants, caller: Caller, language: Language, *, own_only: bool = False
) -> list[AssignmentRecord]:
    """Assignments that a caller sees in an asset. Anonymous callers see the owner's only."""
    assignments = grants.visible_to(caller)
    if own_only:
        assignments = [each for each in assignments if each.user.id == effective_user_id(caller)]
    elif caller.id is None:
        assignments = [each for each in assignments if each.user.id == grants.scope.owner_id]
    return assignment_records(grants, assignments, language)


class AssetReader:
    """Reads single assets as their callers see them."""

    def __init__(
        self, database: AsyncDatabase, store: AssetStore, sharing: AssignmentStore
    ) -> None:
        self._database = database
        self._store = store
        self._sharing = sharing

    async def detail(self, uid: str, caller: Caller, language: Language) -> Raw:
        """The record of an asset with its content. Raise `NotFound` if the caller cannot view it."""
        asset = await self._store.authorize(uid, caller)
        found = await self._database.read(partial(self._read, asset=asset, caller=caller))
        # About as many assignments are shown, including the owner's.
        cost = found.grants.cost + len(rules.owner_permissions(asset.asset_type))
        return await run_by_cost(cost, _encode_detail, found, caller, language)

    async def deployment(self, uid: str, caller: Caller) -> Row[Any] | None:
        """The uid of the deployed version and whether it is active; None if no version was deployed."""
        return await self._store.get_deployment((await self._store.authorize(uid, caller)).id)

    def _read(
        self, connection: Connection, asset: AuthorizedAsset, caller: Caller
    ) -> "_StoredAsset":
        """Read all of an asset in one snapshot, so that its parts fit together."""
        grants = self._sharing.in_transaction(connection).load_visible(asset, caller)
        rows = read_visible(connection, self._database, caller, [asset.id], versions.c.content)
        if not rows:  # deleted since it was authorized
            raise asset_not_found()
        row = rows[0]
        return _StoredAsset(
            grants.authorize(caller),
            grants,
            row,
            read_children(connection, caller, [row.id]) if row.asset_type == "collection" else {},
            () if row.deployed_version_uid is None else read_deployed_versions(connection, row.id),
            None if caller.id is None else read_open_invite(connection, row.id),
        )


class _StoredAsset(NamedTuple):
    asset: AuthorizedAsset
    grants: AssetGrants
    row: Row[Any]  # with its newest version
    children: Mapping[int, int]
    deployed: Sequence[Row[Any]]  # versions, newest first
    invite: Row[Any] | None


def _deployed_versions(asset: AuthorizedAsset, rows: Sequence[Row[Any]]) -> DeployedVersions:
    numbers = [row.number for row in reversed(rows)]
    newest = [
        DeployedVersion(**version_fields(asset, row, numbers))
        for row in rows[:MAX_DEPLOYED_VERSIONS]
    ]
    return DeployedVersions(len(rows), None, None, newest)


def _project_ownership(invite: Row[Any] | None, caller: Caller) -> ProjectOwnership | None:
    """The open invitation to own the asset. Only its two sides see it, and superusers."""
    if invite is None or not (
        caller.sees_everything or caller.id in (invite.sender_id, invite.recipient_id)
    ):
        return None
    return ProjectOwnership(
        Link(f"{INVITES_PATH}{invite.uid}/"), invite.sender, invite.recipient, invite.status
    )


def _encode_detail(found: _StoredAsset, caller: Caller, language: Language) -> Raw:
    asset, grants, row = found.asset, found.grants, found.row
    allowed = [*sorted(asset.allowed), *(["delete_asset"] if asset.may_delete else [])]
    assignable = rules.assignable(row.asset_type)
    record = AssetDetail(
        **record_fields(row, caller),
        **list_fields(row, caller, grants, found.children),
        **detail_fields(row, row.content),
        deployed_versions=_deployed_versions(asset, found.deployed),
        project_ownership=_project_ownership(found.invite, caller),
        effective_permissions=[EffectivePermission(codename) for codename in allowed],
        assignable_permissions=[
            AssignablePermission(
                Link(permission_path(codename)), label(codename, row.asset_type, language)
            )
            for codename in ASSIGNABLE_ORDER
            if codename in assignable
        ],
        permissions=permission_records(grants, caller, language),
    )
    return Raw(encode(record))


_RECORD_COST = 15  # see `run_by_cost`


def list_cost(grants: Mapping[int, AssetGrants]) -> int:
    """Estimated cost of encoding assets, in assignments."""
    return sum(_RECORD_COST + each.cost for each in grants.values())


def encode_list(
    rows: Iterable[Row[Any]],
    grants: Mapping[int, AssetGrants],
    caller: Caller,
    language: Language,
    children: Mapping[int, int],
    *,
    own_only: bool,
) -> list[bytes]:
    """Encode the assets of a page. One that was deleted since its row was read, and has no `grants`, is left out."""
    return [
        encode(
            AssetRecord(
                **record_fields(row, caller),
                **list_fields(row, caller, grants[row.id], children),
                permissions=permission_records(grants[row.id], caller, language, own_only=own_only),
            )
        )
        for row in rows
        if row.id in grants
    ]
