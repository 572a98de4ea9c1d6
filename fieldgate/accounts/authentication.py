"""Authenticates tokens, sessions and passwords against the database."""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Collection
from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.login_throttle import LoginThrottle
from fieldgate.accounts.passwords import MAX_CONCURRENT_CHECKS, Passwords
from fieldgate.accounts.store import AccountStore, TokenHolder, is_token, username_key
from fieldgate.cache import BoundedCache
from fieldgate.db.outages import is_unavailable
from fieldgate.errors import Forbidden, Unauthorized
from fieldgate.i18n.messages import Message
from fieldgate.identity import NO_ORIGIN, AuthMethod, Caller, Origin, User
from fieldgate.overload import Slots
from fieldgate.runtime.client_networks import is_in_networks, network_of
from fieldgate.settings import PasswordLogin

WRONG_PASSWORD = Message("The username or password is incorrect.")
# The same for both, so that nobody learns whether a password was right.
WRONG_OR_NOT_ALLOWED = Message(
    "The username or password is incorrect, or you cannot use a password: only superusers can. Use single sign-on."
)
WRONG_TOKEN = Message("The username is incorrect, or the token is not a valid token of this user.")
MAX_CACHED_PASSWORDS = 1000  # correct passwords of Basic clients
MAX_WAITING_PER_ADDRESS = 16
MAX_WAIT_SECONDS = 10.0

log = logging.getLogger(__name__)


def authenticated_user(row: Row[Any], origin: Origin = NO_ORIGIN) -> User:
    """A user whose password was checked."""
    return User(
        id=row.id,
        username=row.username,
        is_superuser=row.is_superuser,
        is_ifrc=row.is_ifrc,
        countries=tuple(row.countries),
        auth_method=AuthMethod.PASSWORD,
        uid=row.uid,
        credential=AuthMethod.PASSWORD.value,
        origin=origin,
    )


class AccountAuthenticator:
    """Implements `fieldgate.http.request.authentication.Authenticator`.

    Nothing is answered without asking the database: revoked tokens and disabled users are refused at once.
    """

    def __init__(
        self,
        store: AccountStore,
        passwords: Passwords,
        throttle: LoginThrottle,
        password_login: PasswordLogin = PasswordLogin.ALL,
        providers: Collection[str] = (),
    ) -> None:
        """`providers`: the ids of those of single sign-on."""
        self._password_login = password_login
        self._providers = providers
        self._store = store
        self._passwords = passwords
        self._throttle = throttle
        # One check of each address at a time: a flood of guesses from some addresses does not delay others for long.
        self._checks = Slots(
            MAX_CONCURRENT_CHECKS,
            1,
            max_waiting_per_caller=MAX_WAITING_PER_ADDRESS,
            wait_seconds=MAX_WAIT_SECONDS,
        )
        self._pending_uses: dict[int, asyncio.Task[None]] = {}
        self._key = secrets.token_bytes(32)
        self._verified = BoundedCache[bytes, str](
            MAX_CACHED_PASSWORDS
        )  # the hash that the password has

    async def by_token(self, token: str, client: str) -> User | None:
        return self._use_token(await self._store.find_token_holder(token, AuthMethod.TOKEN), client)

    def _use_token(self, holder: TokenHolder | None, client: str) -> User | None:
        networks = () if holder is None else holder.user.limits.networks
        if networks and not is_in_networks(client, networks):
            raise Forbidden(
                Message("This token cannot be used from the address {address}.", address=client)
            )
        return self._record_use(holder, client)

    async def by_session(self, token: str, client: str) -> User | None:
        holder = await self._store.find_token_holder(token, AuthMethod.SESSION)
        if holder is not None and not self._accepts_session(holder):
            return None
        return self._record_use(holder, client)

    def _accepts_session(self, holder: TokenHolder) -> bool:
        """Whether the user could still log in as when the session was opened."""
        if holder.name:
            return holder.name in self._providers
        return self._password_login.allows(is_superuser=holder.user.is_superuser)

    async def by_password(self, username: str, password: str, client: str) -> User:
        """Spreadsheets and dashboards send a token as the password: they can store nothing else."""
        if is_token(password):
            return await self._by_token_of(username, password, client)
        return authenticated_user(await self.verify_password(username, password, client))

    async def _by_token_of(self, username: str, token: str, client: str) -> User:
        """The same as `by_token`, but the token must be one of this user. A wrong one counts as a wrong password."""
        holder = await self._store.find_token_holder(token, AuthMethod.TOKEN)
        is_of_user = holder is not None and username_key(holder.user.username) == username_key(
            username
        )
        user = self._use_token(holder, client) if is_of_user else None
        if user is None:
            await self._throttle.check(username, client)
            await self._throttle.record_attempt(username, client)
            raise Unauthorized(WRONG_TOKEN)
        return user

    async def log_in(self, username: str, password: str, origin: Origin) -> Row[Any]:
        """Check the password of somebody who logs in, which is logged. Requests with Basic credentials are not."""
        try:
            row = await self.verify_password(username, password, origin.address)
        except Unauthorized:
            # Only the name of a user: people type passwords into that field, too.
            known = await self._store.find_any(username)
            name = "" if known is None else known.username
            tried = Caller(username=name, credential=AuthMethod.PASSWORD.value, origin=origin)
            await self._store.count_login(tried, "auth-failed")
            raise
        await self._store.count_login(authenticated_user(row, origin))
        return row

    async def verify_password(self, username: str, password: str, client: str) -> Row[Any]:
        """Return the user's row if the password is correct, otherwise raise `Unauthorized`.

        Every failure takes the same time, whether the user exists or not, and counts for the login throttle.
        """
        # Clients with Basic credentials send them with every request, and Argon2 is slow. A password that was correct
        # for this hash still is; a changed or disabled account has another hash or none, so the cache cannot be stale.
        # The client's address is part of the key, and the throttle applies: otherwise, while wrong passwords are
        # answered with 429, the correct one would stand out.
        if self._password_login is PasswordLogin.NONE:
            raise Unauthorized(
                Message(
                    "Passwords are switched off here. Log in with single sign-on, or use a token."
                )
            )
        proof = self._password_proof(client, username_key(username), password)
        verified_hash = self._verified.get(proof)
        if verified_hash is not None:
            row = await self._store.find_user(username)
            if (
                row is not None
                and row.password_hash == verified_hash
                and self._password_login.allows(is_superuser=row.is_superuser)
            ):
                await self._throttle.check_pair(username, client)
                return row
        await self._throttle.check(username, client)
        async with self._checks.slot(network_of(client)):
            row = await self._check_password(username, password, client)
        self._verified.put(proof, row.password_hash)
        return row

    async def _check_password(self, username: str, password: str, client: str) -> Row[Any]:
        await self._throttle.check(username, client)  # others may have failed since it had to wait
        await self._throttle.record_attempt(username, client)
        row = await self._store.find_user(username)
        is_correct = await self._passwords.matches(
            password, None if row is None else row.password_hash
        )
        if (
            row is None
            or not is_correct
            or not self._password_login.allows(is_superuser=row.is_superuser)
        ):
            is_for_all = self._password_login is PasswordLogin.ALL
            raise Unauthorized(WRONG_PASSWORD if is_for_all else WRONG_OR_NOT_ALLOWED)
        await self._throttle.record_success(username, client)
        return row

    def _password_proof(self, *parts: str) -> bytes:
        text = repr(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()

    def _record_use(self, holder: TokenHolder | None, client: str) -> User | None:
        if holder is None:
            return None
        if holder.is_use_due() and holder.token_id not in self._pending_uses:
            task = asyncio.create_task(self._save_use(holder.token_id, client))
            self._pending_uses[holder.token_id] = task
            task.add_done_callback(lambda _: self._pending_uses.pop(holder.token_id, None))
        return holder.user

    async def _save_use(self, token_id: int, client: str) -> None:
        """Store "last used" in the background: no response waits for it or fails with it."""
        try:
            await self._store.touch_token(token_id, client)
        except Exception as error:
            if not is_unavailable(
                error
            ):  # an outage is logged once, by the requests that need the database
                log.exception("could not store the last use of a token")

    async def close(self) -> None:
        """Finish pending writes. Called when the service stops."""
        await asyncio.gather(*self._pending_uses.values())
        self._passwords.close()
