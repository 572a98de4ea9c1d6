"""Transfer all assets of a user to another one, in one transaction, with its history.

An owner has every permission and no assignments. So the new owner's assignments on these assets are deleted. Those of
all other users stay. The former owner keeps what a collection of somebody else passes down, and nothing else.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Insert, and_, func, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import users
from fieldgate.assets.sharing.grants import Action
from fieldgate.assets.store import TOPIC
from fieldgate.assets.tables import assets, assignment_history, assignments
from fieldgate.db import Database, DataVersions, Timestamp, now
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind, EffectReason


class TransferCounts(msgspec.Struct, frozen=True):
    """How many assets of each type change owners, and how many assignments of the new owner are deleted."""

    assets: Mapping[str, int]
    assignments: int


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Ids of the two owners and of the superuser."""

    owner_id: int
    new_owner_id: int
    by: int


class OwnershipStore:
    def __init__(self, database: Database, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions

    async def preview(self, transfer: Transfer) -> TransferCounts:
        async with self._database.read_transaction() as connection:
            return await _count(connection, transfer)

    async def transfer(self, transfer: Transfer) -> TransferCounts:
        async with self._database.transaction() as connection:
            if not self._database.is_sqlite:  # SQLite has one writer at a time
                await _lock(connection, transfer)
            counts = await _count(connection, transfer)
            for statement in _history(transfer, counts.assets):
                await connection.execute(statement)
            await connection.execute(assignments.delete().where(_is_replaced(transfer)))
            owned = assets.update().where(assets.c.owner_id == transfer.owner_id)
            await connection.execute(owned.values(owner_id=transfer.new_owner_id))
            await self._data_versions.bump(connection, TOPIC)
            return counts


async def _lock(connection: AsyncConnection, transfer: Transfer) -> None:
    """Lock the assets like every change of assignments: collections first, each in order of id.

    Then lock the users, so that nobody creates an asset or an assignment for them before the transfer is done.
    """
    is_owned = assets.c.owner_id == transfer.owner_id
    is_collection = assets.c.asset_type == "collection"
    parents = select(assets.c.parent_id).where(is_owned, assets.c.parent_id.is_not(None))
    for condition in (assets.c.id.in_(parents) | and_(is_owned, is_collection), and_(is_owned, ~is_collection)):
        await connection.execute(select(assets.c.id).where(condition).order_by(assets.c.id).with_for_update())
    both = users.c.id.in_((transfer.owner_id, transfer.new_owner_id))
    await connection.execute(select(users.c.id).where(both).order_by(users.c.id).with_for_update())


async def _count(connection: AsyncConnection, transfer: Transfer) -> TransferCounts:
    by_type = select(assets.c.asset_type, func.count().label("number")).where(assets.c.owner_id == transfer.owner_id)
    found = await connection.execute(by_type.group_by(assets.c.asset_type).order_by(assets.c.asset_type))
    counts = {row.asset_type: row.number for row in found}
    replaced = select(func.count()).select_from(assignments).where(_is_replaced(transfer))
    return TransferCounts(counts, (await connection.execute(replaced)).scalar_one())


def _is_replaced(transfer: Transfer) -> ColumnElement[bool]:
    """The new owner's assignments on the assets."""
    owned = select(assets.c.id).where(assets.c.owner_id == transfer.owner_id)
    return and_(assignments.c.user_id == transfer.new_owner_id, assignments.c.asset_id.in_(owned))


def _history(transfer: Transfer, types: Mapping[str, int]) -> Iterator[Insert]:
    """Statements that write every effect to the history. Their number does not depend on the number of assets."""
    held = (
        select(assignments.c.permission)
        .where(
            assignments.c.asset_id == assets.c.id,
            assignments.c.user_id == transfer.new_owner_id,
            assignments.c.is_denied.is_(False),
        )
        .correlate(assets)
    )
    for asset_type in types:
        is_moved = and_(assets.c.owner_id == transfer.owner_id, assets.c.asset_type == asset_type)
        for permission in sorted(rules.owner_permissions(asset_type)):
            removed = Effect(permission, EffectKind.REMOVED, EffectReason.ASKED)
            yield _entries(transfer, transfer.owner_id, removed, is_moved)
            granted = Effect(permission, EffectKind.GRANTED, EffectReason.ASKED)
            yield _entries(transfer, transfer.new_owner_id, granted, and_(is_moved, literal(permission).not_in(held)))
        partial = Effect(PARTIAL, EffectKind.REMOVED, EffectReason.CONTRADICTED, "manage_asset")
        yield _entries(transfer, transfer.new_owner_id, partial, and_(is_moved, literal(PARTIAL).in_(held)))


def _entries(transfer: Transfer, user_id: int, effect: Effect, condition: ColumnElement[bool]) -> Insert:
    """Insert an entry for each asset that meets the condition."""
    values: dict[str, ColumnElement[Any]] = {
        "asset_id": assets.c.id,
        "made_at": literal(now(), Timestamp()),
        "made_by": literal(transfer.by),
        "act": literal(Action.TRANSFER.value),
        "user_id": literal(user_id),
        "permission": literal(effect.permission),
        "what": literal(effect.kind.value),
        "why": literal(effect.reason.value),
        "because": literal(effect.because),
    }
    return insert(assignment_history).from_select(list(values), select(*values.values()).where(condition))
