"""Load an asset with the assignments that a caller is allowed to see or change."""

from collections.abc import Iterable, Sequence

from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, effective_user_id
from fieldgate.assets.sharing.io.request_parsing import UnresolvedGrant, resolve_grantees
from fieldgate.assets.sharing.model.grants import AssetGrants, ListedAssignment
from fieldgate.assets.sharing.model.planning import ErrorCollector, GrantRequest
from fieldgate.assets.sharing.store import AssignmentStore, SharingTransaction
from fieldgate.errors import NotFound
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller, User


async def load_visible(uid: str, caller: Caller, authorizer: AssetAuthorizer, store: AssignmentStore) -> AssetGrants:
    """Return an asset with the assignments that the caller can see, and perhaps others: use `visible_to`."""
    grants = await store.find_complete(uid)
    if grants is None:
        return await _load_visible_of_many(await authorizer.authorize(uid, caller), caller, store)
    grants.authorize(caller)
    return grants


async def load_visible_asset(asset: AuthorizedAsset, caller: Caller, store: AssignmentStore) -> AssetGrants:
    """Like `load_visible`, for an asset that is authorized already."""
    grants = await store.find_complete(asset.uid)
    if grants is None:
        return await _load_visible_of_many(asset, caller, store)
    grants.authorize(caller)
    return grants


async def _load_visible_of_many(asset: AuthorizedAsset, caller: Caller, store: AssignmentStore) -> AssetGrants:
    visible_ids = (effective_user_id(caller), asset.owner_id)
    async with store.transaction([asset.uid], read_only=True) as transaction:
        grants = await transaction.load(asset.uid, None if asset.may_manage else visible_ids)
    grants.authorize(caller)
    return grants


async def load_visible_many(uids: Sequence[str], caller: Caller, store: AssignmentStore) -> dict[str, AssetGrants]:
    """Return assets by uid, each with the assignments of the owner, the public and the caller."""
    async with store.transaction(uids, read_only=True) as transaction:
        found = await transaction.load_many(uids, [effective_user_id(caller)])
    return {grants.uid: grants for grants in found}


async def load_assignment(
    transaction: SharingTransaction, uid: str, assignment_uid: str, caller: Caller
) -> tuple[AssetGrants, ListedAssignment]:
    """Return an assignment that the caller can see, and its asset."""
    holder_id = await transaction.find_holder_id(uid, assignment_uid)
    user_ids = [id_ for id_ in (holder_id, caller.id) if id_ is not None]
    grants = await transaction.load(uid, user_ids)
    grants.authorize(caller)
    for assignment in grants.visible_to(caller):
        if assignment.uid == assignment_uid:
            return grants, assignment
    raise NotFound(Message("There is no assignment {uid}.", uid=assignment_uid[:50]))


async def resolve_requests(
    transaction: SharingTransaction, unresolved: Sequence[UnresolvedGrant], errors: ErrorCollector
) -> list[GrantRequest]:
    """Look up the users that requests name."""
    return resolve_grantees(unresolved, await transaction.find_grantees(each.user for each in unresolved), errors)


async def load_managed(
    transaction: SharingTransaction, uid: str, user: User, requests: Iterable[GrantRequest] | None = None
) -> AssetGrants:
    """Return an asset that the user manages, with the assignments of the requests' users, or of all users."""
    user_ids = None if requests is None else {user.id, *(request.user.id for request in requests)}
    grants = await transaction.load(uid, user_ids)
    grants.authorize(user).require("manage_asset")
    return grants
