"""What a request asks for, read once from its head.

Everything in `Asked` follows from the path, the query and a few headers, and from nothing else. Requests repeat
themselves, so an endpoint remembers some thousand heads it has read; what remains per request is to find the
head in a dictionary.
"""

from collections.abc import Mapping

import msgspec

from fieldgate.errors import NotFound
from fieldgate.http.negotiation import formats
from fieldgate.http.negotiation.accept_language import negotiate
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request import dry_run, query_string
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request.page_parsing import parse_page
from fieldgate.http.request.validation import parse_struct
from fieldgate.http.response import compression
from fieldgate.http.response.links import quote_path
from fieldgate.i18n.languages import Language
from fieldgate.pagination import PageRequest

JSON_SUFFIX = ".json"
LANGUAGE_COOKIE = b"fieldgate_language"

_pack = msgspec.msgpack.Encoder().encode


class RequestHead(msgspec.Struct, frozen=True):
    """The parts of a request's head that decide what is asked, as they were sent."""

    path: bytes
    query_string: bytes
    base_url: BaseURL
    accept: bytes
    accept_language: bytes
    accept_encoding: bytes
    prefer: bytes
    language_cookie: bytes

    @property
    def size(self) -> int:
        sent = (self.path, self.query_string, self.accept, self.accept_language, self.accept_encoding, self.prefer)
        return sum(map(len, sent)) + len(self.language_cookie)


class ParsedRequest(msgspec.Struct, frozen=True):
    """What is asked for, in our own terms."""

    language: Language
    format: Format
    encoding: str
    base_url: BaseURL
    path: str
    path_values: dict[str, str]
    query_params: dict[str, str]
    unknown_parameters: tuple[str, ...]
    is_strict: bool
    page: PageRequest
    query: msgspec.Struct | None
    cache_key: bytes  # the same for what has the same answer

    @property
    def url(self) -> str:
        """The absolute address of the resource as it was asked for, without a query."""
        return self.base_url.url + self.path

    @property
    def format_query(self) -> bytes:
        """What keeps the format in links, where one was named."""
        word = self.query_params.get("format", "")
        return f"?format={word}".encode() if word else b""


def parse_request(operation: Operation, head: RequestHead, path_values: Mapping[str, str]) -> ParsedRequest:
    """Read a head for an operation, or refuse it."""
    given = query_string.parse_query(head.query_string)
    word = given.get("format", "")
    values, has_suffix = _strip_json_suffix(path_values)
    has_suffix = has_suffix or head.path.rstrip(b"/").endswith(JSON_SUFFIX.encode())
    chosen = _choose_format(operation, word, has_suffix, head.accept)
    dry_run.check_query(operation, given)
    known = operation.query_names
    ignored = query_string.unknown_names(given, known)
    is_strict = query_string.wants_strict(head.prefer)
    if ignored and is_strict:
        raise query_string.unknown_parameters_error(ignored, known)
    if operation.response.kind is ResponseKind.RAW and operation.query_type is None:
        # No link in it can carry them on: whatever else was sent, it is one answer, to be made once.
        given, ignored = {name: value for name, value in given.items() if name in known}, []
    language = negotiate(head.accept_language)
    if chosen is Format.HTML and head.language_cookie:
        language = negotiate(head.language_cookie)
    path = quote_path(head.path.decode("latin-1"), safe="%")  # what is quoted stays as it was sent
    coding = compression.negotiate_encoding(head.accept_encoding)
    return ParsedRequest(
        language=language,
        format=chosen,
        encoding=coding,
        base_url=head.base_url,
        path=path,
        path_values=values,
        query_params=given,
        unknown_parameters=tuple(ignored),
        is_strict=is_strict,
        page=parse_page(given) if operation.response.kind is ResponseKind.LIST else PageRequest(),
        query=parse_struct(operation.query_type, given, blank_is_absent=True) if operation.query_type else None,
        cache_key=_pack((head.base_url.url, path, given, language.value, chosen.query_value, coding, is_strict)),
    )


def _choose_format(operation: Operation, query_value: str, has_suffix: bool, accept: bytes) -> Format:
    if not operation.response.is_negotiated:  # it has one representation, and is not negotiated with
        return operation.response.formats[0]
    if has_suffix and not query_value:
        return Format.JSON
    return formats.choose_format(operation.response.formats, query_value, accept)


def _strip_json_suffix(path_values: Mapping[str, str]) -> tuple[dict[str, str], bool]:
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
