"""Fields of asset records, in lists and of a single asset."""

from typing import Any

from fieldgate.accounts.schemas import user_path
from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.routes.deployment_fields import XFORM_TYPES
from fieldgate.assets.schemas import AssignmentRecord, asset_path
from fieldgate.assets.sharing.grants import AssetGrants
from fieldgate.assets.sharing.serializers import assignment_records
from fieldgate.http.response.links import Link
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller


def record_fields(row: Any) -> dict[str, Any]:
    """Fields of a row with the columns of an asset and its newest version."""
    path = asset_path(row.uid)
    return {
        "url": Link(path),
        "uid": row.uid,
        "asset_type": row.asset_type,
        "name": row.name,
        "owner": Link(user_path(row.username)),
        "owner__username": row.username,
        "status": row.status,
        "parent": None if row.parent_uid is None else Link(asset_path(row.parent_uid)),
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
