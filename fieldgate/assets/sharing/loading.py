"""What handlers ask first: the asset with its assignments as a caller may see or change them."""

from collections.abc import Iterable, Sequence

from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, effective_user_id
from fieldgate.assets.sharing.io.request_parsing import UnresolvedGrant, resolve_grantees
from fieldgate.assets.sharing.model.grants import AssetGrants, ListedAssignment
from fieldgate.assets.sharing.model.planning import ErrorCollector, GrantRequest
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User

TAG = "Sharing"
PATH = "/api/v2/assets/{uid}/permission-assignments/"

OWNER_PROTECTED = Message("The owner's permissions cannot be taken away.")


async def load_visible(uid: str, caller: Caller, authorizer: AssetAuthorizer, store: AssignmentStore) -> AssetGrants:
    """The asset with what the caller may be shown of its assignments."""
    return await load_visible_asset(await authorizer.authorize(uid, caller), caller, store)


async def load_visible_asset(asset: AuthorizedAsset, caller: Caller, store: AssignmentStore) -> AssetGrants:
    """The same, where it is known already that the caller may see the asset."""
    known = (effective_user_id(caller), asset.owner_id)
    async with store.transaction([asset.uid], read_only=True) as session:
        shared = await session.load(asset.uid, None if asset.may_manage else known)
    shared.authorize(caller)
    return shared


async def load_visible_many(uids: Sequence[str], caller: Caller, store: AssignmentStore) -> dict[str, AssetGrants]:
    """Assets of a list by uid, each with the owner's assignments, the public's and the caller's own."""
    async with store.transaction(uids, read_only=True) as session:
        found = await session.load_many(uids, [effective_user_id(caller)])
    return {shared.uid: shared for shared in found}


async def load_assignment(
    session: SharingTransaction, uid: str, assignment: str, caller: Caller
) -> tuple[AssetGrants, ListedAssignment]:
    """An assignment the caller may see, with what decides about it."""
    holder = await session.find_holder_id(uid, assignment)
    known = [number for number in (holder, caller.id) if number is not None]
    shared = await session.load(uid, known)
    shared.authorize(caller)
    for shown in shared.visible_to(caller):
        if shown.uid == assignment:
            return shared, shown
    raise NotFound(Message("There is no assignment {uid}.", uid=assignment[:50]))


async def resolve_requests(
    session: SharingTransaction, unresolved: Sequence[UnresolvedGrant], errors: ErrorCollector
) -> list[GrantRequest]:
    """What is wanted, for the users who were named."""
    return resolve_grantees(unresolved, await session.find_grantees(each.user for each in unresolved), errors)


async def load_managed(
    session: SharingTransaction, uid: str, user: User, requests: Iterable[GrantRequest] | None = None
) -> AssetGrants:
    """The asset, with the assignments of those concerned, or of everybody; refused unless the caller manages it."""
    of_users = None if requests is None else {user.id, *(wish.user.id for wish in requests)}
    shared = await session.load(uid, of_users)
    shared.authorize(user).require("manage_asset")
    return shared
