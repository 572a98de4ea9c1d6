"""What is stored about an asset, as the standings that the rules know."""

from collections.abc import Mapping, Sequence

import msgspec

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.rules import Codenames, PermissionState
from fieldgate.permissions.submission_filters import Filters


class Assignment(msgspec.Struct, frozen=True):
    """A row: what somebody was granted, or denied."""

    permission: str
    is_denied: bool = False
    filters: Filters | None = None


AssignmentsByUser = Mapping[int, Sequence[Assignment]]  # by the number of the user


class AssignmentScope(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with the assignments on it, and those on the collection it is in. A collection is in no other."""

    asset_type: str
    owner_id: int
    direct: AssignmentsByUser
    collection_owner_id: int | None = None
    on_collection: AssignmentsByUser = {}

    def state_of(self, user_id: int) -> PermissionState:
        """What decides what the user may do here. `THE_PUBLIC` is a user as well."""
        public = self._own_state(PUBLIC_USER_ID)
        everybodys = rules.own_permissions(public, self.asset_type)
        if user_id == PUBLIC_USER_ID:
            return public
        return msgspec.structs.replace(self._own_state(user_id), public=everybodys)

    def _own_state(self, user_id: int) -> PermissionState:
        rows = self.direct.get(user_id, ())
        partial = next((row.filters for row in rows if row.permission == PARTIAL and not row.is_denied), None)
        return PermissionState(
            is_owner=user_id == self.owner_id,
            is_public=user_id == PUBLIC_USER_ID,
            granted=_granted_permissions(rows),
            denied=frozenset(row.permission for row in rows if row.is_denied),
            filters=partial or {},
            collection=rules.inherited(self._collection_permissions(user_id), self.asset_type),
        )

    def _collection_permissions(self, user_id: int) -> Codenames:
        if user_id == self.collection_owner_id:
            return rules.owner_permissions("collection")
        return _granted_permissions(self.on_collection.get(user_id, ()))


def _granted_permissions(rows: Sequence[Assignment]) -> Codenames:
    return frozenset(row.permission for row in rows if not row.is_denied)
