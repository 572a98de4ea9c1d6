"""Invalid requests: each gets its status and a localised JSON message, never 500."""

from typing import Any

import httpx
import pytest

from tests.conftest import Service
from tests.data.accounts import PASSWORD

LIST = "/api/v2/permissions/"
DETAIL = "/api/v2/permissions/view_asset/"

# (method, path, headers, status, the key that is named, the English message)
Row = tuple[str, str, dict[str, str], int, str, str]

LIMIT = "Enter a whole number from 1 to 1000."
OFFSET = "Enter a whole number, 0 or more."
NO_FORMAT = "There is no format {} here; try one of: json, api."
NOT_ACCEPTED = (
    "None of the accepted types is available here; available types: application/json, text/html."
)
BAD_TOKEN = "This token is not valid. Check it, or get a new one."
NO_TOKEN = "The Authorization header has a scheme but no token."
BAD_BASIC = "The Basic credentials cannot be read: they must be base64 of username:password."
BAD_SCHEME = "This authentication scheme is not supported. Use Token, Bearer or Basic."
BAD_HOST = "This service is not configured for the host of the request."
TOO_DEEP = {"detail": "The body is nested too deeply; at most 50 levels are allowed."}
BAD_QUERY = "The query of the address cannot be read: it must be percent-encoded UTF-8."
NOTHING = "There is nothing here."


def _limits() -> list[Row]:
    values = [
        "0",
        "-1",
        "abc",
        "1.5",
        "1e3",
        "0x10",
        "NaN",
        "true",
        "%00",
        "1%202",
        "--5",
        "-99999999999999999999",
    ]
    rows: list[Row] = [
        ("GET", f"{LIST}?limit={value}", {}, 400, "limit", LIMIT)
        for value in values
        if value != "%00"
    ]
    rows += [
        ("GET", f"{LIST}?offset={v}", {}, 400, "offset", OFFSET)
        for v in ("-1", "abc", "1.5", "∞", "-0.0")
    ]
    rows += [("GET", f"{LIST}?start={v}", {}, 400, "start", OFFSET) for v in ("-1", "abc")]
    rows += [
        ("GET", f"{LIST}?{name}=%00", {}, 400, name, "Null characters are not allowed.")
        for name in ("limit", "q")
    ]
    return rows


def _others() -> list[Row]:
    basic = "Basic "
    return [
        *(("GET", f"{path}?format={word}", {}, 404, "detail", NO_FORMAT.format(word))
          for path in (LIST, DETAIL) for word in ("xml", "csv", "JSON", "html")),
        *(("GET", path, {"Accept": accept}, 406, "detail", NOT_ACCEPTED)
          for path in (LIST, DETAIL) for accept in ("application/xml", "text/csv", "garbage", "application/json;q=0")),
        *(("GET", LIST, {"Authorization": value}, 401, "detail", BAD_TOKEN)
          for value in ("Token nope", "Bearer nope", "token nope", "Token a b", "nope", "Token " + "9" * 5000)),
        *(("GET", LIST, {"Authorization": value}, 401, "detail", NO_TOKEN)
          for value in ("Token", "Bearer ", "bearer")),
        *(("GET", LIST, {"Authorization": basic + value}, 401, "detail", BAD_BASIC)
          for value in ("", "???", "bm9jb2xvbg==", "AGE6Yg==")),
        *(("GET", LIST, {"Authorization": value}, 401, "detail", BAD_SCHEME)
          for value in ("Digest username=x", "Negotiate abc=", "AWS4-HMAC-SHA256 Credential=x")),
        *(("GET", LIST, {"Host": host}, 400, "detail", BAD_HOST)
          for host in ("evil.example", "", "127.0.0.1@evil.example", "a b", "127.0.0.1:x", "127.0.0.1:65536")),
        *((method, path, {}, 405, "detail",
           f"{method} is not allowed here; allowed methods: GET, HEAD, OPTIONS.")
          for path in (LIST, DETAIL) for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO")),
        *(("GET", path, {}, 404, "detail", NOTHING)
          for path in ("/nowhere", "/api/v2/nowhere/", "/api/v3/permissions/", "/api/v2/permissions/a/b/",
                       "/api/v2/permissions/a%2Fb/", "/api/v2/../../etc/passwd", "/static/x/../../app.py",
                       "/api/v2/permissions/.json", "/api/v2/permissions/%00/", "//evil.example/%2e%2e")),
        *(("GET", f"/api/v2/permissions/{name}/", {}, 404, "detail", f"There is no permission {name}.")
          for name in ("nope", "VIEW_ASSET", "delete_asset", "a.b", "view_asset.xml")),
        ("GET", LIST + "?%FF", {}, 400, "detail", BAD_QUERY),
        ("GET", LIST + "?" + "&".join(f"a{n}=1" for n in range(300)), {}, 400, "detail",
         "There are too many parameters; at most 200 are allowed."),
        *(("OPTIONS", path, {"Authorization": "Token nope"}, 401, "detail", BAD_TOKEN) for path in (LIST, DETAIL)),
        ("GET", LIST + "?limt=5", {"Prefer": "handling=strict"}, 400, "limt",
         "There is no such parameter. Did you mean limit?"),
        ("GET", LIST + "?zzz=5", {"Prefer": "respond-async, handling=strict"}, 400, "zzz",
         "There is no such parameter. Known ones: format, limit, offset, page, page_size, start."),
        ("GET", DETAIL + "?limit=5", {"Prefer": 'handling = "strict", handling=lenient'}, 400, "limit",
         "There is no such parameter. Known ones: format."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "row", [*_limits(), *_others()], ids=lambda row: f"{row[0]} {row[1][:60]} {row[2]}"[:110]
)
async def test_bad_input(service: Service, row: Row) -> None:
    method, path, headers, status, key, message = row
    answer = await service.request(method, path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    body = answer.json()
    assert body == ({"detail": message} if key == "detail" else {key: [message]})
    for language in ("fr", "ar", "es"):
        translated = await service.request(
            method, path, headers={**headers, "Accept-Language": language}
        )
        assert translated.status_code == status
        assert translated.headers["Content-Language"] == language
        assert list(translated.json()) == [key]
        assert translated.json() != body, "every message is translated"


async def test_all_errors_are_reported_together(service: Service) -> None:
    answer = await service.get(f"{LIST}?limit=0&offset=x")
    assert answer.json() == {"limit": [LIMIT], "offset": [OFFSET]}


async def test_invalid_credential_is_reported_before_other_errors(service: Service) -> None:
    for path in (f"{LIST}?limit=0", f"{LIST}?format=xml", "/nowhere"):
        assert (await service.get(path, headers={"Authorization": "Token nope"})).status_code == 401
    assert (
        await service.request("POST", LIST, headers={"Authorization": "Token nope"})
    ).status_code == 401


@pytest.mark.parametrize(
    ("body", "kind", "status", "expected"),
    [
        (b"", "application/json", 400,
         {"username": ["This field is required."], "password": ["This field is required."]}),
        (b"{}", "application/json", 400, None),
        (b'{"username": "x"}', "application/json", 400, {"password": ["This field is required."]}),
        (b'{"username": 5, "password": ["x"]}', "application/json", 400,
         {"username": ["Enter text of at most 150 characters."],
          "password": ["Enter text of at most 1000 characters."]}),
        (b'{"username": null, "password": "x"}', "application/json", 400, {"username": ["This field is required."]}),
        (b"{", "application/json", 400, {"detail": "The body is not valid JSON."}),
        (b'{"username": "a\\u0000b", "password": "x"}', "application/json", 400,
         {"username": ["Null characters are not allowed."]}),
        (b'{"username": "\\ud800", "password": "x"}', "application/json", 400, None),
        (b"[1]", "application/json", 400, {"detail": "The body must be a JSON object, with names and values."}),
        (b"[" * 50_000, "application/json", 400, TOO_DEEP),
        (b'{"username": ' + b"[" * 50 + b"]" * 50 + b"}", "application/json", 400, TOO_DEEP),
        (b'{"username": ' + b"[" * 49 + b"]" * 49 + b"}", "application/json", 400,
         {"username": ["Enter text of at most 150 characters."], "password": ["This field is required."]}),
        (b'"\xff"', "application/json", 400, {"detail": "The body is not valid JSON."}),
        (b"username=%FF&password=x", "application/x-www-form-urlencoded", 400, None),
        (b"a=1&" * 200, "application/x-www-form-urlencoded", 400,
         {"detail": "There are too many fields; at most 100 are allowed."}),
        (b"nonsense", "multipart/form-data; boundary=x", 400, {"detail": "The multipart body cannot be read."}),
        (b"nonsense", "multipart/form-data", 400, {"detail": "The multipart body cannot be read."}),
        (b"x", "text/plain", 415, None),
        (b"x" * 70_000, "application/json", 413,
         {"detail": "The body is too large; at most 65536 bytes are allowed here."}),
        (b'{"username": "' + b"x" * 151 + b'", "password": "x"}', "application/json", 400,
         {"username": ["Enter text of at most 150 characters."]}),
    ],
)  # fmt: skip
async def test_bad_bodies(
    service: Service, body: bytes, kind: str, status: int, expected: dict[str, Any] | None
) -> None:
    answer = await service.request(
        "POST", "/get_auth_token", content=body, headers={"Content-Type": kind}
    )
    assert answer.status_code == status
    if expected is not None:
        assert answer.json() == expected
    french = await service.request(
        "POST",
        "/get_auth_token",
        content=body,
        headers={"Content-Type": kind, "Accept-Language": "fr"},
    )
    assert french.json() != answer.json()


async def test_body_larger_than_its_content_length_is_refused(service: Service) -> None:
    async def chunks() -> Any:
        for _ in range(100):
            yield b"x" * 1000

    answer = await service.request(
        "POST", "/get_auth_token", content=chunks(), headers={"Content-Type": "text/plain"}
    )
    assert answer.status_code == 413


async def test_repeated_headers(service: Service) -> None:
    for name in ("Authorization", "Host", "Idempotency-Key"):
        headers = [(name, "127.0.0.1"), (name, "127.0.0.1")]
        answer = await service.client.request("GET", LIST, headers=headers)
        assert answer.status_code == 400
    joined = await service.client.request(
        "GET", LIST, headers=[("Accept-Language", "de"), ("Accept-Language", "fr")]
    )
    assert joined.headers["Content-Language"] == "fr"


async def test_ignored_parameters_are_listed_in_a_header(service: Service) -> None:
    answer = await service.get(f"{LIST}?search=x&q=a%0d%0aSet-Cookie:x&%C3%A9=1&limit=5")
    assert answer.status_code == 200
    assert answer.headers["Fieldgate-Ignored"] == "search, q, %C3%A9"
    assert "Fieldgate-Ignored" not in (await service.get(f"{LIST}?limit=5&format=json")).headers
    many = await service.get(LIST + "?" + "&".join("x" * 200 + f"{n}=1" for n in range(100)))
    assert len(many.headers["Fieldgate-Ignored"]) < 2000


async def test_strict_handling_is_confirmed(service: Service) -> None:
    answer = await service.get(f"{LIST}?limit=5", headers={"Prefer": "handling=strict"})
    assert answer.status_code == 200
    assert answer.headers["Preference-Applied"] == "handling=strict"


async def test_basic_credentials_with_odd_characters(service: Service) -> None:
    username, _ = await service.create_user("Émile@field.example")
    answer = await service.get(LIST, auth=httpx.BasicAuth(username, PASSWORD))
    assert answer.status_code == 200


async def test_first_handling_preference_wins(service: Service) -> None:
    answer = await service.get(
        f"{LIST}?zzz=1", headers={"Prefer": "handling=lenient, handling=strict"}
    )
    assert answer.status_code == 200
    assert "Preference-Applied" not in answer.headers
