"""Request and response schemas of imports."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fieldgate.http.links import Link
from fieldgate.http.request.body_parsing import UploadedFile
from fieldgate.imports.sheet_excerpts import SheetExcerpt

PATH = "/api/v2/imports/"

Status = Literal["processing", "complete", "error"]


class ImportRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="Address of the import.")]
    status: Annotated[Status, Meta(description="processing, then complete or error.")]
    messages: Annotated[
        dict[str, Any],
        Meta(
            description="The result: `updated` (always present) and `created` list assets; a failed import has "
            "`error`, `error_type` and `problems`; an import that is tried again, because the server was busy, has "
            "`waiting` (a sentence); `warnings` is present if there are any. With the error_type "
            "`form_exists`, `existing` lists your forms that the file may be a new version of."
        ),
    ]
    uid: Annotated[str, Meta(description="Identifier of the import.")]
    date_created: Annotated[datetime, Meta(description="When the file was sent.")]
    filename: Annotated[str, Meta(description="Name of the file.")]
    destination: Annotated[
        Link | None, Meta(description="Address of the asset to replace; null for a new one.")
    ]
    library: Annotated[
        bool, Meta(description="Whether blocks and questions were asked for instead of a form.")
    ]
    desired_type: Annotated[
        str | None, Meta(description="The type that was asked for; null for the usual one.")
    ]


class ImportRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of the workbook that problems and warnings are about."""

    sheets: Annotated[
        list[SheetExcerpt],
        Meta(
            description="Excerpts of the sheets with problems or warnings. They cover the first hundred problems and "
            "warnings. Empty if the file could not be read, or was imported by an earlier release."
        ),
    ]


class ImportAccepted(msgspec.Struct, frozen=True, kw_only=True):
    uid: Annotated[str, Meta(description="Identifier of the import.")]
    url: Annotated[
        Link, Meta(description="Address of the import; its status and result are there.")
    ]
    status: Annotated[Status, Meta(description="Always processing.")]


class DryRun(msgspec.Struct, frozen=True):
    dry_run: Annotated[
        bool,
        Meta(
            description="true, or no value: check the file, store nothing, and return the result with 200.",
            extra={"blank": True},
        ),
    ] = False


class ImportPreview(msgspec.Struct, frozen=True, kw_only=True):
    """How an import would end."""

    dry_run: Annotated[bool, Meta(description="Always true: nothing was stored.")]
    status: Annotated[
        Literal["complete", "error"], Meta(description="complete if the file can be imported.")
    ]
    messages: Annotated[
        dict[str, Any],
        Meta(description="As in the import. The `uid` of an asset that would be created is null."),
    ]
    sheets: Annotated[
        list[SheetExcerpt],
        Meta(description="Excerpts of the sheets with problems or warnings, as in `rows/`."),
    ]


class ImportFilters(msgspec.Struct, frozen=True):
    status: Annotated[Status | None, Meta(description="Only imports with this status.")] = None
    ordering: Annotated[
        Literal["date_created", "-date_created"],
        Meta(description="Order of the list; newest last by default."),
    ] = "date_created"


class ImportRequest(msgspec.Struct, frozen=True):
    file: Annotated[
        UploadedFile | None, Meta(description="The workbook, as a part of a multipart body.")
    ] = None
    base64Encoded: Annotated[  # noqa: N815
        str, Meta(description="The workbook in base64, as a data URI or bare.")
    ] = ""
    url: Annotated[
        str,
        Meta(
            description="Address to fetch the workbook from; the operator must have listed its host."
        ),
    ] = ""
    name: Annotated[
        str, Meta(description="Name of the asset; by default the name of the file.", max_length=255)
    ] = ""
    library: Annotated[
        Any, Meta(description="true: create a block, a question or a collection of them.")
    ] = ""
    destination: Annotated[str, Meta(description="Asset to replace: its address, path or uid.")] = (
        ""
    )
    assetUid: Annotated[str, Meta(description="Alternative to `destination`.")] = ""  # noqa: N815
    desired_type: Annotated[str, Meta(description="survey, template, block or question.")] = ""
    if_exists: Annotated[
        str,
        Meta(
            description="ask: if you own a form with the same form_id or name, nothing is imported until you answer "
            "with PATCH. create (default): a second form is made."
        ),
    ] = ""
    totalFiles: Annotated[Any, Meta(description="Accepted for compatibility and ignored.")] = ""  # noqa: N815
    lastModified: Annotated[Any, Meta(description="Accepted for compatibility and ignored.")] = ""  # noqa: N815


class ImportAnswer(msgspec.Struct, frozen=True):
    destination: Annotated[
        str, Meta(description="The form that the file is a new version of: its address or uid.")
    ] = ""
    if_exists: Annotated[
        Literal["create"] | None, Meta(description="create: make a second form.")
    ] = None
