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
from fieldgate.assets.assignments import Assignment, AssignmentScope
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import Database, PreparedQuery
from fieldgate.errors import Forbidden, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Codenames, PermissionState


class AuthorizedAsset(msgspec.Struct, frozen=True, kw_only=True):
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

    def require(self, permission: str) -> None:
        """Refuse who lacks the permission."""
        if permission not in self.allowed:
            raise Forbidden(
                Message("You may see this asset, but this needs the permission {permission}.", permission=permission)
            )

    def require_delete(self) -> None:
        """Deleting cannot be assigned: not even to who manages everything else."""
        if not self.may_delete:
            raise Forbidden(Message("You may see this asset, but only its owner can delete it."))


def asset_not_found(uid: str) -> NotFound:
    return NotFound(Message("There is no asset {uid}.", uid=uid[:50]))


def effective_user_id(caller: Caller) -> int:
    """The user whose assignments count for a caller."""
    return PUBLIC_USER_ID if caller.id is None else caller.id


def allowed_permissions(caller: Caller, scope: AssignmentScope) -> Codenames:
    """What a caller may do there."""
    if caller.is_superuser:
        return rules.owner_permissions(scope.asset_type)
    return rules.effective_permissions(scope.state_of(effective_user_id(caller)), scope.asset_type)


_ASSIGNMENT_COLUMNS = (
    assignments.c.asset_id,
    assignments.c.user_id,
    assignments.c.permission,
    assignments.c.is_denied,
)


class AssetAuthorizer:
    def __init__(self, database: Database) -> None:
        self._database = database
        collections = assets.alias()
        # Joined user by user: given both in a list, SQLite may read all that anybody holds on the asset.
        user = select(bindparam("user_id", type_=Integer).label("id"))
        who = union(user, select(literal_column(str(PUBLIC_USER_ID), Integer))).subquery("who")
        self._find = PreparedQuery(
            database,
            select(assets.c.id, assets.c.asset_type, assets.c.owner_id, collections.c.owner_id, *_ASSIGNMENT_COLUMNS)
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .join(who, true())
            .outerjoin(
                assignments,
                assignments.c.asset_id.in_([assets.c.id, assets.c.parent_id]) & (assignments.c.user_id == who.c.id),
            )
            .where(assets.c.uid == bindparam("uid")),
        )

    async def authorize(self, uid: str, caller: Caller) -> AuthorizedAsset:
        """The asset, if the caller may see it. Whose it is otherwise is nobody's business."""
        rows = await self._find.all(uid=uid, user_id=effective_user_id(caller))
        if not rows:
            raise asset_not_found(uid)
        number, asset_type, owner_id, collection_owner_id = rows[0][:4]
        here, above = _split_by_level(number, ((*row[4:], None) for row in rows if row[4] is not None))
        place = AssignmentScope(
            asset_type=asset_type,
            owner_id=owner_id,
            direct=here,
            collection_owner_id=collection_owner_id,
            on_collection=above,
        )
        return authorize_scope(number, uid, caller, place)

    async def permission_state(self, asset: AuthorizedAsset, user_id: int) -> PermissionState:
        """All that decides what a user may do with the asset, with the submissions it is for."""
        async with self._database.read_transaction() as connection:
            row = (await connection.execute(select(assets).where(assets.c.id == asset.id))).one_or_none()
            if row is None:  # deleted in this very moment
                raise asset_not_found(asset.uid)
            return (await _load_scope(connection, row, [user_id, PUBLIC_USER_ID])).state_of(user_id)


async def authorize_row(connection: AsyncConnection, row: Row[Any], caller: Caller) -> AuthorizedAsset:
    """The asset of a row that is locked, as it stands in this transaction."""
    return authorize_scope(
        row.id, row.uid, caller, await _load_scope(connection, row, [effective_user_id(caller), PUBLIC_USER_ID])
    )


async def allowed_permissions_of_user(connection: AsyncConnection, row: Row[Any], user_id: int) -> Codenames:
    """What a user may do with the asset of a row that is locked, for work that goes on when he is gone."""
    known = await connection.execute(select(users.c.is_superuser, users.c.disabled_at).where(users.c.id == user_id))
    user = known.one_or_none()
    if user is None or user.disabled_at is not None:
        return frozenset()
    place = await _load_scope(connection, row, [user_id, PUBLIC_USER_ID])
    return allowed_permissions(Caller(id=user_id, is_superuser=user.is_superuser), place)


async def _load_scope(connection: AsyncConnection, row: Row[Any], user_ids: Sequence[int]) -> AssignmentScope:
    around = [row.id] if row.parent_id is None else [row.id, row.parent_id]
    found = await connection.execute(
        select(*_ASSIGNMENT_COLUMNS, assignments.c.filters).where(
            assignments.c.asset_id.in_(around), assignments.c.user_id.in_(user_ids)
        )
    )
    here, above = _split_by_level(row.id, found)
    owner = select(assets.c.owner_id).where(assets.c.id == row.parent_id)
    return AssignmentScope(
        asset_type=row.asset_type,
        owner_id=row.owner_id,
        direct=here,
        collection_owner_id=(await connection.execute(owner)).scalar_one_or_none(),
        on_collection=above,
    )


AssignmentLists = defaultdict[int, list[Assignment]]


def _split_by_level(own_asset_id: int, rows: Iterable[Sequence[Any]]) -> tuple[AssignmentLists, AssignmentLists]:
    """Assignments on the asset itself, and those on its collection, by user."""
    here: AssignmentLists = defaultdict(list)
    above: AssignmentLists = defaultdict(list)
    for asset_id, user_id, permission, is_denied, filters in rows:
        which = {codename: tuple(given) for codename, given in (filters or {}).items()}
        row = Assignment(permission, bool(is_denied), which or None)
        (here if asset_id == own_asset_id else above)[user_id].append(row)
    return here, above


def authorize_scope(asset_id: int, uid: str, caller: Caller, scope: AssignmentScope) -> AuthorizedAsset:
    """An asset in the eyes of a caller; 404 where he may not see it."""
    allowed = allowed_permissions(caller, scope)
    if "view_asset" not in allowed:
        raise asset_not_found(uid)
    return AuthorizedAsset(
        id=asset_id,
        uid=uid,
        asset_type=scope.asset_type,
        owner_id=scope.owner_id,
        is_owner=caller.id == scope.owner_id,
        is_superuser=caller.is_superuser,
        allowed=allowed,
    )
