"""`/api/v2/users/`: users who can be given permissions.

These routes are here and not in `fieldgate.accounts` because a record counts the public collections of a user.
"""

from fieldgate.accounts.schemas import USERS_PATH, FullUserRecord, UserFilters, UserRecord
from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.sharing.user_records import FULL_USER_EXAMPLE, USER_EXAMPLE, full_user_record, user_record
from fieldgate.assets.store import AssetStore
from fieldgate.errors import Forbidden, NotFound
from fieldgate.http.operations import ResponseKind, get_list, operation
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.pagination import ListResult, PageRequest

TAG = "Users"

_IS_ACTIVE = {"active": True, "disabled": False, "all": None}  # by status


@get_list(
    USERS_PATH,
    response=FullUserRecord,
    title=Message("Users"),
    description=Message("All users with an active account, or also the disabled ones. Only for superusers."),
    tag=TAG,
    example=FULL_USER_EXAMPLE,
    error_statuses=(403,),
)
async def user_list(
    page: PageRequest, user: User, query: UserFilters, accounts: AccountStore, store: AssetStore
) -> ListResult[FullUserRecord]:
    if not user.is_superuser:
        raise Forbidden(Message("Only superusers can list all users. Request a single user by name."))
    count, rows = await accounts.search_users(query.search, page, is_active=_IS_ACTIVE[query.status])
    collections = await store.count_public_collections([row.id for row in rows])
    return ListResult(count, [full_user_record(row, collections.get(row.id, 0)) for row in rows])


@operation(
    "GET",
    USERS_PATH + "{username}/",
    ResponseKind.RECORD,
    response=UserRecord,
    alternate_response=FullUserRecord,
    title=Message("User"),
    description=Message(
        "One user by name; case is ignored. AnonymousUser is the public. Superusers see more, and disabled users too."
    ),
    tag=TAG,
    example=USER_EXAMPLE,
    error_statuses=(404,),
)
async def user_detail(
    username: str, user: User, accounts: AccountStore, store: AssetStore
) -> UserRecord | FullUserRecord:
    row = await accounts.find_any(username)
    is_visible = row is not None and (row.disabled_at is None or user.is_superuser)
    if row is None or not is_visible:
        raise NotFound(Message("There is no user {name}.", name=username[:150]))
    collections = (await store.count_public_collections([row.id])).get(row.id, 0)
    if user.is_superuser and row.id != PUBLIC_USER_ID:
        return full_user_record(row, collections)
    return user_record(row, collections)


OPERATIONS = (user_list, user_detail)
