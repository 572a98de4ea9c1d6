"""`DELETE /me/` and `DELETE /api/v2/users/{username}/`: delete accounts for good. `GET /me/` is the own account."""

from typing import Annotated

import msgspec
from msgspec import Meta

from fieldgate.accounts.account_rules import reject_token
from fieldgate.accounts.admin_routes import TAG as USERS_TAG
from fieldgate.accounts.admin_routes import USER_PATH, find_user, require_superuser
from fieldgate.accounts.leaving import AccountRemover, OwnedAssetsError
from fieldgate.accounts.routes import TAG, load_account
from fieldgate.accounts.schemas import AccountRecord
from fieldgate.accounts.store import AccountStore, UnknownUser
from fieldgate.errors import NotFound, Unauthorized, ValidationError
from fieldgate.http.negotiation import Format
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User

ME_PATH = "/me/"
routes = Routes(tag=TAG, scope=Scope.READ)


class LeavingBody(msgspec.Struct, frozen=True):
    confirm: Annotated[
        str, Meta(description="The uid of your account, so that nothing is deleted by accident.")
    ]


@routes.get(
    ME_PATH,
    response=AccountRecord,
    title=Message("Own account"),
    description=Message("The same as `/api/v2/account/`, at the path of KoboToolbox."),
    formats=(Format.JSON,),
    no_store=True,
    scope=Scope.NONE,
)
async def me_detail(user: User, store: AccountStore) -> AccountRecord:
    return await load_account(user, store)


@routes.delete(
    ME_PATH,
    title=Message("Delete the own account"),
    description=Message(
        "Deletes the caller's account for good, with its tokens, permissions and imports. Refused while the caller "
        "owns assets outside the trash, or is the only admin of a team with other members; the response lists them. "
        "The username is not given to anybody else. Not with a token."
    ),
    formats=(Format.JSON,),
    error_types={409: OwnedAssetsError},
    scope=Scope.ACCOUNT,
)
async def me_deletion(user: User, body: LeavingBody, remover: AccountRemover) -> None:
    reject_token(user)  # a leaked one must not destroy everything
    if body.confirm != user.uid:
        raise ValidationError({"confirm": [Message("This is not the uid of your account.")]})
    try:
        await remover.delete(user.id, user)
    except UnknownUser:  # deleted since the request was authenticated
        raise Unauthorized from None


@routes.delete(
    USER_PATH,
    title=Message("Delete a user"),
    description=Message(
        "Deletes an account for good, with its tokens, permissions and imports. Refused while the user owns assets "
        "outside the trash, or is the only admin of a team with other members; the response lists them. The username "
        "is not given to anybody else. Only for superusers, and not with a token."
    ),
    tag=USERS_TAG,
    error_types={409: OwnedAssetsError},
    scope=Scope.ADMIN,
)
async def user_deletion(
    username: str, user: User, accounts: AccountStore, remover: AccountRemover
) -> None:
    require_superuser(user)
    reject_token(user)  # it cannot be undone
    row = await find_user(username, accounts)
    try:
        await remover.delete(row.id, user)
    except UnknownUser:
        raise NotFound(Message("There is no user {name}.", name=username[:150])) from None
