"""`/api/v2/assets/{uid}/deployment/`: the version of a survey that people should use. `bulk/` archives several, or
moves them to the trash and back."""

from typing import Any

from msgspec import Raw

from fieldgate.assets.deployments import Deployments
from fieldgate.assets.routes.asset_records import AssetReader
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.routes.form_files import NOT_DEPLOYED
from fieldgate.assets.schemas import (
    ASSETS_PATH,
    MAX_BULK_ASSETS,
    BulkAction,
    BulkPayload,
    BulkResult,
    DeploymentBody,
    DeploymentRecord,
)
from fieldgate.assets.trash import Trash
from fieldgate.errors import NotFound, ValidationError
from fieldgate.http.links import encode
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.request.body_parsing import JSONObject
from fieldgate.http.request.validation import parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.identity import Caller, Scope, User

PATH = ASSETS_PATH + "{uid}/deployment/"
routes = Routes(tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH, formats=(Format.JSON,))


@routes.get(
    PATH,
    response=DeploymentRecord,
    title=Message("Deployment"),
    description=Message(
        "The version of a survey that people should use. The status is 404 before the first deployment."
    ),
)
async def deployment_detail(
    uid: str, caller: Caller, language: Language, reader: AssetReader
) -> Raw:
    found = await reader.deployment(uid, caller)
    if found is None:
        raise NotFound(NOT_DEPLOYED)
    detail: Any = await reader.detail(uid, caller, language)
    record = DeploymentRecord(
        active=found.deployment_active, version_id=found.deployed_version_uid, asset=detail
    )
    return Raw(encode(record))


@routes.post(
    PATH,
    response=DeploymentRecord,
    title=Message("Deploy a survey"),
    description=Message(
        "Deploys the newest version of a survey for the first time: people should use it. Needs change_asset. Later "
        "versions are deployed with PATCH; a second POST is refused with the status 405."
    ),
    status=200,
    error_statuses=(405,),
    scope=Scope.IMPORTS,
)
async def deployment_creation(
    uid: str,
    user: User,
    language: Language,
    body: DeploymentBody,
    deployments: Deployments,
    reader: AssetReader,
) -> Raw:
    await deployments.create(user, uid, body)
    record: Raw = await deployment_detail.handler(uid, user, language, reader)
    return record


@routes.patch(
    PATH,
    response=DeploymentRecord,
    title=Message("Deploy a survey again"),
    description=Message(
        "Deploys the newest version of a survey in place of the one before. With `active` alone, only archives the "
        "survey (false) or takes that back (true). Needs change_asset. Before the first POST the status is 405."
    ),
    error_statuses=(405,),
    scope=Scope.IMPORTS,
)
async def deployment_change(
    uid: str,
    user: User,
    language: Language,
    body: DeploymentBody,
    deployments: Deployments,
    reader: AssetReader,
) -> Raw:
    await deployments.change(user, uid, body)
    record: Raw = await deployment_detail.handler(uid, user, language, reader)
    return record


@routes.post(
    ASSETS_PATH + "bulk/",
    response=BulkResult,
    title=Message("Archive, delete or restore several assets"),
    description=Message(
        "Archives surveys that were deployed, or takes that back: all of them or none. Needs manage_asset on each. "
        "`delete` moves assets to the trash, and `undelete` restores them: only for their owner and superusers."
    ),
    status=200,
    body_schema=BulkAction,
    scope=Scope.IMPORTS,
)
async def asset_bulk_action(
    user: User, language: Language, body: JSONObject, deployments: Deployments, trash: Trash
) -> BulkResult:
    payload = _parse_payload(body.get("payload"))
    uids = payload.asset_uids
    match payload.action:
        case "archive":
            count = await deployments.set_active(user, uids, active=False)
            message = PluralMessage(
                "{count} form was archived.", "{count} forms were archived.", count
            )
        case "unarchive":
            count = await deployments.set_active(user, uids, active=True)
            message = PluralMessage(
                "{count} form is in use again.", "{count} forms are in use again.", count
            )
        case "delete":
            count = await trash.delete_many(user, uids)
            message = PluralMessage(
                "{count} form was deleted.", "{count} forms were deleted.", count
            )
        case "undelete":
            count = await trash.restore_many(user, uids)
            message = PluralMessage(
                "{count} form was restored.", "{count} forms were restored.", count
            )
    return BulkResult(translate(message, language))


def _parse_payload(given: object) -> BulkPayload:
    if not isinstance(given, dict):
        raise ValidationError({"payload": [Message("Send an object.")]})
    payload = parse_struct(BulkPayload, given)
    if payload.asset_uids is None and not payload.confirm:
        message = Message(
            "Name the forms in asset_uids. For all that you own, send confirm: true instead."
        )
        raise ValidationError({"confirm": [message]})
    if payload.asset_uids is not None and not 0 < len(payload.asset_uids) <= MAX_BULK_ASSETS:
        message = Message("Name from {low} to {high} forms.", low=1, high=MAX_BULK_ASSETS)
        raise ValidationError({"asset_uids": [message]})
    return payload
