"""The page of any resource (`format=api`): what was asked, what was answered, and where to go from there."""

from http import HTTPStatus

import msgspec

from fieldgate.http.response.links import encode_query
from fieldgate.http.response.response_builder import PageContext
from fieldgate.i18n.messages import translate
from fieldgate.web.json_html import render_json, truncate_json
from fieldgate.web.page_templates import PageTemplates

MAX_DISPLAYED_JSON_BYTES = 1024 * 1024  # bytes of JSON on a page; no browser likes more, and nobody reads it
# What a reader learns from; the rest protects the page.
DISPLAYED_HEADERS = (b"allow", b"vary", b"content-language", b"link", b"fieldgate-limit", b"fieldgate-ignored")
# Resources whose page tells more than their JSON does.
TEMPLATE_BY_OPERATION = {
    "import_detail": "import.html",
    "permission_effects": "effects.html",
    "assignment_explanation": "explain.html",
}


class BrowsablePages:
    """Implements `fieldgate.http.response.response_builder.Drawer`."""

    def __init__(self, templates: PageTemplates) -> None:
        self._templates = templates

    def __call__(self, context: PageContext) -> bytes:
        asked = context.request
        plain = {name: value for name, value in asked.query_params.items() if name != "format"}
        shown = [("Content-Type", "application/json")]
        shown += [
            (name.decode().title(), value.decode("latin-1"))
            for name, value in context.headers
            if name in DISPLAYED_HEADERS
        ]
        record = msgspec.json.decode(context.body)
        is_cut = len(context.body) > MAX_DISPLAYED_JSON_BYTES
        return self._templates.render(
            TEMPLATE_BY_OPERATION.get(context.operation.name, "resource.html"),
            asked,
            context.caller,
            record=record,
            title=translate(context.operation.description.title, asked.language),
            about=translate(context.operation.description.text, asked.language),
            method=context.operation.route.method,
            path=asked.path,
            query=encode_query(asked.query_params.items()),
            status=f"{context.status} {HTTPStatus(context.status).phrase}",
            headers=shown,
            body=render_json(truncate_json(record, MAX_DISPLAYED_JSON_BYTES) if is_cut else record),
            is_cut=is_cut,
            next_page=context.next_page,
            previous_page=context.previous_page,
            json_address="?" + encode_query([*plain.items(), ("format", "json")]),
        )
