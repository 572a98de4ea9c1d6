"""Which assets are in somebody's list, and how widely one is shared: the rules in SQL, by indexes only.

What a list costs grows with what its reader sees, not with all there is: it is put together from what an index has
under his number, and never by looking at assets and asking whether he may see each.
"""

from typing import Any

from sqlalchemy import ColumnElement, CompoundSelect, Select, and_, case, exists, not_, or_, select, union
from sqlalchemy.sql.selectable import FromClause

from fieldgate.accounts.tables import PUBLIC_USER_ID, users
from fieldgate.assets.tables import assets, assignments

# What is granted is closed: whoever holds what cannot be without seeing has a row for seeing, too. What is denied is
# closed the other way round: who is denied to see is denied the rest. So this one permission tells all of it.
VIEW = "view_asset"
DISCOVER = "discover_asset"

PRIVATE, SHARED, PUBLIC, DISCOVERABLE = "private", "shared", "public", "public-discoverable"


def is_listed(user_id: int, status: str | None) -> ColumnElement[bool]:
    """Whether an asset is in a user's list. What belongs to a closed account is in no list but its owner's."""
    # A set to look assets up by, and no joins: where there are few users, or few assets, SQLite would begin with those,
    # or make a filter of all of them first.
    return and_(
        assets.c.id.in_(_listed_ids(user_id, status)),
        or_(assets.c.owner_id == user_id, _is_active(assets.c.owner_id)),
    )


def _listed_ids(user_id: int, status: str | None) -> Select[Any] | CompoundSelect[Any]:
    if status == DISCOVERABLE:
        return _granted_ids(PUBLIC_USER_ID, DISCOVER)
    if status == PRIVATE:
        return _owned_ids(user_id).where(sharing_status() == PRIVATE)
    if status == PUBLIC:
        # Also what can be discovered: everybody may see that as well.
        return select(assets.c.id).where(
            assets.c.id.in_(_listed_ids(user_id, None)), sharing_status().in_([PUBLIC, DISCOVERABLE])
        )
    given = (_granted_ids(user_id, VIEW), _inherited_ids(user_id), _inherited_by_collection_owner(user_id))
    return union(*given) if status == SHARED else union(_owned_ids(user_id), *given)


def collection_is_visible(collection: FromClause, user_id: int) -> ColumnElement[bool]:
    """Whether somebody sees a collection, which is in no other."""
    given = assignments.alias()
    is_given = _exists(
        given,
        given.c.asset_id == collection.c.id,
        given.c.user_id.in_([user_id, PUBLIC_USER_ID]),
        given.c.permission == VIEW,
        not_(given.c.is_denied),
    )
    return or_(collection.c.owner_id == user_id, is_given)


def sharing_status() -> ColumnElement[str]:
    """`private`, `shared`, `public` or `public-discoverable`, for a statement about assets."""
    return case(
        (_is_granted_to_public(DISCOVER), DISCOVERABLE),
        (or_(_is_granted_to_public(VIEW), _is_inherited_by_public()), PUBLIC),
        (or_(_is_shared_directly(), _is_shared_by_collection(), _is_shared_with_collection_owner()), SHARED),
        else_=PRIVATE,
    )


# Parts of a list


def _owned_ids(user_id: int) -> Select[Any]:
    return select(assets.c.id).where(assets.c.owner_id == user_id)


def _granted_ids(user_id: int, permission: str) -> Select[Any]:
    return select(assignments.c.asset_id.label("id")).where(
        assignments.c.user_id == user_id, assignments.c.permission == permission, not_(assignments.c.is_denied)
    )


def _inherited_ids(user_id: int) -> Select[Any]:
    inside = assets.alias("inside")
    return (
        select(inside.c.id)
        .join_from(assignments, inside, inside.c.parent_id == assignments.c.asset_id)
        .where(
            assignments.c.user_id == user_id,
            assignments.c.permission == VIEW,
            not_(assignments.c.is_denied),
            not_(_is_denied(inside, user_id)),
        )
    )


def _inherited_by_collection_owner(user_id: int) -> Select[Any]:
    """What others have put into a user's collections."""
    inside, around = assets.alias("inside"), assets.alias("around")
    return (
        select(inside.c.id)
        .join_from(around, inside, inside.c.parent_id == around.c.id)
        .where(
            around.c.owner_id == user_id,
            around.c.asset_type == "collection",
            inside.c.owner_id != user_id,
            not_(_is_denied(inside, user_id)),
        )
    )


def _is_denied(asset: FromClause, user_id: Any) -> ColumnElement[bool]:
    denials = assignments.alias()
    return _exists(
        denials,
        denials.c.asset_id == asset.c.id,
        denials.c.user_id == user_id,
        denials.c.permission == VIEW,
        denials.c.is_denied,
    )


# Parts of a status


def _is_granted_to_public(permission: str) -> ColumnElement[bool]:
    """To the public, on the asset itself."""
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.id,
        given.c.user_id == PUBLIC_USER_ID,
        given.c.permission == permission,
        not_(given.c.is_denied),
    )


def _is_inherited_by_public() -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.parent_id,
        given.c.user_id == PUBLIC_USER_ID,
        given.c.permission == VIEW,
        not_(given.c.is_denied),
        not_(_is_denied(assets, PUBLIC_USER_ID)),
    )


def _is_shared_directly() -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.id,
        given.c.user_id != assets.c.owner_id,
        not_(given.c.is_denied),
        _is_active(given.c.user_id),
    )


def _is_shared_by_collection() -> ColumnElement[bool]:
    given = assignments.alias()
    return _exists(
        given,
        given.c.asset_id == assets.c.parent_id,
        given.c.user_id != assets.c.owner_id,
        given.c.permission == VIEW,
        not_(given.c.is_denied),
        not_(_is_denied(assets, given.c.user_id)),
        _is_active(given.c.user_id),
    )


def _is_shared_with_collection_owner() -> ColumnElement[bool]:
    """Who owns a collection holds what is in it, whoever put it there."""
    around = assets.alias("around")
    return _exists(
        around,
        around.c.id == assets.c.parent_id,
        around.c.owner_id != assets.c.owner_id,
        not_(_is_denied(assets, around.c.owner_id)),
        _is_active(around.c.owner_id),
    )


def _is_active(user_id: Any) -> ColumnElement[bool]:
    people = users.alias()
    return _exists(people, people.c.id == user_id, people.c.disabled_at.is_(None))


def _exists(rows: FromClause, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether there is such a row; whatever else the conditions name is a row of the statement around."""
    return exists(select(rows.c.id).where(*conditions).correlate_except(rows))
