"""`/api/v2/users/`: users who can be given permissions.

These routes are here and not in `fieldgate.accounts` because a record counts the public collections of a user.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.schemas import USERS_PATH, UserFilters, UserRecord, user_path
from fieldgate.accounts.store import AccountStore
from fieldgate.assets.store import AssetStore
from fieldgate.errors import Forbidden, NotFound
from fieldgate.http.operations import get, get_list
from fieldgate.http.response.links import Link
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.pagination import ListResult, PageRequest

TAG = "Users"

_EXAMPLE = {
    "url": "http://127.0.0.1:8000/api/v2/users/amina/",
    "username": "amina",
    "date_joined": "2026-11-15T08:30:00Z",
    "public_collection_subscribers_count": 0,
    "public_collections_count": 2,
}


@get_list(
    USERS_PATH,
    response=UserRecord,
    title=Message("Users"),
    description=Message("All users with an active account. Only for superusers."),
    tag=TAG,
    example=_EXAMPLE,
    error_statuses=(403,),
)
async def user_list(
    page: PageRequest, user: User, query: UserFilters, accounts: AccountStore, store: AssetStore
) -> ListResult[UserRecord]:
    if not user.is_superuser:
        raise Forbidden(Message("Only superusers can list all users. Request a single user by name."))
    count, rows = await accounts.list_active(query.search, page)
    return ListResult(count, await _to_records(rows, store))


@get(
    USERS_PATH + "{username}/",
    response=UserRecord,
    title=Message("User"),
    description=Message("One user by name; case is ignored. AnonymousUser is the public."),
    tag=TAG,
    example=_EXAMPLE,
    error_statuses=(404,),
)
async def user_detail(username: str, user: User, accounts: AccountStore, store: AssetStore) -> UserRecord:  # noqa: ARG001
    row = await accounts.find_grantee(username)
    if row is None:
        raise NotFound(Message("There is no user {name}.", name=username[:150]))
    [record] = await _to_records([row], store)
    return record


async def _to_records(rows: Sequence[Row[Any]], store: AssetStore) -> list[UserRecord]:
    collections = await store.count_public_collections([row.id for row in rows])
    return [
        UserRecord(
            url=Link(user_path(row.username)),
            username=row.username,
            date_joined=row.created_at,
            public_collections_count=collections.get(row.id, 0),
        )
        for row in rows
    ]


OPERATIONS = (user_list, user_detail)
