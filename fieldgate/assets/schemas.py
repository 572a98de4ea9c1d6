"""Schemas of assets, their versions and their permission assignments."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.http.response.links import Link
from fieldgate.permissions.schemas import PartialRecord

ASSETS_PATH = "/api/v2/assets/"

AssetType = Literal["survey", "template", "block", "question", "collection", "empty"]
SharingStatus = Literal["private", "shared", "public", "public-discoverable"]


def asset_path(uid: str) -> str:
    return f"{ASSETS_PATH}{uid}/"


def assignment_path(uid: str, assignment_uid: str) -> str:
    return f"{asset_path(uid)}permission-assignments/{assignment_uid}/"


class AssignmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the assignment.")]
    user: Annotated[Link, Meta(description="User who has the permission.")]
    permission: Annotated[Link, Meta(description="The permission.")]
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(description="For partial_submissions: permissions on submissions, with the filters they are limited to."),
    ] = UNSET
    label: Annotated[
        str | dict[str, str],
        Meta(description="Label of the permission. For partial_submissions, an object with one label per permission."),
    ]


class AssetRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the asset.")]
    uid: Annotated[str, Meta(description="Identifier of the asset.")]
    kind: Annotated[str, Meta(description="Always `asset`.")] = "asset"
    asset_type: Annotated[str, Meta(description="survey, template, block, question, collection or empty.")]
    name: Annotated[str, Meta(description="Name of the asset.")]
    owner: Annotated[Link, Meta(description="Owner of the asset.")]
    owner__username: Annotated[str, Meta(description="Username of the owner.")]
    parent: Annotated[Link | None, Meta(description="Collection that contains the asset, if you can view it.")]
    status: Annotated[
        SharingStatus,
        Meta(
            description="private: only the owner can view it; shared: other users can, too; public: anyone with the "
            "URL can; public-discoverable: anyone can, and it is listed."
        ),
    ]
    settings: Annotated[dict[str, Any], Meta(description="Settings of the asset, an object of any content.")]
    tag_string: Annotated[str, Meta(description="Tags, separated by commas.")]
    summary: Annotated[dict[str, Any], Meta(description="Summary of the content: questions, languages, columns.")]
    version_id: Annotated[str, Meta(description="Identifier of the newest version.")]
    version_count: Annotated[int, Meta(description="Number of versions.")]
    versions: Annotated[Link, Meta(description="URL of the list of versions.")]
    xform_link: Annotated[Link | None, Meta(description="URL of the XForm; only for surveys and templates.")]
    date_created: Annotated[datetime, Meta(description="When the asset was created.")]
    date_modified: Annotated[datetime, Meta(description="When the asset was last changed.")]
    permissions: Annotated[
        list[AssignmentRecord],
        Meta(
            description="Permission assignments. A list of assets shows the owner's, the public's and your own; "
            "a single asset shows all of them if you manage it."
        ),
    ]


class EffectivePermission(msgspec.Struct, frozen=True):
    codename: Annotated[str, Meta(description="Identifier of the permission, or `delete_asset`.")]


class AssignablePermission(msgspec.Struct, frozen=True):
    url: Annotated[Link, Meta(description="URL of the permission.")]
    label: Annotated[
        str | dict[str, str],
        Meta(description="Label of the permission. For partial_submissions, an object with one label per permission."),
    ]


class AssetDetail(AssetRecord, frozen=True, kw_only=True):
    content: Annotated[dict[str, Any], Meta(description="Form content: survey, choices, settings, translations.")]
    effective_permissions: Annotated[list[EffectivePermission], Meta(description="What you can do with the asset.")]
    assignable_permissions: Annotated[
        list[AssignablePermission], Meta(description="Permissions that can be assigned on an asset of this type.")
    ]


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the version.")]
    uid: Annotated[str, Meta(description="Identifier of the version.")]
    number: Annotated[int, Meta(description="Number of the version, starting at 1.")]
    date_created: Annotated[datetime, Meta(description="When the version was created.")]
    summary: Annotated[dict[str, Any], Meta(description="Summary of the content.")]
    filename: Annotated[str | None, Meta(description="Name of the imported file.")]
    file: Annotated[Link | None, Meta(description="URL of the imported file.")]


class VersionDetail(VersionRecord, frozen=True, kw_only=True):
    content: Annotated[dict[str, Any], Meta(description="Content of the form in this version.")]


class AssetFilters(msgspec.Struct, frozen=True):
    q: Annotated[
        str,
        Meta(description="Up to 20 words. All must be in the name; case is ignored.", max_length=1000),
    ] = ""
    asset_type: Annotated[AssetType | None, Meta(description="Only assets of this type.")] = None
    status: Annotated[
        SharingStatus | None,
        Meta(
            description="private: your assets that nobody else can view; shared: assets that others share with you; "
            "public: assets in your list that the public can view; "
            "public-discoverable: all assets that the public can discover."
        ),
    ] = None
    ordering: Annotated[
        Literal["date_modified", "-date_modified", "date_created", "-date_created", "name", "-name"],
        Meta(description="Sort order. Default: last changed first."),
    ] = "-date_modified"
