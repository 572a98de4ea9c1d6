"""`/api/v2/users/{username}/tokens/` and `/sessions/`: superusers see and revoke what other people hold."""

from fieldgate.accounts.admin_routes import TAG, USER_PATH, find_user, require_superuser
from fieldgate.accounts.routes import revoke_token_of, session_record, token_record
from fieldgate.accounts.schemas import AccountTokenRecord, SessionRecord, user_path
from fieldgate.accounts.store import AccountStore
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

routes = Routes(tag=TAG, scope=Scope.ADMIN, no_store=True, error_statuses=(403,))


@routes.get_list(
    USER_PATH + "tokens/",
    response=AccountTokenRecord,
    title=Message("Tokens of a user"),
    description=Message(
        "The valid tokens of a user, newest first, without the tokens themselves. Only for superusers."
    ),
)
async def user_token_list(
    username: str, page: PageRequest, user: User, store: AccountStore
) -> ListResult[AccountTokenRecord]:
    require_superuser(user)
    row = await find_user(username, store)
    count, rows = await store.list_tokens_of(row.id, page)
    path = f"{user_path(row.username)}tokens/"
    return ListResult(count, [token_record(each, path, user) for each in rows])


@routes.delete(
    USER_PATH + "tokens/{id}/",
    title=Message("Revoke a token of a user"),
    description=Message(
        "Revokes a token of a user. It is refused from the next request on. Only for superusers."
    ),
)
async def user_token_deletion(username: str, id: str, user: User, store: AccountStore) -> None:
    require_superuser(user)
    await revoke_token_of((await find_user(username, store)).id, id, store, by=user)


@routes.get_list(
    USER_PATH + "sessions/",
    response=SessionRecord,
    title=Message("Sessions of a user"),
    description=Message(
        "The browsers in which a user is logged in, newest first. Only for superusers."
    ),
)
async def user_session_list(
    username: str, page: PageRequest, user: User, store: AccountStore
) -> ListResult[SessionRecord]:
    require_superuser(user)
    count, rows = await store.list_sessions_of((await find_user(username, store)).id, page)
    return ListResult(count, [session_record(each, user) for each in rows])


@routes.delete(
    USER_PATH + "sessions/",
    title=Message("End sessions of a user"),
    description=Message(
        "Logs a user out in all browsers, except that of this request. Only for superusers."
    ),
)
async def user_session_deletion(username: str, user: User, store: AccountStore) -> None:
    require_superuser(user)
    await store.end_sessions((await find_user(username, store)).id, keep=user.secret, by=user)
