"""Parse the head of a request.

A `ParsedRequest` depends only on the path, the query and a few headers. Requests repeat themselves, so each endpoint
caches the parsed form of about a thousand heads.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from urllib.parse import parse_qsl, quote

import msgspec

from fieldgate.errors import BadRequest, NotFound, ValidationError
from fieldgate.http import dry_run
from fieldgate.http.links import quote_path
from fieldgate.http.negotiation import (
    Format,
    choose_format,
    negotiate,
    negotiate_encoding,
    prefers_bytes,
)
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.pagination_links import parse_page
from fieldgate.http.request.hosts import BaseURL
from fieldgate.http.request.validation import NULL_CHARACTERS, parse_struct
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.pagination import PageRequest

JSON_SUFFIX = ".json"
LANGUAGE_COOKIE = b"fieldgate_language"
MAX_PAGE_QUERY_BYTES = 4096  # links of a page repeat its query

# Pages, large lists and what grows with stored data take long to make, so they use more of a rate limit.
COSTLY_COST = 10.0
LARGE_LIMIT = 100  # a list of up to this many records takes a few milliseconds at most
RECORDS_PER_COST = 250
PAGE_COST = 10.0
PAGE_RECORDS_PER_COST = 10

_pack = msgspec.msgpack.Encoder().encode


class RequestHead(msgspec.Struct, frozen=True):
    """The parts of a request's head that are parsed, as they were sent."""

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
        sent = (
            self.path,
            self.query_string,
            self.accept,
            self.accept_language,
            self.accept_encoding,
            self.prefer,
        )
        return sum(map(len, sent)) + len(self.language_cookie)


class ParsedRequest(msgspec.Struct, frozen=True):
    """A request's head after parsing and validation."""

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
    cache_key: bytes  # equal for requests with the same response
    extra_cost: float  # of the rate limit; 0 if the response takes little time to make

    @property
    def url(self) -> str:
        """The absolute URL of the resource as requested, without the query."""
        return self.base_url.url + self.path

    @property
    def format_query(self) -> bytes:
        """The query that keeps the format in links, if the request has `format=`."""
        value = self.query_params.get("format", "")
        return f"?format={value}".encode() if value else b""


def parse_request(
    operation: Operation, head: RequestHead, path_values: Mapping[str, str]
) -> ParsedRequest:
    """Parse a head for an operation; raise a `Problem` if it is not valid."""
    given = parse_query(head.query_string)
    values, has_suffix = _strip_json_suffix(path_values)
    has_suffix = has_suffix or head.path.rstrip(b"/").endswith(JSON_SUFFIX.encode())
    chosen = _choose_format(operation, given.get("format", ""), has_suffix, head.accept)
    if chosen is Format.HTML and len(head.query_string) > MAX_PAGE_QUERY_BYTES:
        raise BadRequest(
            Message("This address is too long for a page. Use fewer filters, or request JSON.")
        )
    if operation.route.method != "GET":
        dry_run.check_query(operation, given, head.query_string)
    known = operation.query_names
    unknown = unknown_names(given, known)
    is_strict = wants_strict(head.prefer)
    if unknown and is_strict:
        raise unknown_parameters_error(unknown, known)
    if operation.response.kind is ResponseKind.RAW and operation.query_type is None:
        # The response has no links that would repeat other parameters, so it is the same for all of them.
        given, unknown = {name: value for name, value in given.items() if name in known}, []
    language = negotiate(head.accept_language)
    if chosen is Format.HTML and head.language_cookie:
        language = negotiate(head.language_cookie)
    path = quote_path(head.path.decode("latin-1"), safe="%")  # keep what is already quoted
    encoding = negotiate_encoding(head.accept_encoding)
    page = parse_page(given) if operation.response.kind is ResponseKind.LIST else PageRequest()
    query = (
        parse_struct(operation.query_type, given, blank_is_absent=True)
        if operation.query_type
        else None
    )
    common = (head.base_url.url, path, language.value, chosen.query_value, encoding, is_strict)
    return ParsedRequest(
        language=language,
        format=chosen,
        encoding=encoding,
        base_url=head.base_url,
        path=path,
        path_values=values,
        query_params=given,
        unknown_parameters=tuple(unknown),
        is_strict=is_strict,
        page=page,
        query=query,
        cache_key=_pack((common, given)),
        extra_cost=extra_cost(operation, chosen, page, query),
    )


def _choose_format(
    operation: Operation, query_value: str, has_suffix: bool, accept: bytes
) -> Format:
    if not operation.response.is_negotiated:  # it has only one format
        spec = operation.response
        is_bytes = accept and spec.offers_bytes and prefers_bytes(spec.media_types[0], accept)
        return Format.BYTES if is_bytes else spec.formats[0]
    if has_suffix and not query_value:
        return Format.JSON
    return choose_format(operation.response.formats, query_value, accept)


def _strip_json_suffix(path_values: Mapping[str, str]) -> tuple[dict[str, str], bool]:
    """The path parameters without the suffix `.json` of the last one, and whether it had that suffix."""
    if not path_values:
        return {}, False
    values = dict(path_values)
    last = list(values)[-1]
    bare = values[last].removesuffix(JSON_SUFFIX)
    has_suffix = bare != values[last]
    if not bare or "\0" in bare:
        raise NotFound
    values[last] = bare
    return values, has_suffix


def extra_cost(
    operation: Operation, format_: Format, page: PageRequest, query: msgspec.Struct | None = None
) -> float:
    """The cost beside the one of every request. 0 if it is not costly, and for files and health checks."""
    if operation.route.method != "GET" or operation.rate_cost < 1 or operation.is_simple_page:
        return 0.0
    if format_ is Format.HTML:
        return PAGE_COST + page.limit / PAGE_RECORDS_PER_COST
    of_records = page.limit / RECORDS_PER_COST if page.limit > LARGE_LIMIT else 0.0
    is_costly = operation.is_costly or getattr(query, "is_costly", False)
    return of_records + COSTLY_COST if is_costly else of_records


MAX_PARAMETERS = 200
MAX_REPORTED_NAMES = 100  # in an error response
MAX_REPORTED_NAME_CHARS = 200
MAX_HEADER_NAMES = 20  # in the header, which must stay short


def parse_query(query: bytes) -> dict[str, str]:
    """Parse a query string. The last value of a name wins."""
    if query.count(b"&") >= MAX_PARAMETERS:
        raise BadRequest(
            PluralMessage(
                "There are too many parameters; at most {count} is allowed.",
                "There are too many parameters; at most {count} are allowed.",
                MAX_PARAMETERS,
            )
        )
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, encoding="utf-8", errors="strict"
        )
    except ValueError:
        raise BadRequest(
            Message("The query of the address cannot be read: it must be percent-encoded UTF-8.")
        ) from None
    wrong = [name for name, value in pairs if "\0" in name or "\0" in value]
    if wrong:
        raise ValidationError({name.replace("\0", ""): [NULL_CHARACTERS] for name in wrong})
    return dict(pairs)


def unknown_names(given: Iterable[str], known: Iterable[str]) -> list[str]:
    return [name for name in given if name not in known]


def wants_strict(prefer: bytes) -> bool:
    """Whether `Prefer: handling=strict` (RFC 7240) was sent; the first `handling` wins."""
    for member in prefer.decode("latin-1").lower().split(",") if prefer else ():
        name, _, value = member.split(";")[0].partition("=")
        if name.strip() == "handling":
            return value.strip().strip('"') == "strict"
    return False


def unknown_parameters_error(names: Iterable[str], known: Iterable[str]) -> ValidationError:
    """The error for unknown parameters, with the most similar known name for each."""
    near = Message("There is no such parameter. Did you mean {name}?")
    far = Message("There is no such parameter. Known ones: {names}.")
    return _unknown_names_error(names, known, near, far)


def unknown_fields_error(names: Iterable[str], known: Iterable[str]) -> ValidationError:
    """The error for unknown fields of a body, with the most similar known name for each."""
    near = Message("There is no such field. Did you mean {name}?")
    far = Message("There is no such field. Known ones: {names}.")
    return _unknown_names_error(names, known, near, far)


def _unknown_names_error(
    names: Iterable[str], known: Iterable[str], near: Message, far: Message
) -> ValidationError:
    candidates = sorted(known)
    wrong: dict[str, list[Message]] = {}
    for name in islice(names, MAX_REPORTED_NAMES):
        nearest = get_close_matches(name[:MAX_REPORTED_NAME_CHARS], candidates, n=1)
        message = (
            Message(near.text, name=nearest[0])
            if nearest
            else Message(far.text, names=", ".join(candidates))
        )
        wrong[name[:MAX_REPORTED_NAME_CHARS]] = [message]
    return ValidationError(wrong)


def to_header_value(names: Iterable[str]) -> bytes:
    """Names as a header value: percent-encoded, as a query may contain any character."""
    return ", ".join(quote(name[:60], safe="") for name in islice(names, MAX_HEADER_NAMES)).encode()
