"""What a handler returned, or why it was refused, as an answer with all the headers of its endpoint."""

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from fieldgate.errors import Header, Problem
from fieldgate.http.injection import Exchange
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Created, Instead, Operation
from fieldgate.http.request import query_string
from fieldgate.http.request.request_parsing import Asked
from fieldgate.http.response import links, responses
from fieldgate.http.response.cors import Cors
from fieldgate.http.response.envelope import encoded, envelope, neighbours
from fieldgate.http.response.responses import Answer
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.identity import Caller
from fieldgate.pagination import MAXIMUM_LIMIT, Slice

LARGE = 256 * 1024  # bytes; a page of more takes so long to draw that nobody else shall wait for it
LONGEST_LINKS = 4096  # characters; clients and proxies refuse long headers, and the body has the addresses too

JSON: Header = (b"content-type", Format.JSON.content_type)

_STATUS: Mapping[type, int] = {Created: HTTPStatus.CREATED, Instead: HTTPStatus.OK}


class View(msgspec.Struct, frozen=True):
    """What a page for people shows of an exchange."""

    operation: Operation
    asked: Asked
    caller: Caller
    status: int
    headers: Sequence[Header]
    body: bytes
    next_page: str | None
    previous_page: str | None


class Drawer(Protocol):
    """What this room needs from the web room: the page of an exchange."""

    def __call__(self, view: View) -> bytes: ...


class Renderer:
    """Writes the answers of one endpoint."""

    def __init__(self, operations: Sequence[Operation], cors: Cors, draw: Drawer) -> None:
        methods = {operation.method for operation in operations} | {"OPTIONS"}
        if "GET" in methods:
            methods.add("HEAD")
        allow = responses.allow(methods)
        by_caller = responses.VARY_BY_CALLER if any(operation.asks_who for operation in operations) else ()
        self.allowed = allow[1]
        self._operations = operations
        self._cors = cors
        self._draw_page = draw
        self._always = [
            *responses.SECURITY,
            *([allow] if operations else []),  # where there is no endpoint, there is nothing to allow
            responses.vary(*by_caller, *cors.vary),
            *cors.always,
        ]

    async def render(self, operation: Operation, exchange: Exchange, result: Any, etag: bytes) -> Answer:
        """The result of a handler in the form that was asked for. `etag` is b"" where no version is known."""
        asked = exchange.asked
        if isinstance(result, Answer):
            return self._complete(result, asked, etag)
        headers = self._common(asked)
        if result is None:
            return Answer(operation.status, [*headers, responses.DATA_POLICY, responses.NEVER_STORE])
        next_page = previous_page = None
        status = _STATUS.get(type(result), operation.status)
        if isinstance(result, Slice):
            next_page, previous_page = neighbours(asked.address, asked.parameters, asked.page, result.count)
            prepared = envelope(result, next_page, previous_page)
            headers += _list_headers(asked, next_page, previous_page)
            if asked.format in operation.writers:
                return self._written(operation, asked, headers, result, etag)
        elif isinstance(result, Created):
            prepared = links.encode(result.record)
            headers += _location(asked, result)
        elif isinstance(result, Instead):
            prepared = links.encode(result.record)
        else:
            prepared = bytes(result) if isinstance(result, msgspec.Raw) else links.encode(result)
        body = links.resolve(prepared, asked.origin.base.encode(), asked.format_query)
        if asked.format is Format.PAGE:
            view = View(
                operation, asked, exchange.caller, status, headers, body, next_page, previous_page
            )  # fmt: skip
            return await self._draw(view)
        caching = responses.REVALIDATE_PRIVATELY if operation.asks_who else responses.REVALIDATE
        if operation.volatile or operation.method != "GET":
            caching, etag = responses.NEVER_STORE, b""
        else:
            etag = etag or responses.tag_of_body(body)
        headers += [responses.DATA_POLICY, caching, JSON]
        return Answer(status, headers, body, etag)

    def _written(
        self, operation: Operation, asked: Asked, headers: list[Header], answer: Slice[Any], etag: bytes
    ) -> Answer:
        """A list in a format of its own."""
        resolved = [links.resolve(each, asked.origin.base.encode(), asked.format_query) for each in encoded(answer)]
        body = operation.writers[asked.format](resolved)
        caching = responses.REVALIDATE_PRIVATELY if operation.asks_who else responses.REVALIDATE
        headers += [responses.DATA_POLICY, caching, (b"content-type", asked.format.content_type)]
        return Answer(operation.status, headers, body, etag or responses.tag_of_body(body))

    def refuse(self, problem: Problem, language: Language) -> Answer:
        """A problem, said in the caller's language."""
        headers = [
            *self._always,
            responses.DATA_POLICY,
            responses.content_language(language),
            responses.NEVER_STORE,
            JSON,
            *problem.headers,
        ]
        return Answer(problem.status, headers, msgspec.json.encode(problem.body(language)))

    def describe(self, language: Language, headers: Mapping[bytes, bytes]) -> Answer:
        """The answer to OPTIONS, which is also the answer to a browser's preflight."""
        first = self._operations[0]
        body = {
            "name": translate(first.title, language),
            "description": translate(first.about, language),
            "renders": [first.media_type] if first.media_type else [offered.media_type for offered in first.formats],
            "parses": list(dict.fromkeys(kind for operation in self._operations for kind in operation.readable)),
        }
        complete = [
            *self._always,
            responses.DATA_POLICY,
            responses.content_language(language),
            JSON,
            *self._cors.preflight(self.allowed, headers),
        ]
        return Answer(HTTPStatus.OK, complete, msgspec.json.encode(body))

    def _common(self, asked: Asked) -> list[Header]:
        headers = [*self._always, responses.content_language(asked.language)]
        if asked.ignored:
            headers.append((b"fieldgate-ignored", query_string.as_header(asked.ignored)))
        if asked.is_strict:
            headers.append((b"preference-applied", b"handling=strict"))
        return headers

    def _complete(self, ready: Answer, asked: Asked, etag: bytes) -> Answer:
        """The common headers for an answer that a handler wrote itself; its own win."""
        own = dict(ready.headers)
        headers = [header for header in (*self._common(asked), responses.PAGE_POLICY) if header[0] not in own]
        if ready.status != HTTPStatus.OK or ready.stream is not None or responses.NEVER_STORE in ready.headers:
            etag = b""
        else:
            etag = etag or responses.tag_of_body(ready.body)
        return Answer(ready.status, [*headers, *ready.headers], ready.body, etag, ready.stream)

    async def _draw(self, view: View) -> Answer:
        """The page of an exchange. It shows who is logged in, so it is each caller's own."""
        is_large = len(view.body) > LARGE
        page = await asyncio.to_thread(self._draw_page, view) if is_large else self._draw_page(view)
        headers = [header for header in view.headers if header[0] != b"vary"]
        headers += [
            responses.vary(*responses.VARY_BY_CALLER, *self._cors.vary),
            responses.PAGE_POLICY,
            responses.REVALIDATE_PRIVATELY,
            (b"content-type", Format.PAGE.content_type),
        ]
        etag = responses.tag_of_body(page) if view.operation.method == "GET" else b""
        return Answer(view.status, headers, page, etag)


def _list_headers(asked: Asked, next_page: str | None, previous_page: str | None) -> list[Header]:
    headers: list[Header] = []
    targets = [f'<{next_page}>; rel="next"'] if next_page else []
    targets += [f'<{previous_page}>; rel="prev"'] if previous_page else []
    if targets and sum(map(len, targets)) < LONGEST_LINKS:
        headers.append((b"link", ", ".join(targets).encode()))
    if asked.page.clipped:
        headers.append((b"fieldgate-limit", str(MAXIMUM_LIMIT).encode()))
    return headers


def _location(asked: Asked, created: Created) -> list[Header]:
    if created.location is None:
        return []
    return [(b"location", f"{asked.origin.base}{created.location.path}".encode())]
