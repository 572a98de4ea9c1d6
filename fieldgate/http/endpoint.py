"""Handle one request: the steps that all endpoints share, in order.

Host and language, parsing, authentication, method, handler, response. Every response of the service is sent by
`Endpoint.__call__`, errors included.
"""

import logging
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from itertools import chain
from time import perf_counter
from typing import Any, Protocol, get_args

import msgspec

from fieldgate.cache import BoundedCache
from fieldgate.errors import (
    BadRequest,
    Forbidden,
    Header,
    InsufficientScope,
    MethodNotAllowed,
    NotFound,
    Problem,
    ServiceUnavailable,
    Unauthorized,
)
from fieldgate.http import dry_run
from fieldgate.http.csrf import check_csrf
from fieldgate.http.disconnects import Client, run_until_disconnect
from fieldgate.http.injection import (
    ClientAddress,
    HandlerContext,
    SeenVersions,
    Transaction,
    TransactionRunners,
    resolve_parameters,
)
from fieldgate.http.internal_api import InternalCall
from fieldgate.http.negotiation import Format, negotiate
from fieldgate.http.operations import AssetLimit, BodyKind, Operation, RecordResult
from fieldgate.http.page_forms import FormPost, PageForms, is_form_post, split_form_query
from fieldgate.http.request import body_parsing
from fieldgate.http.request.authentication import (
    SESSION_COOKIE,
    Authenticator,
    authenticate,
    read_cookie,
)
from fieldgate.http.request.hosts import BaseURL, HostPolicy
from fieldgate.http.request.rate_limits import CONDITIONAL_SHARE, RateLimiter
from fieldgate.http.request.request_body import (
    CONNECTION_CLOSE,
    BodyDrainer,
    BodyStream,
    IncomingBody,
)
from fieldgate.http.request.validation import encoded_fields, field_names, parse_struct
from fieldgate.http.request_parsing import (
    LANGUAGE_COOKIE,
    ParsedRequest,
    RequestHead,
    parse_request,
    unknown_fields_error,
    unknown_names,
)
from fieldgate.http.response import responses
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.response_builder import (
    ErrorContext,
    PageRenderer,
    ResponseBuilder,
    wants_error_page,
)
from fieldgate.http.response.response_cache import ResponseCache
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import ANONYMOUS, NO_LIMITS, Caller, Origin, Scope
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.overload import MAX_WHOLE_BYTES, NoProgress, Overload, caller_key
from fieldgate.pagination import ListResult
from fieldgate.settings import Settings

log = logging.getLogger("fieldgate.error")

MAX_CACHED_HEADS = 1024  # per endpoint
MAX_CACHED_HEAD_BYTES = (
    600  # longer heads are parsed each time; a parsed head takes ten times its size
)
BODY_BYTES_PER_COST = 256 * 1024
OPTIONS_RATE_COST = 0.1  # of a browser's preflight, which comes before another request
NO_BASE_URL = BaseURL("", False)
SECRET = "{secret}"  # noqa: S105  (the name of a path parameter)

_SINGLE_HEADERS = (
    b"host", b"authorization", b"content-length", b"transfer-encoding", b"content-type", b"idempotency-key",
)  # fmt: skip
# The HTTP server names itself and its version of the protocol unless the application does: no name is none of theirs.
_NO_SERVER_NAME: Header = (b"server", b"")
_SAFE_METHODS = ("GET", "HEAD")
_TOKEN = re.compile(rb"fg[a-z]_\w+", re.ASCII)  # tokens and one-time links begin like this


class VersionSource(Protocol):
    """The current version of each data topic."""

    async def versions(self, topics: Sequence[str]) -> tuple[int, ...]: ...


class AppContext(msgspec.Struct, frozen=True):
    """What all endpoints share."""

    settings: Settings
    host_policy: HostPolicy
    cors: Cors
    # Headers of responses to requests over https.
    https_headers: Sequence[Header]
    body_drainer: BodyDrainer
    authenticator: Authenticator
    rate_limiter: RateLimiter
    overload: Overload
    data_versions: VersionSource
    # Topics that every cached response depends on, beside its own.
    common_topics: tuple[str, ...]
    # The response for an exception which means that the database cannot be used: 503 instead of 500. Else None.
    outage_problem: Callable[[BaseException], ServiceUnavailable | None]
    response_cache: ResponseCache
    request_metrics: RequestMetrics
    page_renderer: PageRenderer
    page_forms: PageForms
    services: Mapping[type, object]
    # For handlers with a parameter of one of these types, which are plain functions.
    transaction_runners: TransactionRunners


class Request(msgspec.Struct):
    """A request as it was received, and the caller once authenticated."""

    method: str
    path: bytes
    path_values: Mapping[str, str]
    query_string: bytes
    headers: Mapping[bytes, bytes]
    client: ClientAddress
    receive: Client
    caller: Caller = ANONYMOUS
    fields: Mapping[str, str | body_parsing.UploadedFile] | None = (
        None  # of an internal call, instead of a body
    )
    body: IncomingBody | None = None  # once it is needed
    # About the rate limit; None before the request is counted.
    rate_headers: Sequence[Header] | None = None
    unpaid_rate_cost: float = (
        0.0  # of a conditional request; not paid if the response is a 304 that is at hand
    )
    is_internal: bool = False  # a page calls the API; the request for the page is counted
    request_id: bytes = b""
    base_url: BaseURL = NO_BASE_URL
    unread_bytes: int = 0  # of the response; held until it is sent


class Endpoint:
    """All operations of one path."""

    def __init__(
        self,
        path: str,
        operations: Sequence[Operation],
        app_context: AppContext,
        not_found: Message | None = None,
    ) -> None:
        """`not_found` is the message of an endpoint without operations."""
        self._path = path
        # A one-time link with something added to it is an unknown path.
        self._may_have_secret = SECRET in path or not operations
        self._not_found = not_found
        self._app_context = app_context
        self._operations = {operation.route.method: operation for operation in operations}
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._default_operation = operations[0] if operations else None
        self._checks_host = all(operation.route.checks_host for operation in operations)
        self._response_builder = ResponseBuilder(
            operations, app_context.cors, app_context.page_renderer
        )
        self._resolvers = {
            operation.route.method: resolve_parameters(
                operation, app_context.services, app_context.transaction_runners
            )
            for operation in operations
        }
        self._transaction_runners = {
            operation.route.method: runner
            for operation in operations
            for kind, runner in app_context.transaction_runners.items()
            if kind in operation.parameters.values()
        }
        self._parsed_requests = BoundedCache[RequestHead, ParsedRequest](MAX_CACHED_HEADS)
        self._rate_costs = {
            method: operation.rate_cost for method, operation in self._operations.items()
        }
        self._rate_costs["OPTIONS"] = OPTIONS_RATE_COST * min((1.0, *self._rate_costs.values()))

    async def __call__(
        self, scope: Any, path_values: Mapping[str, str], receive: Any, send: Any
    ) -> None:
        """Respond to a request over ASGI. Errors become responses too."""
        started = perf_counter()
        app = self._app_context
        headers, is_clean = _join_headers(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        client = ClientAddress(app.host_policy.client_address(peer, headers), peer)
        body = None
        if b"content-length" in headers or b"transfer-encoding" in headers:
            receive = body = BodyStream(receive, headers, app.overload)
        request = Request(
            scope["method"], scope["raw_path"], path_values, scope["query_string"], headers, client, Client(receive),
            request_id=app.request_metrics.request_id(headers, is_trusted=app.host_policy.is_trusted_proxy(peer)),
        )  # fmt: skip
        app.overload.requests += 1
        try:
            response = await self._response_or_error(request, scope["scheme"], is_clean=is_clean)
            await self._send(request, response, body, send, started)
        finally:
            request.receive.forget()
            app.overload.requests -= 1
            if request.unread_bytes:
                app.overload.responses.release(
                    caller_key(request.caller, client.address), request.unread_bytes
                )

    async def _response_or_error(
        self, request: Request, scheme: str, *, is_clean: bool
    ) -> Response:
        """Make the response. It holds its bytes of `Overload.responses` until it is sent."""
        app = self._app_context
        try:
            if not is_clean:
                raise BadRequest(Message("A header that can only be sent once was sent twice."))
            if self._checks_host:  # all but health checks
                app.overload.check_requests()
                request.base_url = app.host_policy.base_url_for(
                    scheme, request.client.peer, request.headers
                )
            if b"authorization" not in request.headers and b"cookie" not in request.headers:
                self._count_request(request)  # as early as possible: nothing has to be looked up
            response = await self._respond(request, request.base_url)
            if (
                response.stream is not None
            ):  # not in the turn of a costly read: an export waits for its own turn
                response = await run_until_disconnect(
                    request.receive, responses.start_stream(response, request.method)
                )
            if response.stream is None and len(response.body) > MAX_WHOLE_BYTES:
                caller = caller_key(request.caller, request.client.address)
                request.unread_bytes = await app.overload.responses.acquire(
                    caller, len(response.body)
                )
        except Exception as error:
            return await responses.encode(self._error_response(error, request), encoding="")
        finally:
            if request.body is not None:
                await request.body.close()
        return response

    async def _send(
        self,
        request: Request,
        response: Response,
        body: BodyStream | None,
        send: Any,
        started: float,
    ) -> None:
        app = self._app_context
        extra = self._extra_headers(request)
        status = response.status
        if response.stream is not None or len(response.body) > MAX_WHOLE_BYTES:
            send = app.overload.in_parts(send)
        try:
            if body is not None and not body.is_finished:
                request.receive.forget()
                if not await app.body_drainer.drain(body):
                    extra.append(CONNECTION_CLOSE)
            status = await responses.send_response(
                request.receive, send, response, extra, request.headers, request.method
            )
        except NoProgress:  # the HTTP server closes the connection: the client sees that the response is not complete
            log.warning(
                "A client did not read its response for too long", extra=self._log_fields(request)
            )
        except Exception as error:  # the headers are sent: the connection can only be closed
            if app.outage_problem(error) is None:  # it logs an outage once
                self._log_error("broken off", error, request)
                raise
        finally:
            if request.unpaid_rate_cost and status != HTTPStatus.NOT_MODIFIED:
                self._count_rest(request)
            if response.stream is not None:
                await response.stream.aclose()
            if self._may_have_secret:
                request.path = self._loggable_path(request)
            app.request_metrics.record_request(
                request.method, request.path, self._path, status, started, request.request_id, request.client.address,
                request.caller.username,
            )  # fmt: skip
        if body is not None and not body.is_finished:
            await app.body_drainer.linger(body)

    def _extra_headers(self, request: Request) -> list[Header]:
        """Headers that differ between requests."""
        app = self._app_context
        extra: list[Header] = [(b"x-request-id", request.request_id), _NO_SERVER_NAME]
        if b"origin" in request.headers:
            extra += app.cors.headers(request.headers[b"origin"])
        if request.base_url.is_request_secure:
            extra += app.https_headers
        if request.rate_headers:
            extra += request.rate_headers
        return extra

    async def call_internally(self, call: InternalCall, path_values: Mapping[str, str]) -> Response:
        """Respond to a page of this service that calls the API for its caller.

        The call has no credentials in its headers, so the caller is not authenticated again.
        """
        context = call.context

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": call.body, "more_body": False}

        request = Request(
            call.method, call.path.encode(), path_values, call.query_string, call.headers, context.client,
            context.receive,
            context.caller, call.fields, IncomingBody(receive, call.headers), is_internal=True,
        )  # fmt: skip
        try:
            return await self._respond(request, context.request.base_url)
        except Problem as problem:
            return self._response_builder.error_response(problem, context.request.language)

    async def _respond(self, request: Request, base_url: BaseURL) -> Response:
        if (
            request.method == "POST"
            and "GET" in self._operations
            and is_form_post(request.query_string)
        ):
            return await self._form_response(request, base_url)
        operation = self._operations.get(request.method, self._default_operation)
        try:
            if operation is None:
                raise NotFound(self._not_found)
            if request.method == "OPTIONS":
                return await self._options_response(request)
            parsed = self._parse(operation, request, base_url)
        except Problem:
            # Of two errors, a wrong credential is reported first, as in both live systems.
            await self._authenticate(request)
            raise
        await self._authenticate(request)
        if request.method not in self._operations:
            raise MethodNotAllowed(
                request.method[:20], self._response_builder.allowed_methods.decode()
            )
        if operation.route.requires_login and request.caller.is_anonymous:
            raise Unauthorized
        if request.caller.limits is not NO_LIMITS:
            _check_limits(operation, request)
        context = HandlerContext(
            request.method, parsed, request.caller, request.client, request.headers, request.receive,
            request_id=request.request_id,
        )  # fmt: skip
        if parsed.extra_cost and not request.is_internal:
            is_reduced = parsed.format is not Format.HTML  # of a page, a 304 costs as much as a 200
            self._count_cost(request, parsed.extra_cost, is_reduced=is_reduced)
        return await self._handle(operation, context, request)

    async def _handle(
        self, operation: Operation, context: HandlerContext, request: Request
    ) -> Response:
        parsed = context.request
        if operation.caching.is_cacheable and parsed.format is not Format.HTML:
            return await self._cached_response(operation, context, request)
        if parsed.format is Format.HTML:
            self._count_rest(request)
        if request.method not in _SAFE_METHODS:
            await self._read_body(operation, context, request)
            self._count_body(request)
            await self._check_credentials_again(request)
        if operation.writes and request.caller.quota_id is not None:
            async with self._app_context.overload.writes.slot(request.caller.quota_id):
                result = await self._call_handler(operation, context)
            return await self._build_response(operation, context, result)
        return await self._take_turn(
            context, request, lambda: self._make_response(operation, context)
        )

    async def _take_turn(
        self,
        context: HandlerContext,
        request: Request,
        make: Callable[[], Coroutine[Any, Any, Response]],
    ) -> Response:
        """Make the response to a read. If that is costly, callers take turns, and it ends when the client leaves."""
        if not context.request.extra_cost or request.is_internal:
            return await make()

        async def make_in_turn() -> Response:
            async with self._app_context.overload.costly.slot(
                caller_key(request.caller, request.client.address)
            ):
                return await make()

        return await run_until_disconnect(request.receive, make_in_turn())

    async def _make_response(self, operation: Operation, context: HandlerContext) -> Response:
        return await self._build_response(
            operation, context, await self._call_handler(operation, context)
        )

    async def _form_response(self, request: Request, base_url: BaseURL) -> Response:
        """Handle the form of a page: a redirect to the result, or the page again with errors or a preview."""
        name, page_query = split_form_query(request.query_string)
        page_headers = {**request.headers, b"accept": Format.HTML.content_type}
        page_request = msgspec.structs.replace(
            request, query_string=page_query, headers=page_headers
        )
        operation = self._operations["GET"]
        parsed = self._parse(operation, page_request, base_url)
        await self._authenticate(request)
        if request.caller.limits is not NO_LIMITS:
            _check_limits(operation, request)
        context = HandlerContext(
            "GET", parsed, request.caller, request.client, request.headers, request.receive
        )
        result = await self._app_context.page_forms.submit(
            FormPost(operation, name, context, self._open_body(request))
        )
        if not isinstance(result, Response):
            context.form = result
            async with self._app_context.overload.costly.slot(
                caller_key(request.caller, request.client.address)
            ):
                return await self._build_response(
                    operation, context, await self._call_handler(operation, context)
                )
        return await self._build_response(operation, context, result)

    async def _options_response(self, request: Request) -> Response:
        if (
            b"access-control-request-method" not in request.headers
        ):  # a browser's preflight carries no credentials
            await self._authenticate(request)
        language = negotiate(request.headers.get(b"accept-language", b""))
        return await responses.encode(
            self._response_builder.options_response(language, request.headers), encoding=""
        )

    async def _authenticate(self, request: Request) -> None:
        """Find the caller of a request with credentials, and count the request for the rate limit."""
        headers = request.headers
        credentials = headers.get(b"authorization") or headers.get(b"cookie")
        if credentials is None:
            if request.rate_headers is None and not request.is_internal:  # an empty header
                self._count_request(request)
            return
        address, limiter = request.client.address, self._app_context.rate_limiter
        has_secret = b"authorization" in headers or SESSION_COOKIE in credentials
        if has_secret:
            limiter.check_credentials(address, credentials)
        try:
            caller = await authenticate(headers, address, self._app_context.authenticator)
        except (Unauthorized, Forbidden):  # not valid, or not from this address
            limiter.record_credentials(address, credentials, is_valid=False)
            raise
        if not caller.is_anonymous:
            origin = Origin(address, headers, request.request_id, request.method)
            request.caller = msgspec.structs.replace(caller, origin=origin)
        if has_secret:
            limiter.record_credentials(address, credentials, is_valid=not caller.is_anonymous)
        self._count_request(request)

    async def _check_credentials_again(self, request: Request) -> None:
        """Refuse a caller whose credentials were revoked while the body was sent: a client can send it slowly."""
        if request.caller.is_anonymous or request.is_internal:
            return
        caller = await authenticate(
            request.headers, request.client.address, self._app_context.authenticator
        )
        if caller.id != request.caller.id:
            raise Unauthorized

    def _count_request(self, request: Request) -> None:
        """Raise `RateLimited` if the caller made too many requests."""
        cost = self._rate_costs.get(request.method, 1.0)
        if cost:
            self._count_cost(request, cost, is_reduced=True)

    def _count_cost(self, request: Request, cost: float, *, is_reduced: bool) -> None:
        """With `is_reduced`, a conditional request pays most of the cost later, unless a 304 is at hand."""
        if is_reduced and b"if-none-match" in request.headers:
            request.unpaid_rate_cost += cost * (1 - CONDITIONAL_SHARE)
            cost *= CONDITIONAL_SHARE
        request.rate_headers = self._app_context.rate_limiter.admit(
            request.caller.quota_id, request.client.address, request.method, cost
        )

    def _count_body(self, request: Request) -> None:
        """Count a large body that was parsed. Raise `RateLimited` if there are too many."""
        if (
            request.body is not None
            and request.body.loaded_bytes > BODY_BYTES_PER_COST
            and not request.is_internal
        ):
            self._count_cost(
                request, request.body.loaded_bytes / BODY_BYTES_PER_COST, is_reduced=False
            )

    def _count_rest(self, request: Request) -> None:
        """Count the rest of a conditional request: its response is not 304, or has to be made to know that."""
        if request.unpaid_rate_cost:
            self._app_context.rate_limiter.charge(
                request.caller.quota_id,
                request.client.address,
                request.method,
                request.unpaid_rate_cost,
            )
            request.unpaid_rate_cost = 0.0

    def _parse(self, operation: Operation, request: Request, base_url: BaseURL) -> ParsedRequest:
        """Parse the head of a request, or reuse the result for an identical one."""
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
        if operation.route.method != "GET":
            return parse_request(operation, head, request.path_values)
        parsed = self._parsed_requests.get(head)
        if parsed is None:
            parsed = parse_request(operation, head, request.path_values)
            if head.size < MAX_CACHED_HEAD_BYTES:
                self._parsed_requests.put(head, parsed)
        return parsed

    async def _cached_response(
        self, operation: Operation, context: HandlerContext, request: Request
    ) -> Response:
        """The response for the current data versions, from the cache if possible."""
        app, policy = self._app_context, operation.caching
        audience = policy.audience_key(context.caller) if policy.audience_key else ""
        topics = (*policy.depends_on, *app.common_topics) if policy.depends_on else ()
        versions = await app.data_versions.versions(topics)
        key = (context.request.cache_key, audience, versions)
        response = app.response_cache.get(key)
        if response is not None:
            return response
        if request.unpaid_rate_cost:
            self._count_rest(request)
        own_versions = SeenVersions(versions[: len(policy.depends_on or ())])
        context.versions = own_versions

        async def make() -> Response:
            context.topics = topics
            result = await self._call_handler(operation, context)
            if context.read_versions is not None:
                return await self._keep_response(operation, context, result, audience)
            # If data was written in the meantime, the version of the result is unknown: send it, but do not cache it.
            if isinstance(result, ListResult | RecordResult) and result.versions is not None:
                is_current = result.versions == own_versions
            else:
                # Read again: the handler may have seen a write that this process has not heard of yet.
                is_current = versions == await app.data_versions.versions(topics)
            etag = responses.make_etag(*key) if is_current else b""
            if is_current:
                context.data_version = responses.make_data_version(audience, versions)
            made = await self._build_response(operation, context, result, etag)
            if is_current:
                app.response_cache.put(key, made)
            return made

        return await self._take_turn(context, request, make)

    async def _keep_response(
        self, operation: Operation, context: HandlerContext, result: Any, audience: str
    ) -> Response:
        """Build a response, and keep it under the versions that its handler has read."""
        versions = context.read_versions or ()
        key = (context.request.cache_key, audience, versions)
        context.data_version = responses.make_data_version(audience, versions)
        response = await self._build_response(operation, context, result, responses.make_etag(*key))
        self._app_context.response_cache.put(key, response)
        return response

    async def _read_body(
        self, operation: Operation, context: HandlerContext, request: Request
    ) -> None:
        spec = operation.body
        if spec.csrf_protected:
            check_csrf(context.caller, request.headers)
        if spec.kind is BodyKind.NONE:
            await self._check_ignored_body(operation, request)
            return
        file_limit = spec.file_limit(self._app_context.settings) if spec.file_limit else None
        limit = body_parsing.BodyLimit(file_limit, spec.max_body)
        body = self._open_body(request)
        if spec.kind is BodyKind.JSON_ARRAY:
            context.body = await body.read_array(limit)
            items = [item for item in context.body if isinstance(item, dict)]
            dry_run.check_body(operation, (pair for item in items for pair in item.items()))
            names = dict.fromkeys(chain.from_iterable(items))
            context.request = _add_unknown_fields(
                context.request, names, field_names(*get_args(spec.type))
            )
            return
        known = field_names(spec.type)
        if spec.kind is BodyKind.JSON_OBJECT:
            values = await body.read_object(limit)
            known |= field_names(
                operation.response.type
            )  # a client may send back the record that it read
        else:
            encoded = (
                encoded_fields(spec.type) if spec.kind is BodyKind.STRUCT else frozenset[str]()
            )
            if request.fields is None:
                values = await body.read_fields(limit, encoded)
            else:
                values = body_parsing.keep_encoded(dict(request.fields), encoded)
        dry_run.check_body(operation, values.items())
        context.request = _add_unknown_fields(context.request, values, known)
        context.body = parse_struct(spec.type, values) if spec.kind is BodyKind.STRUCT else values

    async def _check_ignored_body(self, operation: Operation, request: Request) -> None:
        """A body is ignored by an operation without one, unless it asks for a dry run."""
        values: dict[str, Any] = {}
        if (
            request.headers.get(b"content-length", b"0") != b"0"
            or b"transfer-encoding" in request.headers
        ):
            with suppress(Problem):
                values = await self._open_body(request).read_fields(body_parsing.BodyLimit())
        dry_run.check_body(operation, values.items())

    def _open_body(self, request: Request) -> IncomingBody:
        if request.body is None:
            caller = caller_key(request.caller, request.client.address)
            app = self._app_context
            request.body = IncomingBody(
                request.receive, request.headers, app.settings.spool, app.overload, caller
            )
        return request.body

    async def _call_handler(self, operation: Operation, context: HandlerContext) -> Any:
        run = self._transaction_runners.get(operation.route.method)
        if run is None:
            return await operation.handler(**self._arguments(operation, context))
        return await run(lambda transaction: self._handle_in(transaction, operation, context))

    def _handle_in(
        self, transaction: Transaction, operation: Operation, context: HandlerContext
    ) -> Any:
        """Call a handler in its transaction. A response that is kept is kept under the versions that are read first."""
        context.transaction = transaction
        if context.topics:
            context.read_versions = transaction.versions(*context.topics)
        return operation.handler(**self._arguments(operation, context))

    def _arguments(self, operation: Operation, context: HandlerContext) -> dict[str, Any]:
        resolvers = self._resolvers[operation.route.method]
        return {name: resolve(context) for name, resolve in resolvers.items()}

    async def _build_response(
        self, operation: Operation, context: HandlerContext, result: Any, etag: bytes = b""
    ) -> Response:
        response = await self._response_builder.build(operation, context, result, etag)
        return await responses.encode(response, context.request.encoding)

    def _error_response(self, error: Exception, request: Request) -> Response:
        get = request.headers.get
        language = negotiate(get(b"accept-language", b""))
        if isinstance(error, Problem):
            problem = error
        elif outage := self._app_context.outage_problem(
            error
        ):  # logged once, and not for every request
            problem = outage
        else:
            self._log_error("failed", error, request)
            problem = Problem()
        if not wants_error_page(request.query_string, get(b"accept", b"")):
            return self._response_builder.error_response(problem, language)
        cookie = read_cookie(get(b"cookie", b""), LANGUAGE_COOKIE)
        path = request.path.decode("latin-1")
        if request.query_string and request.method in _SAFE_METHODS:
            path += "?" + request.query_string.decode("latin-1")
        context = ErrorContext(
            problem,
            negotiate(cookie) if cookie else language,
            request.base_url,
            path,
            request.caller,
            request.request_id.decode("latin-1"),
        )
        return self._response_builder.error_page(context)

    def _log_error(self, event: str, error: Exception, request: Request) -> None:
        log.error(event, exc_info=error, extra=self._log_fields(request))

    def _log_fields(self, request: Request) -> dict[str, str]:
        path = self._loggable_path(request) if self._may_have_secret else request.path
        return {"request_id": request.request_id.decode("latin-1"), "path": path.decode("latin-1")}

    def _loggable_path(self, request: Request) -> bytes:
        """The path without secrets: its template, or of an unknown path what does not look like a token."""
        return (
            self._path.encode()
            if SECRET in self._path
            else _TOKEN.sub(SECRET.encode(), request.path)
        )


def _check_limits(operation: Operation, request: Request) -> None:
    """Refuse what a token is not for. Its user might do it."""
    route, limits = operation.route, request.caller.limits
    if not limits.allows(route.scope):
        raise InsufficientScope(route.scope.value)
    if limits.assets is None or route.scope is Scope.NONE:
        return
    if route.asset_limit is AssetLimit.REFUSED:
        raise Forbidden(
            Message("This token is limited to some assets, and this is not only about these.")
        )
    if route.asset_limit is AssetLimit.PATH and not limits.includes_asset(
        request.path_values["uid"]
    ):
        raise NotFound(Message("This token is not for this asset."))


def _add_unknown_fields(
    parsed: ParsedRequest, given: Iterable[str], known: Collection[str]
) -> ParsedRequest:
    """Treat unknown fields of a body like unknown query parameters."""
    unknown = unknown_names(given, known)
    if not unknown:
        return parsed
    if parsed.is_strict:
        raise unknown_fields_error(unknown, known)
    return msgspec.structs.replace(
        parsed, unknown_parameters=(*parsed.unknown_parameters, *unknown)
    )


def _join_headers(raw: Sequence[Header]) -> tuple[dict[bytes, bytes], bool]:
    """The headers by name, repeated ones joined, and whether none was repeated that must be sent only once."""
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
