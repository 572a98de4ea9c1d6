"""Forms of HTML pages.

A form is sent with POST to the URL of the page that shows it, with its name in the query: `?form=rename`. The `web`
package handles it and calls the API. The response is a redirect to the result, or the page again.
"""

from typing import Protocol

import msgspec

from fieldgate.errors import Problem
from fieldgate.http.injection import HandlerContext, ShownForm
from fieldgate.http.links import encode_query
from fieldgate.http.operations import Operation
from fieldgate.http.request.request_body import IncomingBody
from fieldgate.http.request_parsing import parse_query
from fieldgate.http.response.responses import Response

FORM_PARAMETER = "form"


class FormPost(msgspec.Struct, frozen=True):
    """A form that a browser sends. `operation` and `context` are those of the page."""

    operation: Operation
    name: str
    context: HandlerContext
    body: IncomingBody


class PageForms(Protocol):
    """Handles forms; `web` implements it. Returns a redirect, or the form as the page shows it again."""

    async def submit(self, post: FormPost) -> Response | ShownForm: ...


def is_form_post(query_string: bytes) -> bool:
    if FORM_PARAMETER.encode() not in query_string:
        return False
    try:
        return FORM_PARAMETER in parse_query(query_string)
    except Problem:
        return False


def split_form_query(query_string: bytes) -> tuple[str, bytes]:
    """The name of the form, and the query of the page without it."""
    values = parse_query(query_string)
    name = values.pop(FORM_PARAMETER)
    return name, encode_query(values.items()).encode()
