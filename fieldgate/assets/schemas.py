"""Schemas of assets, their versions and their permission assignments."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.assets.search_query import check_search
from fieldgate.http.links import Link
from fieldgate.http.search_grammar import MAX_SEARCH_CHARS
from fieldgate.permissions.schemas import PartialRecord, TeamReference

ASSETS_PATH = "/api/v2/assets/"
TEAMS_PATH = "/api/v2/teams/"
INVITES_PATH = "/api/v2/project-ownership/invites/"
MAX_BULK_ASSETS = 500

AssetType = Literal["survey", "template", "block", "question", "collection", "empty"]
SharingStatus = Literal["private", "shared", "public", "public-discoverable"]
AccessType = Literal["owned", "shared", "public", "superuser"]


def asset_path(uid: str) -> str:
    return f"{ASSETS_PATH}{uid}/"


def team_path(uid: str) -> str:
    return f"{TEAMS_PATH}{uid}/"


def assignment_path(uid: str, assignment_uid: str) -> str:
    return f"{asset_path(uid)}permission-assignments/{assignment_uid}/"


class AssignmentRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the assignment.")]
    user: Annotated[
        Link | UnsetType, Meta(description="User who has the permission. Absent if a team has it.")
    ] = UNSET
    team: Annotated[
        Link | UnsetType,
        Meta(description="Team that has the permission, if `teams` asked for these."),
    ] = UNSET
    team__name: Annotated[
        str | UnsetType | None, Meta(description="Name of the team; null if you are not in it.")
    ] = UNSET
    permission: Annotated[Link, Meta(description="The permission.")]
    partial_permissions: Annotated[
        list[PartialRecord] | UnsetType,
        Meta(
            description="For partial_submissions: permissions on submissions, with the filters they are limited to."
        ),
    ] = UNSET
    label: Annotated[
        str | dict[str, str],
        Meta(
            description="Label of the permission. For partial_submissions, an object with one label per permission."
        ),
    ]
    inherited: Annotated[
        bool | UnsetType,
        Meta(
            description="true if it comes from the collection of the asset or from a team; otherwise absent."
        ),
    ] = UNSET
    via: Annotated[
        TeamReference | UnsetType, Meta(description="Team through which the user has it.")
    ] = UNSET
    expires_at: Annotated[
        datetime | UnsetType,
        Meta(description="When it ends: nothing is granted from then on. Absent if it does not."),
    ] = UNSET


class DownloadRecord(msgspec.Struct, frozen=True):
    format: Annotated[str, Meta(description="xls, xlsx or xml.")]
    url: Annotated[Link, Meta(description="URL of the file.")]


class ChildrenRecord(msgspec.Struct, frozen=True):
    count: Annotated[int, Meta(description="Number of assets in the collection that you can view.")]


class AssetRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the asset.")]
    uid: Annotated[str, Meta(description="Identifier of the asset.")]
    kind: Annotated[str, Meta(description="Always `asset`.")] = "asset"
    asset_type: Annotated[
        str, Meta(description="survey, template, block, question, collection or empty.")
    ]
    name: Annotated[str, Meta(description="Name of the asset.")]
    owner: Annotated[Link, Meta(description="Owner of the asset.")]
    owner__username: Annotated[str, Meta(description="Username of the owner.")]
    parent: Annotated[
        Link | None, Meta(description="Collection that contains the asset, if you can view it.")
    ]
    status: Annotated[
        SharingStatus,
        Meta(
            description="private: only the owner can view it; shared: other users can, too; public: anyone with the "
            "URL can; public-discoverable: anyone can, and it is listed."
        ),
    ]
    settings: Annotated[
        dict[str, Any], Meta(description="Settings of the asset, an object of any content.")
    ]
    tag_string: Annotated[str, Meta(description="Tags, separated by commas.")]
    summary: Annotated[
        dict[str, Any], Meta(description="Summary of the content: questions, languages, columns.")
    ]
    version_id: Annotated[str, Meta(description="Identifier of the newest version.")]
    version_count: Annotated[int, Meta(description="Number of versions.")]
    versions: Annotated[Link, Meta(description="URL of the list of versions.")]
    xform_link: Annotated[
        Link | None, Meta(description="URL of the XForm; only for surveys and templates.")
    ]
    date_created: Annotated[datetime, Meta(description="When the asset was created.")]
    date_modified: Annotated[datetime, Meta(description="When the asset was last changed.")]
    permissions: Annotated[
        list[AssignmentRecord],
        Meta(
            description="Permission assignments. A list of assets shows the owner's, the public's and your own; "
            "a single asset shows all of them if you manage it."
        ),
    ]
    owner_label: Annotated[str, Meta(description="Username of the owner.")]
    created_by: Annotated[str, Meta(description="User who created the asset.")]
    last_modified_by: Annotated[
        str | None,
        Meta(
            description="Username of the user who made the last change; null if an earlier release did not record it."
        ),
    ]
    downloads: Annotated[
        list[DownloadRecord],
        Meta(description="The form as files that exist. Collections have none."),
    ]
    children: Annotated[ChildrenRecord, Meta(description="What is in a collection.")]
    access_types: Annotated[
        list[AccessType] | None,
        Meta(description="Why a collection is visible to you; null for other assets."),
    ]
    subscribers_count: Annotated[int, Meta(description="There are no subscriptions: 0.")]
    has_deployment: Annotated[
        bool, Meta(description="Whether a version was deployed, that is, published for use.")
    ]
    deployment_status: Annotated[
        Literal["deployed", "archived", "draft", "-"],
        Meta(
            description="deployed, archived, or draft if no version was deployed; - for assets that are no surveys."
        ),
    ]
    deployment__active: Annotated[
        bool, Meta(description="Whether a version is deployed and not archived.")
    ]
    deployed_version_id: Annotated[
        str | None,
        Meta(
            description="Identifier of the version that people should use; null if none was deployed."
        ),
    ]
    date_deployed: Annotated[datetime | None, Meta(description="When it was deployed.")]
    # Fieldgate collects no submissions. Clients of KoboToolbox read these fields.
    deployment__submission_count: Annotated[int, Meta(description="There are no submissions: 0.")]
    deployment__last_submission_time: Annotated[
        datetime | None, Meta(description="There are no submissions: null.")
    ]
    deployment__encrypted: Annotated[bool, Meta(description="There are no submissions: false.")]
    deployment__uuid: Annotated[str | None, Meta(description="There are no submissions: null.")]
    data: Annotated[
        Link, Meta(description="Where submissions would be. There are none, so the status is 404.")
    ]
    data_sharing: Annotated[
        dict[str, Any], Meta(description="There are no submissions to share: empty.")
    ]
    export_settings: Annotated[
        list[Any], Meta(description="There are no submissions to export: empty.")
    ]


class EffectivePermission(msgspec.Struct, frozen=True):
    codename: Annotated[str, Meta(description="Identifier of the permission, or `delete_asset`.")]


class AssignablePermission(msgspec.Struct, frozen=True):
    url: Annotated[Link, Meta(description="URL of the permission.")]
    label: Annotated[
        str | dict[str, str],
        Meta(
            description="Label of the permission. For partial_submissions, an object with one label per permission."
        ),
    ]


class DeployedVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version as KoboToolbox shows it, with its number."""

    url: Annotated[Link, Meta(description="URL of the version.")]
    uid: Annotated[str, Meta(description="Identifier of the version.")]
    number: Annotated[int, Meta(description="Number of the version, starting at 1.")]
    content_hash: Annotated[
        str, Meta(description="SHA-256 of the content as JSON. Changes with it.")
    ]
    date_deployed: Annotated[
        datetime | bool, Meta(description="When the version was deployed; false if it never was.")
    ]
    date_modified: Annotated[
        datetime, Meta(description="When the version was created. It does not change after that.")
    ]
    version_number: Annotated[
        str,
        Meta(
            description="12 for the twelfth version that was deployed, 12.3 for the third draft after it."
        ),
    ]


class DeployedVersions(msgspec.Struct, frozen=True):
    """A list with the keys of an envelope."""

    count: Annotated[int, Meta(description="Number of versions that were deployed.")]
    next: Annotated[str | None, Meta(description="Always null.")]
    previous: Annotated[str | None, Meta(description="Always null.")]
    results: Annotated[
        list[DeployedVersion], Meta(description="The last 100 of them, newest first.")
    ]


class ProjectOwnership(msgspec.Struct, frozen=True):
    invite: Annotated[Link, Meta(description="URL of the invitation.")]
    sender: Annotated[str, Meta(description="Username of the owner.")]
    recipient: Annotated[
        str, Meta(description="Username of the user who becomes the owner by accepting.")
    ]
    status: Annotated[str, Meta(description="State of the invitation.")]


class AssetDetail(AssetRecord, frozen=True, kw_only=True):
    content: Annotated[
        dict[str, Any], Meta(description="Form content: survey, choices, settings, translations.")
    ]
    effective_permissions: Annotated[
        list[EffectivePermission], Meta(description="What you can do with the asset.")
    ]
    assignable_permissions: Annotated[
        list[AssignablePermission],
        Meta(description="Permissions that can be assigned on an asset of this type."),
    ]
    version__content_hash: Annotated[
        str, Meta(description="SHA-256 of the content as JSON. Changes with it.")
    ]
    xls_link: Annotated[
        Link | None, Meta(description="URL of the form as a workbook; null for a collection.")
    ]
    embeds: Annotated[list[DownloadRecord], Meta(description="The XForm, if there is one.")]
    # The same as in lists: Fieldgate has nothing to show here, but clients of KoboToolbox read these fields.
    deployed_versions: Annotated[DeployedVersions, Meta(description="Versions that were deployed.")]
    deployment__links: Annotated[
        dict[str, Any], Meta(description="There are no submissions: empty.")
    ]
    deployment__data_download_links: Annotated[
        dict[str, Any], Meta(description="There are no submissions: empty.")
    ]
    hooks_link: Annotated[
        Link, Meta(description="Where hooks would be. There are none, so the status is 404.")
    ]
    exports: Annotated[
        Link, Meta(description="Where exports of submissions would be. The status is 404.")
    ]
    files: Annotated[list[Any], Meta(description="There are no media files: empty.")]
    paired_data: Annotated[Link, Meta(description="Where paired data would be. The status is 404.")]
    project_ownership: Annotated[
        ProjectOwnership | None,
        Meta(
            description="The open invitation to own the asset. Its sender and recipient see it, and superusers."
        ),
    ]
    analysis_form_json: Annotated[
        dict[str, Any], Meta(description="There is no analysis of submissions.")
    ]
    advanced_features: Annotated[dict[str, Any], Meta(description="There are none: empty.")]
    report_styles: Annotated[dict[str, Any], Meta(description="There are no reports: empty.")]
    report_custom: Annotated[dict[str, Any], Meta(description="There are no reports: empty.")]
    map_styles: Annotated[dict[str, Any], Meta(description="There are no maps: empty.")]
    map_custom: Annotated[dict[str, Any], Meta(description="There are no maps: empty.")]


class VersionRecord(DeployedVersion, frozen=True, kw_only=True):
    date_created: Annotated[datetime, Meta(description="When the version was created.")]
    summary: Annotated[dict[str, Any], Meta(description="Summary of the content.")]
    filename: Annotated[str | None, Meta(description="Name of the imported file.")]
    file: Annotated[
        Link | None,
        Meta(
            description="URL of the imported file. That of a collection is shown to its owner only."
        ),
    ]


class VersionDetail(VersionRecord, frozen=True, kw_only=True):
    content: Annotated[dict[str, Any], Meta(description="Content of the form in this version.")]


class VersionChoice(msgspec.Struct, frozen=True):
    version: Annotated[
        Literal["deployed"] | None,
        Meta(description="deployed: the version that people should use. Default: the newest."),
    ] = None


class DeploymentRecord(msgspec.Struct, frozen=True, kw_only=True):
    backend: Annotated[str, Meta(description="Always openrosa, the usual one of KoboToolbox.")] = (
        "openrosa"
    )
    active: Annotated[
        bool, Meta(description="Whether people should use the form; false if it is archived.")
    ]
    version_id: Annotated[str, Meta(description="Identifier of the version that is deployed.")]
    asset: Annotated[AssetDetail, Meta(description="The asset.")]


class DeploymentBody(msgspec.Struct, frozen=True):
    active: Annotated[
        bool | None,
        Meta(
            description="false: archived. Default: true for the first deployment, then as it was."
        ),
    ] = None
    version_id: Annotated[
        str | None,
        Meta(description="Version to deploy. Only the newest can be, which is the default."),
    ] = None
    backend: Annotated[str | None, Meta(description="Accepted for compatibility and ignored.")] = (
        None
    )


class BulkPayload(msgspec.Struct, frozen=True):
    action: Annotated[
        Literal["archive", "unarchive", "delete", "undelete"], Meta(description="What to do.")
    ]
    asset_uids: Annotated[
        list[str] | None,
        Meta(
            description=f"Identifiers of surveys that you manage, or of assets that you own, up to {MAX_BULK_ASSETS}. "
            "Default: all deployed surveys, or all assets, that you own."
        ),
    ] = None
    confirm: Annotated[bool, Meta(description="Must be true if asset_uids is absent.")] = False


class BulkAction(msgspec.Struct, frozen=True):
    payload: Annotated[BulkPayload, Meta(description="The action and its assets.")]


class BulkResult(msgspec.Struct, frozen=True):
    detail: Annotated[str, Meta(description="How many assets were changed, in words.")]


class DeletedAsset(msgspec.Struct, frozen=True, kw_only=True):
    """An asset in the trash."""

    url: Annotated[
        Link, Meta(description="URL of the asset. The status is 404 until it is restored.")
    ]
    uid: Annotated[str, Meta(description="Identifier of the asset.")]
    kind: Annotated[str, Meta(description="Always `asset`.")] = "asset"
    asset_type: Annotated[
        str, Meta(description="survey, template, block, question, collection or empty.")
    ]
    name: Annotated[str, Meta(description="Name of the asset.")]
    owner: Annotated[Link, Meta(description="Owner of the asset.")]
    owner__username: Annotated[str, Meta(description="Username of the owner.")]
    date_created: Annotated[datetime, Meta(description="When the asset was created.")]
    date_modified: Annotated[datetime, Meta(description="When the asset was last changed.")]
    date_deleted: Annotated[datetime, Meta(description="When the asset was deleted.")]
    deleted_by: Annotated[
        Link | None, Meta(description="User who deleted it; null if that user is gone.")
    ]
    purge_at: Annotated[datetime, Meta(description="When it is deleted for good.")]


class KeptAsset(msgspec.Struct, frozen=True):
    url: Annotated[Link, Meta(description="URL of the asset.")]
    uid: Annotated[str, Meta(description="Uid of the asset.")]
    name: Annotated[str, Meta(description="Name of the asset.")]
    owner__username: Annotated[str, Meta(description="Username of its owner.")]


class DeletionPreview(msgspec.Struct, frozen=True):
    dry_run: Annotated[bool, Meta(description="True: nothing was deleted.")]
    deleted: Annotated[
        int, Meta(description="Number of assets that would be deleted, this one included.", ge=1)
    ]
    trash_days: Annotated[
        int, Meta(description="Days in which they can be restored; 0: they cannot.", ge=0)
    ]
    kept: Annotated[
        list[KeptAsset],
        Meta(
            description="Assets of others in the collection, as far as you can see them. They would leave it and stay."
        ),
    ]


class AssetFilters(msgspec.Struct, frozen=True):
    q: Annotated[
        str,
        Meta(
            description="Up to 20 words, phrases in quotes, and field:value terms, combined with AND, OR, NOT and "
            "parentheses. Words and phrases are searched in the name; case and accents are ignored. Fields: "
            "asset_type, name, name__icontains, owner__username, owner__username__icontains, parent (a uid or null), "
            "pk, tags, tags__name__icontains, uid, date_created and date_modified with __gt, __gte, __lt or __lte. "
            "No asset has other fields of KoboToolbox.",
            max_length=MAX_SEARCH_CHARS,
            extra={"check": check_search},
        ),
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
    collections_first: Annotated[
        bool, Meta(description="true: collections before all other assets.")
    ] = False
    current_user_permissions_only: Annotated[
        bool, Meta(description="true: only your own assignments in `permissions`.")
    ] = False
    ordering: Annotated[
        Literal[
            "date_modified",
            "-date_modified",
            "date_created",
            "-date_created",
            "name",
            "-name",
            "asset_type",
            "-asset_type",
            "owner__username",
            "-owner__username",
            "subscribers_count",
            "-subscribers_count",
        ],
        Meta(description="Sort order. Default: last changed first."),
    ] = "-date_modified"
