"""Load an asset with the assignments that a caller is allowed to see or change."""

from collections.abc import Iterable, Sequence

from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME
from fieldgate.assets.asset_lists import AssetPage
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.authorization import AssetAuthorizer, AuthorizedAsset, effective_user_id
from fieldgate.assets.list_sql import ListedAsset, StoredGrant, decode_grants
from fieldgate.assets.sharing.grants_sql import decode_filters
from fieldgate.assets.sharing.io.request_parsing import UnresolvedGrant, resolve_grantees
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, ListedAssignment, StoredAssignment
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


def listed_grants(asset: ListedAsset, page: AssetPage, caller: Caller) -> AssetGrants:
    """Return an asset of a list with the assignments of the owner, the public and the caller."""
    user_id = effective_user_id(caller)
    grantees = {
        user_id: Grantee(user_id, page.username, page.is_active),
        PUBLIC_USER_ID: Grantee(PUBLIC_USER_ID, PUBLIC_USERNAME),
        asset.owner_id: Grantee(asset.owner_id, asset.username, asset.owner_disabled_at is None),
    }
    if asset.collection_owner_id is not None and asset.collection_owner is not None:
        is_active = asset.collection_owner_disabled_at is None
        grantees[asset.collection_owner_id] = Grantee(asset.collection_owner_id, asset.collection_owner, is_active)
    return AssetGrants(
        id=asset.id,
        uid=asset.uid,
        scope=AssignmentScope(
            asset_type=asset.asset_type,
            owner_id=asset.owner_id,
            direct=_by_user(user_id, asset.granted, asset.granted_to_public),
            collection_owner_id=asset.collection_owner_id,
            on_collection=_by_user(user_id, asset.granted_by_collection, asset.granted_to_public_by_collection),
        ),
        collection_uid=asset.collection_uid,
        grantees_by_id=grantees,
    )


def _by_user(user_id: int, granted: str | None, granted_to_public: str | None) -> dict[int, list[StoredAssignment]]:
    found = {user_id: decode_grants(granted), PUBLIC_USER_ID: decode_grants(granted_to_public)}
    return {holder_id: [_to_assignment(each) for each in grants] for holder_id, grants in found.items() if grants}


def _to_assignment(grant: StoredGrant) -> StoredAssignment:
    filters = None if grant.filters is None else decode_filters(grant.filters)
    return StoredAssignment(grant.permission, bool(grant.is_denied), filters, id=grant.id, uid=grant.uid)


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
