"""One request and its answer: the conventions, in the order in which they apply.

Host and language; what is asked for; who asks; is the method there; then the handler; then the answer in the form
that was asked for. Every answer of the service leaves through `Endpoint.__call__`, errors included.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, get_args

import msgspec

from fieldgate.db import IDENTITY_TOPIC, DataVersions, is_unavailable
from fieldgate.errors import BadRequest, Header, MethodNotAllowed, NotFound, Problem, ServiceUnavailable, Unauthorized
from fieldgate.http.injection import ClientAddress, HandlerContext, SeenVersions, resolve_parameters
from fieldgate.http.negotiation.accept_language import negotiate
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation
from fieldgate.http.request import body_parsing, dry_run, query_string
from fieldgate.http.request.authentication import Authenticator, authenticate, check_csrf
from fieldgate.http.request.cookies import read_cookie
from fieldgate.http.request.hosts import BaseURL, HostPolicy
from fieldgate.http.request.request_parsing import LANGUAGE_COOKIE, ParsedRequest, RequestHead, parse_request
from fieldgate.http.request.validation import field_names, parse_struct
from fieldgate.http.response import responses
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.response_builder import PageRenderer, ResponseBuilder
from fieldgate.http.response.response_cache import ResponseCache
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import ANONYMOUS, Caller
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.pagination import ListResult
from fieldgate.settings import Settings

log = logging.getLogger("fieldgate.error")

MAX_CACHED_HEADS = 1024  # per endpoint
MAX_CACHED_HEAD_BYTES = 600  # bytes; longer ones are read each time. What is read takes ten times as much
NO_BASE_URL = BaseURL("", False)

_SINGLE_HEADERS = (b"host", b"authorization", b"content-length", b"content-type", b"idempotency-key")
_SAFE_METHODS = ("GET", "HEAD")


class AppContext(msgspec.Struct, frozen=True):
    """What all endpoints share."""

    settings: Settings
    host_policy: HostPolicy
    cors: Cors
    authenticator: Authenticator
    data_versions: DataVersions
    response_cache: ResponseCache
    request_metrics: RequestMetrics
    page_renderer: PageRenderer
    services: Mapping[type, object]


class Request(msgspec.Struct):
    """A request as it came in, and who sent it, once that is known."""

    method: str
    path: bytes
    path_values: Mapping[str, str]
    query_string: bytes
    headers: Mapping[bytes, bytes]
    client: ClientAddress
    receive: body_parsing.Receive
    caller: Caller = ANONYMOUS


class Endpoint:
    """All operations of one path."""

    def __init__(self, path: str, operations: Sequence[Operation], app_context: AppContext) -> None:
        self._path = path
        self._app_context = app_context
        self._operations = {operation.method: operation for operation in operations}
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._default_operation = operations[0] if operations else None
        self._checks_host = all(operation.checks_host for operation in operations)
        self._response_builder = ResponseBuilder(operations, app_context.cors, app_context.page_renderer)
        self._resolvers = {
            operation.method: resolve_parameters(operation, app_context.services) for operation in operations
        }
        self._parsed_requests: dict[RequestHead, ParsedRequest] = {}

    async def __call__(self, scope: Any, path_values: Mapping[str, str], receive: Any, send: Any) -> None:
        """Answer a request over ASGI, whatever happens."""
        started = perf_counter()
        site = self._app_context
        headers, is_clean = _join_headers(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        client = ClientAddress(site.host_policy.client_address(peer, headers), peer)
        request = Request(
            scope["method"], scope["raw_path"], path_values, scope["query_string"], headers, client, receive
        )  # fmt: skip
        request_id = site.request_metrics.request_id(headers, is_trusted=site.host_policy.is_trusted_proxy(peer))
        try:
            if not is_clean:
                raise BadRequest(Message("A header that can only be sent once was sent twice."))
            origin = site.host_policy.base_url_for(scope["scheme"], peer, headers) if self._checks_host else NO_BASE_URL
            answer = await self._respond(request, origin)
        except Exception as error:
            answer = await responses.encode(self._error_response(error, request, request_id), encoding="")
        extra: list[Header] = [(b"x-request-id", request_id), *site.cors.headers(headers.get(b"origin", b""))]
        status = answer.status
        try:
            status = await responses.send_response(receive, send, answer, extra, headers, request.method)
        except Exception as error:  # the head is out: what is left is to end the connection
            self._log_error("broken off", error, request, request_id)
            raise
        finally:
            site.request_metrics.record_request(
                request, self._path, status, started, request_id, request.caller.username
            )

    async def _respond(self, request: Request, base_url: BaseURL) -> Response:
        operation = self._operations.get(request.method, self._default_operation)
        try:
            if operation is None:
                raise NotFound
            if request.method == "OPTIONS":
                return await self._options_response(request)
            asked = self._parse(operation, request, base_url)
        except Problem:
            # Of two mistakes, a wrong credential is told first, as in both live systems.
            await self._authenticate(request)
            raise
        await self._authenticate(request)
        if request.method not in self._operations:
            raise MethodNotAllowed(request.method[:20], self._response_builder.allowed_methods.decode())
        if operation.requires_login and request.caller.is_anonymous:
            raise Unauthorized
        exchange = HandlerContext(request.method, asked, request.caller, request.client, request.headers)
        if operation.is_cacheable and asked.format is not Format.HTML:
            return await self._cached_response(operation, exchange)
        if request.method not in _SAFE_METHODS:
            await self._read_body(operation, exchange, request)
        return await self._build_response(operation, exchange, await self._call_handler(operation, exchange))

    async def _options_response(self, request: Request) -> Response:
        if b"access-control-request-method" not in request.headers:  # a browser's preflight carries no credentials
            await self._authenticate(request)
        language = negotiate(request.headers.get(b"accept-language", b""))
        return await responses.encode(self._response_builder.options_response(language, request.headers), encoding="")

    async def _authenticate(self, request: Request) -> None:
        if b"authorization" in request.headers or b"cookie" in request.headers:
            request.caller = await authenticate(
                request.headers, request.client.address, self._app_context.authenticator
            )

    def _parse(self, operation: Operation, request: Request, base_url: BaseURL) -> ParsedRequest:
        """What the request asks for, from memory where the same head was read before."""
        get = request.headers.get
        head = RequestHead(
            request.path,
            request.query_string,
            base_url,
            get(b"accept", b""),
            get(b"accept-language", b""),
            get(b"accept-encoding", b""),
            get(b"prefer", b""),
            read_cookie(get(b"cookie", b""), LANGUAGE_COOKIE),
        )
        if operation.method != "GET":
            return parse_request(operation, head, request.path_values)
        asked = self._parsed_requests.get(head)
        if asked is None:
            asked = parse_request(operation, head, request.path_values)
            if head.size < MAX_CACHED_HEAD_BYTES:
                if len(self._parsed_requests) >= MAX_CACHED_HEADS:
                    self._parsed_requests.clear()
                self._parsed_requests[head] = asked
        return asked

    async def _cached_response(self, operation: Operation, context: HandlerContext) -> Response:
        """The answer for the data as it is now: a ready one, or one that is made and kept."""
        seen_as = operation.audience_key(context.caller) if operation.audience_key else ""
        topics = (*operation.depends_on, IDENTITY_TOPIC) if operation.depends_on else ()
        versions = await self._app_context.data_versions.versions(topics, fresh=operation.strict_freshness)
        key = (context.request.cache_key, seen_as, versions)
        answer = self._app_context.response_cache.get(key)
        if answer is None:
            context.versions = SeenVersions(versions[:-1])
            result = await self._call_handler(operation, context)
            # What was written meanwhile may be in it or not: then it is an answer, and none to be given again.
            if isinstance(result, ListResult) and result.versions is not None:
                is_of_now = result.versions == versions[:-1]
            else:
                is_of_now = versions == await self._app_context.data_versions.versions(
                    topics, fresh=operation.strict_freshness
                )
            answer = await self._build_response(
                operation, context, result, responses.make_etag(*key) if is_of_now else b""
            )
            if is_of_now:
                self._app_context.response_cache.put(key, answer)
        return answer

    async def _read_body(self, operation: Operation, context: HandlerContext, request: Request) -> None:
        if operation.csrf_protected:
            check_csrf(context.caller, request.headers)
        if operation.body_type is None:
            await _check_ignored_body(operation, request)
        else:
            file_limit = operation.file_limit(self._app_context.settings) if operation.file_limit else None
            body = await body_parsing.read_body(request.receive, request.headers, file_limit, operation.max_body)
            if operation.takes_json_object:
                context.body = await body_parsing.parse_object(request.headers, body)
                dry_run.check_body(operation, context.body.items())
                # Whoever sends back the record that was read sends nothing unknown.
                known = field_names(operation.body_type) | field_names(operation.response)
                context.request = _add_unknown_fields(context.request, context.body, known)
                return
            if operation.takes_json_array:
                context.body = await body_parsing.parse_array(request.headers, body)
                items = [each for each in context.body if isinstance(each, dict)]
                dry_run.check_body(operation, (pair for each in items for pair in each.items()))
                given = dict.fromkeys(name for each in items for name in each)
                context.request = _add_unknown_fields(
                    context.request, given, field_names(*get_args(operation.body_type))
                )
                return
            values = await body_parsing.parse_fields(request.headers, body)
            dry_run.check_body(operation, values.items())
            context.request = _add_unknown_fields(context.request, values, field_names(operation.body_type))
            context.body = values if operation.takes_raw_fields else parse_struct(operation.body_type, values)

    async def _call_handler(self, operation: Operation, context: HandlerContext) -> Any:
        arguments = {name: take(context) for name, take in self._resolvers[operation.method].items()}
        return await operation.handler(**arguments)

    async def _build_response(
        self, operation: Operation, context: HandlerContext, result: Any, etag: bytes = b""
    ) -> Response:
        answer = await self._response_builder.build(operation, context, result, etag)
        return await responses.start_stream(await responses.encode(answer, context.request.encoding), context.method)

    def _error_response(self, error: Exception, request: Request, request_id: bytes) -> Response:
        language = negotiate(request.headers.get(b"accept-language", b""))
        if isinstance(error, Problem):
            return self._response_builder.error_response(error, language)
        self._log_error("failed", error, request, request_id)
        return self._response_builder.error_response(
            ServiceUnavailable() if is_unavailable(error) else Problem(), language
        )

    def _log_error(self, event: str, error: Exception, request: Request, request_id: bytes) -> None:
        known_by = {"request_id": request_id.decode("latin-1"), "path": request.path.decode("latin-1")}
        log.error(event, exc_info=error, extra=known_by)


async def _check_ignored_body(operation: Operation, request: Request) -> None:
    """Where no body is taken, one is ignored, whatever it is: unless it asks for a dry run."""
    values: dict[str, Any] = {}
    if request.headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in request.headers:
        with suppress(Problem):
            body = await body_parsing.read_body(request.receive, request.headers, None)
            values = await body_parsing.parse_fields(request.headers, body)
    dry_run.check_body(operation, values.items())


def _add_unknown_fields(parsed: ParsedRequest, given: Iterable[str], known: Collection[str]) -> ParsedRequest:
    """Fields of a body that we do not know are treated as such parameters are."""
    ignored = query_string.unknown_names(given, known)
    if ignored and parsed.is_strict:
        raise query_string.unknown_fields_error(ignored, known)
    return (
        msgspec.structs.replace(parsed, unknown_parameters=(*parsed.unknown_parameters, *ignored))
        if ignored
        else parsed
    )


def _join_headers(raw: Sequence[Header]) -> tuple[dict[bytes, bytes], bool]:
    """The headers by name, lists joined, and whether none was repeated that must stand alone."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers, True
    joined: dict[bytes, bytes] = {}
    is_clean = True
    for name, value in raw:
        if name in joined:
            is_clean = is_clean and name not in _SINGLE_HEADERS
            joined[name] += (b"; " if name == b"cookie" else b", ") + value
        else:
            joined[name] = value
    return joined, is_clean
