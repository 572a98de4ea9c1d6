"""One request and its answer: the conventions, in the order in which they apply.

Head, host and language; what is asked for; who asks; is the method there; then the handler; then the answer in
the form that was asked for. Every answer of the service leaves through `Endpoint.__call__`, errors included.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from time import perf_counter
from typing import Any, Protocol

import msgspec

from fieldgate.db import OUT_OF_REACH, Changes
from fieldgate.http import answers, bodies, links, parameters
from fieldgate.http.answers import Answer, Header
from fieldgate.http.asking import LANGUAGE_COOKIE, Asked, Head, read_head
from fieldgate.http.cors import Cors
from fieldgate.http.credentials import ANONYMOUS, Authenticator, Caller, User, identify, refuse_forgery
from fieldgate.http.errors import BadRequest, MethodNotAllowed, NotFound, Problem, Unauthorized, Unavailable
from fieldgate.http.fields import read_fields
from fieldgate.http.keeping import Kept
from fieldgate.http.language import Language, Message, preferred
from fieldgate.http.negotiation import Format
from fieldgate.http.observation import Observer
from fieldgate.http.operations import Created, Operation
from fieldgate.http.origin import Origin, Origins
from fieldgate.http.pagination import MAXIMUM_LIMIT, Page, Slice, envelope, neighbours

log = logging.getLogger("fieldgate.error")

REMEMBERED_HEADS = 4096  # per operation
LONGEST_HEAD = 2048  # bytes; longer ones are read each time
NO_ORIGIN = Origin("", False)
_SINGLE = (b"host", b"authorization", b"content-length", b"content-type")
_NO_BODY = ("GET", "HEAD", "OPTIONS")


class View(msgspec.Struct, frozen=True):
    """What a page for people shows of an exchange."""

    operation: Operation
    allowed: str
    asked: Asked
    caller: Caller
    method: str
    status: int
    headers: Sequence[Header]
    body: bytes
    next_page: str | None
    previous_page: str | None


class Drawer(Protocol):
    """What this room needs from the web room: the page of an exchange."""

    def __call__(self, view: View) -> bytes: ...


class Site(msgspec.Struct, frozen=True):
    """What all endpoints share."""

    origins: Origins
    cors: Cors
    accounts: Authenticator
    changes: Changes
    kept: Kept
    observer: Observer
    draw: Drawer
    services: Mapping[type, object]


class Client(msgspec.Struct, frozen=True):
    """The caller's machine, and the one that handed the request to us: the same, unless a proxy stands between."""

    address: str
    peer: str


class Exchange(msgspec.Struct):
    """What a handler can ask for, by the types of its parameters."""

    asked: Asked
    caller: Caller
    client: Client
    headers: Mapping[bytes, bytes]
    body: msgspec.Struct | None = None


_PROVIDED: dict[Any, Callable[[Exchange], Any]] = {
    Page: lambda exchange: exchange.asked.page,
    Language: lambda exchange: exchange.asked.language,
    Origin: lambda exchange: exchange.asked.origin,
    Asked: lambda exchange: exchange.asked,
    Caller: lambda exchange: exchange.caller,
    User: lambda exchange: exchange.caller,
    Exchange: lambda exchange: exchange,
    Client: lambda exchange: exchange.client,
}


class Endpoint:
    """All operations of one path, as an ASGI application."""

    def __init__(self, path: str, operations: Sequence[Operation], site: Site) -> None:
        self.path = path
        self.operations = {operation.method: operation for operation in operations}
        if "GET" in self.operations:
            self.operations["HEAD"] = self.operations["GET"]
        self._site = site
        self._first = operations[0] if operations else None
        self._checks_host = all(operation.checks_host for operation in operations)
        self._allowed = answers.allow([*self.operations, "OPTIONS"])
        by_caller = answers.VARY_BY_CALLER if any(operation.asks_who for operation in operations) else ()
        self._always = [
            *answers.SECURITY,
            *([self._allowed] if operations else []),
            answers.vary(*by_caller, *site.cors.vary),
            *site.cors.always,
        ]
        self._heads: dict[Head, Asked] = {}
        self._arguments = {operation.method: self._plan(operation) for operation in operations}

    async def __call__(self, scope: Any, path_values: Mapping[str, str], receive: Any, send: Any) -> None:
        started = perf_counter()
        site = self._site
        method: str = scope["method"]
        headers, has_repeats = _headers(scope["headers"])
        peer = scope["client"][0] if scope.get("client") else ""
        client = Client(site.origins.client(peer, headers), peer)
        request_id = site.observer.request_id(headers, is_trusted=site.origins.trusts(peer))
        caller = ANONYMOUS
        extra: list[Header] = [(b"x-request-id", request_id)]
        if site.cors.vary:
            extra += site.cors.headers(headers.get(b"origin", b""))
        try:
            if has_repeats:
                raise BadRequest(Message("A header that can only be sent once was sent twice."))
            origin = site.origins.of(scope["scheme"], peer, headers) if self._checks_host else NO_ORIGIN
            if method == "OPTIONS":
                answer = self._describe(headers)
            else:
                answer, caller = await self._answer(scope, path_values, receive, headers, origin, client)
        except Problem as problem:
            answer = self._refuse(problem, preferred(headers.get(b"accept-language", b"")))
        except bodies.Disconnected:
            return
        except Exception as error:
            log.exception("failed", extra={"request_id": request_id.decode("latin-1"), "path": scope["path"]})
            refusal = Unavailable() if isinstance(error, OUT_OF_REACH) else Problem()
            answer = self._refuse(refusal, preferred(headers.get(b"accept-language", b"")))
        status = await answers.transmit(send, answer, extra, headers, method)
        site.observer.observe(
            method,
            self.path,
            scope["raw_path"].decode("latin-1"),
            status,
            started,
            request_id,
            client.address,
            caller.username,
        )

    async def _answer(
        self,
        scope: Any,
        path_values: Mapping[str, str],
        receive: Any,
        headers: Mapping[bytes, bytes],
        origin: Origin,
        client: Client,
    ) -> tuple[Answer, Caller]:
        site = self._site
        operation = self.operations.get(scope["method"]) or self._first
        try:
            if operation is None:
                raise NotFound
            asked = self._ask(operation, scope, path_values, headers, origin)
        except Problem:
            # Of two mistakes, a wrong credential is told first, as in both live systems.
            await identify(headers, client.address, site.accounts)
            raise
        caller = ANONYMOUS
        if b"authorization" in headers or b"cookie" in headers:
            caller = await identify(headers, client.address, site.accounts)
        if scope["method"] not in self.operations:
            raise MethodNotAllowed(scope["method"][:20], self._allowed[1].decode())
        if operation.needs_user and caller.is_anonymous:
            raise Unauthorized
        is_kept = operation.changes_with is not None and asked.format is Format.JSON and not operation.asks_who
        if is_kept:
            version = tuple([await site.changes.version(topic) for topic in operation.changes_with or ()])
            key = (asked.identity, version)
            answer = site.kept.get(key)
            if answer is None:
                etag = answers.tag_of(*key)
                answer = await self._make(operation, Exchange(asked, caller, client, headers), etag)
                site.kept.put(key, answer)
            return answer, caller
        exchange = Exchange(asked, caller, client, headers)
        if scope["method"] not in _NO_BODY:
            if operation.checks_forgery:
                refuse_forgery(caller, headers)
            if operation.body is not None:
                body = await bodies.read_body(receive, headers, operation.body_limit)
                exchange.body = read_fields(operation.body, bodies.read_values(headers, body))
        return await self._make(operation, exchange), caller

    def _ask(
        self,
        operation: Operation,
        scope: Any,
        path_values: Mapping[str, str],
        headers: Mapping[bytes, bytes],
        origin: Origin,
    ) -> Asked:
        get = headers.get
        cookie = get(b"cookie", b"")
        head = Head(
            scope["raw_path"],
            scope["query_string"],
            origin,
            get(b"accept", b""),
            get(b"accept-language", b""),
            get(b"accept-encoding", b""),
            get(b"prefer", b""),
            _page_language(cookie) if LANGUAGE_COOKIE in cookie else b"",
        )
        asked = self._heads.get(head)
        if asked is None or operation.method != "GET":
            asked = read_head(operation, head, path_values)
            if operation.method == "GET" and len(head.path) + len(head.query) + len(head.accept) < LONGEST_HEAD:
                if len(self._heads) >= REMEMBERED_HEADS:
                    self._heads.clear()
                self._heads[head] = asked
        return asked

    async def _make(self, operation: Operation, exchange: Exchange, etag: bytes = b"") -> Answer:
        """Call the handler, and put what it returns into the form that was asked for."""
        asked = exchange.asked
        result = await operation.handler(**{name: take(exchange) for name, take in self._arguments[operation.method]})
        if isinstance(result, Answer):
            return self._complete(result, exchange, etag)
        extra: list[Header] = []
        status = operation.status
        next_page = previous_page = None
        if isinstance(result, Slice):
            next_page, previous_page = neighbours(asked.address, asked.parameters, asked.page, result.count)
            prepared = envelope(result, next_page, previous_page)
            extra += _list_headers(asked, next_page, previous_page)
        elif isinstance(result, Created):
            prepared = links.encode(result.record)
            if result.location is not None:
                extra.append((b"location", f"{asked.origin.base}{result.location.path}".encode()))
        elif result is None:
            return Answer(status, [*self._common(asked), answers.DATA_POLICY, answers.NEVER_STORE])
        else:
            prepared = bytes(result) if isinstance(result, msgspec.Raw) else links.encode(result)
        body = links.resolve(prepared, asked.origin.base.encode(), asked.format_query)
        headers = [*self._common(asked), *extra]
        if asked.format is Format.PAGE:
            return self._draw(operation, exchange, status, headers, body, next_page, previous_page)
        caching = answers.REVALIDATE_PRIVATELY if operation.asks_who else answers.REVALIDATE
        if operation.secret or operation.method != "GET":
            caching, etag = answers.NEVER_STORE, b""
        else:
            etag = etag or answers.tag_of(body)
        headers += [answers.DATA_POLICY, caching]
        return answers.finish(status, headers, Format.JSON.content_type, body, asked.coding, etag)

    def _draw(
        self,
        operation: Operation,
        exchange: Exchange,
        status: int,
        headers: list[Header],
        body: bytes,
        next_page: str | None,
        previous_page: str | None,
    ) -> Answer:
        asked = exchange.asked
        view = View(
            operation, self._allowed[1].decode(), asked, exchange.caller, operation.method, status, headers, body,
            next_page, previous_page,
        )  # fmt: skip
        page = self._site.draw(view)
        headers = [header for header in headers if header[0] != b"vary"]
        vary = answers.vary(*answers.VARY_BY_CALLER, *self._site.cors.vary)
        headers += [vary, answers.PAGE_POLICY, answers.REVALIDATE_PRIVATELY]
        etag = answers.tag_of(page) if operation.method == "GET" else b""
        return answers.finish(status, headers, Format.PAGE.content_type, page, asked.coding, etag)

    def _common(self, asked: Asked) -> list[Header]:
        headers = [*self._always, answers.content_language(asked.language)]
        if asked.ignored:
            headers.append((b"fieldgate-ignored", parameters.as_header(asked.ignored)))
        if asked.is_strict:
            headers.append((b"preference-applied", b"handling=strict"))
        return headers

    def _complete(self, ready: Answer, exchange: Exchange, etag: bytes) -> Answer:
        """The common headers for an answer that a handler wrote itself; its own win."""
        own = {name for name, _ in ready.headers}
        common = [header for header in self._common(exchange.asked) if header[0] not in own]
        if b"content-security-policy" not in own:
            common.append(answers.PAGE_POLICY)
        content_type = dict(ready.headers).get(b"content-type", b"text/plain; charset=utf-8")
        headers = [header for header in ready.headers if header[0] not in (b"content-type", b"content-length")]
        etag = etag if ready.status == HTTPStatus.OK else b""
        return answers.finish(ready.status, [*common, *headers], content_type, ready.body, exchange.asked.coding, etag)

    def _refuse(self, problem: Problem, language: Language) -> Answer:
        headers = [
            *self._always,
            answers.DATA_POLICY,
            answers.content_language(language),
            answers.NEVER_STORE,
            *problem.headers,
        ]
        body = msgspec.json.encode(problem.body(language))
        return answers.finish(problem.status, headers, Format.JSON.content_type, body)

    def _describe(self, headers: Mapping[bytes, bytes]) -> Answer:
        language = preferred(headers.get(b"accept-language", b""))
        operation = self._first
        if operation is None:
            raise NotFound
        body = {
            "name": language.say(operation.title),
            "description": language.say(operation.about),
            "renders": [offered.media_type for offered in operation.formats],
            "parses": list(bodies.READABLE) if any(each.body for each in self.operations.values()) else [],
        }
        complete = [
            *self._always,
            answers.DATA_POLICY,
            answers.content_language(language),
            *self._site.cors.preflight(self._allowed[1], headers),
        ]
        return answers.finish(HTTPStatus.OK, complete, Format.JSON.content_type, msgspec.json.encode(body))

    def _plan(self, operation: Operation) -> list[tuple[str, Callable[[Exchange], Any]]]:
        """How each parameter of a handler gets its value; what nobody provides is an error at start-up."""
        plan: list[tuple[str, Callable[[Exchange], Any]]] = []
        for name, kind in operation.parameters.items():
            if name == "filters":
                plan.append((name, lambda exchange: exchange.asked.filters))
            elif name == "body":
                plan.append((name, lambda exchange: exchange.body))
            elif f"{{{name}}}" in operation.path:
                plan.append((name, _path_value(name)))
            elif kind in _PROVIDED:
                plan.append((name, _PROVIDED[kind]))
            elif kind in self._site.services:
                plan.append((name, _constant(self._site.services[kind])))
            else:
                raise LookupError(f"{operation.name}: nobody provides {name}: {kind}")
        return plan


def _path_value(name: str) -> Callable[[Exchange], str]:
    return lambda exchange: exchange.asked.path_values[name]


def _constant(value: object) -> Callable[[Exchange], object]:
    return lambda _: value


def _headers(raw: Sequence[Header]) -> tuple[dict[bytes, bytes], bool]:
    """The headers by name, and whether one that must stand alone was repeated. Lists are joined."""
    headers = dict(raw)
    if len(headers) == len(raw):
        return headers, False
    joined: dict[bytes, bytes] = {}
    has_repeats = False
    for name, value in raw:
        if name in joined:
            has_repeats = has_repeats or name in _SINGLE
            joined[name] += (b"; " if name == b"cookie" else b", ") + value
        else:
            joined[name] = value
    return joined, has_repeats


def _page_language(cookie: bytes) -> bytes:
    for pair in cookie.split(b";"):
        name, _, value = pair.strip().partition(b"=")
        if name == LANGUAGE_COOKIE:
            return value
    return b""


def _list_headers(asked: Asked, next_page: str | None, previous_page: str | None) -> list[Header]:
    headers: list[Header] = []
    targets = [f'<{next_page}>; rel="next"'] if next_page else []
    targets += [f'<{previous_page}>; rel="prev"'] if previous_page else []
    if targets:
        headers.append((b"link", ", ".join(targets).encode()))
    if asked.page.clipped:
        headers.append((b"fieldgate-limit", str(MAXIMUM_LIMIT).encode()))
    return headers
