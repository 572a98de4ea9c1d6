"""Teams: groups of people to share assets with, once for all of them.

A team has a row in `users`, so that permissions are assigned to it as to a user; see `tables`. Members and superusers
can see a team. Its admins manage it, and need no permission on any asset for that.
"""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import (
    ColumnElement,
    Integer,
    Row,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.service_accounts import NO_ADMIN, disable_owned, reject_service_account
from fieldgate.accounts.store import TOPIC, NewUser, username_key
from fieldgate.accounts.tables import PUBLIC_USER_ID, TEAM_PREFIX, team_members, teams, users
from fieldgate.db import (
    AsyncDatabase,
    DataVersions,
    PreparedQuery,
    RowPage,
    in_bound_list,
    new_uid,
    now,
    paginate,
)
from fieldgate.db.log import USERS, LogEntry, LogObject, LogUser, write_log
from fieldgate.db.uid import UID_LENGTH
from fieldgate.errors import Conflict, Forbidden, NotFound, ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User
from fieldgate.pagination import PageRequest

Role = Literal["admin", "member"]

MAX_NAME_CHARS = 100
MAX_KEY_CHARS = 200  # of a name in lower case and normal form: a few characters become several
MAX_DESCRIPTION_CHARS = 1_000
MAX_TEAM_MEMBERS = 1_000  # a form that is shared with a team reads them all
MAX_OWN_TEAMS = 200  # that one user is an admin of
ADMIN: Role = "admin"


class TeamName(msgspec.Struct, frozen=True):
    uid: Annotated[str, Meta(description="Uid of the team.")]
    name: Annotated[str, Meta(description="Name of the team.")]


# Adds to the log what teams lose that are deleted next: their ids.
LogDeletedTeams = Callable[[AsyncConnection, Caller, Collection[int]], Awaitable[None]]


class TeamStore:
    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, log_deleted: LogDeletedTeams
    ) -> None:
        self._database = database
        self._data_versions = data_versions
        self._log_deleted = log_deleted
        own, is_superuser = team_members.alias(), bindparam("is_superuser", type_=Integer)
        is_own = exists(
            select(own.c.team_id).where(
                own.c.team_id == teams.c.id, own.c.user_id == bindparam("user_id")
            )
        )
        self._names = PreparedQuery(
            database,
            select(teams.c.id, users.c.uid, teams.c.name)
            .join_from(teams, users, users.c.id == teams.c.id)
            .where(in_bound_list(database, teams.c.id, "team_ids"), or_(is_superuser == 1, is_own)),
        )

    async def page(self, caller: User, page: PageRequest) -> RowPage:
        """Return the teams of a caller, superusers all, by name, with the caller's role and the number of members."""
        query = _select_teams(caller)
        return await paginate(self._database, query, page, order_by=[teams.c.name_key, teams.c.id])

    async def find(self, caller: User, uid: str) -> Row[Any]:
        """Return a team that a caller can see. Raise `NotFound`."""
        async with self._database.read_transaction() as connection:
            return await _find(connection, caller, uid)

    async def find_managed(self, caller: User, uid: str) -> Row[Any]:
        """Return a team that a caller manages. Raise `NotFound` or `Forbidden`."""
        return _require_admin(caller, await self.find(caller, uid))

    async def find_new_members(
        self, caller: User, uid: str, usernames: Sequence[str]
    ) -> list[Row[Any]]:
        """Return those of some users who are not in a team yet."""
        async with self._database.read_transaction() as connection:
            return await _find_new(connection, (await _find(connection, caller, uid)).id, usernames)

    async def names(self, caller: Caller, team_ids: Collection[int]) -> Mapping[int, TeamName]:
        """Return the names of those of some teams that a caller may know."""
        if not team_ids or caller.id is None:
            return {}
        rows = await self._names.all(
            team_ids=list(team_ids),
            user_id=caller.id,
            is_superuser=1 if caller.sees_everything else 0,
        )
        return {team_id: TeamName(uid, name) for team_id, uid, name in rows}

    async def uids_of(self, user_id: int) -> set[str]:
        """Return the uids of the teams that a user is in."""
        query = select(users.c.uid).join_from(
            team_members, users, users.c.id == team_members.c.team_id
        )
        return {
            row.uid
            for row in await self._database.all(query.where(team_members.c.user_id == user_id))
        }

    async def known_ids(self, caller: Caller, team_ids: Collection[int]) -> Collection[int]:
        """Return those of some teams that a caller may know. They may be deleted: superusers may know all."""
        return team_ids if caller.sees_everything else await self.names(caller, team_ids)

    async def members(self, caller: User, uid: str, page: PageRequest) -> RowPage:
        """Return the members of a team by username, with their roles."""
        query = _select_members((await self.find(caller, uid)).id)
        return await paginate(
            self._database, query, page, order_by=[users.c.username_key, users.c.id]
        )

    async def find_member(self, caller: User, uid: str, username: str) -> Row[Any]:
        async with self._database.read_transaction() as connection:
            team = await _find(connection, caller, uid)
            return await _find_member(connection, team.id, username)

    async def create(
        self,
        by: User,
        name: str,
        description: str,
        then: Callable[[AsyncConnection, str], Awaitable[None]] | None = None,
    ) -> str:
        """Create a team, of which the caller is the first admin. Return its uid. `then` is in the same transaction."""
        name = _check_name(name)
        _check_description(description)
        uid = new_uid("t")
        account = {
            **msgspec.structs.asdict(NewUser(username=TEAM_PREFIX + name)),
            "uid": uid,
            "username_key": f"TEAM:{uid}",  # keys of usernames have no capital letters
            "created_at": now(),
        }
        async with self._database.transaction() as connection:
            await _check_new_admins(connection, by, [by.id])
            inserted = await connection.execute(
                users.insert().values(account).returning(users.c.id)
            )
            team_id = inserted.scalar_one()
            names = {
                "name": name,
                "name_key": username_key(name),
                "description": description.strip(),
            }
            await connection.execute(teams.insert().values(id=team_id, **names))
            await connection.execute(
                team_members.insert().values(_member_row(team_id, by.id, ADMIN))
            )
            await write_log(connection, by, _entry("create", LogObject("team", uid, name)))
            if then is not None:
                await then(connection, uid)
            await self._data_versions.bump(connection, TOPIC)
        return uid

    async def change(self, by: User, uid: str, name: str | None, description: str | None) -> None:
        """Rename or describe a team. What is None stays."""
        values: dict[str, str] = {}
        if name is not None:
            name = _check_name(name)
            values |= {"name": name, "name_key": username_key(name)}
        if description is not None:
            _check_description(description)
            values["description"] = description.strip()
        async with self._database.transaction() as connection:
            team = await self._lock_managed(connection, by, uid)
            if not values:
                return
            await connection.execute(teams.update().where(teams.c.id == team.id).values(values))
            if name is not None:
                renamed = users.update().where(users.c.id == team.id)
                await connection.execute(renamed.values(username=TEAM_PREFIX + name))
            changed = LogObject("team", uid, name or team.name)
            details: dict[str, Any] = {"fields": sorted(values.keys() - {"name_key"})}
            if changed.name != team.name:
                details["name"] = {"old": team.name, "new": changed.name}
            await write_log(connection, by, _entry("update", changed, **details))
            await self._data_versions.bump(connection, TOPIC)

    async def delete(self, by: User, uid: str) -> None:
        """Delete a team with its permissions. Its members keep those of their own."""
        async with self._database.transaction() as connection:
            team = await self._lock_managed(connection, by, uid)
            await _delete(connection, by, [team], self._log_deleted)
            await self._data_versions.bump(connection, TOPIC)

    async def add_members(
        self, by: User, uid: str, usernames: Sequence[str], role: Role
    ) -> Sequence[Row[Any]]:
        """Add users to a team. Those who are in it already keep their role. Return the new members by username."""
        async with self._database.transaction() as connection:
            team = await self._lock_managed(connection, by, uid)
            new = await _find_new(connection, team.id, usernames, locks=True)
            if role == ADMIN:
                await _check_new_admins(connection, by, [row.id for row in new])
            if new:
                rows = [_member_row(team.id, row.id, role) for row in new]
                await connection.execute(team_members.insert(), rows)
                entries = [_member_entry("add-member", team, row, role=role) for row in new]
                await write_log(connection, by, *entries)
                await self._data_versions.bump(connection, TOPIC)
            query = _select_members(team.id).where(users.c.id.in_([row.id for row in new]))
            added: Sequence[Row[Any]] = (
                await connection.execute(query.order_by(users.c.username_key))
            ).all()
        return added

    async def set_role(self, by: User, uid: str, username: str, role: Role) -> None:
        async with self._database.transaction() as connection:
            team = await self._lock_managed(connection, by, uid)
            member = await _find_member(connection, team.id, username)
            if member.role == role:
                return
            if role == ADMIN:
                await _check_new_admins(connection, by, [member.id])
            else:
                await _keep_an_admin(connection, team.id, member.id)
            await _write_role(connection, by, team, member, role)
            await self._data_versions.bump(connection, TOPIC)

    async def remove_member(self, by: User, uid: str, username: str) -> None:
        """Remove a user from a team. Members can remove themselves."""
        async with self._database.transaction() as connection:
            is_own = username_key(username) == username_key(by.username)
            team = await self._lock_managed(connection, by, uid, is_allowed=is_own)
            member = await _find_member(connection, team.id, username)
            if member.role == ADMIN:
                await _keep_an_admin(connection, team.id, member.id)
            await connection.execute(_is_member(team_members.delete(), team.id, member.id))
            await write_log(connection, by, _member_entry("remove-member", team, member))
            await self._data_versions.bump(connection, TOPIC)

    async def _lock_managed(
        self, connection: AsyncConnection, by: User, uid: str, *, is_allowed: bool = False
    ) -> Row[Any]:
        """Lock a team, and return it as it is then. Raise `Forbidden` unless the caller manages it or `is_allowed`."""
        team = await _find(connection, by, uid)
        await connection.execute(select(teams.c.id).where(teams.c.id == team.id).with_for_update())
        team = await _find(connection, by, uid)
        return team if is_allowed else _require_admin(by, team)


async def lock_teams_of(connection: AsyncConnection, user_id: int) -> None:
    """Lock all teams of a user. Teams are locked before users."""
    own = select(team_members.c.team_id).where(team_members.c.user_id == user_id)
    await connection.execute(
        select(teams.c.id).where(teams.c.id.in_(own)).order_by(teams.c.id).with_for_update()
    )


async def delete_emptied_teams(
    connection: AsyncConnection, by: Caller, user_id: int, log_deleted: LogDeletedTeams
) -> list[TeamName]:
    """Delete the teams that only this user is in. Return those that have other members, but no other active admin."""
    found = await _managed_alone(connection, user_id)
    await _delete(connection, by, [row for row in found if row.member_count == 1], log_deleted)
    return [TeamName(row.uid, row.name) for row in found if row.member_count > 1]


async def _delete(
    connection: AsyncConnection,
    by: Caller,
    deleted: Sequence[Row[Any]],
    log_deleted: LogDeletedTeams,
) -> None:
    ids = [row.id for row in deleted]
    await log_deleted(connection, by, ids)
    await disable_owned(connection, by, ids, "deleted")
    await connection.execute(users.delete().where(users.c.id.in_(ids)))
    await write_log(
        connection, by, *(_entry("delete", LogObject("team", row.uid, row.name)) for row in deleted)
    )


async def replace_disabled_admin(connection: AsyncConnection, by: Caller, user_id: int) -> None:
    """Make the oldest active member an admin of each team whose last active admin was disabled.

    If there is none, superusers manage the team. The log says both.
    """
    for team in await _managed_alone(connection, user_id):
        is_active_person = and_(users.c.disabled_at.is_(None), users.c.owner_id.is_(None))
        may_manage = and_(is_active_person, _managed_count(users.c.id) < MAX_OWN_TEAMS)
        oldest = (
            _select_members(team.id)
            .where(may_manage)
            .order_by(team_members.c.joined_at, users.c.id)
            .limit(1)
        )
        member = (await connection.execute(oldest)).one_or_none()
        if member is None:
            await write_log(
                connection, by, _entry("lose-admin", LogObject("team", team.uid, team.name))
            )
        else:
            await _write_role(connection, by, team, member, ADMIN)


async def _managed_alone(connection: AsyncConnection, user_id: int) -> Sequence[Row[Any]]:
    """Return the teams of an admin that have no other active one."""
    is_admin = and_(team_members.c.user_id == user_id, team_members.c.role == ADMIN)
    managed = select(team_members.c.team_id).where(is_admin)
    query = _select_teams(Caller(id=user_id)).where(
        teams.c.id.in_(managed), ~_has_admin_beside(teams.c.id, user_id)
    )
    found: Sequence[Row[Any]] = (
        await connection.execute(query.order_by(teams.c.name_key, teams.c.id))
    ).all()
    return found


async def _write_role(
    connection: AsyncConnection, by: Caller, team: Row[Any], member: Row[Any], role: Role
) -> None:
    await connection.execute(
        _is_member(team_members.update(), team.id, member.id).values(role=role)
    )
    await write_log(connection, by, _member_entry("update-member", team, member, role=role))


def _require_admin(caller: User, team: Row[Any]) -> Row[Any]:
    if not (caller.is_superuser or team.role == ADMIN):
        raise Forbidden(Message("Only the admins of a team can change it."))
    return team


def _is_visible(caller: Caller) -> ColumnElement[bool]:
    own = team_members.alias()
    is_in = exists(
        select(own.c.team_id).where(own.c.team_id == teams.c.id, own.c.user_id == caller.id)
    )
    return true() if caller.is_superuser else is_in


def _select_teams(caller: Caller) -> Select[Any]:
    own, every = team_members.alias(), team_members.alias()
    role = (
        select(own.c.role)
        .where(own.c.team_id == teams.c.id, own.c.user_id == caller.id)
        .scalar_subquery()
    )
    count = select(func.count()).where(every.c.team_id == teams.c.id).scalar_subquery()
    return (
        select(
            teams, users.c.uid, users.c.created_at, role.label("role"), count.label("member_count")
        )
        .join_from(teams, users, users.c.id == teams.c.id)
        .where(_is_visible(caller))
    )


def _select_members(team_id: int) -> Select[Any]:
    columns = (users.c.id, users.c.uid, users.c.username, users.c.disabled_at)
    query = select(*columns, team_members.c.role, team_members.c.joined_at)
    joined = query.join_from(team_members, users, users.c.id == team_members.c.user_id)
    return joined.where(team_members.c.team_id == team_id)


async def _find(connection: AsyncConnection, caller: User, uid: str) -> Row[Any]:
    query = _select_teams(caller).where(users.c.uid == uid)
    row: Row[Any] | None = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFound(Message("There is no such team, or you are not in it."))
    return row


async def _find_member(connection: AsyncConnection, team_id: int, username: str) -> Row[Any]:
    query = _select_members(team_id).where(users.c.username_key == username_key(username))
    row: Row[Any] | None = (await connection.execute(query)).one_or_none()
    if row is None:
        raise NotFound(Message("{name} is not in this team.", name=username[:50]))
    return row


async def _find_new(
    connection: AsyncConnection, team_id: int, usernames: Sequence[str], *, locks: bool = False
) -> list[Row[Any]]:
    """Return those of some users who are not in a team.

    Raise `ValidationError` with all names that nobody has, and `Conflict` if the team would have too many members.
    """
    keys = {username_key(name): name for name in usernames}
    is_active = and_(users.c.disabled_at.is_(None), users.c.id != PUBLIC_USER_ID)
    query: Select[Any] = select(users.c.id, users.c.uid, users.c.username, users.c.username_key)
    query = query.where(users.c.username_key.in_(keys), is_active).order_by(users.c.id)
    if locks:  # so that nobody leaves before being added
        query = query.with_for_update(read=True, key_share=True)
    found = (await connection.execute(query)).all()
    missing = keys.keys() - {row.username_key for row in found}
    if missing:
        messages = [
            Message("There is no user {name}.", name=keys[key][:50])
            for key in sorted(missing)[:100]
        ]
        raise ValidationError({"user": messages})
    known = select(team_members.c.user_id).where(team_members.c.team_id == team_id)
    member_ids = set((await connection.execute(known)).scalars())
    new = [row for row in found if row.id not in member_ids]
    if new and len(member_ids) + len(new) > MAX_TEAM_MEMBERS:
        raise Conflict(
            Message(
                "A team has at most {count} members. Create another team for more people.",
                count=MAX_TEAM_MEMBERS,
            )
        )
    return new


async def _check_new_admins(connection: AsyncConnection, by: User, user_ids: Sequence[int]) -> None:
    """Lock users, and raise `Conflict` if one is a service account, or manages as many teams as allowed."""
    meant = users.c.id.in_(user_ids)
    await reject_service_account(connection, meant, NO_ADMIN)
    await connection.execute(
        select(users.c.id).where(meant).order_by(users.c.id).with_for_update(key_share=True)
    )
    full = select(users.c.id, users.c.username).where(
        meant, _managed_count(users.c.id) >= MAX_OWN_TEAMS
    )
    for row in await connection.execute(full.order_by(users.c.username_key).limit(1)):
        if row.id == by.id:
            raise Conflict(
                Message("You manage {most} teams, the limit. Delete one first.", most=MAX_OWN_TEAMS)
            )
        raise Conflict(
            Message(
                "{name} manages {most} teams, the limit.", name=row.username, most=MAX_OWN_TEAMS
            )
        )


def _managed_count(user_id: ColumnElement[int]) -> ScalarSelect[int]:
    own = team_members.alias()
    return (
        select(func.count()).where(own.c.user_id == user_id, own.c.role == ADMIN).scalar_subquery()
    )


async def _keep_an_admin(connection: AsyncConnection, team_id: int, user_id: int) -> None:
    """Raise `Conflict` if no active admin is left without this user."""
    if not (await connection.execute(select(_has_admin_beside(team_id, user_id)))).scalar_one():
        raise Conflict(
            Message("A team needs an admin: make somebody else one first, or delete the team.")
        )


def _has_admin_beside(team_id: Any, user_id: int) -> ColumnElement[bool]:
    """Whether a team has an active admin who is not this user."""
    admin, account = team_members.alias(), users.alias()
    query = select(admin.c.user_id).join_from(admin, account, account.c.id == admin.c.user_id)
    is_active = and_(admin.c.role == ADMIN, account.c.disabled_at.is_(None))
    found = query.where(admin.c.team_id == team_id, admin.c.user_id != user_id, is_active)
    return exists(found.correlate_except(admin, account))


def _is_member(statement: Any, team_id: int, user_id: int) -> Any:
    return statement.where(team_members.c.team_id == team_id, team_members.c.user_id == user_id)


def _member_row(team_id: int, user_id: int, role: Role) -> dict[str, Any]:
    return {"team_id": team_id, "user_id": user_id, "role": role, "joined_at": now()}


def _entry(action: str, team: LogObject, **details: Any) -> LogEntry:
    return LogEntry(log_type=USERS, action=action, object=team, details=details)


def _member_entry(action: str, team: Row[Any], user: Row[Any], **details: Any) -> LogEntry:
    subject = LogUser(user.id, user.uid, user.username)
    named = LogObject("team", team.uid, team.name)
    return LogEntry(log_type=USERS, action=action, object=named, subject=subject, details=details)


def _check_name(name: str) -> str:
    name = " ".join(name.split())
    is_too_long = len(name) > MAX_NAME_CHARS or len(username_key(name)) > MAX_KEY_CHARS
    visible = _MARKS.sub("", name)
    if not visible.strip() or not visible.isprintable() or is_too_long:
        raise ValidationError(
            {"name": [Message("Enter a name of at most {most} letters.", most=MAX_NAME_CHARS)]}
        )
    if _looks_like_uid(
        visible
    ):  # `team:` and a text is a name or a uid: a name must not stand for another team
        raise ValidationError({"name": [Message("This name is reserved; choose another one.")]})
    return name


_MARKS = re.compile("[\u200c-\u200f]")  # invisible, and part of correct Arabic, Persian or Hebrew
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # change how the text after them is read
_looks_like_uid = re.compile(rf"t[a-z0-9]{{{UID_LENGTH - 1}}}", re.ASCII | re.IGNORECASE).fullmatch


def _check_description(description: str) -> None:
    if len(description) > MAX_DESCRIPTION_CHARS or "\0" in description:
        message = Message("Enter a text of at most {most} letters.", most=MAX_DESCRIPTION_CHARS)
        raise ValidationError({"description": [message]})
    if _DIRECTIONS.search(description):
        message = Message("Remove invisible characters that change the direction of the text.")
        raise ValidationError({"description": [message]})
