"""What a caller may do with an asset: the question every handler asks first.

asset = await access.to(uid, caller)  # 404 where the caller may not see it
asset.need("change_asset")  # 403 where he may see it, and no more
"""

from collections import defaultdict
from typing import Any

import msgspec
from sqlalchemy import bindparam, or_, select

from fieldgate.accounts.tables import THE_PUBLIC
from fieldgate.assets.sharing.standings import Assignment, Place
from fieldgate.assets.tables import assets, assignments
from fieldgate.db import Database, Lookup
from fieldgate.http.credentials import Caller
from fieldgate.http.errors import Forbidden, NotFound
from fieldgate.http.language import Message
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Codenames


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

    def need(self, permission: str) -> None:
        """Refuse who lacks the permission."""
        if permission not in self.allowed:
            raise Forbidden(
                Message("You may see this asset, but this needs the permission {permission}.", permission=permission)
            )


def no_asset(uid: str) -> NotFound:
    return NotFound(Message("There is no asset {uid}.", uid=uid[:50]))


def allowed_to(caller: Caller, place: Place) -> Codenames:
    """What a caller may do there."""
    if caller.is_superuser:
        return rules.owners(place.asset_type)
    user_id = THE_PUBLIC if caller.id is None else caller.id
    return rules.effective(place.standing(user_id), place.asset_type)


class Access:
    def __init__(self, database: Database) -> None:
        collections = assets.alias()
        self._find = Lookup(
            database,
            select(
                assets.c.id,
                assets.c.asset_type,
                assets.c.owner_id,
                collections.c.owner_id,
                assignments.c.asset_id,
                assignments.c.user_id,
                assignments.c.permission,
                assignments.c.is_denied,
            )
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .outerjoin(
                assignments,
                or_(assignments.c.asset_id == assets.c.id, assignments.c.asset_id == assets.c.parent_id)
                & assignments.c.user_id.in_([bindparam("user_id"), THE_PUBLIC]),
            )
            .where(assets.c.uid == bindparam("uid")),
        )

    async def to(self, uid: str, caller: Caller) -> Asset:
        """The asset, if the caller may see it. Whose it is otherwise is nobody's business."""
        user_id = THE_PUBLIC if caller.id is None else caller.id
        rows = await self._find.all(uid=uid, user_id=user_id)
        if not rows:
            raise no_asset(uid)
        number, asset_type, owner_id, collection_owner_id = rows[0][:4]
        place = _place(asset_type, owner_id, collection_owner_id, number, rows)
        allowed = allowed_to(caller, place)
        if "view_asset" not in allowed:
            raise no_asset(uid)
        return Asset(
            id=number,
            uid=uid,
            asset_type=asset_type,
            owner_id=owner_id,
            is_owner=caller.id == owner_id,
            is_superuser=caller.is_superuser,
            allowed=allowed,
        )


def _place(asset_type: str, owner_id: int, collection_owner_id: int | None, number: int, rows: Any) -> Place:
    here, above = defaultdict(list), defaultdict(list)
    for *_, asset_id, user_id, permission, is_denied in rows:
        if asset_id is not None:
            (here if asset_id == number else above)[user_id].append(Assignment(permission, bool(is_denied)))
    return Place(
        asset_type=asset_type,
        owner_id=owner_id,
        here=here,
        collection_owner_id=collection_owner_id,
        above=above,
    )
