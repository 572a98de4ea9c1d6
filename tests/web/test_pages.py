"""HTML pages: content, login and security headers."""

import re
from html import unescape
from pathlib import Path
from typing import Annotated

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from msgspec import Meta, json

from fieldgate import web
from fieldgate.http.operations import Routes
from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.http.response.responses import HTML_CSP
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.web.json_html import render_json
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD, create_session, is_revoked
from tests.web.page_client import PageClient

LIST = "/api/v2/permissions/"
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
def test_rendered_json_is_the_same_json(value: object) -> None:
    assert _read_back(json.encode(value)) == json.decode(json.encode(value))


def _read_back(body: bytes) -> object:
    return json.decode(unescape(re.sub(r"<[^>]*>", "", str(render_json(json.decode(body))))))


@pytest.mark.parametrize("levels", [1, 50, 51, 500])
def test_deeply_nested_json_is_rendered(levels: int) -> None:
    body = b"[" * levels + b"]" * levels
    assert json.encode(_read_back(body)) == body


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)"]
)
def test_json_is_escaped(text: str) -> None:
    shown = render_json({text: [text, f"https://x/{text}"]})
    assert isinstance(shown, Markup)
    assert "<script" not in shown
    assert "<img" not in shown
    assert 'href="javascript' not in shown


def test_no_template_turns_escaping_off() -> None:
    templates = sorted((Path(web.__file__).parent / "templates").rglob("*.html"))
    assert len(templates) > 50
    for path in templates:
        assert not re.search(r"\|\s*safe\b|autoescape", path.read_text()), path


class Long(msgspec.Struct):
    texts: Annotated[list[str], Meta(description="Texts.")]


@pytest.mark.parametrize(("count", "is_cut"), [(3, False), (5, True), (3_000, True)])
async def test_large_response_is_truncated(start: StartService, count: int, is_cut: bool) -> None:
    @Routes(tag="x", scope=Scope.NONE).get(
        "/long/", response=Long, title=Message("x"), description=Message("x")
    )
    async def long() -> Long:
        return Long([f"{number:01000}" for number in range(count)])

    async with start(long) as service:
        page = (await service.get("/long/?format=api")).text
        assert f"{2:01000}" in page
        assert (f"{count - 1:01000}" in page) != is_cut
        assert ("Only the beginning is shown." in page) == is_cut
        assert ('<a href="?format=json">All of it as JSON</a>' in page) == is_cut
        assert len(page) < 20_000
        assert len((await service.get("/long/?format=json")).json()["texts"]) == count


async def test_content_security_policy(service: Service) -> None:
    for path in (
        f"{LIST}?format=api",
        "/",
        "/login/",
        "/api/v2/?format=api",
        "/api-docs/swagger-ui/",
    ):
        answer = await service.get(path)
        assert answer.status_code == 200
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe-eval" not in policy
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", answer.text)
        assert not re.search(r'(?:src|href)="https?://(?!127\.0\.0\.1:8000/)', answer.text), (
            "nothing from elsewhere"
        )


async def test_language_switch_is_for_pages_only(service: Service) -> None:
    switch = await service.get("/language/ar/?next=/api/v2/permissions/%3Fformat%3Dapi")
    assert (switch.status_code, switch.headers["Location"]) == (
        303,
        "/api/v2/permissions/?format=api",
    )
    cookie = switch.headers["Set-Cookie"].split(";")[0]
    service.client.cookies.clear()
    page = await service.get(
        f"{LIST}?format=api", headers={"Cookie": cookie, "Accept-Language": "fr"}
    )
    assert page.headers["Content-Language"] == "ar"
    data = await service.get(LIST, headers={"Cookie": cookie, "Accept-Language": "fr"})
    assert data.headers["Content-Language"] == "fr"
    assert (await service.get("/language/de/")).status_code == 404


async def log_in(
    service: Service, username: str, password: str = PASSWORD, **headers: str
) -> httpx.Response:
    body = {"username": username, "password": password, "next": "/api/v2/?format=api"}
    answer = await service.client.post("/login/", data=body, headers=headers)
    service.client.cookies.clear()
    return answer


async def test_login_and_logout(service: Service) -> None:
    username, _ = await service.create_user()
    answer = await log_in(service, username, Origin=BASE_URL)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/api/v2/?format=api")
    set_cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in set_cookie
    assert "SameSite=Lax" in set_cookie
    assert "Secure" not in set_cookie, "over plain http it would not come back"
    cookie = set_cookie.split(";")[0]
    page = await service.get(f"{LIST}?format=api", headers={"Cookie": cookie})
    assert f"<bdi>{username}</bdi>" in page.text
    csrf = re.search(r'name="csrf_token" value="(\w+)"', page.text)
    assert csrf
    forged = await service.client.post(
        "/logout/", data={"csrf_token": "x"}, headers={"Cookie": cookie}
    )
    assert forged.status_code == 403
    out = await service.client.post(
        "/logout/", data={"csrf_token": csrf[1]}, headers={"Cookie": cookie}
    )
    assert out.status_code == 303
    service.client.cookies.clear()
    assert (
        username not in (await service.get(f"{LIST}?format=api", headers={"Cookie": cookie})).text
    )
    assert is_revoked(service, cookie.split("=")[1])


async def test_session_cookie_is_secure_behind_https(start: StartService) -> None:
    async with start(
        base_url="https://field.example/gate", allowed_hosts=("field.example", "127.0.0.1")
    ) as service:
        username, _ = await service.create_user()
        answer = await log_in(service, username, Origin="https://field.example")
        assert answer.headers["Location"] == "/gate/api/v2/?format=api"
        assert "Secure" in answer.headers["Set-Cookie"]
        assert "Path=/gate/" in answer.headers["Set-Cookie"]


async def test_pages_are_not_shared_between_users(service: Service) -> None:
    username, number = await service.create_user()
    session = create_session(service, number)
    known = await service.get(
        f"{LIST}?format=api", headers={"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    )
    public = await service.get(f"{LIST}?format=api")
    assert username in known.text
    assert username not in public.text
    assert known.headers["ETag"] != public.headers["ETag"]
    assert known.headers["Cache-Control"] == "private, no-cache"
    assert {"Cookie", "Authorization"} <= set(known.headers["Vary"].split(", "))


async def test_static_files_are_immutable(service: Service) -> None:
    page = (await service.get("/")).text
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        answer = await service.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert (await service.get(address.replace("/static/", "/static/x"))).status_code == 404


async def test_index_of_endpoints(service: Service) -> None:
    names = [
        "assets",
        "country",
        "disaster_type",
        "event",
        "imports",
        "permissions",
        "region",
        "teams",
        "users",
    ]
    names += [
        "access-logs",
        "audit-logs",
        "project-history-logs",
        "permission-assignments",
        "service-accounts",
    ]
    paths = {name: f"{BASE_URL}/api/v2/{name}/" for name in names}
    nested = (
        "access-logs/me",
        "assets/deleted",
        "permission-assignments/suggestions",
        "project-ownership/invites",
    )
    paths |= {path.replace("/", "-"): f"{BASE_URL}/api/v2/{path}/" for path in nested}
    paths |= {
        f"account-{name}": f"{BASE_URL}/api/v2/account/{name}/"
        for name in ("identities", "sessions", "tokens")
    }
    paths |= {f"event-{name}": f"{BASE_URL}/api/v2/event/{name}/" for name in ("deleted", "mini")}
    paths["assets-deleted"] = f"{BASE_URL}/api/v2/assets/deleted/"
    assert (await service.get("/api/v2/")).json() == paths
    index = (await service.get("/api/v2/?format=json")).json()
    assert index == {name: f"{path}?format=json" for name, path in paths.items()}


PATH = "/api-docs/swagger-ui/"


async def test_csrf_token_is_in_the_page_of_a_session_only(service: Service) -> None:
    _, user_id = await service.create_user()
    client = await PageClient.logged_in(service, user_id)
    for page, length in (
        (await client.get(PATH), len(client.csrf_token)),
        (await service.get(PATH), 0),
    ):
        assert re.search(rf'data-csrf-token="\w{{{length}}}"', page.text)
        assert page.headers["Content-Security-Policy"].encode() == HTML_CSP[1], (
            "as strict as for all pages"
        )
        assert page.headers["Cache-Control"] == "private, no-cache"
