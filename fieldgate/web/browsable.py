"""The HTML page of any resource (`format=api`): the request, the response and links to other pages."""

from http import HTTPStatus

import msgspec

from fieldgate.http.response.links import encode_query
from fieldgate.http.response.response_builder import PageContext
from fieldgate.i18n.messages import translate
from fieldgate.web.json_html import render_json, truncate_json
from fieldgate.web.page_templates import PageTemplates

MAX_DISPLAYED_JSON_BYTES = 1024 * 1024  # browsers get slow beyond that
# The others, such as security headers, are about the page itself.
DISPLAYED_HEADERS = (b"allow", b"vary", b"content-language", b"link", b"fieldgate-limit", b"fieldgate-ignored")
# Resources with a page of their own.
TEMPLATE_BY_OPERATION = {
    "import_detail": "import.html",
    "permission_effects": "effects.html",
    "assignment_explanation": "explain.html",
}


class BrowsablePages:
    """Renders pages; implements `fieldgate.http.response.response_builder.PageRenderer`."""

    def __init__(self, templates: PageTemplates) -> None:
        self._templates = templates

    def __call__(self, context: PageContext) -> bytes:
        request = context.request
        other_params = {name: value for name, value in request.query_params.items() if name != "format"}
        headers = [("Content-Type", "application/json")]
        headers += [
            (name.decode().title(), value.decode("latin-1"))
            for name, value in context.headers
            if name in DISPLAYED_HEADERS
        ]
        record = msgspec.json.decode(context.body)
        is_truncated = len(context.body) > MAX_DISPLAYED_JSON_BYTES
        return self._templates.render(
            TEMPLATE_BY_OPERATION.get(context.operation.name, "resource.html"),
            request,
            context.caller,
            record=record,
            title=translate(context.operation.description.title, request.language),
            description=translate(context.operation.description.text, request.language),
            method=context.operation.route.method,
            path=request.path,
            query=encode_query(request.query_params.items()),
            status=f"{context.status} {HTTPStatus(context.status).phrase}",
            headers=headers,
            body=render_json(truncate_json(record, MAX_DISPLAYED_JSON_BYTES) if is_truncated else record),
            is_truncated=is_truncated,
            next_page=context.next_page,
            previous_page=context.previous_page,
            json_url="?" + encode_query([*other_params.items(), ("format", "json")]),
        )
