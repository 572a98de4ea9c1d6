"""Devices and addresses from which a user logged in before.

Guesses from unknown clients must not lock a user out, so known clients are not affected by them; see `login_throttle`.
A browser is known by a signed cookie, as OWASP describes it ("device cookies"); other clients by their address, of
which a keyed hash is stored.
"""

import hashlib
import hmac
import secrets
from datetime import timedelta

from sqlalchemy import Connection, bindparam, select

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import known_addresses, server_keys, users
from fieldgate.db import Database, PreparedQuery, Timestamp, insert_missing, now, upsert
from fieldgate.runtime.client_networks import network_of

DEVICE_COOKIE_SECONDS = 365 * 24 * 60 * 60
MAX_USERS_PER_DEVICE = 4  # a browser that several people use; the cookie has one entry for each
ADDRESS_LIFETIME = timedelta(days=90)  # after the last login
ADDRESS_RESOLUTION = timedelta(days=1)  # of that time
MAX_ADDRESSES = 20  # per user

_KEY_NAME = "known clients"
_SEPARATOR = "~"


class KnownClients:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = b""
        self._find_address = PreparedQuery(
            database,
            select(known_addresses.c.last_at)
            .join_from(known_addresses, users)
            .where(
                users.c.username_key == bindparam("username_key"),
                known_addresses.c.hash == bindparam("hash"),
                known_addresses.c.last_at > bindparam("cutoff"),
            ),
        )

    # Devices. An entry of the cookie is `expiry.nonce.signature`; the signature covers the username.

    async def find_device(self, username: str, cookie: str) -> str:
        """Return the nonce of this browser for the user, or an empty string if the user did not log in with it."""
        if not cookie:
            return ""
        key = await self._load_key()
        for entry in cookie.split(_SEPARATOR)[:MAX_USERS_PER_DEVICE]:
            expiry, _, rest = entry.partition(".")
            nonce, _, signature = rest.partition(".")
            expected = _sign(key, username, expiry, nonce)
            if hmac.compare_digest(expected.encode(), signature.encode("utf-8", "surrogatepass")) and (
                int(expiry) > now().timestamp()
            ):
                return nonce
        return ""

    async def device_cookie(self, username: str, cookie: str) -> str:
        """Return the cookie of a browser in which the user has logged in. It keeps the entries of other users."""
        key = await self._load_key()
        expiry, nonce = str(int(now().timestamp()) + DEVICE_COOKIE_SECONDS), secrets.token_urlsafe(12)
        entry = f"{expiry}.{nonce}.{_sign(key, username, expiry, nonce)}"
        others = [old for old in cookie.split(_SEPARATOR) if old and not await self.find_device(username, old)]
        return _SEPARATOR.join([entry, *others[: MAX_USERS_PER_DEVICE - 1]])

    # Addresses

    async def is_known_address(self, username: str, address: str) -> bool:
        digest = _address_hash(await self._load_key(), username, address)
        cutoff = Timestamp.pack(now() - ADDRESS_LIFETIME)
        found = await self._find_address.first(username_key=username_key(username), hash=digest, cutoff=cutoff)
        return found is not None

    async def load(self) -> None:
        """Load the key, which `remember_address` needs."""
        await self._load_key()

    def remember_address(self, connection: Connection, username: str, address: str) -> None:
        """Store that the user logged in from this address, in a transaction of the caller."""
        user_id = connection.execute(select(users.c.id).where(users.c.username_key == username_key(username))).scalar()
        if user_id is None:
            return
        digest, timestamp = _address_hash(self._key, username, address), now()
        own = known_addresses.c.user_id == user_id
        query = select(known_addresses.c.last_at).where(own, known_addresses.c.hash == digest)
        last_at = connection.execute(query).scalar()
        if last_at is not None and timestamp - last_at < ADDRESS_RESOLUTION:
            return
        row = {"user_id": user_id, "hash": digest, "last_at": timestamp}
        connection.execute(upsert(connection.dialect, known_addresses).values(row))
        newest = select(known_addresses.c.hash).where(own).order_by(known_addresses.c.last_at.desc())
        connection.execute(
            known_addresses.delete().where(
                own,
                known_addresses.c.hash.not_in(newest.limit(MAX_ADDRESSES))
                | (known_addresses.c.last_at < timestamp - ADDRESS_LIFETIME),
            )
        )

    async def _load_key(self) -> bytes:
        """The key of this installation, which all processes and machines share. The first that needs it creates it."""
        if not self._key:
            query = select(server_keys.c.value).where(server_keys.c.name == _KEY_NAME)
            async with self._database.read_transaction() as connection:
                found = (await connection.execute(query)).scalar()
            if found is None:
                new = {"name": _KEY_NAME, "value": secrets.token_bytes(32)}
                async with self._database.transaction() as connection:
                    await connection.execute(insert_missing(connection.dialect, server_keys).values(new))
                    found = (await connection.execute(query)).scalar_one()
            self._key = bytes(found)
        return self._key


def _address_hash(key: bytes, username: str, address: str) -> bytes:
    return _digest(key, "address", username_key(username), network_of(address))


def _sign(key: bytes, username: str, expiry: str, nonce: str) -> str:
    return _digest(key, "device", username_key(username), expiry, nonce).hex()


def _digest(key: bytes, *parts: str) -> bytes:
    text = repr(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=32).digest()
