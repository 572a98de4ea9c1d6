"""`/api/v2/assets/{uid}/history/`: what was done with an asset, for those who manage it."""

from sqlalchemy import ColumnElement

from fieldgate.accounts.log_records import (
    FORMATS,
    ActionList,
    HistoryLogRecord,
    HistoryQuery,
    encode_list,
    history_fields,
)
from fieldgate.accounts.log_store import LogStore
from fieldgate.accounts.teams import TeamStore
from fieldgate.assets.authorization import AuthorizedAsset
from fieldgate.assets.routes.asset_routes import TAG
from fieldgate.assets.schemas import ASSETS_PATH
from fieldgate.assets.sharing.ownership_invites import INVITE_ACTIONS
from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.db.log import PROJECT, LogObject, log
from fieldgate.http.operations import AssetLimit, Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

HISTORY_PATH = ASSETS_PATH + "{uid}/history/"
routes = Routes(
    tag=TAG, scope=Scope.READ, asset_limit=AssetLimit.PATH, no_store=True, error_statuses=(403,)
)


@routes.get_list(
    HISTORY_PATH,
    response=HistoryLogRecord,
    title=Message("History"),
    description=Message(
        "What was done with an asset and by whom, newest first. Only for managers of the asset. Addresses, programs "
        "and credentials are shown to superusers only, invitations to own the asset also to its owner."
    ),
    formats=FORMATS,
    is_costly=True,
)
async def asset_history(
    uid: str,
    page: PageRequest,
    user: User,
    query: HistoryQuery,
    request: ParsedRequest,
    store: LogStore,
    assignments: AssignmentStore,
    teams: TeamStore,
) -> ListResult[HistoryLogRecord]:
    asset = await assignments.authorize(uid, user)
    asset.require("manage_asset")
    count, rows = await store.page(page, query.q, [PROJECT], *_conditions(asset, user))
    known = await teams.known_ids(
        user, [row.subject_id for row in rows if row.subject_id is not None]
    )
    found = [
        history_fields(row, with_origin=user.sees_everything, known_teams=known) for row in rows
    ]
    for fields in found:  # the asset that permissions were cloned from
        if not user.limits.includes_asset(fields["metadata"]["source"] or uid):
            fields["metadata"]["source"] = None
    records = [HistoryLogRecord(**fields) for fields in found]
    exported = LogObject("asset", uid, await assignments.get_asset_name(uid), asset.owner_id)
    return await encode_list(count, records, request, user, store, exported)


@routes.get(
    HISTORY_PATH + "actions/",
    response=ActionList,
    title=Message("Actions in the history"),
    description=Message(
        "The actions that are in the history of an asset. Only for managers of the asset."
    ),
    is_costly=True,
)
async def asset_history_actions(
    uid: str, user: User, assignments: AssignmentStore, store: LogStore
) -> ActionList:
    asset = await assignments.authorize(uid, user)
    asset.require("manage_asset")
    return ActionList(
        await store.list_actions(log.c.log_type == PROJECT, *_conditions(asset, user))
    )


def _conditions(asset: AuthorizedAsset, user: User) -> list[ColumnElement[bool]]:
    """Which entries a manager sees. To whom the owner offers an asset is between the two of them."""
    found: list[ColumnElement[bool]] = [log.c.object_uid == asset.uid]
    if not asset.is_owner and not user.sees_everything:
        found.append(log.c.action.not_in(INVITE_ACTIONS))
    return found
