"""An asset with all that is assigned on it: what the rules need to know, and what a caller is shown of it."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import AuthorizedAsset, allowed_permissions, authorize_scope
from fieldgate.assets.sharing.model.assignments import Assignment, AssignmentScope
from fieldgate.concurrency import FILTER_COST
from fieldgate.db.uid import uid_from_int
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.submission_filters import Filters


class Grantee(msgspec.Struct, frozen=True):
    """Somebody who holds permissions, or may be given some. Who is disabled keeps them, and gets no others."""

    id: int
    username: str
    is_active: bool = True


class StoredAssignment(Assignment, frozen=True, kw_only=True):
    """A row as it is stored."""

    id: int
    uid: str


class ListedAssignment(msgspec.Struct, frozen=True):
    """A permission somebody holds, as it is listed."""

    uid: str
    user: Grantee
    permission: str
    filters: Filters | None = None
    is_inherited: bool = False


class AssetGrants(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with the assignments on it and on its collection: all of them, or those of some users."""

    id: int
    uid: str
    scope: AssignmentScope
    collection_uid: str | None = None
    grantees_by_id: Mapping[int, Grantee]

    @property
    def asset_type(self) -> str:
        return self.scope.asset_type

    @property
    def cost(self) -> int:
        """Roughly, how many assignments there are; those with filters count for many."""
        filtered = sum(row.filters is not None for rows in self.scope.direct.values() for row in rows)
        return sum(map(len, self.scope.direct.values())) + len(self.scope.on_collection) + FILTER_COST * filtered

    def authorize(self, caller: Caller) -> AuthorizedAsset:
        """The asset in the eyes of a caller; 404 where he may not see it."""
        return authorize_scope(self.id, self.uid, caller, self.scope)

    def holders(self) -> list[Grantee]:
        """Everybody but the owner who holds something here, or would if it were not denied."""
        above = (*self.scope.on_collection, self.scope.collection_owner_id)
        numbers = dict.fromkeys((*self.scope.direct, *above))
        return [self.grantees_by_id[number] for number in numbers if number not in (None, self.scope.owner_id)]

    def visible_to(self, caller: Caller) -> list[ListedAssignment]:
        """What a caller is shown: everything, or his own, the owner's and what the public holds."""
        everything = self.list_all()
        if "manage_asset" in allowed_permissions(caller, self.scope):
            return everything
        known = (caller.id, self.scope.owner_id, PUBLIC_USER_ID)
        return [each for each in everything if each.user.id in known]

    def list_all(self) -> list[ListedAssignment]:
        """All that anybody holds who is not disabled, in order. What is assigned and passed down is there twice."""
        every = [*self._owner_assignments(), *self._direct_assignments(), *self._inherited_assignments()]
        return sorted((each for each in every if each.user.is_active), key=_sort_key)

    def _owner_assignments(self) -> Iterator[ListedAssignment]:
        owner = self.grantees_by_id[self.scope.owner_id]
        for permission in rules.owner_permissions(self.asset_type):
            yield ListedAssignment(owner_assignment_uid(self.uid, permission), owner, permission)

    def _direct_assignments(self) -> Iterator[ListedAssignment]:
        for number, rows in self.scope.direct.items():
            person = self.grantees_by_id[number]
            for row in rows:
                if isinstance(row, StoredAssignment) and not row.is_denied:
                    yield ListedAssignment(row.uid, person, row.permission, row.filters)

    def _inherited_assignments(self) -> Iterator[ListedAssignment]:
        for person in self.holders():
            standing = self.scope.state_of(person.id)
            uids = self._collection_uids(person.id)
            for permission in standing.collection - standing.denied:
                yield ListedAssignment(uids[permission], person, permission, is_inherited=True)

    def _collection_uids(self, user_id: int) -> dict[str, str]:
        """By permission, the uids of what somebody holds on the collection."""
        if user_id == self.scope.collection_owner_id and self.collection_uid is not None:
            return {
                each: owner_assignment_uid(self.collection_uid, each) for each in rules.owner_permissions("collection")
            }
        return {
            row.permission: row.uid
            for row in self.scope.on_collection.get(user_id, ())
            if isinstance(row, StoredAssignment)
        }


def _sort_key(assignment: ListedAssignment) -> tuple[str, str, bool, str]:
    return assignment.user.username, assignment.permission, assignment.is_inherited, assignment.uid


@lru_cache(4096)
def owner_assignment_uid(asset_uid: str, permission: str) -> str:
    """The uid of what an owner holds, which is no row and cannot be deleted: always the same."""
    digest = hashlib.blake2b(f"{asset_uid} {permission}".encode(), person=b"fieldgate-owner").digest()
    return uid_from_int("p", int.from_bytes(digest))
