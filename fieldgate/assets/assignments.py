"""Stored assignments of an asset, converted to the states that the permission rules work on."""

from collections.abc import Mapping, Sequence

import msgspec

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.rules import Codenames, PermissionState
from fieldgate.permissions.submission_filters import Filters


class Assignment(msgspec.Struct, frozen=True):
    """A permission that a user was granted or denied."""

    permission: str
    is_denied: bool = False
    filters: Filters | None = None


_NOTHING: Codenames = frozenset()

AssignmentsByUser = Mapping[int, Sequence[Assignment]]  # by user id


class AssignmentScope(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with its assignments and those on its collection. Collections are not nested."""

    asset_type: str
    owner_id: int
    direct: AssignmentsByUser
    collection_owner_id: int | None = None
    on_collection: AssignmentsByUser = {}

    def public_permissions(self) -> Codenames:
        """Return what the public may do."""
        return rules.own_permissions(self._own_state(PUBLIC_USER_ID), self.asset_type)

    def state_of(self, user_id: int, public: Codenames | None = None) -> PermissionState:
        """Return the state of a user's permissions. The public is a user, too, with the id `PUBLIC_USER_ID`.

        `public` are the `public_permissions`, if they are known already.
        """
        if user_id == PUBLIC_USER_ID:
            return self._own_state(user_id)
        return self._own_state(user_id, self.public_permissions() if public is None else public)

    def _own_state(self, user_id: int, public: Codenames = _NOTHING) -> PermissionState:
        rows = self.direct.get(user_id, ())
        partial = None
        for row in rows:
            if row.permission == PARTIAL and not row.is_denied:
                partial = row.filters
        return PermissionState(
            is_owner=user_id == self.owner_id,
            is_public=user_id == PUBLIC_USER_ID,
            granted=_granted_permissions(rows),
            denied=frozenset([row.permission for row in rows if row.is_denied]) if rows else _NOTHING,
            filters=partial or {},
            collection=self._inherited_permissions(user_id),
            public=public,
        )

    def _inherited_permissions(self, user_id: int) -> Codenames:
        if self.collection_owner_id is None:
            return _NOTHING
        is_owner = user_id == self.collection_owner_id
        held = (
            rules.owner_permissions("collection")
            if is_owner
            else _granted_permissions(self.on_collection.get(user_id, ()))
        )
        return rules.inherited(held, self.asset_type)


def _granted_permissions(rows: Sequence[Assignment]) -> Codenames:
    return frozenset([row.permission for row in rows if not row.is_denied]) if rows else _NOTHING
