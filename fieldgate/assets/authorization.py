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
from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    Select,
    Subquery,
    and_,
    bindparam,
    literal_column,
    select,
    true,
    union,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, team_members, users
from fieldgate.assets.tables import assets, assignments, has_not_ended, is_live
from fieldgate.db import Database, PreparedQuery, Timestamp
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

    def public_permissions(self) -> Codenames:
        """Return what the public may do."""
        return rules.own_permissions(self._own_state(PUBLIC_USER_ID), self.asset_type)

    def state_of(self, user_id: int, public: Codenames | None = None) -> PermissionState:
        """Return the state of a user's permissions. The public is a user, too, with the id `PUBLIC_USER_ID`.

        `public` are the `public_permissions`, if they are known already.
        """
        if user_id == PUBLIC_USER_ID:
            return self._own_state(user_id)
        if public is not None:
            return self._own_state(user_id, public)
        of_public = self._own_state(PUBLIC_USER_ID)
        held = rules.own_permissions(of_public, self.asset_type)
        return self._own_state(user_id, held, rules.own_ends(of_public, self.asset_type))

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
                passed_down = team.collection - rules.with_dependent(denied_on_collection, "collection")
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
        self, user_id: int, public: Codenames = _NOTHING, public_ends: Ends | None = None
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
            collection_ends={} if user_id == self.collection_owner_id else _ends(self.on_collection.get(user_id, ())),
            team_ends=passed.ends,
            public_ends=public_ends or {},
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
    return {row.permission: row.expires_at for row in rows if row.expires_at is not None} if rows else {}


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
                Message("You may see this asset, but this needs the permission {permission}.", permission=permission)
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


_ASSIGNMENT_COLUMNS = (
    assignments.c.asset_id,
    assignments.c.user_id,
    assignments.c.permission,
    assignments.c.is_denied,
)


class UserOnAsset(msgspec.Struct, frozen=True, kw_only=True):
    """A user with the assignments on an asset, including filters."""

    id: int
    username: str
    is_superuser: bool
    is_disabled: bool
    scope: AssignmentScope

    @property
    def state(self) -> PermissionState:
        return self.scope.state_of(self.id)


class AssetAuthorizer:
    def __init__(self, database: Database) -> None:
        collections = assets.alias()
        own_columns = (assets.c.id, assets.c.asset_type, assets.c.owner_id, collections.c.owner_id)
        public = literal_column(str(PUBLIC_USER_ID), Integer)
        # A join for each user: with all of them in an IN list, SQLite may read the assignments of all users.
        user_id = bindparam("user_id", type_=Integer)
        user = select(user_id.label("id"), user_id.label("member_id"))
        user_and_public = (user, select(public, public), _teams_of(team_members.c.user_id == user_id))
        who = union(*user_and_public).subquery("who")
        self._find = PreparedQuery(
            database,
            select(*own_columns, who.c.member_id, *_ASSIGNMENT_COLUMNS)
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .join(who, true())
            .outerjoin(assignments, _is_on_asset_of(who))
            .where(assets.c.uid == bindparam("uid"), is_live()),
        )
        is_named = users.c.username_key == bindparam("username_key")
        named = select(users.c.id).where(is_named)
        all_three = union(
            *user_and_public, named.add_columns(users.c.id), _teams_of(team_members.c.user_id.in_(named))
        ).subquery("who")
        self._find_with_user = PreparedQuery(
            database,
            select(
                *own_columns,
                users.c.id,
                users.c.username,
                users.c.is_superuser,
                users.c.disabled_at,
                all_three.c.member_id,
                *_ASSIGNMENT_COLUMNS,
                assignments.c.filters,
                assignments.c.expires_at,
            )
            .outerjoin_from(assets, collections, collections.c.id == assets.c.parent_id)
            .outerjoin(users, is_named)
            .join(all_three, true())
            .outerjoin(assignments, _is_on_asset_of(all_three))
            .where(assets.c.uid == bindparam("uid"), is_live()),
        )

    async def authorize(self, uid: str, caller: Caller) -> AuthorizedAsset:
        """Return the asset. Raise `NotFound` if it does not exist or the caller cannot view it."""
        rows = await self._find.all(uid=uid, user_id=effective_user_id(caller))
        if not rows:
            raise asset_not_found()
        scope = _to_scope(rows[0], ((*row[4:], None, None) for row in rows if row[5] is not None))
        return authorize_scope(rows[0][0], uid, caller, scope)

    async def authorize_with_user(
        self, uid: str, caller: Caller, username: str
    ) -> tuple[AuthorizedAsset, UserOnAsset | None]:
        """Return the asset, and a user, enabled or not, or the public, with the state of their permissions on it.

        Raise `NotFound` if the asset does not exist or the caller cannot view it.
        """
        rows = await self._find_with_user.all(
            uid=uid, user_id=effective_user_id(caller), username_key=username_key(username)
        )
        if not rows:
            raise asset_not_found()
        given = [row[8:] for row in rows if row[9] is not None]
        # Filters are decoded later: the time until a refusal must not tell whether somebody has some.
        without_filters = _to_scope(rows[0], ((*assignment[:5], None, None) for assignment in given))
        asset = authorize_scope(rows[0][0], uid, caller, without_filters)
        user_id, name, is_superuser, disabled_at = rows[0][4:8]
        if user_id is None:
            return asset, None
        found = (
            (*each[:5], each[5] and msgspec.json.decode(each[5]), each[6] and Timestamp.unpack(each[6]))
            for each in given
        )
        user = UserOnAsset(
            id=user_id,
            username=name,
            is_superuser=bool(is_superuser),
            is_disabled=disabled_at is not None,
            scope=_to_scope(rows[0], found),
        )
        return asset, user


def _teams_of(is_member: ColumnElement[bool]) -> Select[Any]:
    return select(team_members.c.team_id, team_members.c.user_id).where(is_member)


def _is_on_asset_of(holders: Subquery) -> ColumnElement[bool]:
    """A condition for assignments: on the asset or its collection, of one of these users."""
    return and_(
        assignments.c.asset_id.in_([assets.c.id, assets.c.parent_id]),
        assignments.c.user_id == holders.c.id,
        has_not_ended(),
    )


def _to_scope(row: Sequence[Any], found: Iterable[Sequence[Any]]) -> AssignmentScope:
    """The scope of an asset, whose columns a row begins with, with these assignments."""
    asset_id, asset_type, owner_id, collection_owner_id = row[:4]
    direct, on_collection, teams = _split_by_level(asset_id, found)
    return AssignmentScope(
        asset_type=asset_type,
        owner_id=owner_id,
        direct=direct,
        collection_owner_id=collection_owner_id,
        on_collection=on_collection,
        teams=teams,
    )


async def authorize_row(connection: AsyncConnection, row: Row[Any], caller: Caller) -> AuthorizedAsset:
    """Authorize a caller on the asset of a locked row."""
    return authorize_scope(
        row.id, row.uid, caller, await _load_scope(connection, row, [effective_user_id(caller), PUBLIC_USER_ID])
    )


async def allowed_permissions_of_user(connection: AsyncConnection, row: Row[Any], user_id: int) -> Codenames:
    """Return what a user may do with the asset of a locked row, for background work without a caller."""
    query = select(users.c.is_superuser, users.c.disabled_at).where(users.c.id == user_id)
    user = (await connection.execute(query)).one_or_none()
    if user is None or user.disabled_at is not None:
        return frozenset()
    scope = await _load_scope(connection, row, [user_id, PUBLIC_USER_ID])
    return allowed_permissions(Caller(id=user_id, is_superuser=user.is_superuser), scope)


async def _load_scope(connection: AsyncConnection, row: Row[Any], user_ids: Sequence[int]) -> AssignmentScope:
    asset_ids = [row.id] if row.parent_id is None else [row.id, row.parent_id]
    given = users.alias()
    themselves = select(given.c.id, given.c.id.label("member_id")).where(given.c.id.in_(user_ids))
    who = union(themselves, _teams_of(team_members.c.user_id.in_(user_ids))).subquery("who")
    found = await connection.execute(
        select(who.c.member_id, *_ASSIGNMENT_COLUMNS, assignments.c.filters, assignments.c.expires_at)
        .join_from(assignments, who, who.c.id == assignments.c.user_id)
        .where(assignments.c.asset_id.in_(asset_ids), has_not_ended())
    )
    direct, on_collection, teams = _split_by_level(row.id, found)
    owner = select(assets.c.owner_id).where(assets.c.id == row.parent_id)
    return AssignmentScope(
        asset_type=row.asset_type,
        owner_id=row.owner_id,
        direct=direct,
        collection_owner_id=(await connection.execute(owner)).scalar_one_or_none(),
        on_collection=on_collection,
        teams=teams,
    )


AssignmentLists = defaultdict[int, list[Assignment]]


def _split_by_level(
    own_asset_id: int, rows: Iterable[Sequence[Any]]
) -> tuple[AssignmentLists, AssignmentLists, dict[int, list[int]]]:
    """Return the assignments on the asset itself and those on its collection, by user, and the teams by member.

    A row begins with the member: the user, or a member of the team that the assignment is for.
    """
    direct: AssignmentLists = defaultdict(list)
    on_collection: AssignmentLists = defaultdict(list)
    teams = defaultdict[int, dict[int, None]](dict)
    seen = set[tuple[int, int, str]]()
    for member_id, asset_id, user_id, permission, is_denied, filters, expires_at in rows:
        if member_id != user_id:
            teams[member_id][user_id] = None
        if (asset_id, user_id, permission) in seen:  # of a team with two of the users
            continue
        seen.add((asset_id, user_id, permission))
        parsed = {codename: tuple(queries) for codename, queries in (filters or {}).items()}
        assignment = Assignment(permission, bool(is_denied), parsed or None, expires_at)
        (direct if asset_id == own_asset_id else on_collection)[user_id].append(assignment)
    return direct, on_collection, {member_id: list(ids) for member_id, ids in teams.items()}


def authorize_scope(asset_id: int, uid: str, caller: Caller, scope: AssignmentScope) -> AuthorizedAsset:
    """Return an asset with what a caller may do with it. Raise `NotFound` if the caller cannot view it."""
    allowed = allowed_permissions(caller, scope)
    limited_to = caller.limits.assets
    if "view_asset" not in allowed or (limited_to is not None and uid not in limited_to):
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
