"""What a caller may do with an asset: the question every handler asks first.

asset = await access.to(uid, caller)  # 404 where the caller may not see it
asset.need("change_asset")  # 403 where he may see it, and no more

A write asks again when it holds the lock (`as_seen`): what was allowed a moment ago may be taken away since.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Integer, Row, bindparam, literal_column, select, true, union
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.sharing.model.assignments import Assignment, Place
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import Database, PreparedQuery
from fieldgate.errors import Forbidden, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Codenames, PermissionState


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """An asset in the eyes of a caller."""

    id: int
    uid: str
    asset_type: str
    owner_id: int
    is_owner: bool
    is_superuser: bool
    allowed: Codenames

    @property
    def may_delete(self) -> bool:
        return self.is_owner or self.is_superuser

    @property
    def may_manage(self) -> bool:
        return "manage_asset" in self.allowed

    def need(self, permission: str) -> None:
        """Refuse who lacks the permission."""
        if permission not in self.allowed:
            raise Forbidden(
                Message("You may see this asset, but this needs the permission {permission}.", permission=permission)
            )

    def need_to_delete(self) -> None:
        """Deleting cannot be assigned: not even to who manages everything else."""
        if not self.may_delete:
            raise Forbidden(Message("You may see this asset, but only its owner can delete it."))


def no_asset(uid: str) -> NotFound:
    return NotFound(Message("There is no asset {uid}.", uid=uid[:50]))


def user_of(caller: Caller) -> int:
    """The user whose assignments count for a caller."""
    return PUBLIC_USER_ID if caller.id is None else caller.id


def allowed_to(caller: Caller, place: Place) -> Codenames:
    """What a caller may do there."""
    if caller.is_superuser:
        return rules.owner_permissions(place.asset_type)
    return rules.effective_permissions(place.standing(user_of(caller)), place.asset_type)


_ROWS = (
    assignments.c.asset_id,
    assignments.c.user_id,
    assignments.c.permission,
    assignments.c.is_denied,
)


class Access:
    def __init__(self, database: Database) -> None:
        self._database = database
        collections = assets.alias()
        # Joined user by user: given both in a list, SQLite may read all that anybody holds on the asset.
        user = select(bindparam("user_id", type_=Integer).label("id"))
        who = union(user, select(literal_column(str(PUBLIC_USER_ID), Integer))).subquery("who")
        self._find = PreparedQuery(
            database,
            select(assets.c.id, assets.c.asset_type, assets.c.owner_id, collections.c.owner_id, *_ROWS)
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .join(who, true())
            .outerjoin(
                assignments,
                assignments.c.asset_id.in_([assets.c.id, assets.c.parent_id]) & (assignments.c.user_id == who.c.id),
            )
            .where(assets.c.uid == bindparam("uid")),
        )

    async def to(self, uid: str, caller: Caller) -> Asset:
        """The asset, if the caller may see it. Whose it is otherwise is nobody's business."""
        rows = await self._find.all(uid=uid, user_id=user_of(caller))
        if not rows:
            raise no_asset(uid)
        number, asset_type, owner_id, collection_owner_id = rows[0][:4]
        here, above = _sorted_out(number, ((*row[4:], None) for row in rows if row[4] is not None))
        place = Place(
            asset_type=asset_type,
            owner_id=owner_id,
            here=here,
            collection_owner_id=collection_owner_id,
            above=above,
        )
        return seen_by(number, uid, caller, place)

    async def standing(self, asset: Asset, user_id: int) -> PermissionState:
        """All that decides what a user may do with the asset, with the submissions it is for."""
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(select(assets).where(assets.c.id == asset.id))).one_or_none()
            if row is None:  # deleted in this very moment
                raise no_asset(asset.uid)
            return (await _place(connection, row, [user_id, PUBLIC_USER_ID])).standing(user_id)


async def as_seen(connection: AsyncConnection, row: Row[Any], caller: Caller) -> Asset:
    """The asset of a row that is locked, as it stands in this transaction."""
    return seen_by(row.id, row.uid, caller, await _place(connection, row, [user_of(caller), PUBLIC_USER_ID]))


async def allowed_to_user(connection: AsyncConnection, row: Row[Any], user_id: int) -> Codenames:
    """What a user may do with the asset of a row that is locked, for work that goes on when he is gone."""
    known = await connection.execute(select(users.c.is_superuser, users.c.disabled_at).where(users.c.id == user_id))
    user = known.one_or_none()
    if user is None or user.disabled_at is not None:
        return frozenset()
    place = await _place(connection, row, [user_id, PUBLIC_USER_ID])
    return allowed_to(Caller(id=user_id, is_superuser=user.is_superuser), place)


async def _place(connection: AsyncConnection, row: Row[Any], user_ids: Sequence[int]) -> Place:
    around = [row.id] if row.parent_id is None else [row.id, row.parent_id]
    found = await connection.execute(
        select(*_ROWS, assignments.c.filters).where(
            assignments.c.asset_id.in_(around), assignments.c.user_id.in_(user_ids)
        )
    )
    here, above = _sorted_out(row.id, found)
    owner = select(assets.c.owner_id).where(assets.c.id == row.parent_id)
    return Place(
        asset_type=row.asset_type,
        owner_id=row.owner_id,
        here=here,
        collection_owner_id=(await connection.execute(owner)).scalar_one_or_none(),
        above=above,
    )


Sorted = defaultdict[int, list[Assignment]]


def _sorted_out(number: int, rows: Iterable[Sequence[Any]]) -> tuple[Sorted, Sorted]:
    """Assignments on the asset itself, and those on its collection, by user."""
    here: Sorted = defaultdict(list)
    above: Sorted = defaultdict(list)
    for asset_id, user_id, permission, is_denied, filters in rows:
        which = {codename: tuple(given) for codename, given in (filters or {}).items()}
        row = Assignment(permission, bool(is_denied), which or None)
        (here if asset_id == number else above)[user_id].append(row)
    return here, above


def seen_by(number: int, uid: str, caller: Caller, place: Place) -> Asset:
    """An asset in the eyes of a caller; 404 where he may not see it."""
    allowed = allowed_to(caller, place)
    if "view_asset" not in allowed:
        raise no_asset(uid)
    return Asset(
        id=number,
        uid=uid,
        asset_type=place.asset_type,
        owner_id=place.owner_id,
        is_owner=caller.id == place.owner_id,
        is_superuser=caller.is_superuser,
        allowed=allowed,
    )
