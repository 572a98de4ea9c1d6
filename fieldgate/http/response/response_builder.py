"""Build responses: the result of a handler or an error, with the headers of its endpoint."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from fieldgate.errors import Header, NotAcceptable, Problem
from fieldgate.http import links
from fieldgate.http.dry_run import DRY_RUN
from fieldgate.http.injection import HandlerContext
from fieldgate.http.negotiation import Format, choose_format
from fieldgate.http.operations import JSON_OR_HTML, Created, Operation, PreviewResult, RecordResult
from fieldgate.http.pagination_links import encode_envelope, encode_records, page_links
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request_parsing import ParsedRequest, parse_query, to_header_value
from fieldgate.http.response import responses
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.identity import Caller
from fieldgate.overload import run_in_thread_if
from fieldgate.pagination import MAX_LIMIT, ListResult

ENCODE_IN_THREAD_THRESHOLD_RECORDS = (
    100  # encoding a larger page would block the event loop for too long
)
MAX_LINK_HEADER_CHARS = (
    4096  # clients and proxies refuse long headers, and the body has the URLs too
)

JSON_CONTENT_TYPE: Header = (b"content-type", Format.JSON.content_type)

_STATUS_BY_RESULT: Mapping[type, int] = {Created: HTTPStatus.CREATED, PreviewResult: HTTPStatus.OK}


class PageContext(msgspec.Struct, frozen=True):
    """A response to be shown as an HTML page."""

    operation: Operation
    handler_context: HandlerContext
    status: int
    headers: Sequence[Header]
    body: bytes
    next_page: str | None
    previous_page: str | None


class ErrorContext(msgspec.Struct, frozen=True):
    """An error to be shown as an HTML page. The request may not have been parsed."""

    problem: Problem
    language: Language
    base_url: BaseURL
    path: str  # with the query
    caller: Caller
    request_id: str


class RenderedPage(msgspec.Struct, frozen=True):
    """An HTML page, headers of its own, such as cookies, and its ETag. `status` replaces that of the response."""

    body: bytes
    headers: Sequence[Header] = ()
    status: int | None = None
    etag: bytes = b""


class PageRenderer(Protocol):
    """Renders HTML pages; `web` implements it."""

    async def render(self, context: PageContext) -> RenderedPage: ...

    def render_error(self, context: ErrorContext) -> RenderedPage: ...


class ResponseBuilder:
    """Builds the responses of one endpoint."""

    def __init__(
        self, operations: Sequence[Operation], cors: Cors, page_renderer: PageRenderer
    ) -> None:
        methods = {operation.route.method for operation in operations} | {"OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        allow = responses.allow(methods)
        by_caller = (
            responses.VARY_BY_CALLER
            if any(operation.caching.depends_on_caller for operation in operations)
            else ()
        )
        self.allowed_methods = allow[1]
        self._operations = operations
        self._cors = cors
        self._page_renderer = page_renderer
        self._base_headers = [
            *responses.SECURITY_HEADERS,
            *([allow] if operations else []),  # an unknown path allows nothing
            responses.vary(*by_caller, *cors.vary),
            *cors.base_headers,
        ]

    async def build(
        self, operation: Operation, context: HandlerContext, result: Any, etag: bytes
    ) -> Response:
        """Encode a handler's result in the requested format. `etag` is b"" if no data version is known."""
        parsed = context.request
        if isinstance(result, Response):
            return self._complete_raw(result, parsed, etag)
        headers = self._common_headers(parsed)
        if result is None:
            return Response(
                operation.response.status, [*headers, responses.API_CSP, responses.NO_STORE]
            )
        next_page = previous_page = body = None
        content_type = JSON_CONTENT_TYPE
        status = _STATUS_BY_RESULT.get(type(result), operation.response.status)
        if isinstance(result, ListResult):
            next_page, previous_page = page_links(
                parsed.url, parsed.query_params, parsed.page, result.count
            )
            headers += _list_headers(parsed, next_page, previous_page)
            headers.append((b"fieldgate-data-version", context.data_version))
            if result.encode_page is not None:
                records = encode_records(result)
                is_long = len(records) > ENCODE_IN_THREAD_THRESHOLD_RECORDS
                body = await run_in_thread_if(
                    is_long, result.encode_page, records, next_page, previous_page
                )
                content_type = (b"content-type", parsed.format.content_type)
            else:
                prepared = encode_envelope(result, next_page, previous_page)
        elif isinstance(result, Created):
            prepared = links.encode(result.record)
            if result.location is not None:
                location = parsed.base_url.url + links.quote_path(result.location.path)
                headers.append((b"location", location.encode()))
        elif isinstance(result, PreviewResult | RecordResult):
            prepared = links.encode(result.record)
            headers += result.headers if isinstance(result, RecordResult) else ()
        else:
            prepared = bytes(result) if isinstance(result, msgspec.Raw) else links.encode(result)
        if body is None:
            body = links.resolve_links(prepared, parsed.base_url.url.encode(), parsed.format_query)
        if parsed.format is Format.HTML:
            page_context = PageContext(
                operation, context, status, headers, body, next_page, previous_page
            )
            return await self._html_response(page_context)
        caching = (
            responses.PRIVATE_NO_CACHE
            if operation.caching.depends_on_caller
            else responses.NO_CACHE
        )
        if operation.caching.no_store or operation.route.method != "GET":
            caching, etag = responses.NO_STORE, b""
        else:
            etag = etag or responses.make_body_etag(body)
        headers += [responses.API_CSP, caching, content_type]
        return Response(status, headers, body, etag)

    def error_response(self, problem: Problem, language: Language) -> Response:
        """The response for an error, in the caller's language."""
        headers = [
            *self._base_headers,
            responses.API_CSP,
            responses.content_language(language),
            responses.NO_STORE,
            JSON_CONTENT_TYPE,
            *problem.headers,
        ]
        return Response(problem.status, headers, msgspec.json.encode(problem.body(language)))

    def error_page(self, context: ErrorContext) -> Response:
        """The page for an error, for people."""
        page = self._page_renderer.render_error(context)
        headers = [
            *(header for header in self._base_headers if header[0] != b"vary"),
            responses.vary(*responses.VARY_BY_CALLER, *self._cors.vary),
            responses.HTML_CSP,
            responses.content_language(context.language),
            responses.NO_STORE,
            (b"content-type", Format.HTML.content_type),
            *context.problem.headers,
            *page.headers,
        ]
        return Response(context.problem.status, headers, page.body)

    def options_response(self, language: Language, headers: Mapping[bytes, bytes]) -> Response:
        """The response to OPTIONS, including a browser's preflight."""
        first = self._operations[0]
        body = {
            "name": translate(first.description.title, language),
            "description": translate(first.description.text, language),
            "renders": first.response.media_types,
            "parses": list(
                dict.fromkeys(
                    kind for operation in self._operations for kind in operation.body.media_types
                )
            ),
        }
        if dry_runs := [
            each.route.method for each in self._operations if DRY_RUN in each.query_names
        ]:
            body["dry_run"] = (
                dry_runs  # clients rely on it before they send what other servers would do
            )
        complete = [
            *self._base_headers,
            responses.API_CSP,
            responses.content_language(language),
            JSON_CONTENT_TYPE,
            *self._cors.preflight(self.allowed_methods, headers),
        ]
        return Response(HTTPStatus.OK, complete, msgspec.json.encode(body))

    def _common_headers(self, request: ParsedRequest) -> list[Header]:
        headers = [*self._base_headers, responses.content_language(request.language)]
        if request.unknown_parameters:
            headers.append((b"fieldgate-ignored", to_header_value(request.unknown_parameters)))
        if request.is_strict:
            headers.append((b"preference-applied", b"handling=strict"))
        return headers

    def _complete_raw(self, response: Response, request: ParsedRequest, etag: bytes) -> Response:
        """Add the common headers to a response that a handler built; the handler's own headers win."""
        if request.format is Format.BYTES:
            others = [header for header in response.headers if header[0] != b"content-type"]
            headers = [*others, (b"content-type", Format.BYTES.content_type)]
            response = msgspec.structs.replace(response, headers=headers)
        own = dict(response.headers)
        headers = [
            header
            for header in (*self._common_headers(request), responses.HTML_CSP)
            if header[0] not in own
        ]
        if (
            response.status != HTTPStatus.OK
            or response.stream is not None
            or responses.NO_STORE in response.headers
        ):
            etag = b""
        else:
            etag = response.etag or etag or responses.make_body_etag(response.body)
        return Response(
            response.status, [*headers, *response.headers], response.body, etag, response.stream
        )

    async def _html_response(self, context: PageContext) -> Response:
        """An HTML page. It shows who is logged in, so it is private to the caller."""
        page = await self._page_renderer.render(context)
        form = context.handler_context.form
        is_read = (
            form is None
            and context.operation.route.method == "GET"
            and not context.operation.caching.no_store
        )
        headers = [header for header in context.headers if header[0] != b"vary"]
        headers += [
            responses.vary(*responses.VARY_BY_CALLER, *self._cors.vary),
            responses.HTML_CSP,
            responses.PRIVATE_NO_CACHE if is_read and not page.headers else responses.NO_STORE,
            (b"content-type", Format.HTML.content_type),
            *page.headers,
        ]
        etag = page.etag if is_read else b""
        status = context.status if form is None else form.status
        return Response(page.status or status, headers, page.body, etag)


def _list_headers(
    request: ParsedRequest, next_page: str | None, previous_page: str | None
) -> list[Header]:
    headers: list[Header] = []
    targets = [f'<{next_page}>; rel="next"'] if next_page else []
    targets += [f'<{previous_page}>; rel="prev"'] if previous_page else []
    if targets and sum(map(len, targets)) < MAX_LINK_HEADER_CHARS:
        headers.append((b"link", ", ".join(targets).encode()))
    if request.page.is_clipped:
        headers.append((b"fieldgate-limit", str(MAX_LIMIT).encode()))
    return headers


@lru_cache(maxsize=256)
def wants_error_page(query_string: bytes, accept: bytes) -> bool:
    """Whether a page was asked for: by `format=api`, or by an Accept header that ranks HTML first."""
    try:
        query_value = (
            parse_query(query_string).get("format", "") if b"format" in query_string else ""
        )
    except Problem:
        query_value = ""
    if query_value in (Format.HTML.query_value, Format.JSON.query_value):
        return query_value == Format.HTML.query_value
    try:
        return choose_format(JSON_OR_HTML, "", accept) is Format.HTML
    except NotAcceptable:
        return False
