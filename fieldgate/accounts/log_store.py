"""Reads of the log: a page of entries, newest first, and the search `q` of these lists."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, not_, or_, select

from fieldgate.accounts.tables import users
from fieldgate.db import AsyncDatabase, RowPage
from fieldgate.db.log import (
    LOG_TYPES,
    PROJECT,
    USERS,
    LogEntry,
    LogObject,
    count_entries,
    count_in_log,
    log,
)
from fieldgate.http.request.validation import parse_timestamp
from fieldgate.http.search_grammar import (
    COMPARISONS,
    SearchAnd,
    SearchExpression,
    SearchFields,
    SearchNot,
    SearchOr,
    SearchTerm,
    parse_expression,
    time_fields,
)
from fieldgate.identity import User
from fieldgate.pagination import PageRequest

ADDRESS_FIELD = "metadata__ip_address"
_TIMES = time_fields("date_created")
_COLUMNS = {
    "action": log.c.action,
    "username": log.c.username,
    "user_uid": log.c.user_uid,
    "log_type": log.c.log_type,
    "model_name": log.c.model_name,
    "metadata__asset_uid": log.c.object_uid,
    ADDRESS_FIELD: log.c.ip_address,
}
_FIELDS = SearchFields((*_COLUMNS, *_TIMES), frozenset(_TIMES), has_words=False)
# Only superusers see addresses, so only they can search for them.
_PUBLIC_FIELDS = SearchFields(
    tuple(name for name in _FIELDS.names if name != ADDRESS_FIELD),
    frozenset(_TIMES),
    has_words=False,
)


def check_log_search(text: str) -> None:
    """Raise `SearchSyntaxError` if a search of the log cannot be parsed."""
    parse_expression(text, _FIELDS)


def check_history_search(text: str) -> None:
    """The same for people who do not see addresses."""
    parse_expression(text, _PUBLIC_FIELDS)


class LogStore:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def page(
        self,
        page: PageRequest,
        search: str,
        log_types: Sequence[str],
        *conditions: ColumnElement[bool],
    ) -> RowPage:
        """Return a page of the entries of these types. Without further conditions their number is kept already."""
        expression = parse_expression(search, _FIELDS)
        found = [*conditions, *([] if expression is None else [_compile(expression)])]
        chosen = [] if set(log_types) == set(LOG_TYPES) else [log.c.log_type.in_(log_types)]
        owner = select(users.c.username).where(users.c.id == log.c.owner_id).scalar_subquery()
        query = (
            select(log, owner.label("project_owner"))
            .where(*found, *chosen)
            .order_by(log.c.id.desc())
        )
        async with self._database.read_transaction() as connection:
            if found:
                count = select(func.count()).select_from(log).where(*found, *chosen)
                total = int((await connection.execute(count)).scalar_one())
            else:
                total = await count_entries(connection, log_types)
            rows = (await connection.execute(query.limit(page.limit).offset(page.offset))).all()
        return RowPage(total, rows)

    async def count_export(self, user: User, exported: LogObject) -> None:
        """Log that a list was downloaded as a file."""
        log_type = PROJECT if exported.model_name == "asset" else USERS
        await count_in_log(
            self._database, user, LogEntry(log_type=log_type, action="export", object=exported)
        )

    async def list_actions(self, *conditions: ColumnElement[bool]) -> list[str]:
        """Return the actions of entries, sorted."""
        query = select(log.c.action).where(*conditions).distinct().order_by(log.c.action)
        return [row.action for row in await self._database.all(query)]


def _compile(expression: SearchExpression) -> ColumnElement[bool]:
    """A search as a condition. All values are bound parameters."""
    match expression:
        case SearchAnd(operands):
            return and_(*map(_compile, operands))
        case SearchOr(operands):
            return or_(*map(_compile, operands))
        case SearchNot(operand):
            return not_(_compile(operand))
        case SearchTerm(value, field) if field in _TIMES:
            compare = COMPARISONS[field.rpartition("__")[2]]
            found: ColumnElement[bool] = compare(log.c.made_at, parse_timestamp(value))
            return found
        case SearchTerm(value, field):
            return _COLUMNS[field] == value
