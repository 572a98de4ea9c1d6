"""`/api/v2/users/{username}/transfer/`: make another user the owner of all assets of a user."""

from typing import Any

from sqlalchemy import Row

from fieldgate.accounts.admin_routes import TAG, USER_PATH, find_user, require_superuser
from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.store import AccountStore
from fieldgate.assets.sharing.grant_parsing import parse_field
from fieldgate.assets.sharing.schemas import DryRunQuery, TransferBody, TransferRecord
from fieldgate.assets.sharing.transfer import OwnershipStore, Transfer
from fieldgate.errors import ValidationError
from fieldgate.http.links import Link
from fieldgate.http.operations import Routes
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User

routes = Routes(tag=TAG, scope=Scope.ADMIN)


@routes.post(
    USER_PATH + "transfer/",
    response=TransferRecord,
    status=200,
    title=Message("Transfer assets"),
    description=Message(
        "Makes another user the owner of all assets of this user, also in the trash. Assignments of others stay. "
        "`dry_run` counts only. "
        "Only for superusers."
    ),
)
async def user_transfer(
    username: str,
    user: User,
    body: TransferBody,
    query: DryRunQuery,
    accounts: AccountStore,
    ownership: OwnershipStore,
) -> TransferRecord:
    require_superuser(user)
    row = await find_user(username, accounts)
    new_owner = await _find_new_owner(body.to, row, accounts)
    transfer = Transfer(owner_id=row.id, new_owner_id=new_owner.id, by=user)
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
    name = parse_field("to", "users", reference)
    found = await accounts.find_user(name)
    if found is None:
        raise ValidationError({"to": [Message("There is no user {name}.", name=name[:150])]})
    if found.id == row.id:
        raise ValidationError(
            {"to": [Message("These assets belong to this user already. Choose another user.")]}
        )
    return found
