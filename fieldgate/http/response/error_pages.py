"""Whether an error is shown as an HTML page."""

from functools import lru_cache

from fieldgate.errors import NotAcceptable, Problem
from fieldgate.http.negotiation.formats import Format, choose_format
from fieldgate.http.operations import JSON_OR_HTML
from fieldgate.http.request.query_string import parse_query


@lru_cache(maxsize=256)
def wants_error_page(query_string: bytes, accept: bytes) -> bool:
    """Whether a page was asked for: by `format=api`, or by an Accept header that ranks HTML first."""
    try:
        query_value = parse_query(query_string).get("format", "") if b"format" in query_string else ""
    except Problem:
        query_value = ""
    if query_value in (Format.HTML.query_value, Format.JSON.query_value):
        return query_value == Format.HTML.query_value
    try:
        return choose_format(JSON_OR_HTML, "", accept) is Format.HTML
    except NotAcceptable:
        return False
