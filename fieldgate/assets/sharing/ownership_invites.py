"""Ownership by invitation: an owner offers assets to another user, who accepts or declines.

invites = OwnershipInvites(database, data_versions, quota, days=14)
uid = await invites.create(user, "amina", [asset_uid])
await invites.answer(amina, uid, "accepted")

Accepting moves all assets in one transaction. The former owner keeps `manage_asset`. Assets that were deleted or went
to somebody else meanwhile are left out. An invitation that is too old counts as expired, whatever is stored. One that
is cancelled before its recipient saw it is deleted.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Row, Select, and_, case, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.sharing.grant_parsing import user_not_found_message
from fieldgate.assets.sharing.transfer import Transfer, move_assets
from fieldgate.assets.store import TOPIC, AssetStore, lock_assets
from fieldgate.assets.tables import (
    assets,
    has_expired,
    invite_status,
    ownership_invites,
    ownership_transfers,
)
from fieldgate.db import AsyncDatabase, DataVersions, in_values, new_uid, now, paginate
from fieldgate.db.log import PROJECT, LogEntry, LogObject, LogUser, write_log
from fieldgate.errors import Conflict, Forbidden, NotFound, ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.pagination import PageRequest

Answer = Literal["accepted", "declined", "cancelled"]
InviteStatus = Literal[
    "pending", "accepted", "declined", "cancelled", "in_progress", "complete", "expired", "failed"
]
TransferStatus = Literal["pending", "in_progress", "success", "failed", "cancelled"]

DELETED, MOVED, DISABLED = "deleted", "moved", "disabled"  # why a transfer failed
ERRORS = {
    DELETED: Message("This form was deleted."),
    MOVED: Message("This form belongs to somebody else now."),
    DISABLED: Message("The account of the sender is disabled."),
}
_ACTIONS = {
    "pending": "transfer-invite",
    "declined": "transfer-decline",
    "cancelled": "transfer-cancel",
}  # in the log
INVITE_ACTIONS = frozenset(_ACTIONS.values())


class Invite(msgspec.Struct, frozen=True):
    """An invitation with its transfers."""

    row: Row[Any]
    transfers: Sequence[Row[Any]]


class OwnershipInvites:
    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, quota: StorageQuota, days: int
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._quota = quota
        self._lifetime = timedelta(days=days)
        self._assets = AssetStore(database, data_versions)

    async def list_own(
        self,
        user: User,
        page: PageRequest,
        status: InviteStatus | None = None,
        *,
        received: bool | None = None,
    ) -> tuple[int, list[Invite]]:
        """Return a page of what the user sent or received, newest first; of all states without a `status`."""
        query = _select_invites().where(_is_party(user))
        if status is not None:
            query = query.where(invite_status() == status)
        if received is not None:
            query = query.where((ownership_invites.c.recipient_id == user.id) == received)
        found = await paginate(
            self._database, query, page, order_by=[ownership_invites.c.id.desc()]
        )
        await self._mark_seen(user, found.rows)
        return found.total, await self._with_transfers(found.rows)

    async def find(self, user: User, uid: str) -> Invite:
        """Return an invitation that the user sent or received; superusers find all. Raise `NotFound`."""
        query = _select_invites().where(ownership_invites.c.uid == uid)
        if not user.is_superuser:
            query = query.where(_is_party(user))
        found = await self._database.all(query)
        if not found:
            raise NotFound(Message("There is no invitation {uid}.", uid=uid[:50]))
        await self._mark_seen(user, found)
        return (await self._with_transfers(found))[0]

    async def _with_transfers(self, rows: Sequence[Row[Any]]) -> list[Invite]:
        transfers = await self._database.all(_select_transfers([row.id for row in rows]))
        return [
            Invite(row, [each for each in transfers if each.invite_id == row.id]) for row in rows
        ]

    async def _mark_seen(self, user: User, rows: Sequence[Row[Any]]) -> None:
        new_ids = [row.id for row in rows if row.recipient_id == user.id and row.seen_at is None]
        if new_ids:
            seen = (
                ownership_invites.update()
                .where(ownership_invites.c.id.in_(new_ids))
                .values(seen_at=now())
            )
            async with self._database.transaction() as connection:
                await connection.execute(seen)

    async def create(self, user: User, recipient_name: str, uids: Collection[str]) -> str:
        """Offer assets of a user to another one. Return the uid of the invitation. Raise `ValidationError`."""
        async with self._database.transaction() as connection:
            await connection.run_sync(lock_assets, self._database, assets.c.uid.in_(uids))
            recipient = await _find_recipient(connection, user, recipient_name)
            offered = await _find_offered(connection, user, uids)
            timestamp, uid = now(), new_uid("o")
            new = ownership_invites.insert().values(
                uid=uid,
                sender_id=user.id,
                recipient_id=recipient.id,
                status="pending",
                created_at=timestamp,
                modified_at=timestamp,
                expires_at=timestamp + self._lifetime,
            )
            invite_id = (
                await connection.execute(new.returning(ownership_invites.c.id))
            ).scalar_one()
            common = {
                "invite_id": invite_id,
                "status": "pending",
                "error": "",
                "modified_at": timestamp,
            }
            transfers = [
                {**common, "uid": new_uid("o"), "asset_id": row.id, "asset_name": row.name}
                for row in offered
            ]
            await connection.execute(ownership_transfers.insert(), transfers)
            await _log(connection, user, "pending", recipient, offered)
            return uid

    async def answer(self, user: User, uid: str, answer: Answer) -> Invite:
        """Accept or decline as the recipient, or cancel as the sender. Return the invitation afterwards."""
        invite = await self.find(user, uid)
        role = invite.row.sender_id if answer == "cancelled" else invite.row.recipient_id
        if user.id != role:
            raise Forbidden(
                Message(
                    "Only the sender can cancel an invitation, and only the recipient can accept or decline it."
                )
            )
        if answer == "accepted":
            moved = [each.asset_id for each in invite.transfers]
            await self._quota.check(user.id, await self._assets.count_bytes(assets.c.id.in_(moved)))
        async with self._database.transaction() as connection:
            if answer == "accepted":
                await self._accept(connection, user, invite)
            else:
                await _require_open(connection, uid)
                await _end(connection, invite.row.id, answer)
                await _log_answer(connection, user, answer, invite.row)
            row = (
                await connection.execute(
                    _select_invites().where(ownership_invites.c.id == invite.row.id)
                )
            ).one()
            transfers = (await connection.execute(_select_transfers([row.id]))).all()
            await _delete_unseen(connection, [row.id])
            return Invite(row, transfers)

    async def delete(self, user: User, uid: str) -> None:
        """Cancel and delete an open invitation, as its sender."""
        invite = await self.find(user, uid)
        if user.id != invite.row.sender_id:
            raise Forbidden(Message("Only the sender can delete an invitation."))
        async with self._database.transaction() as connection:
            await _require_open(connection, uid)
            await _log_answer(connection, user, "cancelled", invite.row)
            await connection.execute(
                ownership_invites.delete().where(ownership_invites.c.id == invite.row.id)
            )

    async def _accept(self, connection: AsyncConnection, user: User, invite: Invite) -> None:
        sender_id, asset_ids = invite.row.sender_id, [each.asset_id for each in invite.transfers]
        # With what is in a collection: it may leave it.
        await connection.run_sync(
            lock_assets,
            self._database,
            assets.c.id.in_(asset_ids) | assets.c.parent_id.in_(asset_ids),
        )
        both = select(users.c.id, users.c.disabled_at).where(users.c.id.in_((sender_id, user.id)))
        people = (await connection.execute(both.order_by(users.c.id).with_for_update())).all()
        await _require_open(connection, invite.row.uid)
        is_disabled = any(row.disabled_at is not None for row in people)
        moved = []
        for row in await connection.execute(_select_transfers([invite.row.id])):
            error = DISABLED if is_disabled else _find_error(row, sender_id)
            status = "failed" if error else "success"
            if not error:
                moved.append(row.asset_id)
            values = {"status": status, "error": error, "modified_at": now()}
            await connection.execute(
                ownership_transfers.update()
                .where(ownership_transfers.c.id == row.id)
                .values(values)
            )
        if moved:
            await move_assets(connection, Transfer(sender_id, user.id, user, tuple(moved)))
            await self._leave_collections(connection, sender_id, moved)
            await self._data_versions.bump(connection, TOPIC)
        await _set_status(
            connection, ownership_invites.c.id == invite.row.id, "complete" if moved else "failed"
        )

    async def _leave_collections(
        self, connection: AsyncConnection, sender_id: int, moved: Sequence[int]
    ) -> None:
        """Take moved assets out of collections of the sender, and what stays with the sender out of moved ones.

        Otherwise the owner of a collection would get permissions on assets that nobody offered.
        """
        collections = assets.alias()
        of_sender = select(collections.c.id).where(collections.c.owner_id == sender_id)
        leaves = or_(
            and_(assets.c.id.in_(moved), assets.c.parent_id.in_(of_sender)),
            and_(assets.c.parent_id.in_(moved), assets.c.owner_id == sender_id),
        )
        left = set((await connection.execute(select(assets.c.parent_id).where(leaves))).scalars())
        await connection.execute(assets.update().where(leaves).values(parent_id=None))
        for collection_id in sorted(left):
            await self._assets.update_collection_summary(connection, collection_id)


async def expire_invites(database: AsyncDatabase) -> None:
    """Store that old invitations are expired. Readers see it before."""
    async with database.transaction() as connection:
        old = select(ownership_invites.c.id).where(has_expired()).with_for_update(skip_locked=True)
        for invite_id in (await connection.execute(old)).scalars().all():
            await _end(connection, invite_id, "expired")


async def cancel_transfers(
    database: AsyncDatabase, connection: AsyncConnection, asset_ids: Collection[int]
) -> None:
    """End open transfers of assets that go to the trash, and invitations that have no others."""
    is_open = ownership_transfers.c.status == "pending"
    ended = and_(is_open, in_values(database, ownership_transfers.c.asset_id, asset_ids))
    # Locked before their transfers, as those who answer do.
    with_ended = ownership_invites.c.id.in_(select(ownership_transfers.c.invite_id).where(ended))
    locked = (
        select(ownership_invites.c.id)
        .where(with_ended)
        .order_by(ownership_invites.c.id)
        .with_for_update()
    )
    invite_ids = (await connection.execute(locked)).scalars().all()
    cancelled = {"status": "cancelled", "error": DELETED, "modified_at": now()}
    await connection.execute(ownership_transfers.update().where(ended).values(cancelled))
    others = select(ownership_transfers.c.invite_id).where(is_open)
    done = and_(ownership_invites.c.id.in_(invite_ids), ownership_invites.c.id.not_in(others))
    await _set_status(connection, and_(done, ownership_invites.c.status == "pending"), "cancelled")
    await _delete_unseen(connection, invite_ids)


async def _delete_unseen(connection: AsyncConnection, invite_ids: Sequence[int]) -> None:
    """Delete those of some invitations that were cancelled before their recipients saw them."""
    is_unseen = and_(
        ownership_invites.c.status == "cancelled", ownership_invites.c.seen_at.is_(None)
    )
    await connection.execute(
        ownership_invites.delete().where(ownership_invites.c.id.in_(invite_ids), is_unseen)
    )


def _is_party(user: User) -> ColumnElement[bool]:
    return or_(
        ownership_invites.c.sender_id == user.id, ownership_invites.c.recipient_id == user.id
    )


def _select_invites() -> Select[Any]:
    senders, recipients = users.alias(), users.alias()
    return (
        select(
            ownership_invites.c.id,
            ownership_invites.c.uid,
            ownership_invites.c.sender_id,
            ownership_invites.c.recipient_id,
            ownership_invites.c.created_at,
            ownership_invites.c.modified_at,
            ownership_invites.c.seen_at,
            invite_status().label("status"),
            senders.c.username.label("sender"),
            recipients.c.username.label("recipient"),
            recipients.c.uid.label("recipient_uid"),
        )
        .join_from(ownership_invites, senders, senders.c.id == ownership_invites.c.sender_id)
        .join(recipients, recipients.c.id == ownership_invites.c.recipient_id)
    )


def _select_transfers(invite_ids: Collection[int]) -> Select[Any]:
    """Transfers with their assets. Those of an invitation that is no longer open are not, either."""
    is_over = and_(ownership_transfers.c.status == "pending", invite_status() != "pending")
    return (
        select(
            ownership_transfers.c.id,
            ownership_transfers.c.uid,
            ownership_transfers.c.invite_id,
            ownership_transfers.c.asset_id,
            ownership_transfers.c.error,
            ownership_transfers.c.modified_at,
            case((is_over, "cancelled"), else_=ownership_transfers.c.status).label("status"),
            assets.c.uid.label("asset_uid"),
            ownership_transfers.c.asset_name.label("name"),
            assets.c.owner_id,
            assets.c.deleted_at,
        )
        .join_from(ownership_transfers, assets, assets.c.id == ownership_transfers.c.asset_id)
        .join(ownership_invites, ownership_invites.c.id == ownership_transfers.c.invite_id)
        .where(ownership_transfers.c.invite_id.in_(invite_ids))
        .order_by(ownership_transfers.c.id)
    )


async def _find_recipient(connection: AsyncConnection, user: User, name: str) -> Row[Any]:
    """Return the row of a user. A disabled one, and the public, are as unknown as others."""
    is_named = and_(users.c.username_key == username_key(name), users.c.id != PUBLIC_USER_ID)
    query = select(users).where(is_named, users.c.disabled_at.is_(None))
    row = (await connection.execute(query.with_for_update(read=True))).one_or_none()
    if row is None:
        raise ValidationError({"recipient": [user_not_found_message(name)]})
    if row.id == user.id:
        raise ValidationError(
            {"recipient": [Message("These forms belong to you already. Choose another user.")]}
        )
    return row


async def _find_offered(
    connection: AsyncConnection, user: User, uids: Collection[str]
) -> Sequence[Row[Any]]:
    """Return the rows of locked assets, if the user owns all, and none is offered already."""
    own = select(assets).where(
        assets.c.uid.in_(uids), assets.c.owner_id == user.id, assets.c.deleted_at.is_(None)
    )
    rows = (await connection.execute(own.order_by(assets.c.id))).all()
    offered = _select_open().where(assets.c.id.in_([row.id for row in rows]))
    taken = set((await connection.execute(offered.with_only_columns(assets.c.uid))).scalars())
    known = {row.uid for row in rows}
    errors = [Message("You own no form {uid}.", uid=uid[:50]) for uid in uids if uid not in known]
    errors += [
        Message("{uid} is part of another invitation. Cancel that one first.", uid=uid)
        for uid in sorted(taken)
    ]
    if errors:
        raise ValidationError({"assets": errors})
    return rows


def _select_open() -> Select[Any]:
    return (
        select(ownership_transfers.c.id)
        .join_from(ownership_transfers, ownership_invites)
        .join(assets, assets.c.id == ownership_transfers.c.asset_id)
        .where(
            ownership_transfers.c.status == "pending",
            invite_status() == "pending",
            assets.c.owner_id
            == ownership_invites.c.sender_id,  # a superuser may have moved it since
        )
    )


async def _require_open(connection: AsyncConnection, uid: str) -> None:
    """Lock an invitation, and raise an error if somebody answered it already."""
    query = select(invite_status()).where(ownership_invites.c.uid == uid).with_for_update()
    if (await connection.execute(query)).scalar() != "pending":
        raise Conflict(Message("This invitation is no longer open."))


def _find_error(row: Row[Any], sender_id: int) -> str:
    if row.deleted_at is not None or row.status != "pending":
        return DELETED
    return "" if row.owner_id == sender_id else MOVED


async def _end(connection: AsyncConnection, invite_id: int, status: InviteStatus) -> None:
    """End an invitation without moving anything."""
    is_open = and_(
        ownership_transfers.c.invite_id == invite_id, ownership_transfers.c.status == "pending"
    )
    ended = ownership_transfers.update().where(is_open)
    await connection.execute(ended.values(status="cancelled", modified_at=now()))
    await _set_status(connection, ownership_invites.c.id == invite_id, status)


async def _set_status(
    connection: AsyncConnection, condition: ColumnElement[bool], status: InviteStatus
) -> None:
    await connection.execute(
        ownership_invites.update().where(condition).values(status=status, modified_at=now())
    )


async def _log_answer(
    connection: AsyncConnection, user: User, answer: Answer, invite: Row[Any]
) -> None:
    query = select(assets).join(ownership_transfers, ownership_transfers.c.asset_id == assets.c.id)
    offered = (
        await connection.execute(query.where(ownership_transfers.c.invite_id == invite.id))
    ).all()
    recipient = LogUser(invite.recipient_id, invite.recipient_uid, invite.recipient)
    await _log(connection, user, answer, recipient, offered)


async def _log(
    connection: AsyncConnection,
    user: User,
    status: str,
    recipient: Any,
    offered: Sequence[Row[Any]],
) -> None:
    subject = LogUser(recipient.id, recipient.uid, recipient.username)
    objects = [LogObject("asset", row.uid, row.name, row.owner_id) for row in offered]
    entries = (
        LogEntry(log_type=PROJECT, action=_ACTIONS[status], object=each, subject=subject)
        for each in objects
    )
    await write_log(connection, user, *entries)
