"""Records of a list of assets as JSON."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from msgspec import json

from fieldgate.accounts.tables import PUBLIC_USER_ID, PUBLIC_USERNAME
from fieldgate.assets.asset_lists import AssetPage
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.list_sql import ListedAsset, StoredGrant, decode_grants
from fieldgate.assets.routes.deployment_fields import list_fields
from fieldgate.assets.routes.record_fields import permission_records, record_fields
from fieldgate.assets.schemas import AssetRecord
from fieldgate.assets.sharing.grants import AssetGrants, Grantee, StoredAssignment
from fieldgate.assets.sharing.store import decode_filters
from fieldgate.db import Timestamp
from fieldgate.http.response.links import encode
from fieldgate.i18n.languages import Language
from fieldgate.identity import Caller

_RECORD_COST = 15  # see `run_by_cost`
_BYTES_PER_COST = 50  # of assignments with filters, which can be large


class ListEncoder:
    """Encodes the assets of one page for its caller."""

    def __init__(
        self, page: AssetPage, caller: Caller, language: Language, children: Mapping[int, int], *, own_only: bool
    ) -> None:
        """`children` has the number of assets in each collection, by id."""
        self._page = page
        self._caller = caller
        self._language = language
        self._children = children
        self._own_only = own_only

    def cost(self, asset: ListedAsset) -> int:
        """Estimated cost of encoding an asset, in assignments of other assets."""
        return _RECORD_COST + len(asset.granted or "") // _BYTES_PER_COST

    def encode_all(self) -> list[bytes]:
        return [self.encode(asset) for asset in self._page.rows]

    def encode(self, asset: ListedAsset) -> bytes:
        grants = listed_grants(asset, self._page, self._caller)
        row = _decode(asset, self._caller)
        record = AssetRecord(
            **record_fields(row),
            **list_fields(row, self._caller, grants, self._children),
            permissions=permission_records(grants, self._caller, self._language, own_only=self._own_only),
        )
        return encode(record)


def _decode(asset: ListedAsset, caller: Caller) -> Any:
    """A row as `AssetStore.get_visible` returns it."""
    decoded = {
        "settings": json.decode(asset.settings),
        "tags": json.decode(asset.tags),
        "summary": json.decode(asset.summary),
        "created_at": Timestamp.unpack(asset.created_at),
        "modified_at": Timestamp.unpack(asset.modified_at),
        "status": asset.status,
        "parent_uid": asset.parent_uid(caller),
    }
    return SimpleNamespace(**{**asset._asdict(), **decoded})


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
