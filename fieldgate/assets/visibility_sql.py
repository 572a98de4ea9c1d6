"""The visibility rules in SQL: which assets are in a user's list, and the sharing status of an asset.

The cost of a list depends on what the user can see, not on the number of assets: it is read from indexes on the
user's id, instead of checking every asset.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    and_,
    case,
    exists,
    not_,
    or_,
    select,
    union,
)
from sqlalchemy.sql.selectable import FromClause

from fieldgate.accounts.tables import PUBLIC_USER_ID, users, with_teams_of
from fieldgate.assets.tables import assets, assignments, grants_now, is_live

# Checking this permission is enough: a row that grants another permission comes with one that grants view_asset, and
# a row that denies view_asset comes with rows that deny the permissions depending on it.
VIEW = "view_asset"
DISCOVER = "discover_asset"

PRIVATE, SHARED, PUBLIC, DISCOVERABLE = "private", "shared", "public", "public-discoverable"


def is_listed(user_id: int, status: str | None) -> ColumnElement[bool]:
    """Whether an asset is in a user's list. Assets of disabled users are in no other user's list."""
    # A subquery instead of joins: with few users or assets, SQLite would scan those tables first.
    return and_(
        is_live(),
        assets.c.id.in_(_listed_ids(user_id, status)),
        or_(assets.c.owner_id == user_id, _is_active(assets.c.owner_id)),
    )


def _listed_ids(user_id: int, status: str | None) -> Select[Any] | CompoundSelect[Any]:
    if status == DISCOVERABLE:
        return _granted_ids(PUBLIC_USER_ID, DISCOVER)
    if status == PRIVATE:
        return _owned_ids(user_id).where(sharing_status() == PRIVATE)
    if status == PUBLIC:
        # Discoverable assets are public, too.
        return select(assets.c.id).where(
            assets.c.id.in_(_listed_ids(user_id, None)),
            sharing_status().in_([PUBLIC, DISCOVERABLE]),
        )
    shared = (
        _granted_ids(user_id, VIEW),
        _inherited_ids(user_id),
        _inherited_by_collection_owner(user_id),
    )
    return union(*shared) if status == SHARED else union(_owned_ids(user_id), *shared)


def collection_is_visible(
    collection: FromClause, user_id: int | ColumnElement[int]
) -> ColumnElement[bool]:
    """Whether a user can view a collection. Collections are not nested."""
    given = assignments.alias()
    is_granted = _exists(
        given,
        given.c.asset_id == collection.c.id,
        given.c.user_id.in_(with_teams_of(user_id)),
        given.c.permission == VIEW,
        grants_now(given),
        not_(_is_denied(collection.c.id, user_id)),
    )
    return or_(
        collection.c.owner_id == user_id,
        is_granted,
        _is_granted(collection.c.id, PUBLIC_USER_ID, VIEW),
    )


def sharing_status() -> ColumnElement[str]:
    """Return `private`, `shared`, `public` or `public-discoverable` as an expression on `assets`."""
    return case(
        (_is_granted(assets.c.id, PUBLIC_USER_ID, DISCOVER), DISCOVERABLE),
        (or_(_is_granted(assets.c.id, PUBLIC_USER_ID, VIEW), _is_inherited_by_public()), PUBLIC),
        (is_shared(), SHARED),
        else_=PRIVATE,
    )


def is_shared() -> ColumnElement[bool]:
    """Whether any other active user than the owner, a team, or the public, has permissions on an asset."""
    return or_(
        _is_shared_directly(), _is_shared_by_collection(), _is_shared_with_collection_owner()
    )


# Parts of `is_listed`


def _owned_ids(user_id: int) -> Select[Any]:
    return select(assets.c.id).where(assets.c.owner_id == user_id)


def _granted_ids(user_id: int, permission: str) -> Select[Any]:
    """Assets on which the user or a team of the user has a permission."""
    return select(assignments.c.asset_id.label("id")).where(
        assignments.c.user_id.in_(with_teams_of(user_id)),
        assignments.c.permission == permission,
        grants_now(),
        not_(_is_denied(assignments.c.asset_id, user_id)),
    )


def _inherited_ids(user_id: int) -> Select[Any]:
    inside = assets.alias("inside")
    return (
        select(inside.c.id)
        .join_from(assignments, inside, inside.c.parent_id == assignments.c.asset_id)
        .where(
            assignments.c.user_id.in_(with_teams_of(user_id)),
            assignments.c.permission == VIEW,
            grants_now(),
            not_(_is_denied(inside.c.id, user_id)),
            not_(_is_denied(inside.c.id, assignments.c.user_id)),
            not_(_is_denied(assignments.c.asset_id, user_id)),
        )
    )


def _inherited_by_collection_owner(user_id: int) -> Select[Any]:
    """Assets of other users in the user's collections."""
    inside, collections = assets.alias("inside"), assets.alias("collections")
    return (
        select(inside.c.id)
        .join_from(collections, inside, inside.c.parent_id == collections.c.id)
        .where(
            collections.c.owner_id == user_id,
            collections.c.asset_type == "collection",
            inside.c.owner_id != user_id,
            not_(_is_denied(inside.c.id, user_id)),
        )
    )


def _is_denied(asset_id: ColumnElement[int], user_id: Any) -> ColumnElement[bool]:
    denials = assignments.alias()
    return _exists(
        denials,
        denials.c.asset_id == asset_id,
        denials.c.user_id == user_id,
        denials.c.permission == VIEW,
        denials.c.is_denied,
    )


# Parts of `sharing_status`


def _is_inherited_by_public() -> ColumnElement[bool]:
    return and_(
        _is_granted(assets.c.parent_id, PUBLIC_USER_ID, VIEW),
        not_(_is_denied(assets.c.id, PUBLIC_USER_ID)),
    )


def _is_shared_directly() -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.id,
        given.c.user_id != assets.c.owner_id,
        grants_now(given),
        _is_active(given.c.user_id),
    )


def _is_shared_by_collection() -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.parent_id,
        given.c.user_id != assets.c.owner_id,
        given.c.permission == VIEW,
        grants_now(given),
        not_(_is_denied(assets.c.id, given.c.user_id)),
        _is_active(given.c.user_id),
    )


def _is_shared_with_collection_owner() -> ColumnElement[bool]:
    """The owner of a collection inherits permissions on all assets in it."""
    collections = assets.alias("collections")
    return _exists(
        collections,
        collections.c.id == assets.c.parent_id,
        collections.c.owner_id != assets.c.owner_id,
        not_(_is_denied(assets.c.id, collections.c.owner_id)),
        _is_active(collections.c.owner_id),
    )


def _is_granted(asset_id: ColumnElement[int], user_id: int, permission: str) -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == asset_id,
        given.c.user_id == user_id,
        given.c.permission == permission,
        grants_now(given),
    )


def _is_active(user_id: Any) -> ColumnElement[bool]:
    active = users.alias()
    return _exists(active, active.c.id == user_id, active.c.disabled_at.is_(None))


def _exists(rows: FromClause, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether such a row exists. Other tables in the conditions refer to the enclosing statement."""
    return exists(select(rows.c.id).where(*conditions).correlate_except(rows))
