"""Authenticates tokens, sessions and passwords against the database."""

import asyncio
import hashlib
import logging
import secrets
from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.known_clients import KnownClients
from fieldgate.accounts.login_queue import Lane, LoginQueue, address_client, device_client, network_client
from fieldgate.accounts.login_throttle import LoginThrottle
from fieldgate.accounts.passwords import MAX_CONCURRENT_CHECKS, Passwords
from fieldgate.accounts.store import AccountStore, TokenHolder, username_key
from fieldgate.cache import BoundedCache
from fieldgate.errors import Unauthorized
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, User
from fieldgate.runtime.client_networks import network_of

WRONG_PASSWORD = Message("The username or password is incorrect.")
MAX_CACHED_PASSWORDS = 1000  # correct passwords of Basic clients

log = logging.getLogger(__name__)


class AccountAuthenticator:
    """Implements `fieldgate.http.request.authentication.Authenticator`.

    Nothing is answered without asking the database: revoked tokens and disabled users are refused at once.
    """

    def __init__(
        self, store: AccountStore, passwords: Passwords, throttle: LoginThrottle, known_clients: KnownClients
    ) -> None:
        self._store = store
        self._passwords = passwords
        self._throttle = throttle
        self._known_clients = known_clients
        self._queue = LoginQueue(MAX_CONCURRENT_CHECKS)
        self._pending_uses: dict[int, asyncio.Task[None]] = {}
        self._key = secrets.token_bytes(32)
        self._verified = BoundedCache[bytes, str](MAX_CACHED_PASSWORDS)  # the hash that the password has

    async def by_token(self, token: str) -> User | None:
        return self._record_use(await self._store.find_token_holder(token, AuthMethod.TOKEN))

    async def by_session(self, token: str) -> User | None:
        return self._record_use(await self._store.find_token_holder(token, AuthMethod.SESSION))

    async def by_password(self, username: str, password: str, client: str, device_cookie: str = "") -> User:
        row = await self.verify_password(username, password, client, device_cookie)
        return User(
            id=row.id,
            username=row.username,
            is_superuser=row.is_superuser,
            is_ifrc=row.is_ifrc,
            countries=tuple(row.countries),
            auth_method=AuthMethod.PASSWORD,
        )

    async def verify_password(self, username: str, password: str, client: str, device_cookie: str = "") -> Row[Any]:
        """Return the user's row if the password is correct, otherwise raise `Unauthorized`.

        Every failure takes the same time, whether the user exists or not, and counts for the login throttle.
        """
        device = await self._known_clients.find_device(username, device_cookie)
        # Clients with Basic credentials send them with every request, and Argon2 is slow. A password that was correct
        # for this hash still is; a changed or disabled account has another hash or none, so the cache cannot be stale.
        # The client's address is part of the key, and the throttle applies: otherwise, while wrong passwords are
        # answered with 429, the correct one would stand out.
        proof = self._password_proof(client, username_key(username), password)
        verified_hash = self._verified.get(proof)
        if verified_hash is not None:
            row = await self._store.find_user(username)
            if row is not None and row.password_hash == verified_hash:
                await self._throttle.check(username, client, device)
                return row
        account = username_key(username)
        queued_as = device_client(account) if device else network_client(network_of(client))
        with self._queue.place(queued_as):
            lane = await self._throttle.find_lane(username, client, device)
            if lane is Lane.KNOWN and not device:
                queued_as = address_client(account)
            async with self._queue.turn(queued_as, lane):
                try:
                    row = await self._check_password(username, password, client, device)
                except Unauthorized:
                    self._queue.record_failure(queued_as, lane)
                    raise
        self._verified.put(proof, row.password_hash)
        return row

    async def _check_password(self, username: str, password: str, client: str, device: str) -> Row[Any]:
        await self._throttle.find_lane(username, client, device)  # others may have failed since it was queued
        await self._throttle.record_attempt(username, client, device)
        row = await self._store.find_user(username)
        if not await self._passwords.matches(password, None if row is None else row.password_hash) or row is None:
            raise Unauthorized(WRONG_PASSWORD)
        await self._throttle.record_success(username, client, device)
        return row

    async def device_cookie(self, username: str, cookie: str) -> str:
        """Return the cookie by which the browser is known after a login. `cookie` is the one that it sent."""
        return await self._known_clients.device_cookie(username, cookie)

    def _password_proof(self, *parts: str) -> bytes:
        text = repr(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()

    def _record_use(self, holder: TokenHolder | None) -> User | None:
        if holder is None:
            return None
        if holder.is_use_due() and holder.token_id not in self._pending_uses:
            task = asyncio.create_task(self._save_use(holder.token_id))
            self._pending_uses[holder.token_id] = task
            task.add_done_callback(lambda _: self._pending_uses.pop(holder.token_id, None))
        return holder.user

    async def _save_use(self, token_id: int) -> None:
        """Store "last used" in the background: no response waits for it or fails with it."""
        try:
            await self._store.touch_token(token_id)
        except Exception:
            log.exception("could not store the last use of a token")

    async def close(self) -> None:
        """Finish pending writes. Called when the service stops."""
        await asyncio.gather(*self._pending_uses.values())
        self._passwords.close()
