"""The HTML page of any resource (`format=api`), and of any error."""

import shlex
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from fieldgate.errors import DatabaseUnavailable, Problem, Unauthorized, ValidationError
from fieldgate.http.internal_api import InternalClient
from fieldgate.http.links import encode_query
from fieldgate.http.response.response_builder import ErrorContext, PageContext, RenderedPage
from fieldgate.i18n.messages import Message, translate
from fieldgate.overload import run_in_thread_if
from fieldgate.web.formatting import Formatter
from fieldgate.web.json_html import render_json, truncate_json
from fieldgate.web.page_templates import PageScope, PageTemplates
from fieldgate.web.page_views import Page, PageView, Redirect
from fieldgate.web.redirects import redirect

RENDER_IN_THREAD_THRESHOLD_BYTES = (
    256 * 1024
)  # rendering a larger page would block the event loop for too long
MAX_DISPLAYED_JSON_BYTES = 4 * 1024  # the JSON is an example; all of it is one click away
# The others, such as security headers, are about the page itself.
DISPLAYED_HEADERS = (
    b"allow",
    b"vary",
    b"content-language",
    b"link",
    b"fieldgate-limit",
    b"fieldgate-ignored",
)
DEFAULT_VIEW = PageView("resource.html")
TOKEN_PLACEHOLDER = "YOUR_TOKEN"  # noqa: S105  (what readers replace)

# What an error page says beside the error itself.
ERROR_TITLES: Mapping[int, Message] = {
    400: Message("This address or form has a mistake"),
    401: Message("Log in to see this page"),
    403: Message("You may not do this"),
    404: Message("This page does not exist"),
    405: Message("This cannot be done here"),
    406: Message("There is no page at this address"),
    413: Message("This is too large"),
    429: Message("Too many requests"),
    503: Message("The service is busy"),
}
DEFAULT_ERROR_TITLE = Message("Something went wrong")
ERROR_ADVICE: Mapping[int, Message] = {
    400: Message("Go back, correct it and try again."),
    401: Message("After you log in, you return to this page."),
    403: Message("Ask the owner or the operator of this service for access."),
    404: Message(
        "Check the address. What you look for may have been deleted, or it may not be shared with you."
    ),
    405: Message("Go back and use the buttons of the page."),
    406: Message("It is for programs, or a file. Go back and use the links of the pages."),
    413: Message("Send a smaller file."),
    429: Message("Wait a little, then try again."),
    503: Message("Wait a few seconds, then reload the page."),
}
DEFAULT_ERROR_ADVICE = Message(
    "Try again later. If it happens again, tell the operator the number below."
)
OUTAGE_TITLE = Message("The service is not available at the moment")
OPERATOR_ADVICE = Message("Waiting may not help. Tell the person who runs this service.")


class BrowsablePages:
    """Renders pages; implements `fieldgate.http.response.response_builder.PageRenderer`."""

    def __init__(
        self, templates: PageTemplates, views: Mapping[str, PageView], client: InternalClient
    ) -> None:
        self._templates = templates
        self._views = views
        self._client = client

    async def render(self, context: PageContext) -> RenderedPage:
        view = self._views.get(context.operation.name, DEFAULT_VIEW)
        handler_context = context.handler_context
        record = msgspec.json.decode(context.body)
        loaded: Mapping[str, Any] = {}
        if view.load is not None:
            page = Page(handler_context, record)
            result = await view.load(page, self._client.for_context(handler_context))
            if isinstance(result, Redirect):
                response = redirect(handler_context.request.base_url, result.path)
                location = [header for header in response.headers if header[0] == b"location"]
                return RenderedPage(b"", location, response.status)
            loaded = result
        values = {
            **_common_values(context),
            "record": record,
            "has_own_view": view is not DEFAULT_VIEW,
            **loaded,
        }
        is_large = len(context.body) > RENDER_IN_THREAD_THRESHOLD_BYTES
        return await run_in_thread_if(
            is_large, self._templates.render_page, view.template, handler_context, programs=_programs(context, record),
            **values,
        )  # fmt: skip

    def render_error(self, context: ErrorContext) -> RenderedPage:
        problem, status = context.problem, context.problem.status
        # The usual sentence for 401 tells programs what to send; the title and the advice tell people.
        is_for_programs = problem.message is Unauthorized.detail
        messages = [] if is_for_programs else [translate(problem.message, context.language)]
        if isinstance(problem, ValidationError):
            body: Mapping[str, Any] = problem.body(context.language)
            shown = Formatter(context.language)
            messages = [
                shown.labelled(name, text) for name, texts in body.items() for text in texts
            ]
        body_html = self._templates.render(
            "error.html",
            PageScope.of_error(context),
            status=status,
            title=translate(_error_title(problem), context.language),
            advice=translate(_error_advice(problem), context.language),
            messages=messages,
            request_id=context.request_id,
        )
        return RenderedPage(body_html)


def _error_title(problem: Problem) -> Message:
    if isinstance(problem, DatabaseUnavailable):
        return OUTAGE_TITLE
    return ERROR_TITLES.get(problem.status, DEFAULT_ERROR_TITLE)


def _error_advice(problem: Problem) -> Message:
    if isinstance(problem, DatabaseUnavailable) and problem.needs_operator:
        return OPERATOR_ADVICE
    return ERROR_ADVICE.get(problem.status, DEFAULT_ERROR_ADVICE)


def _common_values(context: PageContext) -> dict[str, Any]:
    request = context.handler_context.request
    return {
        "title": translate(context.operation.description.title, request.language),
        "description": translate(context.operation.description.text, request.language),
        "request": request,
        "next_page": context.next_page,
        "previous_page": context.previous_page,
    }


def _programs(context: PageContext, record: Any) -> dict[str, Any]:
    """What the disclosure for programs shows: the request, the response and its JSON."""
    request, caller = context.handler_context.request, context.handler_context.caller
    others = {name: value for name, value in request.query_params.items() if name != "format"}
    encoded = encode_query(others.items())
    url = request.url + ("?" + encoded if encoded else "")
    authorization = (
        [] if caller.is_anonymous else ["-H", f"Authorization: Token {TOKEN_PLACEHOLDER}"]
    )
    headers = [("Content-Type", "application/json")]
    headers += [
        (name.decode().title(), value.decode("latin-1"))
        for name, value in context.headers
        if name in DISPLAYED_HEADERS
    ]
    is_truncated = len(context.body) > MAX_DISPLAYED_JSON_BYTES
    return {
        "method": context.operation.route.method,
        "path": request.path,
        "query": encode_query(request.query_params.items()),
        "curl": shlex.join(["curl", *authorization, url]),
        "status": f"{context.status} {HTTPStatus(context.status).phrase}",
        "headers": headers,
        "body": render_json(
            truncate_json(record, MAX_DISPLAYED_JSON_BYTES) if is_truncated else record
        ),
        "is_truncated": is_truncated,
        "json_url": "?" + encode_query([*others.items(), ("format", "json")]),
    }
