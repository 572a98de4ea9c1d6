"""`/api/v2/users/`: users who can be given permissions. Superusers create, invite and change them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Row

from fieldgate.accounts.account_rules import (
    password_error,
    person_name_error,
    reject_token,
    username_error,
)
from fieldgate.accounts.invitations import Invitation, InvitationStore
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.schemas import (
    USERS_PATH,
    FullUserRecord,
    InvitationRecord,
    NewUserBody,
    UserChanges,
    UserCreated,
    UserFilters,
    UserRecord,
    user_path,
)
from fieldgate.accounts.storage_quota import StorageQuota
from fieldgate.accounts.store import AccountStore, NewUser, UsernameTaken, new_token
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.accounts.user_changes import ONLY_SUPERUSERS, UserEditor
from fieldgate.errors import Conflict, Forbidden, NotFound, ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import AssetLimit, Created, Routes
from fieldgate.http.request.hosts import BaseURL
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest
from fieldgate.reference.store import ReferenceStore

TAG = "Users"
USER_PATH = USERS_PATH + "{username}/"

_IS_ACTIVE = {"active": True, "disabled": False, "all": None}  # by status
routes = Routes(tag=TAG, scope=Scope.READ)


class PublicCollections:
    """Counts the collections of users that the public can discover, with a function of the assets."""

    def __init__(self, count: Callable[[Sequence[int]], Awaitable[Mapping[int, int]]]) -> None:
        self.count = count  # by ids of users

    async def count_of(self, user_id: int) -> int:
        return (await self.count([user_id])).get(user_id, 0)


@routes.get_list(
    USERS_PATH,
    response=FullUserRecord,
    title=Message("Users"),
    scope=Scope.ADMIN,
    description=Message(
        "All users with an active account, or also the disabled ones. Only for superusers."
    ),
    error_statuses=(403,),
)
async def user_list(
    page: PageRequest,
    user: User,
    query: UserFilters,
    accounts: AccountStore,
    collections: PublicCollections,
) -> ListResult[FullUserRecord]:
    if not user.is_superuser:
        raise Forbidden(
            Message("Only superusers can list all users. Request a single user by name.")
        )
    count, rows = await accounts.search_users(
        query.search, page, is_active=_IS_ACTIVE[query.status]
    )
    counts = await collections.count([row.id for row in rows])
    return ListResult(count, [full_user_record(row, counts.get(row.id, 0)) for row in rows])


@routes.get(
    USER_PATH,
    response=UserRecord,
    alternate_response=FullUserRecord,
    title=Message("User"),
    description=Message(
        "One user by name; case is ignored. AnonymousUser is the public. Superusers see more, and disabled users too."
    ),
    asset_limit=AssetLimit.FREE,
)
async def user_detail(
    username: str,
    user: User,
    accounts: AccountStore,
    collections: PublicCollections,
    quota: StorageQuota,
) -> UserRecord | FullUserRecord:
    row = await accounts.find_any(username)
    is_visible = row is not None and (row.disabled_at is None or user.sees_everything)
    if row is None or not is_visible:
        raise NotFound(Message("There is no user {name}.", name=username[:150]))
    count = await collections.count_of(row.id)
    if user.sees_everything and row.id != PUBLIC_USER_ID:
        return msgspec.structs.replace(
            full_user_record(row, count), stored_bytes=await quota.used_by(row.id)
        )
    return UserRecord(
        url=Link(user_path(row.username)),
        username=row.username,
        date_joined=row.created_at,
        public_collections_count=count,
    )


@routes.post(
    USERS_PATH,
    response=UserCreated,
    title=Message("Create a user"),
    description=Message(
        "Creates a user. Without a password, the response has a one-time link with which the user sets one. "
        "Only for superusers, and not with a token."
    ),
    error_statuses=(409,),
    scope=Scope.ADMIN,
)
async def user_creation(
    user: User,
    body: NewUserBody,
    base_url: BaseURL,
    accounts: AccountStore,
    invitations: InvitationStore,
    passwords: Passwords,
    reference: ReferenceStore,
) -> Created:
    require_superuser(user)
    reject_token(user)
    errors: dict[str, list[Message]] = {}
    if error := username_error(body.username):
        errors["username"] = [error]
    if body.password and (error := password_error(body.password, body.username)):
        errors["password"] = [error]
    await _validate(errors, body, reference)
    # Without a password nobody can log in: the hash is that of a random text.
    password_hash = await passwords.hash_in_thread(body.password or new_token())
    new = NewUser(
        username=body.username,
        password_hash=password_hash,
        first_name=body.first_name.strip(),
        last_name=body.last_name.strip(),
        is_superuser=body.is_superuser,
        is_ifrc=body.is_ifrc,
        countries=tuple(_upper(body.countries)),
    )
    try:
        user_id = await accounts.create_user(new, by=user)
    except UsernameTaken:
        raise ValidationError({"username": [username_taken(body.username)]}) from None
    invitation = None if body.password else await invitations.create(user_id, user)
    row = await find_user(body.username, accounts)
    created = UserCreated(
        **msgspec.structs.asdict(full_user_record(row)),
        invitation=None if invitation is None else _invitation_record(invitation, base_url),
    )
    return Created(created, Link(user_path(row.username)))


async def _validate(
    errors: dict[str, list[Message]], body: NewUserBody | UserChanges, reference: ReferenceStore
) -> None:
    """Check names and countries, and raise these errors and the others."""
    for field, name in (("first_name", body.first_name), ("last_name", body.last_name)):
        if error := person_name_error((name or "").strip()):
            errors[field] = [error]
    if body.countries:
        known = await reference.current()
        unknown = [code for code in body.countries if known.country_by_iso3(code.upper()) is None]
        if unknown:
            errors["countries"] = [
                Message(
                    "There is no country with the code {code}. Enter three letters such as KEN.",
                    code=code[:20],
                )
                for code in unknown[:10]
            ]
    if errors:
        raise ValidationError(errors)


@routes.patch(
    USER_PATH,
    response=FullUserRecord,
    title=Message("Change a user"),
    description=Message(
        "Changes name, rights and countries, or disables or enables the account; what is left out stays. "
        "Disabling revokes tokens, sessions and one-time links of the user for good. Nobody can disable their own "
        "account, and the last active superuser stays one. Only for superusers; a token cannot enable accounts or "
        "change rights and countries."
    ),
    error_statuses=(409,),
    scope=Scope.ADMIN,
)
async def user_change(
    username: str,
    user: User,
    body: UserChanges,
    accounts: AccountStore,
    editor: UserEditor,
    reference: ReferenceStore,
    collections: PublicCollections,
) -> FullUserRecord:
    require_superuser(user)
    if body.is_active or (body.is_superuser, body.is_ifrc, body.countries) != (None, None, None):
        reject_token(user)  # what another account gets outlives a leaked token
    row = await find_user(username, accounts)
    await _validate({}, body, reference)
    changes = msgspec.structs.replace(
        body,
        first_name=body.first_name and body.first_name.strip(),
        last_name=body.last_name and body.last_name.strip(),
        countries=body.countries and _upper(body.countries),
    )
    await editor.change(row.id, changes, by=user)
    row = await find_user(username, accounts)
    return full_user_record(row, await collections.count_of(row.id))


def _upper(codes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(code.upper() for code in codes))


@routes.post(
    USER_PATH + "invitation/",
    response=InvitationRecord,
    title=Message("Create a one-time link"),
    description=Message(
        "Returns a link with which the user sets a password: to invite a new user, or to reset a password. It is shown "
        "once, works once, and is valid for a day. A newer link, a new password and disabling the user make it "
        "invalid. Only for superusers, and not with a token."
    ),
    error_statuses=(409,),
    scope=Scope.ADMIN,
)
async def user_invitation(
    username: str,
    user: User,
    base_url: BaseURL,
    accounts: AccountStore,
    invitations: InvitationStore,
) -> Created:
    require_superuser(user)
    reject_token(user)
    row = await find_user(username, accounts)
    invitation = await invitations.create(row.id, user)
    if invitation is None:
        raise Conflict(
            Message("The user {name} is disabled. Enable the account first.", name=row.username)
        )
    return Created(_invitation_record(invitation, base_url))


def require_superuser(user: User) -> None:
    if not user.is_superuser:
        raise Forbidden(ONLY_SUPERUSERS)


async def find_user(username: str, accounts: AccountStore) -> Row[Any]:
    """Return the row of a user, enabled or not. The public is not one."""
    row = await accounts.find_any(username)
    if row is None or row.id == PUBLIC_USER_ID:
        raise NotFound(Message("There is no user {name}.", name=username[:150]))
    return row


def _invitation_record(invitation: Invitation, base_url: BaseURL) -> InvitationRecord:
    return InvitationRecord(url=base_url.url + invitation.path, expires=invitation.expires)


def username_taken(username: str) -> Message:
    return Message("The user {name} already exists.", name=username)


def full_user_record(row: Row[Any], public_collections: int = 0) -> FullUserRecord:
    return FullUserRecord(
        url=Link(user_path(row.username)),
        username=row.username,
        date_joined=row.created_at,
        public_collections_count=public_collections,
        first_name=row.first_name,
        last_name=row.last_name,
        is_active=row.disabled_at is None,
        is_superuser=row.is_superuser,
        is_ifrc=row.is_ifrc,
        countries=row.countries,
        last_login=row.last_login_at,
        invitation_expires=row.invitation_expires_at,
        owner=None if row.owner_id is None else row.owner_username or "",
    )
