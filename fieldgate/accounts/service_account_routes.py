"""`/api/v2/service-accounts/`: users without a password, for scripts. Their owner makes and revokes their tokens."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from sqlalchemy import Row

from fieldgate.accounts.account_rules import reject_token, username_error
from fieldgate.accounts.admin_routes import username_taken
from fieldgate.accounts.routes import create_named_token, revoke_token_of, token_record
from fieldgate.accounts.schemas import (
    AccountTokenRecord,
    NewAccountToken,
    NewTokenBody,
    UserChanges,
    user_path,
)
from fieldgate.accounts.store import AccountStore, NewUser, UsernameTaken
from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.accounts.teams import TeamName, TeamStore
from fieldgate.accounts.user_changes import UserEditor
from fieldgate.errors import Conflict, Unauthorized, ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import Created, Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.settings import Settings

SERVICE_ACCOUNTS_PATH = "/api/v2/service-accounts/"
ACCOUNT_PATH = SERVICE_ACCOUNTS_PATH + "{username}/"

routes = Routes(tag="Service accounts", scope=Scope.ALL, no_store=True)


class ServiceAccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    url: Annotated[Link, Meta(description="URL of the service account.")]
    user: Annotated[Link, Meta(description="URL of the user that it is, to share with.")]
    username: Annotated[str, Meta(description="Username.")]
    owner: Annotated[
        str | None,
        Meta(description="Username of the owner; null: a team owns it, or nobody any more."),
    ]
    team: Annotated[
        TeamName | None, Meta(description="The team that owns it; null if a person does.")
    ]
    is_active: Annotated[bool, Meta(description="False if the account is disabled.")]
    date_created: Annotated[datetime, Meta(description="When it was created.")]
    token_count: Annotated[int, Meta(description="Number of valid tokens.")]
    tokens: Annotated[Link, Meta(description="URL of the list of tokens.")]


class NewServiceAccount(msgspec.Struct, frozen=True):
    username: Annotated[
        str,
        Meta(
            description="Username: a letter from a to z, then a to z, digits and _; 2 to 150 characters."
        ),
    ]
    team: Annotated[
        str, Meta(description="Uid of the team that owns it. By default, the caller does.")
    ] = ""


class ServiceAccountChange(msgspec.Struct, frozen=True):
    is_active: Annotated[bool, Meta(description="false disables the account, true enables it.")]


def service_account_path(username: str) -> str:
    return f"{SERVICE_ACCOUNTS_PATH}{username}/"


def _record(row: Row[Any]) -> ServiceAccountRecord:
    owner: str = row.owner_username or ""
    is_team = owner.startswith(TEAM_PREFIX)
    path = service_account_path(row.username)
    return ServiceAccountRecord(
        url=Link(path),
        user=Link(user_path(row.username)),
        username=row.username,
        owner=None if is_team else row.owner_username,
        team=TeamName(row.owner_uid, owner.removeprefix(TEAM_PREFIX)) if is_team else None,
        is_active=row.disabled_at is None,
        date_created=row.created_at,
        token_count=row.token_count,
        tokens=Link(f"{path}tokens/"),
    )


@routes.get_list(
    SERVICE_ACCOUNTS_PATH,
    response=ServiceAccountRecord,
    title=Message("Service accounts"),
    description=Message(
        "Service accounts of the caller, and of teams that the caller is an admin of. Superusers see all."
    ),
    scope=Scope.ACCOUNT,
)
async def service_account_list(
    page: PageRequest, user: User, store: AccountStore
) -> ListResult[ServiceAccountRecord]:
    count, rows = await store.list_service_accounts(user, page)
    return ListResult(count, [_record(row) for row in rows])


@routes.post(
    SERVICE_ACCOUNTS_PATH,
    response=ServiceAccountRecord,
    title=Message("Create a service account"),
    description=Message(
        "Creates a user without a password, for a script. The caller owns it, or a team that the caller is an admin "
        "of. It is disabled when its owner is disabled or deleted. An owner has at most 50. Not with a token."
    ),
    error_statuses=(409,),
)
async def service_account_creation(
    user: User, body: NewServiceAccount, store: AccountStore, teams: TeamStore
) -> Created:
    reject_token(user)
    if error := username_error(body.username):
        raise ValidationError({"username": [error]})
    owner_id = (await teams.find_managed(user, body.team)).id if body.team else user.id
    try:
        await store.create_user(NewUser(username=body.username, owner_id=owner_id), by=user)
    except UsernameTaken:
        raise ValidationError({"username": [username_taken(body.username)]}) from None
    record = _record(await store.find_service_account(user, body.username))
    return Created(record, record.url)


@routes.get(
    ACCOUNT_PATH,
    response=ServiceAccountRecord,
    title=Message("Service account"),
    description=Message("One service account that the caller manages, by username."),
    scope=Scope.ACCOUNT,
)
async def service_account_detail(
    username: str, user: User, store: AccountStore
) -> ServiceAccountRecord:
    return _record(await store.find_service_account(user, username))


@routes.patch(
    ACCOUNT_PATH,
    response=ServiceAccountRecord,
    title=Message("Disable or enable a service account"),
    description=Message(
        "Disabling revokes all tokens for good. To enable it, its owner must be active. Not with a token."
    ),
    error_statuses=(409,),
)
async def service_account_change(
    username: str, user: User, body: ServiceAccountChange, store: AccountStore, editor: UserEditor
) -> ServiceAccountRecord:
    reject_token(user)
    row = await store.find_service_account(user, username)
    await editor.change(row.id, UserChanges(is_active=body.is_active), by=user)
    return _record(await store.find_service_account(user, username))


@routes.get_list(
    ACCOUNT_PATH + "tokens/",
    response=AccountTokenRecord,
    title=Message("Tokens of a service account"),
    description=Message(
        "The valid tokens of a service account, newest first, without the tokens themselves."
    ),
    scope=Scope.ACCOUNT,
)
async def service_account_token_list(
    username: str, page: PageRequest, user: User, store: AccountStore
) -> ListResult[AccountTokenRecord]:
    row = await store.find_service_account(user, username)
    count, rows = await store.list_tokens_of(row.id, page)
    return ListResult(count, [token_record(each, _record(row).tokens.path, user) for each in rows])


@routes.post(
    ACCOUNT_PATH + "tokens/",
    response=NewAccountToken,
    title=Message("Create a token of a service account"),
    description=Message(
        "Returns a new token, which is shown only once. Not with a token. "
        "Earlier tokens stay valid; beyond 50 the least recently used is revoked."
    ),
    error_statuses=(409,),
)
async def service_account_token_creation(
    username: str,
    user: User,
    body: NewTokenBody,
    store: AccountStore,
    settings: Settings,
) -> Created:
    reject_token(user)
    row = await store.find_service_account(user, username)
    try:
        return await create_named_token(
            row, body, _record(row).tokens.path, store, settings, by=user
        )
    except Unauthorized:
        raise Conflict(
            Message("The user {name} is disabled. Enable the account first.", name=row.username)
        ) from None


@routes.delete(
    ACCOUNT_PATH + "tokens/{id}/",
    title=Message("Revoke a token of a service account"),
    description=Message(
        "Revokes a token. It is refused from the next request on. Not with a token."
    ),
)
async def service_account_token_deletion(
    username: str, id: str, user: User, store: AccountStore
) -> None:
    reject_token(user)
    await revoke_token_of((await store.find_service_account(user, username)).id, id, store, by=user)
