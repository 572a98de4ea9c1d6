"""The assets that a team can use, and what people gain by joining it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import users
from fieldgate.assets.authorization import AssignmentScope, allowed_permissions
from fieldgate.assets.sharing.change_log import effect_row, permission_entry
from fieldgate.assets.sharing.grants import Action, AssetGrants
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.assets.store import only_listed
from fieldgate.assets.tables import assets, assignments, grants_now, is_live
from fieldgate.db import AsyncDatabase, paginate
from fieldgate.db.log import LogObject, LogUser, write_log
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest
from fieldgate.permissions import rules
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason
from fieldgate.permissions.rules import Codenames, PermissionState
from fieldgate.permissions.submission_filters import Filters

MAX_PREVIEWED_ASSETS = 200  # the newest
MAX_COMPARISONS = 10_000  # of people and assets in one preview


class TeamAsset(msgspec.Struct, frozen=True):
    """What a team, or a person through it, may do with an asset."""

    asset: AssetGrants
    permissions: Codenames
    filters: Filters
    username: str = ""


class TeamAssets:
    def __init__(self, database: AsyncDatabase, store: AssignmentStore) -> None:
        self._database = database
        self._store = store

    async def page(
        self, caller: User, team_id: int, page: PageRequest
    ) -> tuple[int, list[TeamAsset]]:
        """Return the number of assets that a team can use and a caller can see, and a page of them, newest first."""

        def held(transaction: SharingTransaction) -> list[TeamAsset]:
            loaded = {each.uid: each for each in transaction.load_many(uids, [team_id])}
            found = [
                (each, _state(each.scope, team_id)) for uid in uids if (each := loaded.get(uid))
            ]
            return [TeamAsset(asset, *_held(asset, state)) for asset, state in found]

        count, uids = await self._uids(caller, team_id, page)
        return count, await self._store.change(uids, held, is_dry_run=True)

    async def counts(self, caller: User, team_ids: Collection[int]) -> Mapping[int, int]:
        """Return how many assets teams can use and a caller can see."""
        is_on_asset = assignments.c.asset_id.in_((assets.c.id, assets.c.parent_id))
        query = select(assignments.c.user_id, func.count(assets.c.id.distinct()).label("number"))
        query = query.join_from(assignments, assets, is_on_asset).where(
            _is_granted(team_ids), is_live()
        )
        found = await self._database.all(only_listed(query, caller).group_by(assignments.c.user_id))
        return Counter({row.user_id: row.number for row in found})

    async def gained(
        self, caller: User, team_id: int, people: Mapping[int, str]
    ) -> list[TeamAsset]:
        """Return what people have only through a team, or would have, on assets that a caller can see.

        Those who do not manage an asset learn what the team may do with it, not what others may do already. `people`
        are usernames by id. Only the newest assets are compared.
        """

        def compare(transaction: SharingTransaction) -> list[TeamAsset]:
            loaded = transaction.load_many(uids, [team_id, caller.id, *people])
            return transaction.run_by_cost(
                len(loaded) * len(people), _compare, loaded, caller, team_id, people
            )

        limit = max(1, min(MAX_PREVIEWED_ASSETS, MAX_COMPARISONS // max(1, len(people))))
        _, uids = await self._uids(caller, team_id, PageRequest(limit, 0))
        return await self._store.change(uids, compare, is_dry_run=True)

    async def _uids(
        self, caller: User, team_id: int, page: PageRequest
    ) -> tuple[int, Sequence[str]]:
        order = [assets.c.modified_at.desc(), assets.c.id]
        found = await paginate(
            self._database, _select_assets(caller, team_id), page, order_by=order
        )
        return found.total, [row.uid for row in found.rows]


async def log_deleted_teams(
    connection: AsyncConnection, by: Caller, team_ids: Collection[int]
) -> None:
    """Add an entry to the log for each asset and team that is deleted next. Locks the teams: they get no more."""
    locked = select(users.c.id).where(users.c.id.in_(team_ids)).order_by(users.c.id)
    await connection.execute(locked.with_for_update())
    asset, team = (
        (assets.c.uid, assets.c.name, assets.c.owner_id),
        (users.c.id, users.c.uid, users.c.username),
    )
    joined = select(*asset, *team, assignments.c.permission).join_from(assignments, assets)
    held = joined.join(users, users.c.id == assignments.c.user_id).where(_is_granted(team_ids))
    rows = await connection.execute(
        held.order_by(assets.c.id, users.c.id, assignments.c.permission)
    )
    entries = []
    for key, group in groupby(rows, lambda row: row[:6]):
        removed = [Effect(row.permission, EffectKind.REMOVED, EffectReason.ASKED) for row in group]
        entries.append(
            permission_entry(
                LogObject("asset", *key[:3]),
                LogUser(*key[3:]),
                "modify-user-permissions",
                {"act": Action.REMOVE_ALL.value},
                ([each.permission for each in removed], ()),
                list(map(effect_row, removed)),
            )
        )
    await write_log(connection, by, *entries)


def _compare(
    loaded: Iterable[AssetGrants], caller: User, team_id: int, people: Mapping[int, str]
) -> list[TeamAsset]:
    found = []
    for asset in loaded:
        of_team = TeamAsset(asset, *_held(asset, _state(asset.scope, team_id)))
        may_manage = "manage_asset" in allowed_permissions(caller, asset.scope)
        for user_id, username in people.items():
            if not may_manage and user_id != caller.id:
                found.append(msgspec.structs.replace(of_team, username=username))
                continue
            others = [each for each in asset.scope.teams.get(user_id, ()) if each != team_id]
            held, filters = _held(asset, _state(asset.scope, user_id, *others, team_id))
            if gained := held - _held(asset, _state(asset.scope, user_id, *others))[0]:
                found.append(TeamAsset(asset, gained, filters, username))
    return found


def _select_assets(caller: User, team_id: int) -> Select[Any]:
    """Assets on which the team has permissions, or on their collections."""
    granted = select(assignments.c.asset_id).where(_is_granted([team_id]))
    is_shared = assets.c.id.in_(granted) | assets.c.parent_id.in_(granted)
    return only_listed(select(assets.c.uid).where(is_shared, is_live()), caller)


def _is_granted(team_ids: Collection[int]) -> ColumnElement[bool]:
    return and_(assignments.c.user_id.in_(team_ids), grants_now())


def _state(scope: AssignmentScope, user_id: int, *team_ids: int) -> PermissionState:
    """Return the state that a user would have as a member of these teams only."""
    return msgspec.structs.replace(scope, teams={user_id: team_ids}).state_of(user_id)


def _held(asset: AssetGrants, state: PermissionState) -> tuple[Codenames, Filters]:
    return rules.own_permissions(state, asset.asset_type), rules.own_filters(
        state, asset.asset_type
    )
