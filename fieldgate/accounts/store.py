"""Queries for users and tokens."""

import hashlib
import re
import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import msgspec
from sqlalchemy import Delete, Label, Row, Select, Update, and_, bindparam, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.account_log import login_entry, sessions_entry, token_entry, user_entry
from fieldgate.accounts.service_accounts import (
    NO_PASSWORD,
    is_owned_by,
    lock_owner,
    reject_service_account,
)
from fieldgate.accounts.tables import (
    PUBLIC_USER_ID,
    TEAM_PREFIX,
    invitations,
    is_person,
    reserved_usernames,
    teams,
    tokens,
    users,
)
from fieldgate.db import (
    AsyncDatabase,
    CommitCache,
    DataVersions,
    PreparedQuery,
    RowPage,
    Timestamp,
    new_uid,
    now,
    paginate,
)
from fieldgate.db.log import LogEntry, LogUser, count_in_log, write_log
from fieldgate.db.uid import ALPHABET
from fieldgate.errors import NotFound, Unauthorized
from fieldgate.i18n.folding import fold_text
from fieldgate.i18n.messages import Message
from fieldgate.identity import NO_LIMITS, OPERATOR, AuthMethod, Caller, Scope, TokenLimits, User
from fieldgate.pagination import PageRequest

TOPIC = "accounts"  # users, but not their tokens, sessions, links and times of login: others do not see those
MAX_TOKENS = 50  # per user, obtained over HTTP, and as many sessions; beyond that the least recently used is revoked
TOKEN_RETENTION = timedelta(days=30)  # how long expired and revoked tokens are listed
MAX_CACHED_HOLDERS = 1000  # of tokens, per process
_LOGGED = (users.c.id, users.c.uid, users.c.username)  # of `LogUser`
LAST_USED_RESOLUTION = timedelta(minutes=1)  # of the "last used" time
MAX_ADDRESS_CHARS = 45  # of an IPv6 address
# Names are shorter, in any normal form. Unicode sorts a row of accents in quadratic time.
MAX_COMPARED_CHARS = 1000


class IssuedBy(Enum):
    """Where a token came from."""

    COMMAND = "command"
    HTTP = "http"
    SESSION = "session"


class UsernameTaken(Exception):
    pass


class UnknownUser(Exception):
    pass


class NewUser(msgspec.Struct, frozen=True, kw_only=True):
    username: str
    password_hash: str = ""  # nobody can log in
    first_name: str = ""
    last_name: str = ""
    is_superuser: bool = False
    is_ifrc: bool = False
    is_demo: bool = False
    countries: tuple[str, ...] = ()
    owner_id: int | None = None  # of a service account


class NewToken(msgspec.Struct, frozen=True):
    """A token that was just created. `value` cannot be shown again."""

    id: int
    value: str
    row: Row[Any]


# What belongs to a new user: the connection and the id.
InSameTransaction = Callable[[AsyncConnection, int], Awaitable[None]]


class TokenHolder(msgspec.Struct, frozen=True):
    """The user of a token, and when the token was last used."""

    user: User
    token_id: int
    last_used: datetime | None
    expires: datetime | None
    name: str = ""  # of a session: the id of the provider through which it was opened; empty: with a password

    def is_use_due(self) -> bool:
        """Whether "last used" must be stored again."""
        return self.last_used is None or now() - self.last_used > LAST_USED_RESOLUTION


def username_key(username: str) -> str:
    """Return the form in which usernames are compared: case-insensitive, in Unicode normal form."""
    if username.isascii():  # the same, at a tenth of the cost
        return username.lower()
    return unicodedata.normalize("NFKC", username[:MAX_COMPARED_CHARS]).casefold()


def user_search_text(username: str, first_name: str, last_name: str) -> str:
    """Return what a search for people is compared with."""
    return "\n".join(map(fold_text, (username, first_name, last_name)))


def username_hash(username: str) -> bytes:
    """Return what is stored of the name of a user who left."""
    return hashlib.sha256(username_key(username).encode("utf-8", "surrogatepass")).digest()


class AccountStore:
    """Users and tokens. Every change is logged as made by `by`, which is the command line unless it is given."""

    def __init__(self, database: AsyncDatabase, data_versions: DataVersions) -> None:
        self._database = database
        self._data_versions = data_versions
        self._holders = CommitCache[bytes, TokenHolder](
            database, MAX_CACHED_HOLDERS
        )  # by hash, without the secret
        self._find_token = PreparedQuery(
            database,
            select(
                users.c.id,
                users.c.username,
                users.c.is_superuser,
                users.c.is_ifrc,
                users.c.countries,
                tokens.c.id,
                tokens.c.last_used_at,
                tokens.c.expires_at,
                tokens.c.issued_by,
                tokens.c.name,
                tokens.c.prefix,
                users.c.uid,
                tokens.c.scopes,
                tokens.c.assets,
                tokens.c.networks,
                users.c.owner_id,
            )
            .join_from(tokens, users)
            .where(
                tokens.c.hash == bindparam("hash"),
                tokens.c.revoked_at.is_(None),
                or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > bindparam("now")),
                users.c.disabled_at.is_(None),
            ),
        )

    # Users

    async def create_user(
        self, new: NewUser, *, by: Caller = OPERATOR, then: InSameTransaction | None = None
    ) -> int:
        """Create a user and return its ID. Raises `UsernameTaken`, also for the name of a user who left.

        Raises `Conflict` if the owner of a service account cannot own it.
        """
        values = {**msgspec.structs.asdict(new), "countries": list(new.countries)}
        uid = new_uid("u")
        insert = users.insert().values(
            **values,
            uid=uid,
            username_key=username_key(new.username),
            search_text=user_search_text(new.username, new.first_name, new.last_name),
            created_at=now(),
        )
        rights = {
            "is_superuser": new.is_superuser,
            "is_ifrc": new.is_ifrc,
            "countries": list(new.countries),
        }
        try:
            async with self._database.transaction() as connection:
                owner = (
                    {}
                    if new.owner_id is None
                    else {"owner": await lock_owner(connection, new.owner_id, added=1)}
                )
                user_id = int((await connection.execute(insert.returning(users.c.id))).scalar_one())
                # After the insert, which waits for a transaction that deletes the user of this name.
                is_same = reserved_usernames.c.hash == username_hash(new.username)
                if (
                    await connection.execute(select(reserved_usernames.c.hash).where(is_same))
                ).first() is not None:
                    raise UsernameTaken(new.username)
                created = LogUser(user_id, uid, new.username)
                await write_log(connection, by, user_entry("create", created, **rights, **owner))
                if then is not None:
                    await then(connection, user_id)
                await self._data_versions.bump(connection, TOPIC)
                return user_id
        except IntegrityError:
            raise UsernameTaken(new.username) from None

    async def find_user(self, username: str) -> Row[Any] | None:
        """Return the row of an enabled user."""
        is_enabled = and_(users.c.disabled_at.is_(None), users.c.id != PUBLIC_USER_ID)
        return await self._database.first(
            select(users).where(users.c.username_key == username_key(username), is_enabled)
        )

    async def find_any(self, username: str) -> Row[Any] | None:
        """Return the row of a user, enabled or not, or of the public, with the expiry of an invitation."""
        return await self._database.first(
            _with_invitation().where(users.c.username_key == username_key(username))
        )

    async def find_owners(self, name: str) -> Sequence[int]:
        """Return the ids of the user with a name, or of teams: `team:` and a name, which several can have, or a uid."""
        query = select(users.c.id).where(users.c.username_key == username_key(name))
        if name.startswith(TEAM_PREFIX):
            team = name.removeprefix(TEAM_PREFIX)
            is_meant = or_(teams.c.name_key == username_key(team), users.c.uid == team)
            query = (
                select(teams.c.id).join_from(teams, users, users.c.id == teams.c.id).where(is_meant)
            )
        return [row.id for row in await self._database.all(query)]

    async def list_service_accounts(self, caller: User, page: PageRequest) -> RowPage:
        """Return the service accounts that a caller manages, by username, with their numbers of valid tokens."""
        return await paginate(
            self._database, _managed_by(caller), page, order_by=[users.c.username_key, users.c.id]
        )

    async def find_service_account(self, caller: User, username: str) -> Row[Any]:
        """Return a service account that a caller manages, or raise `NotFound`."""
        row = await self._database.first(
            _managed_by(caller).where(users.c.username_key == username_key(username))
        )
        if row is None:
            raise NotFound(
                Message(
                    "There is no service account {name}, or you do not manage it.",
                    name=username[:150],
                )
            )
        return row

    async def search_users(
        self, search: str, page: PageRequest, *, is_active: bool | None
    ) -> RowPage:
        """Return a page of users, sorted by username, with the expiry of their invitations.

        The text is searched in usernames and names. `is_active` chooses the enabled or the disabled users; None is all.
        """
        query = _with_invitation().where(is_person())
        if is_active is not None:
            query = query.where(users.c.disabled_at.is_(None) == is_active)
        if search:
            query = query.where(users.c.search_text.contains(fold_text(search), autoescape=True))
        return await paginate(
            self._database, query, page, order_by=[users.c.username_key, users.c.id]
        )

    async def list_users(self) -> Sequence[Row[Any]]:
        """Return all users with their number of valid tokens."""
        query = select(users, _token_count(), _of_owner("username")).where(is_person())
        return await self._database.all(query.order_by(users.c.username_key))

    async def enable_user(self, username: str, *, by: Caller = OPERATOR) -> None:
        async with self._database.transaction() as connection:
            user = await self._update_in(connection, username, disabled_at=None)
            await write_log(connection, by, user_entry("enable", user))

    async def set_password(
        self,
        username: str,
        password_hash: str,
        *,
        is_demo: bool = False,
        keep_session: str = "",
        by: Caller = OPERATOR,
    ) -> int:
        """Set a new password. End the user's browser sessions, except `keep_session`, and return their number.

        A one-time link becomes invalid. `is_demo` says that the password is one that `serve --demo` prints.
        """
        async with self._database.transaction() as connection:
            is_meant = users.c.username_key == username_key(username)
            await reject_service_account(connection, is_meant, NO_PASSWORD)
            user = await self._update_in(
                connection, username, password_hash=password_hash, is_demo=is_demo
            )
            is_other = and_(_is_session_of(user.id), tokens.c.hash != hash_token(keep_session))
            ended = await connection.execute(_revoke(is_other))
            await write_log(connection, by, user_entry("change-password", user))
            return ended.rowcount

    async def _update_in(
        self, connection: AsyncConnection, username: str, **values: Any
    ) -> LogUser:
        """Change a user and return it. All of these changes make a one-time link invalid."""
        is_user = and_(users.c.username_key == username_key(username), users.c.id != PUBLIC_USER_ID)
        update = users.update().where(is_user).values(**values).returning(*_LOGGED)
        row = (await connection.execute(update)).one_or_none()
        if row is None:
            raise UnknownUser(username)
        user = LogUser(*row)
        await connection.execute(invitations.delete().where(invitations.c.user_id == user.id))
        await self._data_versions.bump(connection, TOPIC)
        return user

    async def count_login(self, caller: Caller, action: str = "auth") -> None:
        """Log a login, or an attempt: auth-failed."""
        await count_in_log(self._database, caller, login_entry(action, caller.uid))

    # Tokens

    async def issue_token(
        self,
        user_id: int,
        issued_by: IssuedBy,
        expires: datetime | None,
        name: str = "",
        *,
        by: Caller = OPERATOR,
    ) -> str:
        """Create a token and return it. Only its hash is stored, so it cannot be shown again."""
        return (await self.create_token(user_id, issued_by, expires, name, by=by)).value

    async def create_token(
        self,
        user_id: int,
        issued_by: IssuedBy,
        expires: datetime | None,
        name: str = "",
        limits: TokenLimits = NO_LIMITS,
        *,
        by: Caller = OPERATOR,
    ) -> NewToken:
        """Create a token with a name. Raises `Unauthorized` if the user was disabled meanwhile."""
        token = new_token()
        timestamp = now()
        async with self._database.transaction() as connection:
            # A token that is created while its user is being disabled would not be revoked.
            user = await lock_enabled(connection, user_id)
            if user is None:
                raise Unauthorized
            result = await connection.execute(
                tokens.insert()
                .values(
                    user_id=user_id,
                    hash=hash_token(token),
                    prefix=token[:DISPLAY_PREFIX_LENGTH],
                    name=name,
                    issued_by=issued_by.value,
                    created_at=timestamp,
                    expires_at=expires,
                    scopes=" ".join(sorted(limits.scopes)),
                    assets=None if limits.assets is None else sorted(limits.assets),
                    networks=list(limits.networks) or None,
                )
                .returning(tokens)
            )
            row = result.one()
            if issued_by is IssuedBy.SESSION:
                await connection.execute(
                    users.update().where(users.c.id == user_id).values(last_login_at=timestamp)
                )
            else:
                await write_log(
                    connection, by, token_entry("create", user, name, row.prefix, limits)
                )
            await connection.execute(_delete_dead(user_id, timestamp - TOKEN_RETENTION))
            if issued_by is not IssuedBy.COMMAND:
                await self._drop_least_used(connection, user_id, issued_by, timestamp)
        return NewToken(row.id, token, row)

    async def _drop_least_used(
        self, connection: AsyncConnection, user_id: int, issued_by: IssuedBy, timestamp: datetime
    ) -> None:
        of_kind = and_(
            tokens.c.user_id == user_id, tokens.c.issued_by == issued_by.value, _is_live()
        )
        most_recent = (
            select(tokens.c.id)
            .where(of_kind)
            .order_by(
                func.coalesce(tokens.c.last_used_at, tokens.c.created_at).desc(), tokens.c.id.desc()
            )
            .limit(MAX_TOKENS)
        )
        await connection.execute(
            tokens.update()
            .where(of_kind, tokens.c.id.not_in(most_recent))
            .values(revoked_at=timestamp)
        )

    async def list_tokens(self) -> Sequence[Row[Any]]:
        return await self._database.all(
            select(tokens, users.c.username).join_from(tokens, users).order_by(tokens.c.id)
        )

    async def list_tokens_of(self, user_id: int, page: PageRequest) -> RowPage:
        """Return a page of a user's valid API tokens, newest first."""
        is_api_token = tokens.c.issued_by != IssuedBy.SESSION.value
        return await self._list_live(and_(tokens.c.user_id == user_id, is_api_token), page)

    async def list_sessions_of(self, user_id: int, page: PageRequest) -> RowPage:
        """Return a page of a user's browser sessions, newest first."""
        return await self._list_live(_is_session_of(user_id), page)

    async def _list_live(self, condition: Any, page: PageRequest) -> RowPage:
        query = select(tokens).where(condition, _is_live())
        return await paginate(self._database, query, page, order_by=[tokens.c.id.desc()])

    async def revoke_token_of(self, user_id: int, token_id: int, *, by: Caller) -> bool:
        """Revoke an API token of a user. Returns whether there was a valid one."""
        is_api_token = tokens.c.issued_by != IssuedBy.SESSION.value
        return (
            await self._revoke(
                and_(tokens.c.id == token_id, tokens.c.user_id == user_id, is_api_token), by
            )
            > 0
        )

    async def end_sessions(self, user_id: int, keep: str, *, by: Caller) -> int:
        """End a user's browser sessions, except one, and return their number."""
        return await self._revoke(
            and_(_is_session_of(user_id), tokens.c.hash != hash_token(keep)), by
        )

    async def revoke_token(self, token_id: int, *, by: Caller = OPERATOR) -> bool:
        """Revoke a token. Returns whether there was a valid one."""
        return await self._revoke(tokens.c.id == token_id, by) > 0

    async def revoke_http_tokens(self, user_id: int, *, by: Caller) -> int:
        """Revoke all tokens a user obtained over HTTP and return their number."""
        return await self._revoke(
            and_(tokens.c.user_id == user_id, tokens.c.issued_by == IssuedBy.HTTP.value), by
        )

    async def revoke_all(self, user_id: int, *, by: Caller = OPERATOR) -> int:
        """Revoke all tokens and sessions of a user and return their number."""
        return await self._revoke(tokens.c.user_id == user_id, by)

    async def revoke_by_name(self, user_id: int, name: str, *, by: Caller = OPERATOR) -> int:
        """Revoke the tokens of a user that a command issued under a name, and return their number."""
        is_of_command = tokens.c.issued_by == IssuedBy.COMMAND.value
        return await self._revoke(
            and_(tokens.c.user_id == user_id, is_of_command, tokens.c.name == name), by
        )

    async def revoke_by_value(self, token: str, *, by: Caller = OPERATOR) -> str:
        """Revoke a token or end a session. Return its name: of a session, the id of the provider, if there is one."""
        is_same = tokens.c.hash == hash_token(token)
        name = await self._database.scalar(select(tokens.c.name).where(is_same))
        await self._revoke(is_same, by)
        return name or ""

    async def _revoke(self, condition: Any, by: Caller) -> int:
        """All of these are of one user."""
        columns = (tokens.c.user_id, tokens.c.name, tokens.c.prefix, tokens.c.issued_by)
        async with self._database.transaction() as connection:
            revoked = (await connection.execute(_revoke(condition).returning(*columns))).all()
            if revoked:
                found = await connection.execute(
                    select(*_LOGGED).where(users.c.id == revoked[0].user_id)
                )
                await write_log(connection, by, *_removal_entries(LogUser(*found.one()), revoked))
            return len(revoked)

    async def find_token_holder(self, token: str, auth_method: AuthMethod) -> TokenHolder | None:
        """Return the user of a valid token. A session is not accepted as an API token, nor the reverse."""
        digest, time = hash_token(token), now()
        current = self._holders.current()
        holder = current.get(digest)
        if holder is None:
            holder = await self._read_token_holder(digest, time)
            if holder is None:
                return None
            current.put(digest, holder)
        user = holder.user
        if user.auth_method is not auth_method or (
            holder.expires is not None and holder.expires <= time
        ):
            return None
        return msgspec.structs.replace(holder, user=msgspec.structs.replace(user, secret=token))

    async def _read_token_holder(self, digest: bytes, time: datetime) -> TokenHolder | None:
        row = await self._find_token.first(hash=digest, now=Timestamp.pack(time))
        if row is None:
            return None
        (
            user_id,
            username,
            is_superuser,
            is_ifrc,
            countries,
            token_id,
            last_used,
            expires,
            issued_by,
            name,
            prefix,
            uid,
            scopes,
            assets,
            networks,
            owner_id,
        ) = row
        is_session = issued_by == IssuedBy.SESSION.value
        user = User(
            id=user_id,
            username=username,
            is_superuser=bool(is_superuser),
            is_ifrc=bool(is_ifrc),
            countries=tuple(msgspec.json.decode(countries)),
            auth_method=AuthMethod.SESSION if is_session else AuthMethod.TOKEN,
            uid=uid,
            credential=AuthMethod.SESSION.value if is_session else name or prefix,
            limits=_limits(scopes, assets, networks),
            owner_id=owner_id,
        )
        return TokenHolder(
            user,
            token_id,
            None if last_used is None else Timestamp.unpack(last_used),
            None if expires is None else Timestamp.unpack(expires),
            name,
        )

    async def touch_token(self, token_id: int, address: str) -> None:
        used = {"last_used_at": now(), "last_used_from": address[:MAX_ADDRESS_CHARS]}
        async with self._database.transaction() as connection:
            await connection.execute(tokens.update().where(tokens.c.id == token_id).values(used))


def _limits(scopes: str, assets: str | None, networks: str | None) -> TokenLimits:
    """From the columns of a token, as the drivers return them: JSON is text."""
    if scopes == Scope.ALL.value and assets is None and networks is None:
        return NO_LIMITS
    return TokenLimits(
        frozenset(scopes.split()),
        None if assets is None else frozenset(msgspec.json.decode(assets)),
        () if networks is None else tuple(msgspec.json.decode(networks)),
    )


def _removal_entries(user: LogUser, revoked: Sequence[Row[Any]]) -> list[LogEntry]:
    """One entry per token, and one for all sessions."""
    is_session = IssuedBy.SESSION.value
    entries = [
        token_entry("remove", user, row.name, row.prefix)
        for row in revoked
        if row.issued_by != is_session
    ]
    sessions = len(revoked) - len(entries)
    return [*entries, *([sessions_entry(user, sessions)] if sessions else [])]


def _with_invitation() -> Select[Any]:
    """Users, each with the owner, and the time until which a one-time link is valid, if there is one."""
    # A subquery, not a join, which the count of a page would have to follow.
    expiry = select(invitations.c.expires_at).where(
        invitations.c.user_id == users.c.id, invitations.c.expires_at > now()
    )
    return select(
        users, expiry.scalar_subquery().label("invitation_expires_at"), _of_owner("username")
    )


def _of_owner(column: str) -> Label[Any]:
    """The name or uid of the owner of a service account. None if the owner was deleted, and for other users."""
    owner = users.alias()
    value = select(owner.c[column]).where(owner.c.id == users.c.owner_id)
    return value.scalar_subquery().label(f"owner_{column}")


def _token_count() -> Label[int]:
    count = select(func.count()).where(tokens.c.user_id == users.c.id, _is_live())
    return count.scalar_subquery().label("token_count")


def _managed_by(caller: User) -> Select[Any]:
    """Service accounts of a caller and of the teams that the caller is an admin of; of superusers all."""
    query = select(users, _token_count(), _of_owner("username"), _of_owner("uid"))
    return query.where(
        users.c.owner_id.is_not(None) if caller.is_superuser else is_owned_by(caller.id)
    )


async def lock_enabled(connection: AsyncConnection, user_id: int) -> LogUser | None:
    """Lock a user, so that nobody disables or deletes the user meanwhile. None if somebody has."""
    query = (
        select(*_LOGGED)
        .where(users.c.id == user_id, users.c.disabled_at.is_(None))
        .with_for_update()
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else LogUser(*row)


async def revoke_tokens(connection: AsyncConnection, user_id: int) -> None:
    """Revoke all tokens and browser sessions of a user."""
    await connection.execute(_revoke(tokens.c.user_id == user_id))


async def end_all_sessions(connection: AsyncConnection, user_id: int) -> None:
    await connection.execute(_revoke(_is_session_of(user_id)))


async def end_sessions_through(
    connection: AsyncConnection, user: LogUser, providers: Collection[str], *, by: Caller
) -> None:
    """End the browser sessions of a user that were opened through some providers."""
    ended = await connection.execute(
        _revoke(and_(_is_session_of(user.id), tokens.c.name.in_(providers)))
    )
    if ended.rowcount:
        await write_log(connection, by, sessions_entry(user, ended.rowcount))


def _revoke(condition: Any) -> Update:
    return tokens.update().where(condition, _is_live()).values(revoked_at=now())


def _is_session_of(user_id: int) -> Any:
    return and_(tokens.c.user_id == user_id, tokens.c.issued_by == IssuedBy.SESSION.value)


def _is_live() -> Any:
    return and_(
        tokens.c.revoked_at.is_(None),
        or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now()),
    )


def _delete_dead(user_id: int, timestamp: datetime) -> Delete:
    """Delete a user's tokens that were revoked or expired before a time."""
    return tokens.delete().where(
        tokens.c.user_id == user_id,
        or_(tokens.c.revoked_at < timestamp, tokens.c.expires_at < timestamp),
    )


TOKEN_PREFIX = "fgt_"  # noqa: S105  (lets secret scanners recognize our tokens)
INVITATION_PREFIX = "fgi_"
TOKEN_LENGTH = 40  # characters of 57 kinds: 233 bits
DISPLAY_PREFIX_LENGTH = 10  # characters shown in lists of tokens
_TOKEN_FORM = re.compile(f"{TOKEN_PREFIX}[{ALPHABET}]{{{TOKEN_LENGTH}}}")


def new_token(prefix: str = TOKEN_PREFIX) -> str:
    return prefix + "".join(secrets.choice(ALPHABET) for _ in range(TOKEN_LENGTH))


def is_token(text: str) -> bool:
    """Whether a text has the form of a token."""
    return _TOKEN_FORM.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    """Return what is stored. Tokens are long and random, so one round of SHA-256 is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
