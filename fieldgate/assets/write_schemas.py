"""Bodies of requests that create and change assets, and the refusal of a form with problems."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from fieldgate.assets.schemas import AssetDetail, AssetType
from fieldgate.http.request.body_parsing import EncodedJSON, UploadedFile

MAX_NAME_CHARS = 255
MAX_TAG_CHARS = 100
MAX_TAGS = 50

# For the OpenAPI document only: the route checks it, with its own error message.
_NOT_BLANK = {"pattern": r"\S"}

TagString = Annotated[str, Meta(max_length=MAX_TAGS * (MAX_TAG_CHARS + 1))]


class AssetCreation(msgspec.Struct, frozen=True):
    name: Annotated[
        Annotated[str, Meta(max_length=MAX_NAME_CHARS)] | None,
        Meta(
            description="Name of the asset. A form title in the settings of the content wins. "
            "Default of a clone: the name of its source.",
        ),
    ] = None
    asset_type: Annotated[
        AssetType | None,
        Meta(
            description="Type of the asset. Default: survey, or the type of the asset that is cloned."
        ),
    ] = None
    content: Annotated[
        EncodedJSON | None,
        Meta(
            description="The form, in the structure of `content` in responses: survey, choices, settings, "
            "translations. A text with JSON is accepted, too. It is checked like a workbook."
        ),
    ] = None
    file: Annotated[
        UploadedFile | None,
        Meta(
            description="A workbook to make the form of, in a multipart body. Imports do the same in the background."
        ),
    ] = None
    clone_from: Annotated[
        str | None, Meta(description="Asset to copy the content of: its URL, path or uid.")
    ] = None
    clone_from_version_id: Annotated[
        Annotated[str, Meta(max_length=50)] | None,
        Meta(description="Version of that asset to copy. Default: the newest."),
    ] = None
    settings: Annotated[
        dict[str, Any] | None, Meta(description="Settings of the asset, an object.")
    ] = None
    tag_string: Annotated[TagString | None, Meta(description="Tags, separated by commas.")] = None
    parent: Annotated[
        str | None,
        Meta(
            description="Collection to put the asset into: its URL, path or uid. Needs change_asset on it."
        ),
    ] = None


class AssetChange(msgspec.Struct, frozen=True):
    name: Annotated[
        Annotated[str, Meta(max_length=MAX_NAME_CHARS, extra_json_schema=_NOT_BLANK)] | None,
        Meta(description="New name."),
    ] = None
    settings: Annotated[
        dict[str, Any] | None, Meta(description="New settings; they replace the old ones.")
    ] = None
    tag_string: Annotated[
        TagString | None,
        Meta(description="New tags, separated by commas; they replace the old ones."),
    ] = None
    content: Annotated[
        EncodedJSON | None,
        Meta(
            description="New content, which becomes a new version. It is checked like a workbook."
        ),
    ] = None


class FormIssue(msgspec.Struct, frozen=True):
    sheet: Annotated[
        str | None, Meta(description="Part of the content: survey, choices, settings.")
    ]
    row: Annotated[
        int | None,
        Meta(description="Row of that part, counted from 1. Null if no single row is concerned."),
    ]
    column: Annotated[str | None, Meta(description="Column of the row.")]
    code: Annotated[str, Meta(description="The kind of the problem or warning, a stable word.")]
    message: Annotated[str, Meta(description="What is wrong and what to do.")]


class CheckedAssetDetail(AssetDetail, frozen=True, kw_only=True):
    """An asset after a write, with the warnings about the content that was sent."""

    warnings: Annotated[
        list[FormIssue] | UnsetType,
        Meta(
            description="Warnings about the content that was sent, if there are any. The version lists them, too."
        ),
    ] = UNSET


class FormRefusal(msgspec.Struct, frozen=True):
    """The content was refused; nothing was stored."""

    content: Annotated[list[str], Meta(description="The reason, in one sentence.", min_length=1)]
    problems: Annotated[
        list[FormIssue], Meta(description="All problems, as an import lists them.", min_length=1)
    ]
    warnings: Annotated[
        list[FormIssue] | UnsetType, Meta(description="Warnings, if there are any.")
    ] = UNSET
