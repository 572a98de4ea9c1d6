"""`/api/v2/assets/{uid}/history/`: what was done with an asset, for those who manage it."""

from fieldgate.accounts.log_records import (
    FORMATS,
    ActionList,
    HistoryLogRecord,
    HistoryQuery,
    encode_list,
    history_fields,
)
from fieldgate.accounts.log_store import LogStore
from fieldgate.assets.authorization import AssetAuthorizer
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.db.log import PROJECT, log
from fieldgate.http.operations import Routes
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.pagination import ListResult, PageRequest

HISTORY_PATH = ASSETS_PATH + "{uid}/history/"
routes = Routes(tag=TAG, no_store=True, error_statuses=(403,))


@routes.get_list(
    HISTORY_PATH,
    response=HistoryLogRecord,
    title=Message("History"),
    description=Message(
        "What was done with an asset and by whom, newest first. Only for managers of the asset. Addresses, programs "
        "and credentials are shown to superusers only."
    ),
    formats=FORMATS,
)
async def asset_history(
    uid: str,
    page: PageRequest,
    user: User,
    query: HistoryQuery,
    request: ParsedRequest,
    base_url: BaseURL,
    authorizer: AssetAuthorizer,
    store: LogStore,
) -> ListResult[HistoryLogRecord]:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    count, rows = await store.page(page, query.q, [PROJECT], log.c.object_uid == uid)
    records = [HistoryLogRecord(**history_fields(row, with_origin=user.is_superuser)) for row in rows]
    return encode_list(count, records, request.format, base_url)


@routes.get(
    HISTORY_PATH + "actions/",
    response=ActionList,
    title=Message("Actions in the history"),
    description=Message("The actions that are in the history of an asset. Only for managers of the asset."),
)
async def asset_history_actions(uid: str, user: User, authorizer: AssetAuthorizer, store: LogStore) -> ActionList:
    (await authorizer.authorize(uid, user)).require("manage_asset")
    return ActionList(await store.list_actions(log.c.object_uid == uid, log.c.log_type == PROJECT))
