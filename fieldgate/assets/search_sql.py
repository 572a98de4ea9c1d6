"""A search expression in SQL, as far as the caller can see: what is hidden in a record is not found either."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    String,
    and_,
    cast,
    column,
    exists,
    false,
    func,
    not_,
    or_,
    select,
)

from fieldgate.accounts.store import username_key
from fieldgate.accounts.tables import users
from fieldgate.assets.authorization import effective_user_id
from fieldgate.assets.search_query import SEARCH_FIELDS, TIME_FIELDS
from fieldgate.assets.store import name_key
from fieldgate.assets.tables import assets
from fieldgate.assets.visibility_sql import collection_is_visible
from fieldgate.http.request.validation import parse_timestamp
from fieldgate.http.search_grammar import (
    COMPARISONS,
    SearchAnd,
    SearchExpression,
    SearchNot,
    SearchOr,
    SearchTerm,
)
from fieldgate.i18n.folding import fold_text
from fieldgate.identity import Caller

NULL = "null"  # as a value: `parent:null`
_TIME_COLUMNS = {"date_created": assets.c.created_at, "date_modified": assets.c.modified_at}


class SearchCompiler:
    """Compiles searches of one caller to conditions on `assets`. All values are bound parameters."""

    def __init__(self, caller: Caller, *, is_sqlite: bool) -> None:
        self._caller = caller
        self._is_sqlite = is_sqlite

    def compile(self, expression: SearchExpression) -> ColumnElement[bool]:
        match expression:
            case SearchAnd(operands):
                return and_(*map(self.compile, operands))
            case SearchOr(operands):
                return or_(*map(self.compile, operands))
            case SearchNot(operand):
                return not_(self.compile(operand))
            case SearchTerm(value, field):
                return self._compile_term(field, value)

    def _compile_term(self, field: str, value: str) -> ColumnElement[bool]:
        if field in TIME_FIELDS:
            name, _, comparison = field.rpartition("__")
            found: ColumnElement[bool] = COMPARISONS[comparison](
                _TIME_COLUMNS[name], parse_timestamp(value)
            )
            return found
        if field and field not in SEARCH_FIELDS:  # one of KoboToolbox that no asset has here
            return false()
        match field:
            case "" | "name__icontains":
                return assets.c.search_text.contains(fold_text(value), autoescape=True)
            case "name":
                return assets.c.name_key == name_key(value)
            case "asset_type":
                return assets.c.asset_type == value.lower()
            case "pk":
                return cast(assets.c.id, BigInteger) == int(value)
            case "uid":
                return assets.c.uid == value
            case "owner__username":
                return _owner_matches(users.c.username_key == username_key(value))
            case "owner__username__icontains":
                # Usernames have no letter that is folded.
                return _owner_matches(
                    users.c.username_key.contains(fold_text(value), autoescape=True)
                )
            case "tags" | "tags__name":
                return self._has_tag(value)
            case "tags__name__icontains":
                return assets.c.tags_key.contains(fold_text(value), autoescape=True)
            case "parent" | "parent__uid":
                return (
                    not_(self._is_in_collection())
                    if value == NULL
                    else self._is_in_collection(value)
                )
        raise LookupError(field)

    def _has_tag(self, tag: str) -> ColumnElement[bool]:
        elements = func.json_each if self._is_sqlite else func.json_array_elements_text
        tags = elements(assets.c.tags).table_valued(column("value", String))
        return exists(select(tags.c.value).where(tags.c.value == tag).correlate(assets))

    def _is_in_collection(self, uid: str | None = None) -> ColumnElement[bool]:
        """Whether an asset is in a collection that the caller can view: any one, or one with this uid."""
        collections = assets.alias()
        conditions: list[Any] = [collections.c.id == assets.c.parent_id]
        if uid is not None:
            conditions.append(collections.c.uid == uid)
        if self._caller.limits.assets is not None:
            conditions.append(collections.c.uid.in_(sorted(self._caller.limits.assets)))
        if not self._caller.is_superuser:
            conditions.append(collection_is_visible(collections, effective_user_id(self._caller)))
        return exists(select(collections.c.id).where(*conditions).correlate_except(collections))


def _owner_matches(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return assets.c.owner_id.in_(select(users.c.id).where(condition))
