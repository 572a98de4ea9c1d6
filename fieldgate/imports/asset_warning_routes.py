"""`/api/v2/assets/{uid}/versions/{version}/warnings/`: what the check of a version warned about.

An import belongs to the user who made it. Its warnings are about the form, so they are shown to everybody who can view
it. Warnings about content that was sent without a file are stored with the version.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.errors import NotFound
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope
from fieldgate.imports.messages import localize_messages
from fieldgate.imports.store import ImportStore
from fieldgate.pagination import ListResult, PageRequest

routes = Routes(tag="Assets", scope=Scope.READ, asset_limit=AssetLimit.PATH)


class WarningRecord(msgspec.Struct, frozen=True):
    sheet: Annotated[
        str | None,
        Meta(
            description="Sheet of the imported workbook, or part of the content: survey, choices, settings."
        ),
    ]
    row: Annotated[
        int | None,
        Meta(
            description="Row of the sheet, as the spreadsheet numbers it; row of the part of the content, from 1."
        ),
    ]
    column: Annotated[str | None, Meta(description="Column of the sheet.")]
    code: Annotated[str, Meta(description="The kind of the warning, a stable word.")]
    message: Annotated[str, Meta(description="What is unusual and what to do.")]


@routes.get_list(
    ASSETS_PATH + "{uid}/versions/{version}/warnings/",
    response=WarningRecord,
    title=Message("Warnings"),
    description=Message(
        "What the check of a version warned about, when it was imported or its content was sent. The list is empty if "
        "there were no warnings, or if the import was deleted because it is old. Warnings about a collection are shown "
        "to its owner only."
    ),
)
async def version_warnings(
    uid: str,
    version: str,
    page: PageRequest,
    caller: Caller,
    language: Language,
    authorizer: AssetAuthorizer,
    store: ImportStore,
) -> ListResult[WarningRecord]:
    asset = await authorizer.authorize(uid, caller)
    warnings = await store.get_warnings_of_version(asset.id, version)
    if warnings is None:
        raise NotFound(Message("There is no version {uid}.", uid=version[:50]))
    if not asset.may_see_import:
        return ListResult(0, [])
    shown = localize_messages(
        language, {"warnings": warnings[page.offset : page.offset + page.limit]}
    )["warnings"]
    return ListResult(len(warnings), msgspec.convert(shown, list[WarningRecord]))
