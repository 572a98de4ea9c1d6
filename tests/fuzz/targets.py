"""The parsers, each as a function of bytes.

A target fails if the parser raises anything but the errors that become responses, or if its result breaks a rule.
"""

import asyncio
import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx
import msgspec

from fieldgate.app import operations
from fieldgate.assets.search_query import parse_search
from fieldgate.assets.sharing import csv_table
from fieldgate.assets.sharing.grant_parsing import ErrorCollector, parse_assignments
from fieldgate.errors import Problem, ValidationError
from fieldgate.events.ingest import file_loader
from fieldgate.http import request_parsing
from fieldgate.http.negotiation import (
    Format,
    choose_format,
    negotiate,
    negotiate_encoding,
    prefers_bytes,
)
from fieldgate.http.operations import Operation
from fieldgate.http.pagination_links import MAX_OFFSET
from fieldgate.http.request import authentication, body_parsing
from fieldgate.http.request.authentication import SESSION_COOKIE, authenticate
from fieldgate.http.request.hosts import FORWARDED_HEADERS, BaseURL, HostPolicy
from fieldgate.http.request.request_body import IncomingBody
from fieldgate.http.request_parsing import RequestHead, parse_request
from fieldgate.http.search_grammar import SearchSyntaxError
from fieldgate.i18n.languages import Language
from fieldgate.identity import User
from fieldgate.imports.fetch.public_addresses import is_public, resolve_host
from fieldgate.imports.fetch.ssrf_guard import SafeDownloader
from fieldgate.imports.upload import destination_uid, looks_like_workbook
from fieldgate.imports.xlsform import EncodedContent, FormRejected, parse_content, parse_workbook
from fieldgate.pagination import MAX_LIMIT
from fieldgate.settings import LOOPBACK, Settings
from tests.imports.workbooks import SURVEY
from tests.imports.xlsform.workbooks import csv_with_sections

Call = Callable[[bytes], Any]


class FuzzTarget(NamedTuple):
    parse: Call
    seeds: Sequence[bytes]
    expected: tuple[type[Exception], ...] = (
        Problem,
    )  # errors that are a proper answer to bad input
    max_bytes: int = 4096

    def check(self, data: bytes) -> None:
        """Call the parser; let nothing through but the expected errors, which must have a text in every language."""
        try:
            self.parse(data[: self.max_bytes])
        except self.expected as error:
            if isinstance(error, Problem):
                _check_problem(error)


def _check_problem(problem: Problem) -> None:
    assert 400 <= problem.status < 500, problem
    for language in Language:
        json.dumps(problem.body(language))


class _Nobody:
    """An authenticator that knows no credential, so that only the parsing of headers is exercised."""

    async def by_token(self, token: str, client: str) -> User | None:
        return None

    async def by_session(self, token: str, client: str) -> User | None:
        return None

    async def by_password(self, username: str, password: str, client: str) -> User:
        raise ValidationError({})


_OPERATIONS: dict[str, Operation] = {
    operation.route.path: operation for operation in operations() if operation.route.method == "GET"
}
_QUERIES = ("/api/v2/event/", "/api/v2/assets/", "/api/v2/permissions/effects/", "/api/v2/imports/")
_OFFERED = (Format.JSON, Format.HTML, Format.CSV)
_HOSTS = HostPolicy(
    Settings(trusted_proxies=LOOPBACK, allowed_hosts=("field.example.org", ".example.net"))
)
_DOWNLOADER = SafeDownloader(
    ("forms.example.org", ".example.net:8443"), resolve_host, is_public, None
)


def _request_head(query: bytes = b"", accept: bytes = b"", prefer: bytes = b"") -> RequestHead:
    return RequestHead(
        b"/", query, BaseURL("http://127.0.0.1", False), accept, b"", b"", prefer, b""
    )


def parse_queries(data: bytes) -> None:
    """The query of every kind of list, with its filters, ordering and page."""
    request_parsing.parse_query(data)
    failures = []
    for path in _QUERIES:
        try:
            parsed = parse_request(_OPERATIONS[path], _request_head(data), {})
        except Problem as problem:
            failures.append(problem)
            continue
        assert 1 <= parsed.page.limit <= MAX_LIMIT
        assert 0 <= parsed.page.offset <= MAX_OFFSET
    if failures:
        raise failures[0]


def parse_prefer(data: bytes) -> None:
    request_parsing.wants_strict(data)
    request_parsing.to_header_value([data.decode("latin-1")]).decode("ascii")


def parse_accept(data: bytes) -> None:
    prefers_bytes("text/csv", data)
    negotiate_encoding(data)
    assert choose_format(_OFFERED, "", data) in _OFFERED


def parse_accept_language(data: bytes) -> None:
    assert negotiate(data) in Language


def parse_authorization(data: bytes) -> None:
    caller = asyncio.run(authenticate({b"authorization": data}, "192.0.2.1", _Nobody()))
    assert caller.is_anonymous


def parse_cookies(data: bytes) -> None:
    value = authentication.read_cookie(data, SESSION_COOKIE)
    assert b";" not in value
    assert len(value) <= authentication.MAX_COOKIE_CHARS
    assert asyncio.run(authenticate({b"cookie": data}, "192.0.2.1", _Nobody())).is_anonymous


def parse_hosts(data: bytes) -> None:
    """Host and X-Forwarded-* headers, separated by line feeds. Links must stay on the allowed hosts."""
    names = (b"host", *FORWARDED_HEADERS, b"x-forwarded-for")
    headers = dict(zip(names, data.split(b"\n"), strict=False))
    _HOSTS.client_address("127.0.0.1", headers)
    base = _HOSTS.base_url_for("http", "127.0.0.1", headers)
    host = urlsplit(base.url).hostname or ""
    assert host.rstrip(".") in ("field.example.org", "example.net") or host.rstrip(".").endswith(
        ".example.net"
    ), host


def parse_url(data: bytes) -> None:
    """Addresses that files are fetched from. An accepted one must lead to a listed host in every reading of it."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        url = _DOWNLOADER.validate_url(text)
    except ValidationError:
        pass
    else:
        assert url.host == "forms.example.org" or url.host.endswith("example.net"), url
        assert httpx.URL(str(url)).host == url.host
        assert not url.userinfo
    destination_uid("destination", text)


def parse_multipart(data: bytes) -> None:
    headers = {b"content-type": b"multipart/form-data; boundary=x"}
    _check_fields(_read_fields(headers, data))
    _check_fields(_read_fields(headers, data, frozenset({"content"})))


def parse_content_type(data: bytes) -> None:
    """The header decides how a body is read."""
    _read_fields(
        {b"content-type": data}, b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'
    )


def parse_urlencoded(data: bytes) -> None:
    _check_fields(_read_fields({b"content-type": b"application/x-www-form-urlencoded"}, data))


def _read_fields(
    headers: dict[bytes, bytes], data: bytes, encoded: frozenset[str] = frozenset()
) -> dict[str, Any]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def read() -> dict[str, Any]:
        body = IncomingBody(receive, headers)
        try:
            return await body.read_fields(body_parsing.BodyLimit(max_bytes=len(data) + 1), encoded)
        finally:
            await body.close()

    return asyncio.run(read())


def parse_json(data: bytes) -> None:
    headers = {b"content-type": b"application/json"}
    failures = []
    for parse in (
        lambda: body_parsing.parse_fields(headers, data),
        lambda: body_parsing.parse_fields(headers, data, frozenset({"content"})),
        lambda: body_parsing.parse_array(headers, data),
        lambda: parse_assignments(body_parsing.parse_array(headers, data), ErrorCollector()),
    ):
        try:
            parse()
        except Problem as problem:
            failures.append(problem)
    if failures:
        raise failures[0]


def parse_form_content(data: bytes) -> None:
    """The content of a form as clients send it, in JSON."""
    parse_content(EncodedContent(data, "form"))


def parse_any_workbook(data: bytes) -> None:
    looks_like_workbook(data)
    parse_workbook(data, "form")


def parse_sharing_csv(data: bytes) -> None:
    csv_table.parse_table(data, "file", ErrorCollector())


def parse_event_file(data: bytes) -> None:
    for record, reason in file_loader._parse_records(io.BytesIO(data)):
        assert (record is None) == bool(reason)


def parse_search_text(data: bytes) -> None:
    parse_search(data.decode("utf-8", "replace"))


def _check_fields(values: dict[str, Any]) -> None:
    for name, value in values.items():
        assert isinstance(name, str)
        if isinstance(value, body_parsing.UploadedFile):
            assert "/" not in value.name
            assert "\\" not in value.name


def _multipart(*parts: tuple[bytes, bytes]) -> bytes:
    return (
        b"".join(b"--x\r\n" + head + b"\r\n\r\n" + body + b"\r\n" for head, body in parts)
        + b"--x--\r\n"
    )


_DISPOSITION = b"Content-Disposition: form-data; name="
_CONTENT = {
    "survey": [{"type": "select_one l", "name": "a", "label": ["A"]}],
    "choices": [{"list_name": "l", "name": 1}],
}
_FILTERS = {"view_submissions": [{"_submitted_by": "amina"}]}

# Workbooks that are archives are mutated in `tests/imports/test_hostile.py`, in the sandbox: a changed size in one can
# make a reader take all the memory that it gets.
TARGETS: dict[str, FuzzTarget] = {
    "query": FuzzTarget(
        parse_queries,
        (
            b"limit=5&offset=10&ordering=-name",
            b"countries__in=1,2&disaster_start_date__gte=2024-01-01T00:00:00%2B00:00&search=a%20b",
            b"page=2&page_size=%D9%A3&format=csv",
            b'q=owner__username:"amina" AND (tags:x OR NOT name:y)',
            b"held=view_asset,change_asset&assign=manage_asset&asset_type=survey",
        ),
    ),
    "prefer": FuzzTarget(parse_prefer, (b'handling="strict"; a=b, wait=1', b"handling=lenient")),
    "accept": FuzzTarget(
        parse_accept, (b"text/html;q=0.5, application/json;q=0.9,*/*;q=.1", b"gzip, br;q=0")
    ),
    "accept-language": FuzzTarget(
        parse_accept_language, (b"ar-SY,fr;q=0.8,*;q=0.1", b"es;q=1.000, en;q=NaN")
    ),
    "authorization": FuzzTarget(
        parse_authorization,
        (b"Token fgt_abc", b"Bearer fgt_abc", b"Basic YW1pbmE6c2VjcmV0", b"Digest a=b"),
    ),
    "cookies": FuzzTarget(
        parse_cookies, (b"fieldgate_session=fgs_abc; fieldgate_language=ar", b'a="b;c"; =; ;;')
    ),
    "hosts": FuzzTarget(
        parse_hosts,
        (
            b"field.example.org:8000\nhttps\na.example.net\n443\n/gate\n192.0.2.1, 127.0.0.1",
            b"[::1]:80\n\n\n\n\n[::1]:9",
        ),
    ),
    "url": FuzzTarget(
        parse_url,
        (
            "https://forms.example.org/формы.xlsx".encode(),
            b"http://a.example.net:8443\\@127.0.0.1/x",
            b"/api/v2/assets/a2345678901234567890AB/?format=json",
        ),
    ),
    "multipart": FuzzTarget(
        parse_multipart,
        (
            _multipart(
                (_DISPOSITION + b'"name"', b"a"),
                (_DISPOSITION + b"file; filename*=UTF-8''a%2Fb", b"PK\x03\x04"),
            ),
            _multipart(
                (
                    _DISPOSITION + b'"file"; filename="=?utf-8?b?YQ==?="\r\nContent-Type: text/csv',
                    b"a,b",
                )
            ),
        ),
    ),
    "content-type": FuzzTarget(
        parse_content_type,
        (
            b'multipart/form-data; boundary="x"',
            b"application/json; charset=utf-8",
            b"text/plain;;=",
        ),
    ),
    "urlencoded": FuzzTarget(parse_urlencoded, (b"a=b&c=%E2%82%AC&a=", b"content=%7B%7D&name=x")),
    "json": FuzzTarget(
        parse_json,
        (
            b'{"name": "a", "content": {"survey": [[]]}, "n": 1e400}',
            json.dumps(
                [
                    {
                        "user": "/api/v2/users/a/",
                        "permission": "view_asset",
                        "partial_permissions": [],
                    }
                ]
            ).encode(),
        ),
    ),
    "form-content": FuzzTarget(
        parse_form_content, (json.dumps(_CONTENT).encode(),), (Problem, FormRejected)
    ),
    "csv-workbook": FuzzTarget(
        parse_any_workbook,
        (csv_with_sections({"survey": SURVEY, "choices": [("list_name", "name"), ("l", "a")]}),),
        (Problem, FormRejected),
    ),
    "sharing-csv": FuzzTarget(
        parse_sharing_csv,
        (
            b"user,permission,filters\namina,view_asset,\n",
            b'user;permission;filters\n"a;b";partial_submissions;"%s"\n'
            % json.dumps(_FILTERS).replace('"', '""').encode(),
        ),
    ),
    "event-file": FuzzTarget(
        parse_event_file,
        (
            b'{"id": 1, "name": "Flood"}\n{"id": 2}\n',
            b'{"count": 1, "results": [{"id": 1}]}',
            b'id,name,countries.id\n#meta,,\n1,Flood,"1,2"\n',
        ),
        (file_loader.InvalidFile, UnicodeDecodeError, csv.Error, msgspec.DecodeError),
    ),
    "search": FuzzTarget(
        parse_search_text,
        (b'owner:amina AND (tags:"a b" OR NOT name__icontains:x)', b"a -b:c (d"),
        (SearchSyntaxError,),
    ),
}
