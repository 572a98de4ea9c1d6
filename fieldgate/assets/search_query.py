"""The search `q` of a list of assets: its fields. `http/search_grammar.py` has the grammar."""

import re

from fieldgate.http.search_grammar import (
    SearchExpression,
    SearchFields,
    parse_expression,
    time_fields,
)

TIME_FIELDS = time_fields("date_created", "date_modified")
# `__` separates what KoboToolbox separates so; a few of its names mean the same here.
SEARCH_FIELDS = (
    "asset_type",
    *TIME_FIELDS,
    "name",
    "name__icontains",
    "owner__username",
    "owner__username__icontains",
    "parent",
    "parent__uid",
    "pk",
    "tags",
    "tags__name",
    "tags__name__icontains",
    "uid",
)

# Further fields of KoboToolbox, with anything it allows after `__`. No asset matches them.
_OTHER_FIELDS = re.compile(
    r"(?:_deployment_status|(?:asset_type|created_by|date_created|date_deployed|date_modified|last_modified_by|name|"
    r"owner__(?:email|extra_details|username)|parent|pk|settings|summary|tags|uid)(?:\[\])?(?:__[A-Za-z0-9_\[\]-]+)?)"
)
_FIELDS = SearchFields(SEARCH_FIELDS, frozenset(TIME_FIELDS), frozenset({"pk"}), _OTHER_FIELDS)


def parse_search(text: str) -> SearchExpression | None:
    """Parse a search; None if it is blank. Raise `SearchSyntaxError`."""
    return parse_expression(text, _FIELDS)


def check_search(text: str) -> None:
    """Raise `SearchSyntaxError` if the search cannot be parsed."""
    parse_search(text)
