"""Create and change assets under `/api/v2/assets/`."""

from msgspec import Raw

from fieldgate.assets.asset_writer import AssetWriter, WrittenAsset
from fieldgate.assets.routes.asset_records import AssetReader
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.schemas import ASSETS_PATH, asset_path
from fieldgate.assets.write_schemas import (
    AssetChange,
    AssetCreation,
    CheckedAssetDetail,
    FormRefusal,
)
from fieldgate.errors import BadRequest, ValidationError
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link, encode
from fieldgate.http.operations import AssetLimit, Created, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User

_IMPORT_WORKBOOKS = Message(
    "Nothing was created. To make a form of a workbook, send it to POST /api/v2/imports/."
)
_BODY_MISSING = Message("The request has no body. Send at least a name.")
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH)


@routes.post(
    ASSETS_PATH,
    response=CheckedAssetDetail,
    title=Message("Create an asset"),
    description=Message(
        "Creates an asset, empty or with content, or clones another one. Content is checked like a workbook; the "
        "refusal lists all problems, and the response has its warnings. If a check takes too long or too many are "
        "running, the status is 503 and nothing is stored."
    ),
    file_limit=lambda settings: settings.max_upload,
    refusal=FormRefusal,
    scope=Scope.IMPORTS,
)
async def asset_creation(
    context: HandlerContext,
    user: User,
    language: Language,
    body: AssetCreation,
    writer: AssetWriter,
    reader: AssetReader,
) -> Created:
    _refuse_ignored(context)
    written = await writer.create(user, body)
    detail = await reader.detail(written.uid, user, language)
    return Created(_with_warnings(detail, written, writer, language), Link(asset_path(written.uid)))


@routes.patch(
    ASSETS_PATH + "{uid}/",
    response=CheckedAssetDetail,
    title=Message("Change an asset"),
    description=Message(
        "Changes the name, the settings or the content of an asset. Fields that are not sent stay as they are. Content "
        "is checked like a workbook and becomes a new version; a refusal lists all problems, and the response has the "
        "warnings."
    ),
    file_limit=lambda settings: settings.max_upload,
    refusal=FormRefusal,
    scope=Scope.IMPORTS,
)
async def asset_change(
    uid: str,
    user: User,
    language: Language,
    body: AssetChange,
    writer: AssetWriter,
    reader: AssetReader,
) -> Raw:
    written = await writer.change(user, uid, body)
    return _with_warnings(await reader.detail(uid, user, language), written, writer, language)


def _refuse_ignored(context: HandlerContext) -> None:
    """Refuse a file in a field that would be ignored, and no body at all, which would create a form without a name."""
    if "base64Encoded" in context.request.unknown_parameters:
        raise ValidationError({"base64Encoded": [_IMPORT_WORKBOOKS]})
    if (
        context.headers.get(b"content-length", b"0") == b"0"
        and b"transfer-encoding" not in context.headers
    ):
        raise BadRequest(_BODY_MISSING)


def _with_warnings(
    detail: Raw, written: WrittenAsset, writer: AssetWriter, language: Language
) -> Raw:
    """Add warnings, if there are any, to a record that is encoded already: it can have megabytes."""
    if not written.warnings:
        return detail
    warnings = encode(writer.localize_warnings(written, language))
    return Raw(bytes(detail).removesuffix(b"}") + b',"warnings":' + warnings + b"}")
