"""Statements that load assets with their assignments. They are compiled once.

Each one reads an asset, its collection and assignments together, so it sees one snapshot without a transaction.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Integer, Text, bindparam, literal_column, null, select, true, union

from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.assignments import AssignmentScope
from fieldgate.assets.sharing.model.grants import AssetGrants, Grantee, StoredAssignment
from fieldgate.assets.tables import assets, assignments
from fieldgate.assets.work_cost import FILTER_COST
from fieldgate.db import Database, PreparedQuery, in_bound_list
from fieldgate.permissions.catalogue import PARTIAL
from fieldgate.permissions.submission_filters import Filters

MAX_LISTED_ROWS = 300  # read on the event loop
MAX_FILTERED_ROWS = MAX_LISTED_ROWS // FILTER_COST  # among them; filters can be large

StoredByUser = dict[int, list[StoredAssignment]]

_collections = assets.alias()
_ASSET_COLUMNS = (
    assets.c.id,
    assets.c.uid,
    assets.c.asset_type,
    assets.c.owner_id,
    assets.c.parent_id,
    _collections.c.uid,
    _collections.c.owner_id,
)
_ASSIGNMENT_COLUMNS = (
    assignments.c.id,
    assignments.c.uid,
    assignments.c.asset_id,
    assignments.c.user_id,
    assignments.c.permission,
    assignments.c.is_denied,
    assignments.c.filters,
    users.c.username,
    users.c.disabled_at,
)
_WITHOUT_ASSET = len(_ASSET_COLUMNS)
_PERMISSION = _WITHOUT_ASSET + [each.name for each in _ASSIGNMENT_COLUMNS].index("permission")
_ASSIGNMENT_END = _WITHOUT_ASSET + len(_ASSIGNMENT_COLUMNS)


class GrantsQueries:
    def __init__(self, database: Database) -> None:
        owners, collection_owners, named = users.alias(), users.alias(), users.alias()
        with_collection = select(*_ASSET_COLUMNS, *_ASSIGNMENT_COLUMNS).outerjoin_from(
            assets, _collections, _collections.c.id == assets.c.parent_id
        )
        is_on_asset = assignments.c.asset_id.in_([assets.c.id, assets.c.parent_id])
        # Not sorted: the database would read all rows before it applies the limit.
        complete = (
            with_collection.add_columns(
                owners.c.username, owners.c.disabled_at, collection_owners.c.username, collection_owners.c.disabled_at
            )
            .join(owners, owners.c.id == assets.c.owner_id)
            .outerjoin(collection_owners, collection_owners.c.id == _collections.c.owner_id)
            .outerjoin(assignments, is_on_asset)
            .outerjoin(users, users.c.id == assignments.c.user_id)
            .where(assets.c.uid == bindparam("uid"))
            .limit(MAX_LISTED_ROWS + 1)
        )
        without_filters = [null() if each is assignments.c.filters else each for each in complete.selected_columns]
        self._complete = PreparedQuery(database, complete)
        self._without_filters = PreparedQuery(database, complete.with_only_columns(*without_filters))
        is_named = named.c.username_key == bindparam("username_key")
        # A join for each user, as in `AssetAuthorizer`.
        who = union(
            select(named.c.id).where(is_named),
            select(bindparam("caller_id", type_=Integer)),
            select(literal_column(str(PUBLIC_USER_ID), Integer)),
        ).subquery("who")
        self.with_named_user = PreparedQuery(
            database,
            with_collection.add_columns(named.c.id, named.c.username, named.c.disabled_at)
            .outerjoin(named, is_named)
            .join(who, true())
            .outerjoin(assignments, is_on_asset & (assignments.c.user_id == who.c.id))
            .outerjoin(users, users.c.id == assignments.c.user_id)
            .where(assets.c.uid == bindparam("uid"))
            .order_by(assignments.c.id),
        )
        self.assignments = PreparedQuery(database, _assignments_on(in_bound_list(database, *_BY_ASSET)))
        self.assignments_of_users = PreparedQuery(
            database, _assignments_on(in_bound_list(database, *_BY_ASSET), in_bound_list(database, *_BY_USER))
        )

        self.users_by_name = PreparedQuery(
            database,
            select(users.c.username_key, users.c.id, users.c.username, users.c.disabled_at).where(
                in_bound_list(database, users.c.username_key, "keys", Text)
            ),
        )

    async def find_complete(self, uid: str) -> Sequence[Sequence[Any]] | None:
        """Return rows of an asset with its assignments, or None if they are too many, or too many with filters."""
        rows = await self._without_filters.all(uid=uid)
        filtered = [row[_PERMISSION] for row in rows].count(PARTIAL)
        if filtered and filtered <= MAX_FILTERED_ROWS:
            rows = await self._complete.all(uid=uid)
        return None if len(rows) > MAX_LISTED_ROWS or filtered > MAX_FILTERED_ROWS else rows


_BY_ASSET = (assignments.c.asset_id, "asset_ids")
_BY_USER = (assignments.c.user_id, "user_ids")


def _assignments_on(*conditions: ColumnElement[bool]) -> Any:
    joined = select(*_ASSIGNMENT_COLUMNS).join_from(assignments, users, users.c.id == assignments.c.user_id)
    return joined.where(*conditions).order_by(assignments.c.id)


def to_complete_grants(rows: Sequence[Sequence[Any]]) -> AssetGrants:
    """Return the asset of rows of `find_complete`."""
    in_order = sorted([row[_WITHOUT_ASSET:_ASSIGNMENT_END] for row in rows], key=itemgetter(0))
    stored, grantees = group_assignments(in_order)
    first = rows[0]
    owners = ((first[3], *first[_ASSIGNMENT_END:][:2]), (first[6], *first[_ASSIGNMENT_END:][2:4]))
    for user_id, username, disabled_at in owners:
        if user_id is not None and user_id not in grantees:
            grantees[user_id] = Grantee(user_id, username, disabled_at is None)
    return to_grants(first, stored, grantees)


def to_grants_with_named(rows: Sequence[Sequence[Any]]) -> tuple[AssetGrants, Grantee | None]:
    """Return the asset of rows of `with_named_user`, and the user with that name."""
    stored, grantees = group_assignments(row[_WITHOUT_ASSET:_ASSIGNMENT_END] for row in rows)
    user_id, username, disabled_at = rows[0][_ASSIGNMENT_END:]
    named = None if user_id is None else Grantee(user_id, username, disabled_at is None)
    return to_grants(rows[0], stored, grantees), named


def to_grants(row: Sequence[Any], stored: dict[int, StoredByUser], grantees: dict[int, Grantee]) -> AssetGrants:
    """Return an asset, whose columns a row begins with, with its assignments among these."""
    id_, uid, asset_type, owner_id, parent_id, collection_uid, collection_owner_id = row[:_WITHOUT_ASSET]
    return AssetGrants(
        id=id_,
        uid=uid,
        scope=AssignmentScope(
            asset_type=asset_type,
            owner_id=owner_id,
            direct=stored.get(id_, {}),
            collection_owner_id=collection_owner_id,
            on_collection=stored.get(parent_id, {}),
        ),
        collection_uid=collection_uid,
        grantees_by_id=grantees,
    )


def group_assignments(rows: Iterable[Sequence[Any]]) -> tuple[dict[int, StoredByUser], dict[int, Grantee]]:
    """Return assignments by asset and user, and the users by id. Rows of an outer join may have none."""
    stored: dict[int, StoredByUser] = defaultdict(lambda: defaultdict(list))
    grantees: dict[int, Grantee] = {}
    for id_, uid, asset_id, user_id, permission, is_denied, filters, username, disabled_at in rows:
        if id_ is None:
            continue
        if user_id not in grantees:
            grantees[user_id] = Grantee(user_id, username, disabled_at is None)
        parsed = None if filters is None else decode_filters(filters)
        stored[asset_id][user_id].append(StoredAssignment(permission, bool(is_denied), parsed, id=id_, uid=uid))
    return stored, grantees


def decode_filters(stored: str | dict[str, Any]) -> Filters | None:
    """The engine's connections to PostgreSQL decode JSON, the driver's own do not."""
    filters = msgspec.json.decode(stored) if isinstance(stored, str) else stored
    return None if filters is None else {codename: tuple(given) for codename, given in filters.items()}
