"""An asset with all that is assigned on it: what the rules need to know, and what a caller is shown of it."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from fieldgate.accounts.tables import PUBLIC_USER_ID
from fieldgate.assets.authorization import Asset, allowed_to, seen_by
from fieldgate.assets.sharing.model.assignments import Assignment, Place
from fieldgate.concurrency import WITH_FILTERS
from fieldgate.db.uid import uid_from_int
from fieldgate.identity import Caller
from fieldgate.permissions import rules
from fieldgate.permissions.rules import Filters


class Person(msgspec.Struct, frozen=True):
    """Somebody who holds permissions, or may be given some. Who is disabled keeps them, and gets no others."""

    id: int
    username: str
    is_active: bool = True


class Held(Assignment, frozen=True, kw_only=True):
    """A row as it is stored."""

    id: int
    uid: str


class Shown(msgspec.Struct, frozen=True):
    """A permission somebody holds, as it is listed."""

    uid: str
    user: Person
    permission: str
    filters: Filters | None = None
    is_inherited: bool = False


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """An asset with the assignments on it and on its collection: all of them, or those of some users."""

    id: int
    uid: str
    place: Place
    collection_uid: str | None = None
    people: Mapping[int, Person]

    @property
    def asset_type(self) -> str:
        return self.place.asset_type

    @property
    def size(self) -> int:
        """Roughly, how many assignments there are; those with filters count for many."""
        filtered = sum(row.filters is not None for rows in self.place.here.values() for row in rows)
        return sum(map(len, self.place.here.values())) + len(self.place.above) + WITH_FILTERS * filtered

    def to(self, caller: Caller) -> Asset:
        """The asset in the eyes of a caller; 404 where he may not see it."""
        return seen_by(self.id, self.uid, caller, self.place)

    def holders(self) -> list[Person]:
        """Everybody but the owner who holds something here, or would if it were not denied."""
        above = (*self.place.above, self.place.collection_owner_id)
        numbers = dict.fromkeys((*self.place.here, *above))
        return [self.people[number] for number in numbers if number not in (None, self.place.owner_id)]

    def shown_to(self, caller: Caller) -> list[Shown]:
        """What a caller is shown: everything, or his own, the owner's and what the public holds."""
        everything = self.shown()
        if "manage_asset" in allowed_to(caller, self.place):
            return everything
        known = (caller.id, self.place.owner_id, PUBLIC_USER_ID)
        return [each for each in everything if each.user.id in known]

    def shown(self) -> list[Shown]:
        """All that anybody holds who is not disabled, in order. What is assigned and passed down is there twice."""
        every = [*self._owners(), *self._assigned(), *self._passed_down()]
        return sorted((each for each in every if each.user.is_active), key=_order)

    def _owners(self) -> Iterator[Shown]:
        owner = self.people[self.place.owner_id]
        for permission in rules.owner_permissions(self.asset_type):
            yield Shown(owners_uid(self.uid, permission), owner, permission)

    def _assigned(self) -> Iterator[Shown]:
        for number, rows in self.place.here.items():
            person = self.people[number]
            for row in rows:
                if isinstance(row, Held) and not row.is_denied:
                    yield Shown(row.uid, person, row.permission, row.filters)

    def _passed_down(self) -> Iterator[Shown]:
        for person in self.holders():
            standing = self.place.standing(person.id)
            uids = self._uids_above(person.id)
            for permission in standing.collection - standing.denied:
                yield Shown(uids[permission], person, permission, is_inherited=True)

    def _uids_above(self, number: int) -> dict[str, str]:
        """By permission, the uids of what somebody holds on the collection."""
        if number == self.place.collection_owner_id and self.collection_uid is not None:
            return {each: owners_uid(self.collection_uid, each) for each in rules.owner_permissions("collection")}
        return {row.permission: row.uid for row in self.place.above.get(number, ()) if isinstance(row, Held)}


def _order(shown: Shown) -> tuple[str, str, bool, str]:
    return shown.user.username, shown.permission, shown.is_inherited, shown.uid


@lru_cache(4096)
def owners_uid(asset_uid: str, permission: str) -> str:
    """The uid of what an owner holds, which is no row and cannot be deleted: always the same."""
    digest = hashlib.blake2b(f"{asset_uid} {permission}".encode(), person=b"fieldgate-owner").digest()
    return uid_from_int("p", int.from_bytes(digest))
