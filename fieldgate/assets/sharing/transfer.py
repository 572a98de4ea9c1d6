"""Transfer assets of a user to another one, in one transaction, with its entries of the log.

An owner has every permission and no assignments. So the new owner's assignments on these assets are deleted. Those of
all other users stay. The former owner of all assets keeps what a collection of somebody else passes down, and nothing
else; for assets that were offered, see `ownership_invites`.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

import msgspec
from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import users
from fieldgate.assets.sharing.change_log import EffectRow, effect_row, permission_entry
from fieldgate.assets.sharing.grants import Action
from fieldgate.assets.store import TOPIC, lock_assets
from fieldgate.assets.tables import assets, assignments, has_not_ended, is_live
from fieldgate.db import AsyncDatabase, DataVersions, Timestamp, insert_rows, new_uid, now
from fieldgate.db.log import LogEntry, LogObject, LogUser, write_log
from fieldgate.identity import User
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason
from fieldgate.permissions.rules import Codenames


class TransferCounts(msgspec.Struct, frozen=True):
    """How many assets of each type change owners, and how many assignments of the new owner are deleted."""

    assets: Mapping[str, int]
    assignments: int


class Transfer(msgspec.Struct, frozen=True):
    """Ids of the two owners, and who does it: a superuser moves everything, the new owner what was offered."""

    owner_id: int
    new_owner_id: int
    by: User
    asset_ids: tuple[int, ...] | None = (
        None  # None: all. Of some, the former owner keeps `manage_asset`
    )

    @property
    def is_moved(self) -> ColumnElement[bool]:
        """Everything includes the trash: the former owner could restore from it."""
        is_owned = assets.c.owner_id == self.owner_id
        return (
            is_owned
            if self.asset_ids is None
            else and_(is_owned, is_live(), assets.c.id.in_(self.asset_ids))
        )

    def kept_permissions(self, asset_type: str) -> Codenames:
        """What the former owner can do afterwards."""
        return (
            frozenset()
            if self.asset_ids is None
            else rules.with_implied(["manage_asset"], asset_type)
        )


class OwnershipStore:
    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    async def preview(self, transfer: Transfer) -> TransferCounts:
        async with self._database.read_transaction() as connection:
            return await _count(connection, transfer)

    async def transfer(self, transfer: Transfer) -> TransferCounts:
        async with self._database.transaction() as connection:
            await connection.run_sync(lock_assets, self._database, transfer.is_moved)
            # Nobody creates an asset or an assignment for them before the transfer is done.
            both = users.c.id.in_((transfer.owner_id, transfer.new_owner_id))
            await connection.execute(
                select(users.c.id).where(both).order_by(users.c.id).with_for_update()
            )
            counts = await _count(connection, transfer)
            await move_assets(connection, transfer)
            await self._data_versions.bump(connection, TOPIC)
            return counts


async def move_assets(connection: AsyncConnection, transfer: Transfer) -> None:
    """Change the owner of locked assets, with its entries of the log. The caller bumps the data version."""
    await write_log(connection, transfer.by, *await _log_entries(connection, transfer))
    await connection.execute(assignments.delete().where(_is_replaced(transfer)))
    types: dict[int, str] = {}
    for row in await connection.execute(
        select(assets.c.id, assets.c.asset_type).where(transfer.is_moved)
    ):
        types[row.id] = row.asset_type
    await insert_rows(connection, assignments, _kept_rows(transfer, types))
    await connection.execute(
        assets.update().where(transfer.is_moved).values(owner_id=transfer.new_owner_id)
    )


def _kept_rows(transfer: Transfer, types: Mapping[int, str]) -> list[dict[str, object]]:
    """The assignments that the former owner gets, given the types of assets by id."""
    common = {"user_id": transfer.owner_id, "is_denied": False, "filters": None, "expires_at": None}
    timestamp = Timestamp.pack(now())
    return [
        {
            **common,
            "uid": new_uid("p"),
            "asset_id": asset_id,
            "permission": permission,
            "created_at": timestamp,
        }
        for asset_id, asset_type in types.items()
        for permission in sorted(transfer.kept_permissions(asset_type))
    ]


async def _count(connection: AsyncConnection, transfer: Transfer) -> TransferCounts:
    by_type = select(assets.c.asset_type, func.count().label("number")).where(transfer.is_moved)
    found = await connection.execute(
        by_type.group_by(assets.c.asset_type).order_by(assets.c.asset_type)
    )
    counts = {row.asset_type: row.number for row in found}
    replaced = (
        select(func.count()).select_from(assignments).where(_is_replaced(transfer), has_not_ended())
    )
    return TransferCounts(counts, (await connection.execute(replaced)).scalar_one())


def _is_replaced(transfer: Transfer) -> ColumnElement[bool]:
    """The new owner's assignments on the assets."""
    moved = select(assets.c.id).where(transfer.is_moved)
    return and_(assignments.c.user_id == transfer.new_owner_id, assignments.c.asset_id.in_(moved))


async def _log_entries(connection: AsyncConnection, transfer: Transfer) -> list[LogEntry]:
    """An entry per asset about its new owner, and one about what its former owner loses, if anything.

    The number of statements does not depend on the number of assets.
    """
    found = select(users.c.id, users.c.uid, users.c.username)
    both = found.where(users.c.id.in_((transfer.owner_id, transfer.new_owner_id)))
    people = {
        row.id: LogUser(row.id, row.uid, row.username) for row in await connection.execute(both)
    }
    held: dict[int, set[str]] = defaultdict(set)
    granted = select(assignments.c.asset_id, assignments.c.permission).where(
        _is_replaced(transfer), has_not_ended()
    )
    for asset_id, permission in await connection.execute(
        granted.where(assignments.c.is_denied.is_(False))
    ):
        held[asset_id].add(permission)
    moved = select(assets.c.id, assets.c.uid, assets.c.name, assets.c.asset_type)
    entries = []
    for row in await connection.execute(moved.where(transfer.is_moved).order_by(assets.c.id)):
        asset = LogObject("asset", row.uid, row.name, transfer.owner_id)
        owner, kept = (
            rules.owner_permissions(row.asset_type),
            transfer.kept_permissions(row.asset_type),
        )
        for user_id, action, before, after in (
            (transfer.owner_id, "modify-user-permissions", owner, kept),
            (transfer.new_owner_id, "transfer", held[row.id], owner),
        ):
            effects = _effects(frozenset(before), frozenset(after))
            details = {"act": Action.TRANSFER.value}
            if effects or user_id == transfer.new_owner_id:
                entries.append(
                    permission_entry(
                        asset, people[user_id], action, details, (before, after), effects
                    )
                )
    return entries


@lru_cache(256)
def _effects(before: frozenset[str], after: frozenset[str]) -> list[EffectRow]:
    gained = [
        Effect(each, EffectKind.GRANTED, EffectReason.ASKED) for each in sorted(after - before)
    ]
    asked = [
        Effect(each, EffectKind.REMOVED, EffectReason.ASKED)
        for each in sorted(before - after - {PARTIAL})
    ]
    partial = Effect(PARTIAL, EffectKind.REMOVED, EffectReason.CONTRADICTED, "manage_asset")
    return list(
        map(effect_row, [*gained, *asked, *([partial] if PARTIAL in before - after else [])])
    )
