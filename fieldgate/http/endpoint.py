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

from fieldgate.db import IDENTITY, Changes, is_out_of_reach
from fieldgate.errors import BadRequest, Header, MethodNotAllowed, NotFound, Problem, Unauthorized, Unavailable
from fieldgate.http.injection import Client, Exchange, Versions, takes
from fieldgate.http.negotiation.accept_language import preferred
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation
from fieldgate.http.request import body_parsing, dry_run, query_string
from fieldgate.http.request.authentication import Authenticator, identify, refuse_forgery
from fieldgate.http.request.cookies import read_cookie
from fieldgate.http.request.hosts import Origin, Origins
from fieldgate.http.request.request_parsing import LANGUAGE_COOKIE, Asked, Head, read_head
from fieldgate.http.request.validation import names, read_fields
from fieldgate.http.response import responses
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.response_builder import Drawer, Renderer
from fieldgate.http.response.response_cache import Kept
from fieldgate.http.response.responses import Answer
from fieldgate.i18n.messages import Message
from fieldgate.identity import ANONYMOUS, Caller
from fieldgate.metrics.requests import Observer
from fieldgate.pagination import Slice
from fieldgate.settings import Settings

log = logging.getLogger("fieldgate.error")

REMEMBERED_HEADS = 1024  # per endpoint
LONGEST_HEAD = 600  # bytes; longer ones are read each time. What is read takes ten times as much
NO_ORIGIN = Origin("", False)

_SENT_ONCE = (b"host", b"authorization", b"content-length", b"content-type", b"idempotency-key")
_SAFE = ("GET", "HEAD")


class Site(msgspec.Struct, frozen=True):
    """What all endpoints share."""

    settings: Settings
    origins: Origins
    cors: Cors
    accounts: Authenticator
    changes: Changes
    kept: Kept
    observer: Observer
    draw: Drawer
    services: Mapping[type, object]


class Request(msgspec.Struct):
    """A request as it came in, and who sent it, once that is known."""

    method: str
    path: bytes
    path_values: Mapping[str, str]
    query: bytes
    headers: Mapping[bytes, bytes]
    client: Client
    receive: body_parsing.Receive
    caller: Caller = ANONYMOUS


class Endpoint:
    """All operations of one path."""

    def __init__(self, path: str, operations: Sequence[Operation], site: Site) -> None:
        self._path = path
        self._site = site
        self._operations = {operation.method: operation for operation in operations}
        if "GET" in self._operations:
            self._operations["HEAD"] = self._operations["GET"]
        self._first = operations[0] if operations else None
        self._checks_host = all(operation.checks_host for operation in operations)
        self._renderer = Renderer(operations, site.cors, site.draw)
        self._takes = {operation.method: takes(operation, site.services) for operation in operations}
        self._heads: dict[Head, Asked] = {}

    async def __call__(self, scope: Any, path_values: Mapping[str, str], receive: Any, send: Any) -> None:
        """Answer a request over ASGI, whatever happens."""
        started = perf_counter()
        site = self._site
        headers, is_clean = _headers(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        client = Client(site.origins.client(peer, headers), peer)
        request = Request(
            scope["method"], scope["raw_path"], path_values, scope["query_string"], headers, client, receive
        )  # fmt: skip
        request_id = site.observer.request_id(headers, is_trusted=site.origins.trusts(peer))
        try:
            if not is_clean:
                raise BadRequest(Message("A header that can only be sent once was sent twice."))
            origin = site.origins.of(scope["scheme"], peer, headers) if self._checks_host else NO_ORIGIN
            answer = await self._answer(request, origin)
        except Exception as error:
            answer = await responses.finish(self._refuse(error, request, request_id), coding="")
        extra: list[Header] = [(b"x-request-id", request_id), *site.cors.headers(headers.get(b"origin", b""))]
        status = answer.status
        try:
            status = await responses.transmit(receive, send, answer, extra, headers, request.method)
        except Exception as error:  # the head is out: what is left is to end the connection
            self._note("broken off", error, request, request_id)
            raise
        finally:
            site.observer.observe(request, self._path, status, started, request_id, request.caller.username)

    async def _answer(self, request: Request, origin: Origin) -> Answer:
        operation = self._operations.get(request.method, self._first)
        try:
            if operation is None:
                raise NotFound
            if request.method == "OPTIONS":
                return await self._describe(request)
            asked = self._ask(operation, request, origin)
        except Problem:
            # Of two mistakes, a wrong credential is told first, as in both live systems.
            await self._identify(request)
            raise
        await self._identify(request)
        if request.method not in self._operations:
            raise MethodNotAllowed(request.method[:20], self._renderer.allowed.decode())
        if operation.needs_user and request.caller.is_anonymous:
            raise Unauthorized
        exchange = Exchange(request.method, asked, request.caller, request.client, request.headers)
        if operation.is_kept and asked.format is not Format.PAGE:
            return await self._kept(operation, exchange)
        if request.method not in _SAFE:
            await self._read_body(operation, exchange, request)
        return await self._finish(operation, exchange, await self._call(operation, exchange))

    async def _describe(self, request: Request) -> Answer:
        if b"access-control-request-method" not in request.headers:  # a browser's preflight carries no credentials
            await self._identify(request)
        language = preferred(request.headers.get(b"accept-language", b""))
        return await responses.finish(self._renderer.describe(language, request.headers), coding="")

    async def _identify(self, request: Request) -> None:
        if b"authorization" in request.headers or b"cookie" in request.headers:
            request.caller = await identify(request.headers, request.client.address, self._site.accounts)

    def _ask(self, operation: Operation, request: Request, origin: Origin) -> Asked:
        """What the request asks for, from memory where the same head was read before."""
        get = request.headers.get
        head = Head(
            request.path,
            request.query,
            origin,
            get(b"accept", b""),
            get(b"accept-language", b""),
            get(b"accept-encoding", b""),
            get(b"prefer", b""),
            read_cookie(get(b"cookie", b""), LANGUAGE_COOKIE),
        )
        if operation.method != "GET":
            return read_head(operation, head, request.path_values)
        asked = self._heads.get(head)
        if asked is None:
            asked = read_head(operation, head, request.path_values)
            if head.size < LONGEST_HEAD:
                if len(self._heads) >= REMEMBERED_HEADS:
                    self._heads.clear()
                self._heads[head] = asked
        return asked

    async def _kept(self, operation: Operation, exchange: Exchange) -> Answer:
        """The answer for the data as it is now: a ready one, or one that is made and kept."""
        seen_as = operation.seen_as(exchange.caller) if operation.seen_as else ""
        topics = (*operation.changes_with, IDENTITY) if operation.changes_with else ()
        versions = await self._site.changes.versions(topics, asks=operation.seen_at_once)
        key = (exchange.asked.identity, seen_as, versions)
        answer = self._site.kept.get(key)
        if answer is None:
            exchange.versions = Versions(versions[:-1])
            result = await self._call(operation, exchange)
            # What was written meanwhile may be in it or not: then it is an answer, and none to be given again.
            if isinstance(result, Slice) and result.versions is not None:
                is_of_now = result.versions == versions[:-1]
            else:
                is_of_now = versions == await self._site.changes.versions(topics, asks=operation.seen_at_once)
            answer = await self._finish(operation, exchange, result, responses.tag_of(*key) if is_of_now else b"")
            if is_of_now:
                self._site.kept.put(key, answer)
        return answer

    async def _read_body(self, operation: Operation, exchange: Exchange, request: Request) -> None:
        if operation.checks_forgery:
            refuse_forgery(exchange.caller, request.headers)
        if operation.body is None:
            await _refuse_to_try(operation, request)
        else:
            file_limit = operation.file_limit(self._site.settings) if operation.file_limit else None
            body = await body_parsing.read_body(request.receive, request.headers, file_limit, operation.most_bytes)
            if operation.takes_whole_object:
                exchange.body = await body_parsing.object_of(request.headers, body)
                dry_run.check_body(operation, exchange.body.items())
                # Whoever sends back the record that was read sends nothing unknown.
                known = names(operation.body) | names(operation.of)
                exchange.asked = _with_ignored(exchange.asked, exchange.body, known)
                return
            if operation.takes_whole_list:
                exchange.body = await body_parsing.list_of(request.headers, body)
                items = [each for each in exchange.body if isinstance(each, dict)]
                dry_run.check_body(operation, (pair for each in items for pair in each.items()))
                given = dict.fromkeys(name for each in items for name in each)
                exchange.asked = _with_ignored(exchange.asked, given, names(*get_args(operation.body)))
                return
            values = await body_parsing.values_of(request.headers, body)
            dry_run.check_body(operation, values.items())
            exchange.asked = _with_ignored(exchange.asked, values, names(operation.body))
            exchange.body = values if operation.takes_values else read_fields(operation.body, values)

    async def _call(self, operation: Operation, exchange: Exchange) -> Any:
        arguments = {name: take(exchange) for name, take in self._takes[operation.method].items()}
        return await operation.handler(**arguments)

    async def _finish(self, operation: Operation, exchange: Exchange, result: Any, etag: bytes = b"") -> Answer:
        answer = await self._renderer.render(operation, exchange, result, etag)
        return await responses.begin(await responses.finish(answer, exchange.asked.coding), exchange.method)

    def _refuse(self, error: Exception, request: Request, request_id: bytes) -> Answer:
        language = preferred(request.headers.get(b"accept-language", b""))
        if isinstance(error, Problem):
            return self._renderer.refuse(error, language)
        self._note("failed", error, request, request_id)
        return self._renderer.refuse(Unavailable() if is_out_of_reach(error) else Problem(), language)

    def _note(self, what: str, error: Exception, request: Request, request_id: bytes) -> None:
        known_by = {"request_id": request_id.decode("latin-1"), "path": request.path.decode("latin-1")}
        log.error(what, exc_info=error, extra=known_by)


async def _refuse_to_try(operation: Operation, request: Request) -> None:
    """Where no body is taken, one is ignored, whatever it is: unless it asks for a dry run."""
    values: dict[str, Any] = {}
    if request.headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in request.headers:
        with suppress(Problem):
            body = await body_parsing.read_body(request.receive, request.headers, None)
            values = await body_parsing.values_of(request.headers, body)
    dry_run.check_body(operation, values.items())


def _with_ignored(asked: Asked, given: Iterable[str], known: Collection[str]) -> Asked:
    """Fields of a body that we do not know are treated as such parameters are."""
    ignored = query_string.unknown(given, known)
    if ignored and asked.is_strict:
        raise query_string.refuse_fields(ignored, known)
    return msgspec.structs.replace(asked, ignored=(*asked.ignored, *ignored)) if ignored else asked


def _headers(raw: Sequence[Header]) -> tuple[dict[bytes, bytes], bool]:
    """The headers by name, lists joined, and whether none was repeated that must stand alone."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers, True
    joined: dict[bytes, bytes] = {}
    is_clean = True
    for name, value in raw:
        if name in joined:
            is_clean = is_clean and name not in _SENT_ONCE
            joined[name] += (b"; " if name == b"cookie" else b", ") + value
        else:
            joined[name] = value
    return joined, is_clean
