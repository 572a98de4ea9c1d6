"""Who holds a credential: the answer to the http room's question, fresh from the database every time."""

import asyncio
import hashlib
import logging
import secrets
from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.login_throttle import Guessing
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import USE_RESOLUTION, AccountStore, Found
from fieldgate.db import now
from fieldgate.errors import Unauthorized
from fieldgate.i18n.messages import Message
from fieldgate.identity import AuthMethod, User

WRONG_PASSWORD = Message("This username and password do not fit.")
REMEMBERED = 1000  # right passwords of Basic callers

log = logging.getLogger(__name__)


class Accounts:
    """Implements `fieldgate.http.request.authentication.Authenticator`."""

    def __init__(self, store: AccountStore, passwords: Passwords, guessing: Guessing) -> None:
        self._store = store
        self._passwords = passwords
        self._guessing = guessing
        self._noting: dict[int, asyncio.Task[None]] = {}
        self._key = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}

    async def by_token(self, token: str) -> User | None:
        return self._seen(await self._store.holder(token, AuthMethod.TOKEN))

    async def by_session(self, token: str) -> User | None:
        return self._seen(await self._store.holder(token, AuthMethod.SESSION))

    async def by_password(self, username: str, password: str, client: str) -> User:
        row = await self.account(username, password, client)
        return User(
            id=row.id,
            username=row.username,
            is_superuser=row.is_superuser,
            is_ifrc=row.is_ifrc,
            countries=tuple(row.countries),
            auth_method=AuthMethod.PASSWORD,
        )

    async def account(self, username: str, password: str, client: str) -> Row[Any]:
        """The account whose password this is. Every wrong one takes the same time, and counts as a guess."""
        row = await self._store.user(username)
        stored = None if row is None else row.password_hash
        # Clients with Basic credentials send them every time. A password that was right for this very hash is
        # right again; a changed or disabled account has another hash or none, so this cannot be stale.
        # It counts for the machine that sent it, and not while that machine guesses: else, of many wrong passwords
        # that are told to wait, the right one would stand out.
        proof = self._proof(client, password, stored or "")
        if row is not None and proof in self._right:
            await self._guessing.check(username, client)
            return row
        with self._passwords.turn():
            await self._guessing.begin(username, client)
            if not await self._passwords.matches(password, stored) or row is None:
                raise Unauthorized(WRONG_PASSWORD)
            await self._guessing.forgive(username, client)
        if len(self._right) >= REMEMBERED:
            self._right.clear()
        self._right[proof] = None
        return row

    def _proof(self, *parts: str) -> bytes:
        text = repr(parts).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=32).digest()

    def _seen(self, found: Found | None) -> User | None:
        if found is None:
            return None
        is_due = found.last_used is None or now() - found.last_used > USE_RESOLUTION
        if is_due and found.token_id not in self._noting:
            task = asyncio.create_task(self._note(found.token_id))
            self._noting[found.token_id] = task
            task.add_done_callback(lambda _: self._noting.pop(found.token_id, None))
        return found.user

    async def _note(self, token_id: int) -> None:
        """Keep "last used", beside the request: an answer never waits for it, nor fails with it."""
        try:
            await self._store.note_use(token_id)
        except Exception:
            log.exception("last use of a token was not noted")

    async def settle(self) -> None:
        """Wait for what is still being noted; called when the service stops."""
        await asyncio.gather(*self._noting.values())
        self._passwords.close()
