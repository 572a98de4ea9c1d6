"""Fields of asset records for clients of KoboToolbox: links to files, and what deployments and submissions would show.

Fieldgate stores forms; it does not deploy them and has no submissions. Clients need the keys nevertheless, so they get
the values of a form that was never deployed.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Raw
from sqlalchemy import Row

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.schemas import (
    ASSETS_PATH,
    AccessType,
    ChildrenRecord,
    DeployedVersions,
    DownloadRecord,
    asset_path,
)
from fieldgate.assets.sharing.grants import AssetGrants
from fieldgate.assets.visibility_sql import DISCOVERABLE, VIEW
from fieldgate.http.response.links import Link, encode
from fieldgate.identity import Caller

XFORM_TYPES = ("survey", "template")
WORKBOOK_TYPES = ("survey", "template", "block", "question")

NOT_DEPLOYED: dict[str, Any] = {
    "has_deployment": False,
    "deployment__active": False,
    "deployment__submission_count": 0,
    "deployment__last_submission_time": None,
    "deployment__encrypted": False,
    "deployment__uuid": None,
    "deployed_version_id": None,
    "date_deployed": None,
    "subscribers_count": 0,
    "data_sharing": {},
    "export_settings": [],
}
NOT_DEPLOYED_DETAIL: dict[str, Any] = {
    "deployed_versions": DeployedVersions(0, None, None, []),
    "deployment__links": {},
    "deployment__data_download_links": {},
    "files": [],
    "project_ownership": None,
    "analysis_form_json": {"additional_fields": []},
    "advanced_features": {},
    "report_styles": {},
    "report_custom": {},
    "map_styles": {},
    "map_custom": {},
}
_NO_CHILDREN = ChildrenRecord(0)


def list_fields(row: Any, caller: Caller, grants: AssetGrants | None, children: Mapping[int, int]) -> dict[str, Any]:
    """Fields of every record. `children` has the number of assets in each collection, by id."""
    is_collection = row.asset_type == "collection"
    return {
        **NOT_DEPLOYED,
        "deployment_status": "draft" if row.asset_type == "survey" else "-",
        "owner_label": row.username,
        "created_by": row.username,  # an asset stays with the user who created it
        "last_modified_by": row.modifier,
        "data": Link(f"{asset_path(row.uid)}data/"),
        "downloads": downloads(row),
        "children": ChildrenRecord(children.get(row.id, 0)) if is_collection else _NO_CHILDREN,
        "access_types": access_types(row, caller, grants) if is_collection else None,
    }


def detail_fields(row: Row[Any], content: dict[str, Any]) -> dict[str, Any]:
    """Fields of a detail record only, with the content and its hash."""
    path = asset_path(row.uid)
    encoded = encode(content)
    has_workbook = row.asset_type in WORKBOOK_TYPES
    return {
        **NOT_DEPLOYED_DETAIL,
        "content": Raw(encoded),
        "version__content_hash": hashlib.sha256(encoded).hexdigest(),
        "xls_link": Link(f"{ASSETS_PATH}{row.uid}.xls") if has_workbook else None,
        "embeds": [DownloadRecord("xform", Link(f"{path}xform/"))] if _has_xform(row) else [],
        "hooks_link": Link(f"{path}hooks/"),
        "exports": Link(f"{path}exports/"),
        "paired_data": Link(f"{path}paired-data/"),
    }


def downloads(row: Any) -> list[DownloadRecord]:
    formats = ("xls", "xlsx") if row.asset_type in WORKBOOK_TYPES else ()
    if _has_xform(row):
        formats = (*formats, "xml")
    return [DownloadRecord(name, Link(f"{ASSETS_PATH}{row.uid}.{name}")) for name in formats]


def _has_xform(row: Any) -> bool:
    """A form without questions has none."""
    return bool(row.has_xform) and row.asset_type in XFORM_TYPES


def access_types(row: Any, caller: Caller, grants: AssetGrants | None) -> list[AccessType]:
    """Why a caller can view a collection."""
    found: list[AccessType] = []
    if caller.id == row.owner_id:
        found.append("owned")
    elif grants is not None and caller.id is not None and caller.id != PUBLIC_USER_ID:
        granted = grants.scope.direct.get(caller.id, ())
        if any(each.permission == VIEW and not each.is_denied for each in granted):
            found.append("shared")
    if row.status == DISCOVERABLE:
        found.append("public")
    return found or (["superuser"] if caller.is_superuser else [])
