"""An asset with its assignments, which of them a caller can see, and changes of them as requested and as planned."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import ParamSpec, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import (
    Assignment,
    AssignmentScope,
    AuthorizedAsset,
    allowed_permissions,
    authorize_scope,
)
from fieldgate.db.uid import uid_from_int
from fieldgate.errors import ValidationError
from fieldgate.i18n.messages import Message
from fieldgate.identity import Caller
from fieldgate.overload import run_in_thread_if
from fieldgate.permissions import rules
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.effects import Effect, EffectKind
from fieldgate.permissions.rules import PermissionState
from fieldgate.permissions.submission_filters import Filters, filters_json_size

MAX_WRITTEN_FILTER_BYTES = 64 * 1024**2  # 64 MiB, per request
THREAD_THRESHOLD = 300  # assignments that take milliseconds
FILTER_COST = 100  # assignments that take as long as one with large filters

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_by_cost(cost: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
    """Run a function, in a thread if it is for more than `THREAD_THRESHOLD` assignments."""
    return await run_in_thread_if(cost > THREAD_THRESHOLD, work, *args, **kwargs)


class Grantee(msgspec.Struct, frozen=True):
    """A user who has permissions or can get some. Disabled users keep theirs, and get no new ones."""

    id: int
    username: str
    is_active: bool = True
    uid: str = ""  # known if permissions can be written


class Grant(msgspec.Struct, frozen=True):
    """A permission of a user, as requested: to assign or to remove."""

    username: str
    permission: str | None  # None: the user is named without a permission
    filters: Filters | None = None
    field_prefix: str = ""  # position in the request, for error messages
    is_valid: bool = True  # if not, its errors are reported already; only whether the user exists is checked
    expires_at: datetime | UnsetType | None = UNSET  # None: never; UNSET: as it is


class StoredAssignment(Assignment, frozen=True, kw_only=True):
    id: int
    uid: str


class ListedAssignment(msgspec.Struct, frozen=True):
    """A permission of a user, as shown in a list: assigned, inherited or the owner's."""

    uid: str
    user: Grantee
    permission: str
    filters: Filters | None = None
    is_inherited: bool = False
    expires_at: datetime | None = None


def requested_cost(grants: Iterable[Grant]) -> int:
    """Estimate the cost of processing, in grants without filters."""
    return sum(1 if grant.filters is None else FILTER_COST for grant in grants)


class AssetGrants(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with the assignments on it and on its collection: all of them, or those of some users."""

    id: int
    uid: str
    name: str = ""  # known if permissions can be written
    scope: AssignmentScope
    collection_uid: str | None = None
    grantees_by_id: Mapping[int, Grantee]

    @property
    def asset_type(self) -> str:
        return self.scope.asset_type

    @property
    def cost(self) -> int:
        """Estimated cost of processing, in assignments without filters."""
        filtered = sum(row.filters is not None for rows in self.scope.direct.values() for row in rows)
        return sum(map(len, self.scope.direct.values())) + len(self.scope.on_collection) + FILTER_COST * filtered

    def authorize(self, caller: Caller) -> AuthorizedAsset:
        """Return what the caller may do with the asset. Raise `NotFound` if the caller cannot view it."""
        return authorize_scope(self.id, self.uid, caller, self.scope)

    def holders(self) -> list[Grantee]:
        """Return all users except the owner who have permissions, including denied ones."""
        above = (*self.scope.on_collection, self.scope.collection_owner_id)
        user_ids = dict.fromkeys((*self.scope.direct, *above))
        return [self.grantees_by_id[id_] for id_ in user_ids if id_ not in (None, self.scope.owner_id)]

    def visible_to(self, caller: Caller) -> list[ListedAssignment]:
        """Return what a caller can see: all assignments, or those of the caller, the owner and the public."""
        everything = self.list_all()
        if "manage_asset" in allowed_permissions(caller, self.scope):
            return everything
        visible_ids = (caller.id, self.scope.owner_id, PUBLIC_USER_ID)
        return [each for each in everything if each.user.id in visible_ids]

    def list_all(self) -> list[ListedAssignment]:
        """Return all permissions of active users, sorted. One that is both assigned and inherited is listed twice."""
        every = [*self._owner_assignments(), *self._direct_assignments(), *self._inherited_assignments()]
        return sorted((each for each in every if each.user.is_active), key=_sort_key)

    def _owner_assignments(self) -> Iterator[ListedAssignment]:
        owner = self.grantees_by_id[self.scope.owner_id]
        for permission, uid in owner_uids_by_permission(self.uid, self.asset_type).items():
            yield ListedAssignment(uid, owner, permission)

    def _direct_assignments(self) -> Iterator[ListedAssignment]:
        for user_id, rows in self.scope.direct.items():
            grantee = self.grantees_by_id[user_id]
            for row in rows:
                if isinstance(row, StoredAssignment) and not row.is_denied:
                    yield ListedAssignment(row.uid, grantee, row.permission, row.filters, expires_at=row.expires_at)

    def _inherited_assignments(self) -> Iterator[ListedAssignment]:
        if self.collection_uid is None:
            return
        public = self.scope.public_permissions()
        for grantee in self.holders():
            state = self.scope.state_of(grantee.id, public)
            uids = self._collection_uids(grantee.id)
            for permission in state.collection - state.denied:
                end = state.collection_ends.get(permission)
                yield ListedAssignment(uids[permission], grantee, permission, is_inherited=True, expires_at=end)

    def _collection_uids(self, user_id: int) -> Mapping[str, str]:
        """Return the uids of a user's assignments on the collection, by permission."""
        if user_id == self.scope.collection_owner_id and self.collection_uid is not None:
            return owner_uids_by_permission(self.collection_uid, "collection")
        return {
            row.permission: row.uid
            for row in self.scope.on_collection.get(user_id, ())
            if isinstance(row, StoredAssignment)
        }


class Action(Enum):
    """What was requested, as the log has it."""

    ASSIGN = "assign"
    REMOVE = "remove"
    REMOVE_ALL = "remove_all"
    REPLACE = "replace"
    CLONE = "clone"
    IMPORT = "import"  # a form imported into an asset of another type
    TRANSFER = "transfer"  # of ownership


class PermissionChange(msgspec.Struct, frozen=True):
    """The change of one user's permissions on one asset."""

    asset: AssetGrants
    user: Grantee
    before: PermissionState
    after: PermissionState
    effects: tuple[Effect, ...]

    def filters_of(self, effect: Effect) -> Filters | None:
        """Return the new filters if the effect sets some."""
        sets_filters = effect.permission == PARTIAL and effect.kind in (EffectKind.GRANTED, EffectKind.FILTERED)
        return self.after.filters if sets_filters else None

    def end_of(self, effect: Effect) -> datetime | UnsetType | None:
        """Return the new end if the effect sets one, None if it removes it."""
        if effect.kind is EffectKind.ENDS:
            return self.after.ends.get(effect.permission)
        granted = effect.kind is EffectKind.GRANTED
        return self.after.ends.get(effect.permission, UNSET) if granted else UNSET

    def lasts_longer_than(self, end: datetime) -> bool:
        """Whether it gives something, or moves its end, to a later time than this."""
        before, after = self.before, self.after
        for permission in after.granted:
            new, old = after.ends.get(permission), before.ends.get(permission)
            is_longer = permission not in before.granted or (old is not None and (new is None or new > old))
            if is_longer and (new is None or new > end):
                return True
        return False

    @property
    def filter_bytes(self) -> int:
        """Bytes of filters to write."""
        written = [filters for effect in self.effects if (filters := self.filters_of(effect)) is not None]
        return 2 * sum(map(filters_json_size, written))  # in the assignment and in the log


def reject_oversized(changes: Iterable[PermissionChange]) -> None:
    """Refuse to write more filters than one transaction should."""
    if sum(change.filter_bytes for change in changes) > MAX_WRITTEN_FILTER_BYTES:
        message = Message(
            "These filters are too large for so many assignments at once: the limit is {most} MiB in total.",
            most=MAX_WRITTEN_FILTER_BYTES // 1024**2,
        )
        raise ValidationError({"partial_permissions": [message]})


def _sort_key(assignment: ListedAssignment) -> tuple[str, str, bool, str]:
    return assignment.user.username, assignment.permission, assignment.is_inherited, assignment.uid


def owner_assignment_uid(asset_uid: str, permission: str) -> str:
    """Return the uid of an owner's permission, which has no row. It is always the same."""
    digest = _owner_hash.copy()
    digest.update(f"{asset_uid} {permission}".encode())
    return uid_from_int("p", int.from_bytes(digest.digest()))


_owner_hash = hashlib.blake2b(person=b"fieldgate-owner")


@lru_cache(16_384)  # assets; two kilobytes each
def owner_uids_by_permission(asset_uid: str, asset_type: str) -> Mapping[str, str]:
    """Return the uids of all permissions of an owner, sorted by permission."""
    permissions = sorted(rules.owner_permissions(asset_type))
    return MappingProxyType({each: owner_assignment_uid(asset_uid, each) for each in permissions})
