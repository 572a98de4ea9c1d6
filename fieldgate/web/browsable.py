"""The page of any resource (`format=api`): what was asked, what was answered, and where to go from there."""

from http import HTTPStatus

import msgspec

from fieldgate.http.response.links import encode_query
from fieldgate.http.response.response_builder import PageContext
from fieldgate.i18n.messages import translate
from fieldgate.web.json_html import beginning, colored
from fieldgate.web.page_templates import Pages

LONGEST = 1024 * 1024  # bytes of JSON on a page; no browser likes more, and nobody reads it
# What a reader learns from; the rest protects the page.
SHOWN = (b"allow", b"vary", b"content-language", b"link", b"fieldgate-limit", b"fieldgate-ignored")
# Resources whose page tells more than their JSON does.
TEMPLATES = {
    "import_detail": "import.html",
    "permission_effects": "effects.html",
    "assignment_explanation": "explain.html",
}


class ResourcePages:
    """Implements `fieldgate.http.response.response_builder.Drawer`."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def __call__(self, view: PageContext) -> bytes:
        asked = view.request
        plain = {name: value for name, value in asked.query_params.items() if name != "format"}
        shown = [("Content-Type", "application/json")]
        shown += [(name.decode().title(), value.decode("latin-1")) for name, value in view.headers if name in SHOWN]
        record = msgspec.json.decode(view.body)
        is_cut = len(view.body) > LONGEST
        return self._pages.draw(
            TEMPLATES.get(view.operation.name, "resource.html"),
            asked,
            view.caller,
            record=record,
            title=translate(view.operation.title, asked.language),
            about=translate(view.operation.description, asked.language),
            method=view.operation.method,
            path=asked.path,
            query=encode_query(asked.query_params.items()),
            status=f"{view.status} {HTTPStatus(view.status).phrase}",
            headers=shown,
            body=colored(beginning(record, LONGEST) if is_cut else record),
            is_cut=is_cut,
            next_page=view.next_page,
            previous_page=view.previous_page,
            json_address="?" + encode_query([*plain.items(), ("format", "json")]),
        )
