"""Queries for service accounts. `AccountStore` creates them, `UserEditor` disables and enables them."""

from typing import Any

from sqlalchemy import Row, Select, func, select

from fieldgate.accounts.service_account_rules import is_owned_by
from fieldgate.accounts.store import is_live, username_key
from fieldgate.accounts.tables import tokens, users
from fieldgate.db import Database, RowPage, paginate
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.pagination import PageRequest


class ServiceAccountStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, caller: User, page: PageRequest) -> RowPage:
        """Return the service accounts that a caller manages, by username."""
        async with self._database.read_transaction() as connection:
            return await paginate(connection, _select(caller), page, order_by=[users.c.username_key, users.c.id])

    async def find(self, caller: User, username: str) -> Row[Any]:
        """Return a service account that a caller manages, or raise `NotFound`."""
        query = _select(caller).where(users.c.username_key == username_key(username))
        async with self._database.read_transaction() as connection:
            row: Row[Any] | None = (await connection.execute(query)).one_or_none()
        if row is None:
            message = Message("There is no service account {name}, or you do not manage it.", name=username[:150])
            raise NotFound(message)
        return row


def _select(caller: User) -> Select[Any]:
    """Service accounts of a caller and the teams of which the caller is an admin, or all, with owner and tokens."""
    owner = users.alias()
    count = select(func.count()).where(tokens.c.user_id == users.c.id, is_live()).scalar_subquery()
    columns = (owner.c.username.label("owner_name"), owner.c.uid.label("owner_uid"), count.label("token_count"))
    query = select(users, *columns).outerjoin_from(users, owner, owner.c.id == users.c.owner_id)
    return query.where(users.c.owner_id.is_not(None) if caller.is_superuser else is_owned_by(caller.id))
