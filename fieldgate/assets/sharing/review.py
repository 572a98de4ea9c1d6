"""Access review: all assignments on the assets that a caller manages, in one list.

It has the same assignments as the lists of these assets, without the owners': direct ones, and those that come from a
collection, once for each asset in it. Assets in the trash are left out. Teams have rows of their own; what a person has
through them is listed when the review is about that person.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Integer,
    Row,
    ScalarSelect,
    Select,
    String,
    Subquery,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    not_,
    null,
    or_,
    select,
    true,
    type_coerce,
    union,
    union_all,
)

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import (
    PUBLIC_USER_ID,
    team_members,
    teams,
    tokens,
    users,
    with_teams_of,
)
from fieldgate.assets.sharing.review_files import MAX_FILE_ROWS, FileRow
from fieldgate.assets.tables import assets, assignments, grants_now
from fieldgate.db import AsyncDatabase, RowPage, Timestamp, paginate
from fieldgate.identity import User
from fieldgate.pagination import PageRequest
from fieldgate.permissions.catalogue import BY_CODENAME, PARTIAL, implied
from fieldgate.permissions.rules import INHERITABLE, ON_ALL_SUBMISSIONS

_DAY_MICROSECONDS = 24 * 60 * 60 * 1_000_000

OrderName = Literal[
    "user", "asset", "permission", "date_created", "expires_at", "last_seen",
    "-user", "-asset", "-permission", "-date_created", "-expires_at", "-last_seen",
]  # fmt: skip


class ReviewFilters(msgspec.Struct, frozen=True, kw_only=True):
    user: Annotated[
        str,
        Meta(
            description="Whose assignments: URL, path or username. Includes what comes through teams."
        ),
    ] = ""
    team: Annotated[
        str, Meta(description="Team that has them: URL, path, uid, or the name of one you are in.")
    ] = ""
    permission: Annotated[str, Meta(description="Permission: URL, path or codename.")] = ""
    asset: Annotated[str, Meta(description="Asset: URL, path or uid.")] = ""
    owner: Annotated[str, Meta(description="Owner of the assets: URL, path or username.")] = ""
    inherited: Annotated[
        bool | None,
        Meta(
            description="true: those that come from a collection or a team; false: those that do not."
        ),
    ] = None
    expires_before: Annotated[
        datetime | None, Meta(description="Those that end before this time.")
    ] = None
    not_seen_since: Annotated[
        datetime | None,
        Meta(description="Those of people who neither logged in nor used a token since this time."),
    ] = None
    ordering: Annotated[OrderName, Meta(description="Order of the list; - for descending.")] = (
        "user"
    )


class ReviewStore:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def load(self, caller: User, filters: ReviewFilters, page: PageRequest) -> RowPage:
        """Return a page of the assignments. References in the filters are plain names."""
        rows = self._rows(caller, filters)
        selected = select(rows).where(*_conditions(filters, rows.c))
        return await paginate(
            self._database, selected, page, order_by=_total_order(filters, rows.c)
        )

    async def count(self, caller: User, filters: ReviewFilters) -> int:
        rows = self._rows(caller, filters)
        query = select(func.count()).select_from(rows).where(*_conditions(filters, rows.c))
        count: int = await self._database.scalar(query)
        return count

    def select_file(self, caller: User, filters: ReviewFilters) -> Select[Any]:
        """Select the columns of a file, in order. More than `MAX_FILE_ROWS` can only come between count and file."""
        rows = self._rows(caller, filters)
        columns = [rows.c[name] for name in FileRow._fields]
        selected = select(*columns).where(*_conditions(filters, rows.c))
        return selected.order_by(*_total_order(filters, rows.c)).limit(MAX_FILE_ROWS)

    def _rows(self, caller: User, filters: ReviewFilters) -> Subquery:
        return _select_reviewed(caller, filters.user, is_sqlite=self._database.is_sqlite).subquery(
            "reviewed"
        )


def _total_order(filters: ReviewFilters, columns: Any) -> list[ColumnElement[Any]]:
    column = columns[_ORDERS[filters.ordering.removeprefix("-")]]
    order = column.desc() if filters.ordering.startswith("-") else column.asc()
    # Without an end or a last use comes last, in both databases.
    first = [column.is_(None), order]
    return [
        *first,
        columns.username_key,
        columns.asset_id,
        columns.permission,
        columns.is_inherited,
        columns.user_id,
    ]


_ORDERS = {
    "user": "username_key",
    "asset": "asset_key",
    "permission": "permission",
    "date_created": "created_at",
    "expires_at": "expires_at",
    "last_seen": "last_seen",
}


def _select_reviewed(caller: User, username: str, *, is_sqlite: bool) -> Select[Any]:
    given = _given(None if caller.is_superuser else _managed_by(caller.id), username)
    owners, accounts, own = (
        users.alias("owners"),
        users.alias("accounts"),
        team_members.alias("own"),
    )
    is_own = exists(
        select(own.c.team_id).where(own.c.team_id == teams.c.id, own.c.user_id == caller.id)
    )
    is_known = true() if caller.sees_everything else is_own
    used = (
        select(func.max(tokens.c.last_used_at))
        .where(tokens.c.user_id == users.c.id)
        .scalar_subquery()
    )
    larger = func.max if is_sqlite else func.greatest
    last_seen: ColumnElement[Any] = func.coalesce(
        larger(users.c.last_login_at, used), users.c.last_login_at, used
    )
    if (
        not caller.sees_everything
    ):  # others learn the day only: everybody can share a form with anybody
        time = type_coerce(last_seen, BigInteger)
        last_seen = time - time % _DAY_MICROSECONDS
    query = (
        select(
            given,
            assets.c.uid.label("asset_uid"),
            assets.c.name.label("asset_name"),
            assets.c.name_key.label("asset_key"),
            assets.c.asset_type,
            owners.c.username.label("owner"),
            owners.c.username_key.label("owner_key"),
            users.c.username,
            users.c.username_key,
            type_coerce(last_seen, Timestamp).label("last_seen"),
            accounts.c.uid.label("team_uid"),
            case((is_known, teams.c.name)).label("team_name"),
            case((is_known, teams.c.name_key)).label("team_key"),
            (teams.c.id.is_not(None) & given.c.via_id.is_(None)).label("is_team"),
        )
        .join_from(given, assets, assets.c.id == given.c.asset_id)
        .join(owners, owners.c.id == assets.c.owner_id)
        .join(users, users.c.id == given.c.user_id)
        .outerjoin(teams, teams.c.id == func.coalesce(given.c.via_id, given.c.user_id))
        .outerjoin(accounts, accounts.c.id == teams.c.id)
        .where(assets.c.deleted_at.is_(None), given.c.user_id != assets.c.owner_id)
    )
    if caller.limits.assets is not None:
        query = query.where(assets.c.uid.in_(sorted(caller.limits.assets)))
    return query if caller.sees_everything else query.where(users.c.disabled_at.is_(None))


_Ids = CompoundSelect[Any] | None  # of the assets that the caller manages; None: all


def _managed_by(user_id: int) -> CompoundSelect[Any]:
    """Owners, and those who have `manage_asset`, or whose team has: no collection passes it down."""
    given = assignments.alias()
    is_held = or_(
        given.c.user_id == user_id, ~_is_overruled(given.c.asset_id, user_id, given.c.permission)
    )
    return union(
        select(assets.c.id).where(assets.c.owner_id == user_id),
        select(given.c.asset_id).where(
            given.c.user_id.in_(with_teams_of(user_id)),
            given.c.permission == "manage_asset",
            grants_now(given),
            is_held,
        ),
    )


def _given(managed: _Ids, username: str) -> Subquery:
    """All assignments; or those of one user, with what the user has through teams. `via_id` is one such team."""
    every = union_all(
        _direct(managed), _from_collections(managed), _of_collection_owners(managed)
    ).subquery("every")
    no_team = cast(null(), Integer).label("via_id")
    if not username:
        return select(every, no_team).subquery("given")
    person = (
        select(users.c.id).where(users.c.username_key == username_key(username)).scalar_subquery()
    )
    return _of_person(every, person).subquery("given")


def _of_person(every: Subquery, person: ScalarSelect[Any]) -> Select[Any]:
    """The assignments of a person, and what the person has only through teams, once for each asset and permission.

    That ends with the last of the teams. Windows, because PostgreSQL compares each row with all others in subqueries.
    """
    inside = assets.alias("inside")
    is_passed = and_(
        ~_is_overruled(every.c.asset_id, person, every.c.permission),
        ~and_(every.c.is_inherited, _is_denied(inside.c.parent_id, person, every.c.permission)),
    )
    group = [every.c.asset_id, every.c.permission]
    is_own, is_full = every.c.user_id == person, every.c.permission.in_(ON_ALL_SUBMISSIONS)
    all_end = func.count().over(partition_by=group) == func.count(every.c.expires_at).over(
        partition_by=group
    )
    found = (
        select(
            every,
            is_own.label("is_own"),
            func.max(case((is_own, 1), else_=0)).over(partition_by=group).label("has_own"),
            func.max(case((is_full, 1), else_=0))
            .over(partition_by=every.c.asset_id)
            .label("has_full"),
            func.row_number().over(partition_by=group, order_by=every.c.user_id).label("place"),
            case((all_end, func.max(every.c.expires_at).over(partition_by=group))).label(
                "last_end"
            ),
        )
        .join_from(every, inside, inside.c.id == every.c.asset_id)
        .where(every.c.user_id.in_(with_teams_of(person)), or_(is_own, is_passed))
        .subquery("found")
    )
    is_surpassed = and_(found.c.permission == PARTIAL, found.c.has_full == 1)
    last_end = type_coerce(
        case((found.c.is_own, found.c.expires_at), else_=found.c.last_end), Timestamp
    )
    changed = {
        "user_id": person,
        "expires_at": last_end,
        "is_inherited": or_(found.c.is_inherited, ~found.c.is_own),
    }
    columns = [changed.get(each.name, found.c[each.name]).label(each.name) for each in every.c]
    via_id = case((~found.c.is_own, found.c.user_id)).label("via_id")
    is_only_passed = and_(found.c.has_own == 0, found.c.place == 1, ~is_surpassed)
    return select(*columns, via_id).where(or_(found.c.is_own, is_only_passed))


def _among(asset_id: ColumnElement[int], managed: _Ids) -> ColumnElement[bool]:
    return true() if managed is None else asset_id.in_(managed)


_COLUMNS = (
    assignments.c.user_id,
    assignments.c.permission,
    assignments.c.uid,
    assignments.c.filters,
    assignments.c.created_at,
    assignments.c.expires_at,
)


def _direct(managed: _Ids) -> Select[Any]:
    return select(assignments.c.asset_id, *_COLUMNS, false().label("is_inherited")).where(
        grants_now(), _among(assignments.c.asset_id, managed)
    )


def _from_collections(managed: _Ids) -> Select[Any]:
    inside = assets.alias("inside")
    return (
        select(inside.c.id.label("asset_id"), *_COLUMNS, true().label("is_inherited"))
        .join_from(assignments, inside, inside.c.parent_id == assignments.c.asset_id)
        .where(
            assignments.c.permission.in_(INHERITABLE),
            grants_now(),
            _among(inside.c.id, managed),
            ~_is_denied(inside.c.id, assignments.c.user_id, assignments.c.permission),
        )
    )


def _of_collection_owners(managed: _Ids) -> Select[Any]:
    """Owners of collections inherit, too, without any row. Their `uid` is that of the collection."""
    inside, collections = assets.alias("inside"), assets.alias("collections")
    names = union_all(
        *(select(literal(each, String(30)).label("permission")) for each in sorted(INHERITABLE))
    )
    passed_down = names.subquery("passed_down")
    return (
        select(
            inside.c.id.label("asset_id"),
            collections.c.owner_id.label("user_id"),
            passed_down.c.permission,
            collections.c.uid,
            type_coerce(null(), JSON).label("filters"),
            collections.c.created_at,
            type_coerce(null(), Timestamp).label("expires_at"),
            true().label("is_inherited"),
        )
        .join_from(inside, collections, collections.c.id == inside.c.parent_id)
        .join(passed_down, true())
        .where(
            _among(inside.c.id, managed),
            ~_is_denied(inside.c.id, collections.c.owner_id, passed_down.c.permission),
        )
    )


def _is_denied(asset_id: Any, user_id: Any, permission: Any) -> ColumnElement[bool]:
    """Whether a permission, or one that it implies, is denied to a user."""
    denials = assignments.alias()
    same = and_(denials.c.asset_id == asset_id, denials.c.user_id == user_id, denials.c.is_denied)
    needed = (
        and_(permission == each, denials.c.permission.in_([each, *implied(each)]))
        for each in BY_CODENAME
    )
    return exists(select(denials.c.id).where(same, or_(*needed)).correlate_except(denials))


def _is_overruled(asset_id: Any, user_id: Any, permission: Any) -> ColumnElement[bool]:
    """Whether a user does not have a permission of a team, because of what is assigned to the user."""
    partial = assignments.alias()
    same = and_(
        partial.c.asset_id == asset_id,
        partial.c.user_id == user_id,
        partial.c.permission == PARTIAL,
    )
    is_partial = and_(same, grants_now(partial))
    is_limited = exists(select(partial.c.id).where(is_partial).correlate_except(partial))
    return or_(
        _is_denied(asset_id, user_id, permission),
        and_(permission.in_(ON_ALL_SUBMISSIONS), is_limited),
    )


def _conditions(filters: ReviewFilters, columns: Any) -> Sequence[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if filters.user:
        found.append(columns.username_key == username_key(filters.user))
    if filters.team:
        is_named = or_(
            columns.team_uid == filters.team, columns.team_key == username_key(filters.team)
        )
        found.append(and_(is_named, columns.is_team))
    if filters.permission:
        found.append(columns.permission == filters.permission)
    if filters.asset:
        found.append(columns.asset_uid == filters.asset)
    if filters.owner:
        found.append(columns.owner_key == username_key(filters.owner))
    if filters.inherited is not None:
        found.append(columns.is_inherited.is_(filters.inherited))
    if filters.expires_before is not None:
        found.append(_is_before(columns.expires_at, filters.expires_before))
    if filters.not_seen_since is not None:  # neither the public nor a team is a person
        is_unseen = or_(
            columns.last_seen.is_(None), _is_before(columns.last_seen, filters.not_seen_since)
        )
        found.append(and_(is_unseen, columns.user_id != PUBLIC_USER_ID, not_(columns.is_team)))
    return found


def _is_before(column: ColumnElement[Any], time: datetime) -> ColumnElement[bool]:
    """Compare as numbers: a snapshot leaves values to the driver."""
    return type_coerce(column, BigInteger) < Timestamp.pack(time)


ReviewedRow = Row[Any]
