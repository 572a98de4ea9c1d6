"""`/api/v2/users/` for superusers: create, invite, disable and enable users, and transfer their assets."""

from typing import Any

import msgspec
from sqlalchemy import Row

from fieldgate.accounts.account_rules import password_error, person_name_error, reject_token, username_error
from fieldgate.accounts.invitations import Invitation, InvitationStore
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.schemas import (
    USERS_PATH,
    FullUserRecord,
    InvitationRecord,
    NewUserBody,
    TransferBody,
    TransferRecord,
    UserChanges,
    UserCreated,
    user_path,
)
from fieldgate.accounts.store import AccountStore, NewUser, UsernameTaken
from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.accounts.tokens import new_token
from fieldgate.accounts.user_activation import ONLY_SUPERUSERS, UserActivation
from fieldgate.assets.sharing.schemas import DryRunQuery
from fieldgate.assets.sharing.transfer import OwnershipStore, Transfer
from fieldgate.assets.sharing.user_records import FULL_USER_EXAMPLE, full_user_record
from fieldgate.assets.store import AssetStore
from fieldgate.errors import Conflict, Forbidden, NotFound, ValidationError
from fieldgate.http.operations import Created, patch, post
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request.references import InvalidReference, parse_reference
from fieldgate.http.response.links import Link
from fieldgate.i18n.messages import Message
from fieldgate.identity import User
from fieldgate.reference.store import ReferenceStore

TAG = "Users"
USER_PATH = USERS_PATH + "{username}/"

_INVITATION_EXAMPLE = {
    "url": "http://127.0.0.1:8000/invitation/fgi_K7mPq2XvN8sRtLw4ZbYcHdJfGg3hUe6kVn9pA5xC/",
    "expires": "2026-11-16T08:30:00Z",
}


@post(
    USERS_PATH,
    response=UserCreated,
    title=Message("Create a user"),
    description=Message(
        "Creates a user. Without a password, the response has a one-time link with which the user sets one. "
        "Only for superusers, and not with a token."
    ),
    tag=TAG,
    no_store=True,
    example={**FULL_USER_EXAMPLE, "invitation": _INVITATION_EXAMPLE},
    error_statuses=(403, 409, 413, 415),
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
    _require_superuser(user)
    reject_token(user)
    await _validate(body, reference)
    # Without a password nobody can log in: the hash is that of a random text.
    password_hash = await passwords.hash_in_thread(body.password or new_token())
    new = NewUser(
        username=body.username,
        password_hash=password_hash,
        first_name=body.first_name.strip(),
        last_name=body.last_name.strip(),
        is_superuser=body.is_superuser,
        is_ifrc=body.is_ifrc,
        countries=tuple(code.upper() for code in body.countries),
    )
    try:
        user_id = await accounts.create_user(new)
    except UsernameTaken:
        raise ValidationError({"username": [_taken(body.username)]}) from None
    invitation = None if body.password else await invitations.create(user_id, user.id)
    row = await _find(body.username, accounts)
    created = UserCreated(
        **msgspec.structs.asdict(full_user_record(row)),
        invitation=None if invitation is None else _invitation_record(invitation, base_url),
    )
    return Created(created, Link(user_path(row.username)))


async def _validate(body: NewUserBody, reference: ReferenceStore) -> None:
    errors: dict[str, list[Message]] = {}
    checks = {
        "username": username_error(body.username),
        "first_name": person_name_error(body.first_name.strip()),
        "last_name": person_name_error(body.last_name.strip()),
        "password": password_error(body.password, body.username) if body.password else None,
    }
    errors |= {field: [error] for field, error in checks.items() if error is not None}
    if body.countries:
        known = await reference.current()
        unknown = [code for code in body.countries if known.country_by_iso3(code.upper()) is None]
        message = "There is no country with the code {code}. Enter three letters such as KEN."
        if unknown:
            errors["countries"] = [Message(message, code=code[:20]) for code in unknown[:10]]
    if errors:
        raise ValidationError(errors)


@patch(
    USER_PATH,
    response=FullUserRecord,
    title=Message("Disable or enable a user"),
    description=Message(
        "Disabling revokes tokens, sessions and one-time links of the user for good. Nobody can disable their own "
        "account, so one superuser always stays. Only for superusers."
    ),
    tag=TAG,
    no_store=True,
    example=FULL_USER_EXAMPLE,
    error_statuses=(403, 404, 409, 413, 415),
)
async def user_change(
    username: str, user: User, body: UserChanges, accounts: AccountStore, activation: UserActivation, assets: AssetStore
) -> FullUserRecord:
    _require_superuser(user)
    row = await _find(username, accounts)
    if body.is_active is not None:
        await activation.set_active(row.id, is_active=body.is_active, by=user.id)
        row = await _find(username, accounts)
    collections = await assets.count_public_collections([row.id])
    return full_user_record(row, collections.get(row.id, 0))


@post(
    USER_PATH + "invitation/",
    response=InvitationRecord,
    title=Message("Create a one-time link"),
    description=Message(
        "Returns a link with which the user sets a password: to invite a new user, or to reset a password. It is shown "
        "once, works once, and is valid for a day. A newer link, a new password and disabling the user make it "
        "invalid. Only for superusers, and not with a token."
    ),
    tag=TAG,
    no_store=True,
    example=_INVITATION_EXAMPLE,
    error_statuses=(403, 404, 409),
)
async def user_invitation(
    username: str, user: User, base_url: BaseURL, accounts: AccountStore, invitations: InvitationStore
) -> Created:
    _require_superuser(user)
    reject_token(user)
    row = await _find(username, accounts)
    invitation = await invitations.create(row.id, user.id)
    if invitation is None:
        raise Conflict(Message("The user {name} is disabled. Enable the account first.", name=row.username))
    return Created(_invitation_record(invitation, base_url))


@post(
    USER_PATH + "transfer/",
    response=TransferRecord,
    status=200,
    title=Message("Transfer assets"),
    description=Message(
        "Makes another user the owner of all assets of this user. Assignments of others stay. `dry_run` counts only. "
        "Only for superusers."
    ),
    tag=TAG,
    no_store=True,
    example={
        "dry_run": True,
        "user": "http://127.0.0.1:8000/api/v2/users/omar/",
        "to": "http://127.0.0.1:8000/api/v2/users/amina/",
        "count": 3,
        "asset_types": {"collection": 1, "survey": 2},
        "assignments_removed": 1,
    },
    error_statuses=(403, 404, 413, 415),
)
async def user_transfer(
    username: str, user: User, body: TransferBody, query: DryRunQuery, accounts: AccountStore, ownership: OwnershipStore
) -> TransferRecord:
    _require_superuser(user)
    row = await _find(username, accounts)
    new_owner = await _find_new_owner(body.to, row, accounts)
    transfer = Transfer(owner_id=row.id, new_owner_id=new_owner.id, by=user.id)
    counts = await (ownership.preview(transfer) if query.dry_run else ownership.transfer(transfer))
    return TransferRecord(
        dry_run=query.dry_run,
        user=Link(user_path(row.username)),
        to=Link(user_path(new_owner.username)),
        count=sum(counts.assets.values()),
        asset_types=dict(counts.assets),
        assignments_removed=counts.assignments,
    )


async def _find_new_owner(reference: str, row: Row[Any], accounts: AccountStore) -> Row[Any]:
    try:
        name = parse_reference("users", reference)
    except InvalidReference as invalid:
        raise ValidationError({"to": [invalid.message]}) from None
    found = await accounts.find_user(name)
    if found is None:
        raise ValidationError({"to": [Message("There is no user {name}.", name=name[:150])]})
    if found.id == row.id:
        raise ValidationError({"to": [Message("These assets belong to this user already. Choose another user.")]})
    return found


def _require_superuser(user: User) -> None:
    if not user.is_superuser:
        raise Forbidden(ONLY_SUPERUSERS)


async def _find(username: str, accounts: AccountStore) -> Row[Any]:
    """Return the row of a user, enabled or not. The public is not one."""
    row = await accounts.find_any(username)
    if row is None or row.id == PUBLIC_USER_ID:
        raise NotFound(Message("There is no user {name}.", name=username[:150]))
    return row


def _invitation_record(invitation: Invitation, base_url: BaseURL) -> InvitationRecord:
    return InvitationRecord(url=base_url.url + invitation.path, expires=invitation.expires)


def _taken(username: str) -> Message:
    return Message("The user {name} already exists.", name=username)


OPERATIONS = (user_creation, user_change, user_invitation, user_transfer)
