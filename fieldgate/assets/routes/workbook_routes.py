"""`/api/v2/assets/{uid}.xlsx`, `.xls`, `.xml` and `xform/`: a form as a file, to use it or to import it again.

Clients also build `/api/v2/assets/{uid}/{uid}.xls`. The suffix `.xls` stands for any workbook: most are xlsx files, and
are sent as such.
"""

from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.routes.form_files import FormFiles
from fieldgate.assets.schemas import ASSETS_PATH, VersionChoice
from fieldgate.assets.workbook_downloads import MEDIA_TYPES, XLS_SUFFIX, XLSX_SUFFIX
from fieldgate.errors import NotFound
from fieldgate.http.injection import HandlerContext
from fieldgate.http.operations import AssetLimit, OperationDecorator, Routes
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, Scope

routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


def _get_workbook(
    path: str, *, in_schema: bool = True, alternate_media_type: str = ""
) -> OperationDecorator:
    return routes.raw(
        path,
        title=Message("Workbook"),
        description=Message(
            "The newest version of a form as an Excel workbook, to edit it and import it again: the uploaded file, "
            "or else a workbook written from the content."
        ),
        media_type=MEDIA_TYPES[XLSX_SUFFIX],
        alternate_media_type=alternate_media_type,
        schema={"type": "string", "format": "binary"},
        in_schema=in_schema,
    )


def _get_xform(path: str, *, in_schema: bool = True) -> OperationDecorator:
    return routes.raw(
        path,
        title=Message("XForm"),
        description=Message(
            "The newest version of a survey as an XForm, for data collection apps."
        ),
        media_type="application/xml",
        in_schema=in_schema,
        is_costly=True,
    )


@_get_workbook(ASSETS_PATH + "{uid}.xlsx")
async def asset_workbook_xlsx(
    uid: str, query: VersionChoice, caller: Caller, context: HandlerContext, files: FormFiles
) -> Response:
    return await files.workbook(uid, query, XLSX_SUFFIX, caller, context)


@_get_workbook(ASSETS_PATH + "{uid}.xls", alternate_media_type=MEDIA_TYPES[XLS_SUFFIX])
async def asset_workbook_xls(
    uid: str, query: VersionChoice, caller: Caller, context: HandlerContext, files: FormFiles
) -> Response:
    return await files.workbook(uid, query, XLS_SUFFIX, caller, context)


@_get_xform(ASSETS_PATH + "{uid}/xform/")
async def asset_xform(
    uid: str, query: VersionChoice, context: HandlerContext, files: FormFiles
) -> Response:
    return await files.xform(uid, query, context.logged_caller)


@_get_xform(ASSETS_PATH + "{uid}.xml")
async def asset_xform_xml(
    uid: str, query: VersionChoice, context: HandlerContext, files: FormFiles
) -> Response:
    return await files.xform(uid, query, context.logged_caller)


@_get_workbook(ASSETS_PATH + "{uid}/{name}.xlsx", in_schema=False)
async def named_workbook_xlsx(
    uid: str,
    name: str,
    query: VersionChoice,
    caller: Caller,
    context: HandlerContext,
    files: FormFiles,
) -> Response:
    return await files.workbook(_check_name(uid, name), query, XLSX_SUFFIX, caller, context)


@_get_workbook(ASSETS_PATH + "{uid}/{name}.xls", in_schema=False)
async def named_workbook_xls(
    uid: str,
    name: str,
    query: VersionChoice,
    caller: Caller,
    context: HandlerContext,
    files: FormFiles,
) -> Response:
    return await files.workbook(_check_name(uid, name), query, XLS_SUFFIX, caller, context)


@_get_xform(ASSETS_PATH + "{uid}/{name}.xml", in_schema=False)
async def named_xform_xml(
    uid: str, name: str, query: VersionChoice, context: HandlerContext, files: FormFiles
) -> Response:
    return await files.xform(_check_name(uid, name), query, context.logged_caller)


def _check_name(uid: str, name: str) -> str:
    if name != uid:
        raise NotFound
    return uid
