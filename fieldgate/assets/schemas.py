"""What assets and their versions look like on the wire."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fieldgate.assets.sharing.schemas import AssignmentRecord
from fieldgate.http.response.links import Link

AssetType = Literal["survey", "template", "block", "question", "collection", "empty"]


class AssetRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of the asset.")]
    uid: Annotated[str, Meta(description="Identifier of the asset.")]
    kind: Annotated[str, Meta(description="Always `asset`.")] = "asset"
    asset_type: Annotated[str, Meta(description="survey, template, block, question, collection or empty.")]
    name: Annotated[str, Meta(description="Name of the asset.")]
    owner: Annotated[Link, Meta(description="Who owns it.")]
    owner__username: Annotated[str, Meta(description="The name of its owner.")]
    parent: Annotated[Link | None, Meta(description="The collection it is in, if you may see that.")]
    status: Annotated[
        Literal["private", "shared", "public", "public-discoverable"],
        Meta(description="Who may see it: its owner, some others, everybody, everybody without knowing its address."),
    ]
    settings: Annotated[dict[str, Any], Meta(description="What people note about it.")]
    tag_string: Annotated[str, Meta(description="Its tags, separated by commas.")]
    summary: Annotated[dict[str, Any], Meta(description="What is in it: questions, languages, columns.")]
    version_id: Annotated[str, Meta(description="Identifier of its newest version.")]
    version_count: Annotated[int, Meta(description="How many versions there are.")]
    versions: Annotated[Link, Meta(description="Its versions, the newest first.")]
    xform_link: Annotated[Link | None, Meta(description="Its XForm, for surveys and templates.")]
    date_created: Annotated[datetime, Meta(description="When it was made.")]
    date_modified: Annotated[datetime, Meta(description="When it last changed.")]
    permissions: Annotated[
        list[AssignmentRecord],
        Meta(
            description="Who may do what with it: in a list the owner's, the public's and your own; alone all, if you "
            "manage it."
        ),
    ]


class EffectivePermission(msgspec.Struct, frozen=True):
    codename: Annotated[str, Meta(description="Identifier of the permission, or `delete_asset`.")]


class AssignablePermission(msgspec.Struct, frozen=True):
    url: Annotated[Link, Meta(description="Address of the permission.")]
    label: Annotated[
        str | dict[str, str],
        Meta(description="The permission in words; of partial_submissions, by what is done with submissions."),
    ]


class AssetDetail(AssetRecord, frozen=True, kw_only=True):
    content: Annotated[dict[str, Any], Meta(description="The form: survey, choices, settings, translations.")]
    effective_permissions: Annotated[list[EffectivePermission], Meta(description="What you may do with it.")]
    assignable_permissions: Annotated[
        list[AssignablePermission], Meta(description="What can be assigned on an asset of its type.")
    ]


class VersionRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of the version.")]
    uid: Annotated[str, Meta(description="Identifier of the version.")]
    number: Annotated[int, Meta(description="Counted from 1.")]
    date_created: Annotated[datetime, Meta(description="When it was made.")]
    summary: Annotated[dict[str, Any], Meta(description="What is in it.")]
    filename: Annotated[str | None, Meta(description="Name of the file it came from.")]
    file: Annotated[Link | None, Meta(description="That file, as it was sent.")]


class VersionDetail(VersionRecord, frozen=True, kw_only=True):
    content: Annotated[dict[str, Any], Meta(description="The form as it was then.")]


class AssetFilters(msgspec.Struct, frozen=True):
    q: Annotated[
        str, Meta(description="Up to 20 words that must all be in the name, whatever the case.", max_length=1000)
    ] = ""
    asset_type: Annotated[AssetType | None, Meta(description="Only assets of this type.")] = None
    status: Annotated[
        Literal["private", "shared", "public", "public-discoverable"] | None,
        Meta(
            description="private: your own that nobody else may see; shared: what others have given to you; "
            "public: those in your list that the public may see, too; "
            "public-discoverable: all that the public may discover."
        ),
    ] = None
    ordering: Annotated[
        Literal["date_modified", "-date_modified", "date_created", "-date_created", "name", "-name"],
        Meta(description="Order of the list; the newest change comes first unless you say otherwise."),
    ] = "-date_modified"


_NOT_BLANK = {"pattern": r"\S"}  # told in the description; the route has a sentence of its own for it


class AssetChange(msgspec.Struct, frozen=True):
    name: Annotated[
        Annotated[str, Meta(max_length=255, extra_json_schema=_NOT_BLANK)] | None, Meta(description="A new name.")
    ] = None
    settings: Annotated[dict[str, Any] | None, Meta(description="New settings, in place of the old.")] = None
