"""Response headers, HEAD and OPTIONS, ETags, compression, CORS and caching."""

import gzip

import brotli
import pytest
import zstandard

from fieldgate.http.endpoint import Endpoint
from fieldgate.http.health import Health
from fieldgate.http.injection import ClientAddress, HandlerContext, resolve_parameters
from fieldgate.http.links import Link
from fieldgate.http.negotiation import negotiate, negotiate_encoding
from fieldgate.http.operations import Created, Routes
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from tests.conftest import BASE_URL, Service, StartService

LIST = "/api/v2/permissions/"
DETAIL = "/api/v2/permissions/view_asset/"


@pytest.mark.parametrize("path", [LIST, DETAIL, "/api/v2/permissions.json"])
async def test_headers_of_a_successful_response(service: Service, path: str) -> None:
    answer = await service.get(path, headers={"Accept-Language": "es"})
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert answer.headers["Vary"] == "Accept, Accept-Language, Accept-Encoding"
    assert answer.headers["Content-Language"] == "es"
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert len(answer.headers["X-Request-ID"]) == 16


def endpoint_of(service: Service, path: str) -> Endpoint:
    found = service.app._router.match(path)
    assert found is not None
    return found[0]


async def test_responses_that_depend_on_the_caller_are_private(service: Service) -> None:
    answer = await service.get("/token/")
    assert answer.status_code == 401
    assert "Authorization" in answer.headers["Vary"]
    assert answer.headers["WWW-Authenticate"] == 'Token realm="fieldgate", Bearer realm="fieldgate"'
    assert answer.headers["Allow"] == "GET, POST, DELETE, HEAD, OPTIONS"


@pytest.mark.parametrize(
    "path", [LIST, DETAIL, LIST + "?format=api", "/", "/nowhere", LIST + "?limit=0", "/token/"]
)
async def test_head_is_get_without_a_body(service: Service, path: str) -> None:
    get, head = await service.get(path), await service.request("HEAD", path)
    assert head.status_code == get.status_code
    assert head.content == b""
    own = {"x-request-id", "date"}
    assert {k: v for k, v in head.headers.items() if k not in own} == {
        k: v for k, v in get.headers.items() if k not in own
    }


async def test_options_response(service: Service) -> None:
    answer = await service.request("OPTIONS", LIST, headers={"Accept-Language": "fr"})
    assert answer.status_code == 200
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert answer.json() == {
        "name": "Permissions",
        "description": "Toutes les permissions qui peuvent être attribuées sur un élément, avec ce que chacune "
        "implique et contredit.",
        "renders": ["application/json", "text/html"],
        "parses": [],
    }
    login = (await service.request("OPTIONS", "/get_auth_token")).json()
    assert login["parses"] == [
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ]
    assert (await service.request("OPTIONS", "/nowhere")).status_code == 404


@pytest.mark.parametrize(
    "path", [LIST, DETAIL, LIST + "?format=api", "/api/v2/", "/api-docs/openapi.json"]
)
async def test_matching_etag_gives_304(service: Service, path: str) -> None:
    first = await service.get(path)
    etag = first.headers["ETag"]
    assert etag.startswith('"')
    for condition in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = await service.get(path, headers={"If-None-Match": condition})
        assert again.status_code == 304
        assert again.content == b""
        assert again.headers["ETag"] == etag
        assert again.headers["Vary"] == first.headers["Vary"]
        assert "Content-Length" not in again.headers
    assert (await service.get(path, headers={"If-None-Match": '"other"'})).status_code == 200


async def test_each_representation_has_its_own_etag(service: Service) -> None:
    variants = [
        {"url": LIST},
        {"url": LIST, "headers": {"Accept-Language": "fr"}},
        {"url": LIST, "headers": {"Accept-Encoding": "gzip"}},
        {"url": LIST, "headers": {"Accept-Encoding": "br"}},
        {"url": LIST, "headers": {"Accept-Encoding": "identity"}},
        {"url": LIST, "headers": {"Host": "localhost"}},
        {"url": LIST + "?limit=5"},
        {"url": LIST + "?format=json"},
        {"url": LIST + "?format=api"},
        {"url": DETAIL},
    ]
    tags = [(await service.client.get(**variant)).headers["ETag"] for variant in variants]  # type: ignore[arg-type]
    assert len(set(tags)) == len(variants) - 1, (
        "only the client's default encoding repeats one of them"
    )


async def test_errors_have_no_etag_and_are_not_stored(service: Service) -> None:
    answer = await service.get("/api/v2/permissions/nope/", headers={"If-None-Match": "*"})
    assert answer.status_code == 404
    assert "ETag" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-store"


async def test_compression(service: Service) -> None:
    plain = (await service.get(LIST, headers={"Accept-Encoding": "identity"})).content
    readers = {
        "gzip": gzip.decompress,
        "br": brotli.decompress,
        "zstd": lambda body: zstandard.decompress(body),
    }
    for name, read in readers.items():
        async with service.client.stream("GET", LIST, headers={"Accept-Encoding": name}) as answer:
            assert answer.headers["Content-Encoding"] == name
            assert "Accept-Encoding" in answer.headers["Vary"]
        raw = service.app  # without the client, which would decode the body
        body = await _body_on_the_wire(raw, name)
        assert read(body) == plain
        assert len(body) < len(plain) / 3
    small = await service.get(DETAIL, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in small.headers


async def _body_on_the_wire(app: object, accepted: str) -> bytes:
    sent: list[dict[str, object]] = []

    async def send(event: dict[str, object]) -> None:
        sent.append(event)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    headers = [(b"host", b"127.0.0.1:8000"), (b"accept-encoding", accepted.encode())]
    scope = {
        "type": "http", "method": "GET", "path": LIST, "raw_path": LIST.encode(), "query_string": b"",
        "headers": headers, "scheme": "http", "client": ("127.0.0.1", 1),
    }  # fmt: skip
    await app(scope, receive, send)  # type: ignore[operator]
    return sent[-1]["body"]  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", ""),
        ("identity", ""),
        ("gzip", "gzip"),
        ("gzip, deflate", "gzip"),
        ("gzip, deflate, br, zstd", "br"),
        ("br;q=0.1, gzip;q=0.9", "gzip"),
        ("*", "br"),
        ("*;q=0", ""),
        ("gzip;q=0", ""),
        ("br;q=0, *", "zstd"),
        ("nonsense;q=x", ""),
    ],
)
def test_negotiate_encoding(header: str, expected: str) -> None:
    assert negotiate_encoding(header.encode()) == expected


async def test_cors_for_listed_origins(start: StartService) -> None:
    async with start(cors_origins=("https://map.example",), cors_credentials=True) as service:
        ours = await service.get(LIST, headers={"Origin": "https://map.example"})
        assert ours.headers["Access-Control-Allow-Origin"] == "https://map.example"
        assert ours.headers["Access-Control-Allow-Credentials"] == "true"
        assert "Origin" in ours.headers["Vary"]
        for origin in ("https://evil.example", "null"):
            other = await service.get(LIST, headers={"Origin": origin})
            assert other.status_code == 200
            assert "Access-Control-Allow-Origin" not in other.headers


async def test_cors_preflight(service: Service) -> None:
    headers = {"Origin": "https://map.example", "Access-Control-Request-Method": "GET"}
    answer = await service.request("OPTIONS", LIST, headers=headers)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in answer.headers
    exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
    assert {
        "ETag",
        "Link",
        "Content-Language",
        "Retry-After",
        "Fieldgate-Limit",
        "Fieldgate-Ignored",
    } <= set(exposed)


async def test_long_requests_are_not_cached(start: StartService) -> None:
    """Long requests stay out of the response cache, the cache of heads and the caches of parsed headers."""
    async with start() as service:
        endpoint = endpoint_of(service, DETAIL)
        cache = endpoint._app_context.response_cache
        before = cache.used_bytes
        for number in range(20):
            await service.get(f"{DETAIL}?{number}={'%F0%9F%98%80' * 4500}")
            for name in ("Accept-Language", "Accept-Encoding", "Prefer", "Cookie"):
                value = (
                    f"fieldgate_language={number}{'x' * 3000}"
                    if name == "Cookie"
                    else f"{number}{'x' * 3000}"
                )
                await service.get(DETAIL, headers={name: value})
        assert cache.used_bytes - before < 40_000
        assert sum(head.size for head in endpoint._parsed_requests._values) < 40_000
    assert negotiate(b"x" * 10_000 + b",fr") is Language.ENGLISH
    assert negotiate_encoding(b" " * 2000 + b"gzip") == ""


def test_cacheable_operation_must_not_depend_on_the_client() -> None:
    """Declaring a response cacheable although it depends on the client is an error at start-up."""
    for kind in (HandlerContext, ClientAddress):

        async def personal(asking: object) -> None: ...

        personal.__annotations__["asking"] = kind
        declared = Routes(tag="x", scope=Scope.NONE).get(
            "/x/", response=Health, title=Message("x"), description=Message("x"), depends_on=()
        )(personal)
        with pytest.raises(LookupError, match="a cached response cannot depend on"):
            resolve_parameters(declared, {}, {})

    async def broken(missing: int) -> None: ...

    with pytest.raises(LookupError, match="no service provides missing"):
        resolve_parameters(
            Routes(tag="x", scope=Scope.NONE).get(
                "/x/", response=Health, title=Message("x"), description=Message("x")
            )(broken),
            {},
            {},
        )


async def test_created_response_has_a_location(start: StartService) -> None:
    @Routes(tag="x", scope=Scope.NONE).post(
        "/api/v2/made/", response=Health, title=Message("Ready"), description=Message("Ready")
    )
    async def made() -> Created:
        return Created(Health("made"), Link("/api/v2/made/7/"))

    async with start(made) as service:
        answer = await service.client.post("/api/v2/made")
        assert answer.status_code == 201
        assert answer.headers["Location"] == f"{BASE_URL}/api/v2/made/7/"
        assert answer.headers["Cache-Control"] == "no-store"
