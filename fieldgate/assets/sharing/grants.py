"""An asset with its assignments, which of them a caller can see, and changes of them as requested and as planned."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import ParamSpec, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from fieldgate.accounts.tables import PUBLIC_USER_ID, TEAM_PREFIX
from fieldgate.assets.authorization import (
    Assignment,
    AssignmentScope,
    AuthorizedAsset,
    allowed_permissions,
    authorize_scope,
    effective_user_id,
)
from fieldgate.db.uid import uid_from_bytes
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
MAX_WITH_MEMBERS = 1_000  # records of one asset, beyond which those through teams are left out
THREAD_THRESHOLD = 300  # assignments that take milliseconds
FILTER_COST = 100  # assignments that take as long as one with large filters

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_by_cost(
    cost: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function, in a thread if it is for more than `THREAD_THRESHOLD` assignments."""
    return await run_in_thread_if(cost > THREAD_THRESHOLD, work, *args, **kwargs)


class Grantee(msgspec.Struct, frozen=True):
    """A user or team that has permissions or can get some. Disabled users keep theirs, and get no new ones."""

    id: int
    username: str  # of a team: `team:` and its name
    is_active: bool = True
    uid: str = ""  # known of teams, and if permissions can be written

    @property
    def is_team(self) -> bool:
        return self.username.startswith(TEAM_PREFIX)

    @property
    def team_name(self) -> str:
        """The name of a team; empty if the caller may not know it."""
        return self.username.removeprefix(TEAM_PREFIX)

    @property
    def reference(self) -> str:
        """What names it in a request. Several teams can have the same name."""
        return TEAM_PREFIX + self.uid if self.is_team else self.username


class Grant(msgspec.Struct, frozen=True):
    """A permission of a user or team, as requested: to assign or to remove."""

    username: str  # of a team: `team:` and its name or uid
    permission: str | None  # None: the user is named without a permission
    filters: Filters | None = None
    field_prefix: str = ""  # position in the request, for error messages
    is_valid: bool = (
        True  # if not, its errors are reported already; only whether the user exists is checked
    )
    expires_at: datetime | UnsetType | None = UNSET  # None: never; UNSET: as it is
    is_inherited: bool = (
        False  # listed as inherited: it never becomes direct, even if it is not inherited any more
    )
    is_denied: bool = False


class StoredAssignment(Assignment, frozen=True, kw_only=True):
    id: int
    uid: str


class ListedAssignment(msgspec.Struct, frozen=True):
    """A permission of a user or team, as shown in a list: assigned, inherited or the owner's."""

    uid: str
    user: Grantee
    permission: str
    filters: Filters | None = None
    is_inherited: bool = False
    expires_at: datetime | None = None
    team: Grantee | None = None  # through which the user has it


def requested_cost(grants: Iterable[Grant]) -> int:
    """Estimate the cost of processing, in grants without filters."""
    return sum(1 if grant.filters is None else FILTER_COST for grant in grants)


class AssetGrants(msgspec.Struct, frozen=True, kw_only=True, dict=True):
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
        filtered = sum(
            row.filters is not None for rows in self.scope.direct.values() for row in rows
        )
        inherited = len(self.scope.on_collection) + len(self.scope.teams)
        return sum(map(len, self.scope.direct.values())) + inherited + FILTER_COST * filtered

    def authorize(self, caller: Caller) -> AuthorizedAsset:
        """Return what the caller may do with the asset. Raise `NotFound` if the caller cannot view it."""
        return authorize_scope(self.id, self.uid, caller, self.scope)

    def holders(self) -> list[Grantee]:
        """Return all users except the owner who have permissions, including denied ones, and all teams that do."""
        above = (*self.scope.on_collection, self.scope.collection_owner_id, *self.scope.teams)
        user_ids = dict.fromkeys((*self.scope.direct, *above))
        return [
            self.grantees_by_id[id_] for id_ in user_ids if id_ not in (None, self.scope.owner_id)
        ]

    def hide_teams(
        self, listed: Iterable[ListedAssignment], caller: Caller
    ) -> list[ListedAssignment]:
        """Remove the names of teams that a caller is not in."""
        if caller.sees_everything:
            return list(listed)
        own = self.scope.teams.get(effective_user_id(caller), ())
        return [
            msgspec.structs.replace(
                each, user=_hide(each.user, own), team=each.team and _hide(each.team, own)
            )
            if each.team is not None or each.user.is_team
            else each
            for each in listed
        ]

    def visible_to(
        self, caller: Caller, *, with_teams: bool = False, with_all_members: bool = False
    ) -> list[ListedAssignment]:
        """Return what a caller can see: all assignments, or those of the caller, the owner and the public.

        `with_teams` adds those of teams themselves, for callers who see all, and of their own teams for others.
        """
        listed = self.list_all(with_teams=with_teams, with_all_members=with_all_members)
        everything = self.hide_teams(listed, caller)
        if "manage_asset" in allowed_permissions(caller, self.scope):
            return everything
        user_id = effective_user_id(caller)
        visible_ids = {
            user_id,
            self.scope.owner_id,
            PUBLIC_USER_ID,
            *self.scope.teams.get(user_id, ()),
        }
        return [each for each in everything if each.user.id in visible_ids]

    def list_all(
        self, *, with_teams: bool = False, with_all_members: bool = False
    ) -> list[ListedAssignment]:
        """Return all permissions of active users, sorted. One that is both assigned and inherited is listed twice.

        People with access through teams only are left out if there are too many, unless `with_all_members`.
        """
        every = [
            *self._owner_assignments(),
            *self._direct_assignments(),
            *self._inherited_assignments(),
        ]
        listed = [
            each for each in every if each.user.is_active and (with_teams or not each.user.is_team)
        ]
        left_out = frozenset() if with_all_members else self.left_out
        listed += [each for each in self.through_teams if each.user.id not in left_out]
        return sorted(listed, key=_sort_key)

    @cached_property
    def left_out(self) -> frozenset[int]:
        """Return the users with access through teams only if the list would be too long with them.

        Of the others it has everything: then a client can write back what it has read.
        """
        if sum(map(len, self.scope.direct.values())) + len(self.through_teams) <= MAX_WITH_MEMBERS:
            return frozenset()
        listed = {
            each.user.id for each in (*self._direct_assignments(), *self._inherited_assignments())
        }
        return frozenset(each.user.id for each in self.through_teams) - listed

    @cached_property
    def through_teams(self) -> list[ListedAssignment]:
        """Return what active users have through teams only."""
        found = []
        for user_id in self.scope.teams:
            user = self.grantees_by_id[user_id]
            if not user.is_active or user_id == self.scope.owner_id:
                continue
            state = self.scope.state_of(user_id)
            for permission in (
                rules.passed_on(state, self.asset_type) - state.granted - state.collection
            ):
                filters = (
                    rules.own_filters(state, self.asset_type) if permission == PARTIAL else None
                )
                uid = team_assignment_uid(self.uid, user_id, permission)
                end = state.team_ends.get(permission)
                team_id = self.scope.passed_by_teams(user_id).teams[permission][0]
                team = self.grantees_by_id[team_id]
                found.append(ListedAssignment(uid, user, permission, filters, True, end, team))
        return found

    def _owner_assignments(self) -> Iterator[ListedAssignment]:
        owner = self.grantees_by_id[self.scope.owner_id]
        for permission, uid in owner_uids_by_permission(self.uid, self.asset_type).items():
            yield ListedAssignment(uid, owner, permission)

    def _direct_assignments(self) -> Iterator[ListedAssignment]:
        for user_id, rows in self.scope.direct.items():
            grantee = self.grantees_by_id[user_id]
            for row in rows:
                if isinstance(row, StoredAssignment) and not row.is_denied:
                    yield ListedAssignment(
                        row.uid, grantee, row.permission, row.filters, expires_at=row.expires_at
                    )

    def _inherited_assignments(self) -> Iterator[ListedAssignment]:
        if self.collection_uid is None:
            return
        for grantee in self.holders():
            state = self.scope.state_of(grantee.id)
            uids = self._collection_uids(grantee.id)
            for permission in state.collection & rules.passed_on(state, self.asset_type):
                end = state.collection_ends.get(permission)
                yield ListedAssignment(
                    uids[permission], grantee, permission, is_inherited=True, expires_at=end
                )

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
        sets_filters = effect.permission == PARTIAL and effect.kind in (
            EffectKind.GRANTED,
            EffectKind.FILTERED,
        )
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
            is_longer = permission not in before.granted or (
                old is not None and (new is None or new > old)
            )
            if is_longer and (new is None or new > end):
                return True
        return False

    @property
    def filter_bytes(self) -> int:
        """Bytes of filters to write."""
        written = [
            filters for effect in self.effects if (filters := self.filters_of(effect)) is not None
        ]
        return 2 * sum(map(filters_json_size, written))  # in the assignment and in the log


def reject_oversized(changes: Iterable[PermissionChange]) -> None:
    """Refuse to write more filters than one transaction should."""
    if sum(change.filter_bytes for change in changes) > MAX_WRITTEN_FILTER_BYTES:
        message = Message(
            "These filters are too large for so many assignments at once: the limit is {most} MiB in total.",
            most=MAX_WRITTEN_FILTER_BYTES // 1024**2,
        )
        raise ValidationError({"partial_permissions": [message]})


def _hide(grantee: Grantee, known_ids: Collection[int]) -> Grantee:
    if not grantee.is_team or grantee.id in known_ids:
        return grantee
    return msgspec.structs.replace(grantee, username=TEAM_PREFIX)


def _sort_key(assignment: ListedAssignment) -> tuple[str, str, bool, str]:
    # Not by the names of teams: they may be hidden.
    return assignment.user.reference, assignment.permission, assignment.is_inherited, assignment.uid


def owner_assignment_uid(asset_uid: str, permission: str) -> str:
    """Return the uid of an owner's permission, which has no row. It is always the same."""
    return _hashed_uid(_owner_hash, f"{asset_uid} {permission}")


def team_assignment_uid(asset_uid: str, user_id: int, permission: str) -> str:
    """Return the uid of what a user has through teams, which has no row either."""
    return _hashed_uid(_member_hash, f"{asset_uid} {user_id} {permission}")


def _hashed_uid(hasher: "hashlib.blake2b", text: str) -> str:
    digest = hasher.copy()
    digest.update(text.encode())
    return uid_from_bytes("p", digest.digest())


_owner_hash = hashlib.blake2b(person=b"fieldgate-owner")
_member_hash = hashlib.blake2b(person=b"fieldgate-member")


@lru_cache(16_384)  # assets; two kilobytes each
def owner_uids_by_permission(asset_uid: str, asset_type: str) -> Mapping[str, str]:
    """Return the uids of all permissions of an owner, sorted by permission."""
    permissions = sorted(rules.owner_permissions(asset_type))
    return MappingProxyType({each: owner_assignment_uid(asset_uid, each) for each in permissions})
