"""Authorization of callers on assets.

asset = await authorizer.authorize(uid, caller)  # 404 if the caller cannot view it
asset.require("change_asset")  # 403 if the caller can view it but not change it

A write authorizes again once the asset is locked (`authorize_row`): permissions may have changed in between.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec
from sqlalchemy import Integer, Row, Select, and_, bindparam, literal_column, select, true, union
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.tables import PUBLIC_USER_ID, team_members, users
from fieldgate.assets.tables import assets, assignments, has_not_ended, is_live
from fieldgate.db import AsyncDatabase, PreparedQuery
from fieldgate.errors import Forbidden, NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.rules import NEVER, Codenames, PermissionState
from fieldgate.permissions.submission_filters import Filter, Filters


class Assignment(msgspec.Struct, frozen=True):
    """A permission that a user was granted or denied."""

    permission: str
    is_denied: bool = False
    filters: Filters | None = None
    expires_at: datetime | None = None  # a denial does not end


_NOTHING: Codenames = frozenset()
Ends = Mapping[str, datetime]
_NO_ENDS: Ends = {}

AssignmentsByUser = Mapping[int, Sequence[Assignment]]  # by user id


class PassedOn(msgspec.Struct, frozen=True):
    """What teams pass on to a member. `teams` are the ids of those that have a permission."""

    teams: Mapping[str, tuple[int, ...]] = {}
    filters: Filters = {}
    ends: Ends = {}


class AssignmentScope(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An asset with its assignments and those on its collection. Collections are not nested.

    Teams have assignments like users do.
    """

    asset_type: str
    owner_id: int
    direct: AssignmentsByUser
    collection_owner_id: int | None = None
    on_collection: AssignmentsByUser = {}
    teams: Mapping[int, Sequence[int]] = {}  # ids of teams by user, of those with assignments

    def state_of(self, user_id: int) -> PermissionState:
        """Return the state of a user's permissions. The public is a user, too, with the id `PUBLIC_USER_ID`."""
        if user_id == PUBLIC_USER_ID:
            return self._own_state(user_id)
        public, public_ends = self._public
        return self._own_state(user_id, public, public_ends)

    @cached_property
    def _public(self) -> tuple[Codenames, Ends]:
        """What the public may do, and until when."""
        state = self._own_state(PUBLIC_USER_ID)
        return rules.own_permissions(state, self.asset_type), rules.own_ends(state, self.asset_type)

    def passed_by_teams(self, user_id: int) -> PassedOn:
        """Return what the teams of a user pass on. A denial on the collection is one for the assets in it, too."""
        team_ids = tuple(self.teams.get(user_id, ()))
        if not team_ids:
            return _NOTHING_PASSED
        denied = _denied_permissions(self.on_collection.get(user_id, ()))
        found = self._passed.get((team_ids, denied))
        if found is None:
            found = self._passed[team_ids, denied] = self._merge_teams(team_ids, denied)
        return found

    @cached_property
    def _passed(self) -> dict[tuple[tuple[int, ...], Codenames], PassedOn]:
        """Most members of a team have the same."""
        return {}

    def _merge_teams(self, team_ids: Iterable[int], denied_on_collection: Codenames) -> PassedOn:
        holders, ends = defaultdict[str, list[int]](list), dict[str, datetime]()
        filters: dict[str, tuple[Filter, ...]] = {}
        for team_id in team_ids:
            team = self._own_state(team_id)
            if team.collection and denied_on_collection:
                passed_down = team.collection - rules.with_dependent(
                    denied_on_collection, "collection"
                )
                team = msgspec.structs.replace(team, collection=passed_down)
            team_ends = rules.own_ends(team, self.asset_type)
            for permission in rules.own_permissions(team, self.asset_type):
                holders[permission].append(team_id)
                end = team_ends.get(permission, NEVER)
                ends[permission] = max(ends.get(permission, end), end)
            for codename, given in rules.own_filters(team, self.asset_type).items():
                filters[codename] = filters.get(codename, ()) + given
        return PassedOn(
            {permission: tuple(ids) for permission, ids in holders.items()},
            filters,
            {permission: end for permission, end in ends.items() if end != NEVER},
        )

    def _own_state(
        self, user_id: int, public: Codenames = _NOTHING, public_ends: Ends = _NO_ENDS
    ) -> PermissionState:
        rows, passed = self.direct.get(user_id, ()), self.passed_by_teams(user_id)
        partial = None
        for row in rows:
            if row.permission == PARTIAL and not row.is_denied:
                partial = row.filters
        return PermissionState(
            is_owner=user_id == self.owner_id,
            is_public=user_id == PUBLIC_USER_ID,
            granted=_granted_permissions(rows),
            denied=_denied_permissions(rows),
            filters=partial or {},
            collection=self._inherited_permissions(user_id),
            teams=frozenset(passed.teams),
            team_filters=passed.filters,
            public=public,
            ends=_ends(rows),
            collection_ends={}
            if user_id == self.collection_owner_id
            else _ends(self.on_collection.get(user_id, ())),
            team_ends=passed.ends,
            public_ends=public_ends,
        )

    def _inherited_permissions(self, user_id: int) -> Codenames:
        if self.collection_owner_id is None:
            return _NOTHING
        is_owner = user_id == self.collection_owner_id
        held = (
            rules.owner_permissions("collection")
            if is_owner
            else _granted_permissions(self.on_collection.get(user_id, ()))
        )
        return rules.inherited(held, self.asset_type)


_NOTHING_PASSED = PassedOn()


def _granted_permissions(rows: Sequence[Assignment]) -> Codenames:
    return frozenset([row.permission for row in rows if not row.is_denied]) if rows else _NOTHING


def _denied_permissions(rows: Sequence[Assignment]) -> Codenames:
    return frozenset([row.permission for row in rows if row.is_denied]) if rows else _NOTHING


def _ends(rows: Sequence[Assignment]) -> Ends:
    return (
        {row.permission: row.expires_at for row in rows if row.expires_at is not None}
        if rows
        else {}
    )


class AuthorizedAsset(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with what a caller may do with it."""

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

    @property
    def may_see_import(self) -> bool:
        """Whether the caller may see the imported file, and what the import warned about.

        The file of a collection has all assets that were ever in it. Others than the owner may be denied some of them.
        """
        return self.asset_type != "collection" or self.is_owner or self.is_superuser

    def require(self, permission: str) -> None:
        """Raise `Forbidden` unless the caller has the permission."""
        if permission not in self.allowed:
            raise Forbidden(
                Message(
                    "You may see this asset, but this needs the permission {permission}.",
                    permission=permission,
                )
            )

    def require_delete(self) -> None:
        """Raise `Forbidden` unless the caller may delete the asset, a permission that cannot be assigned."""
        if not self.may_delete:
            raise Forbidden(Message("You may see this asset, but only its owner can delete it."))


def asset_not_found() -> NotFound:
    return NotFound(Message("This form does not exist or is not shared with you."))


def effective_user_id(caller: Caller) -> int:
    """Return the id of the caller, or of the public user if the caller is anonymous."""
    return PUBLIC_USER_ID if caller.id is None else caller.id


def audience_key(caller: Caller) -> str:
    """Whose cached lists a caller may get: every user has others, and so does every token that is limited to assets."""
    if caller.id is None:
        return ""
    limited_to = caller.limits.assets
    return f"{caller.id} {caller.is_superuser} {'' if limited_to is None else sorted(limited_to)}"


def allowed_permissions(caller: Caller, scope: AssignmentScope) -> Codenames:
    if caller.is_superuser:
        return rules.owner_permissions(scope.asset_type)
    return rules.effective_permissions(scope.state_of(effective_user_id(caller)), scope.asset_type)


def _select_scope() -> Select[Any]:
    """Select the asset `uid` with assignments on it and its collection: of `user_id`, the user's teams and the public.

    A row has an assignment, if there is one, and the member of its holder: the user itself, or of the user's teams.
    """
    collections = assets.alias()
    public = literal_column(str(PUBLIC_USER_ID), Integer)
    # A join for each user: with all of them in an IN list, SQLite may read the assignments of all users.
    user_id = bindparam("user_id", type_=Integer)
    own_teams = select(team_members.c.team_id, team_members.c.user_id).where(
        team_members.c.user_id == user_id
    )
    who = union(
        select(user_id.label("id"), user_id.label("member_id")), select(public, public), own_teams
    ).subquery()
    is_on_asset = and_(
        assignments.c.asset_id.in_([assets.c.id, assets.c.parent_id]),
        assignments.c.user_id == who.c.id,
        has_not_ended(),
    )
    given = (
        assignments.c.asset_id,
        assignments.c.user_id,
        assignments.c.permission,
        assignments.c.is_denied,
    )
    return (
        select(
            assets.c.id,
            assets.c.asset_type,
            assets.c.owner_id,
            collections.c.owner_id,
            who.c.member_id,
            *given,
        )
        .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
        .join(who, true())
        .outerjoin(assignments, is_on_asset)
        .where(assets.c.uid == bindparam("uid"), is_live())
    )


_SCOPE = _select_scope()


class AssetAuthorizer:
    def __init__(self, database: AsyncDatabase) -> None:
        self._find = PreparedQuery(database, _SCOPE)

    async def authorize(self, uid: str, caller: Caller) -> AuthorizedAsset:
        """Return the asset. Raise `NotFound` if it does not exist or the caller cannot view it."""
        rows = await self._find.all(uid=uid, user_id=effective_user_id(caller))
        if not rows:
            raise asset_not_found()
        return authorize_scope(rows[0][0], uid, caller, _to_scope(rows))


async def authorize_row(
    connection: AsyncConnection, row: Row[Any], caller: Caller
) -> AuthorizedAsset:
    """Authorize a caller on the asset of a locked row."""
    scope = await _load_scope(connection, row, effective_user_id(caller))
    return authorize_scope(row.id, row.uid, caller, scope)


async def allowed_permissions_of_user(
    connection: AsyncConnection, row: Row[Any], user_id: int
) -> Codenames:
    """Return what a user may do with the asset of a locked row, for background work without a caller."""
    query = select(users.c.is_superuser, users.c.disabled_at).where(users.c.id == user_id)
    user = (await connection.execute(query)).one_or_none()
    if user is None or user.disabled_at is not None:
        return frozenset()
    scope = await _load_scope(connection, row, user_id)
    return allowed_permissions(Caller(id=user_id, is_superuser=user.is_superuser), scope)


async def _load_scope(connection: AsyncConnection, row: Row[Any], user_id: int) -> AssignmentScope:
    return _to_scope((await connection.execute(_SCOPE, {"uid": row.uid, "user_id": user_id})).all())


def _to_scope(rows: Sequence[Sequence[Any]]) -> AssignmentScope:
    """Return the scope of an asset without filters and ends, which authorization does not need."""
    asset_id, asset_type, owner_id, collection_owner_id = rows[0][:4]
    direct, on_collection = (
        defaultdict[int, list[Assignment]](list),
        defaultdict[int, list[Assignment]](list),
    )
    teams = defaultdict[int, dict[int, None]](dict)
    for *_, member_id, on_id, holder_id, permission, is_denied in rows:
        if on_id is None:
            continue
        if member_id != holder_id:
            teams[member_id][holder_id] = None
        (direct if on_id == asset_id else on_collection)[holder_id].append(
            Assignment(permission, bool(is_denied))
        )
    return AssignmentScope(
        asset_type=asset_type,
        owner_id=owner_id,
        direct=direct,
        collection_owner_id=collection_owner_id,
        on_collection=on_collection,
        teams={member_id: list(ids) for member_id, ids in teams.items()},
    )


def check_token(caller: Caller, uids: Iterable[str]) -> None:
    """Refuse what a token that is limited to assets is not for: what is in a collection, and changes with it."""
    limited_to = caller.limits.assets
    if limited_to is not None and not limited_to.issuperset(uids):
        raise Forbidden(Message("This token is not for all forms in the collection."))


def authorize_scope(
    asset_id: int, uid: str, caller: Caller, scope: AssignmentScope
) -> AuthorizedAsset:
    """Return an asset with what a caller may do with it. Raise `NotFound` if the caller cannot view it."""
    allowed = allowed_permissions(caller, scope)
    if "view_asset" not in allowed or not caller.limits.includes_asset(uid):
        raise asset_not_found()
    return AuthorizedAsset(
        id=asset_id,
        uid=uid,
        asset_type=scope.asset_type,
        owner_id=scope.owner_id,
        is_owner=caller.id == scope.owner_id,
        is_superuser=caller.is_superuser,
        allowed=allowed,
    )
