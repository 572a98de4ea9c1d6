"""What a request asks for, read once from its head.

Everything in `Asked` follows from the path, the query and a few headers, and from nothing else. Requests repeat
themselves, so an endpoint remembers some thousand heads it has read; what remains per request is to find the
head in a dictionary.
"""

from collections.abc import Mapping

import msgspec

from fieldgate.errors import NotFound
from fieldgate.http.negotiation import formats
from fieldgate.http.negotiation.accept_language import preferred
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation, Shape
from fieldgate.http.request import dry_run, query_string
from fieldgate.http.request.hosts import Origin
from fieldgate.http.request.page_parsing import read_page
from fieldgate.http.request.validation import read_fields
from fieldgate.http.response import compression
from fieldgate.http.response.links import quoted_path
from fieldgate.i18n.languages import Language
from fieldgate.pagination import Page

JSON_SUFFIX = ".json"
LANGUAGE_COOKIE = b"fieldgate_language"

_packed = msgspec.msgpack.Encoder().encode


class Head(msgspec.Struct, frozen=True):
    """The parts of a request's head that decide what is asked, as they were sent."""

    path: bytes
    query: bytes
    origin: Origin
    accept: bytes
    accept_language: bytes
    accept_encoding: bytes
    prefer: bytes
    page_language: bytes

    @property
    def size(self) -> int:
        sent = (self.path, self.query, self.accept, self.accept_language, self.accept_encoding, self.prefer)
        return sum(map(len, sent)) + len(self.page_language)


class Asked(msgspec.Struct, frozen=True):
    """What is asked for, in our own terms."""

    language: Language
    format: Format
    coding: str
    origin: Origin
    path: str
    path_values: dict[str, str]
    parameters: dict[str, str]
    ignored: tuple[str, ...]
    is_strict: bool
    page: Page
    filters: msgspec.Struct | None
    identity: bytes  # the same for what has the same answer

    @property
    def address(self) -> str:
        """The absolute address of the resource as it was asked for, without a query."""
        return self.origin.base + self.path

    @property
    def format_query(self) -> bytes:
        """What keeps the format in links, where one was named."""
        word = self.parameters.get("format", "")
        return f"?format={word}".encode() if word else b""


def read_head(operation: Operation, head: Head, path_values: Mapping[str, str]) -> Asked:
    """Read a head for an operation, or refuse it."""
    given = query_string.read_query(head.query)
    word = given.get("format", "")
    values, has_suffix = _without_suffix(path_values)
    has_suffix = has_suffix or head.path.rstrip(b"/").endswith(JSON_SUFFIX.encode())
    chosen = _format(operation, word, has_suffix, head.accept)
    dry_run.check_query(operation, given)
    known = operation.known
    ignored = query_string.unknown(given, known)
    is_strict = query_string.wants_strict(head.prefer)
    if ignored and is_strict:
        raise query_string.refuse(ignored, known)
    if operation.shape is Shape.READY and operation.filters is None:
        # No link in it can carry them on: whatever else was sent, it is one answer, to be made once.
        given, ignored = {name: value for name, value in given.items() if name in known}, []
    language = preferred(head.accept_language)
    if chosen is Format.PAGE and head.page_language:
        language = preferred(head.page_language)
    path = quoted_path(head.path.decode("latin-1"), safe="%")  # what is quoted stays as it was sent
    coding = compression.coding(head.accept_encoding)
    return Asked(
        language=language,
        format=chosen,
        coding=coding,
        origin=head.origin,
        path=path,
        path_values=values,
        parameters=given,
        ignored=tuple(ignored),
        is_strict=is_strict,
        page=read_page(given) if operation.shape is Shape.LIST else Page(),
        filters=read_fields(operation.filters, given, blank_is_absent=True) if operation.filters else None,
        identity=_packed((head.origin.base, path, given, language.value, chosen.word, coding, is_strict)),
    )


def _format(operation: Operation, word: str, has_suffix: bool, accept: bytes) -> Format:
    if not operation.is_negotiated:  # it has one representation, and is not negotiated with
        return operation.formats[0]
    if has_suffix and not word:
        return Format.JSON
    return formats.choose(operation.formats, word, accept)


def _without_suffix(path_values: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """The values of a path's braces; a `.json` at the end of the last one asks for a format."""
    values = dict(path_values)
    if not values:
        return values, False
    last = list(values)[-1]
    bare = values[last].removesuffix(JSON_SUFFIX)
    has_suffix = bare != values[last]
    if not bare or "\0" in bare:
        raise NotFound
    values[last] = bare
    return values, has_suffix
