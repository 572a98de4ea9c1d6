"""Login, the account page and the page behind a one-time link: forms, secrets and sessions."""

import re
from html import unescape

import httpx
import pytest

from fieldgate.accounts.login_throttle import PAIR_POLICY
from fieldgate.http.request.authentication import SESSION_COOKIE
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD, create_invitation, create_session
from tests.web.page_client import PageClient, visible_text

PAGE = {"Accept": "text/html"}
ACCOUNT = "/account/"
NEW_PASSWORD = "battery staple"
HOSTILE = '"><script>alert(1)</script>'


async def log_in(
    service: Service, headers: dict[str, str] | None = None, /, **fields: str
) -> httpx.Response:
    answer = await service.client.post(
        "/login/", data=fields, headers={**PAGE, "Origin": BASE_URL, **(headers or {})}
    )
    service.client.cookies.clear()
    return answer


def session_of(answer: httpx.Response) -> str:
    found = re.search(rf"{SESSION_COOKIE.decode()}=(\w+)", answer.headers["Set-Cookie"])
    assert found
    return found[1]


async def is_live(service: Service, session: str) -> bool:
    cookie = {"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    return (await service.get("/me/", headers=cookie)).status_code == 200


# Login


async def test_wrong_password_is_reported_next_to_the_field(service: Service) -> None:
    username, _ = await service.create_user()
    answer = await log_in(service, username=username, password="wrong", next="/account/")
    assert answer.status_code == 401
    assert 'id="login-password-error"' in answer.text
    assert 'href="#login-password"' in answer.text
    assert re.search(rf'id="login-username"[^>]*value="{username}"', answer.text)
    assert not re.search(r'id="login-password"[^>]*value=', answer.text)
    assert 'name="next" value="/account/"' in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("long_throttle_waits")
async def test_login_form_is_throttled(start: StartService) -> None:
    async with start() as service:
        username, _ = await service.create_user()
        for _ in range(PAIR_POLICY.free_failures):
            assert (await log_in(service, username=username, password="wrong")).status_code == 401
        answer = await log_in(service, username=username, password=PASSWORD)
        assert answer.status_code == 429
        assert "Retry-After" in answer.headers
        assert "Too many failed attempts to log in." in visible_text(answer.text)


async def test_session_changes_at_login(service: Service) -> None:
    """A session that somebody planted or knows is worth nothing after the login."""
    username, user_id = await service.create_user()
    former = create_session(service, user_id)
    other = create_session(service, user_id)
    cookie = {"Cookie": f"{SESSION_COOKIE.decode()}={former}"}
    failed = await log_in(service, cookie, username=username, password="wrong")
    assert failed.status_code == 401
    assert await is_live(service, former)
    session = session_of(await log_in(service, cookie, username=username, password=PASSWORD))
    assert session != former
    assert [await is_live(service, each) for each in (former, session, other)] == [
        False,
        True,
        True,
    ]
    planted = session_of(
        await log_in(
            service,
            {"Cookie": f"{SESSION_COOKIE.decode()}=chosen"},
            username=username,
            password=PASSWORD,
        )
    )
    assert planted != "chosen"
    assert not await is_live(service, "chosen")


TARGETS = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https://evil.example",
    "HTTP://evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "evil.example",
    " //evil.example",
    "\t//evil.example",
    "/\t/evil.example",
    "/\r\n/evil.example",
    "/\x00/evil.example",
    "\u00a0//evil.example",
    "/\u2028/evil.example",
    "",
]


@pytest.mark.parametrize("target", TARGETS)
async def test_next_never_leaves_the_site(service: Service, target: str) -> None:
    username, _ = await service.create_user()
    answer = await log_in(service, username=username, password=PASSWORD, next=target)
    if answer.status_code == 400:  # characters that no form field may have
        assert "\x00" in target
        return
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


@pytest.mark.parametrize(
    "target",
    [
        "/%2F/evil.example",
        "/%5Cevil.example",
        "/@evil.example",
        "/.//evil.example",
        "/a\\..\\evil",
        "/?next=//evil",
    ],
)
async def test_strange_paths_stay_on_the_site(service: Service, target: str) -> None:
    username, _ = await service.create_user()
    answer = await log_in(service, username=username, password=PASSWORD, next=target)
    location = answer.headers["Location"]
    assert httpx.URL(BASE_URL + "/login/").join(location).host == "127.0.0.1"
    assert location.startswith("/")
    assert not location.startswith("//")
    assert "\\" not in location


# The account page


async def test_token_is_shown_once_and_revoked(service: Service) -> None:
    _, user_id = await service.create_user()
    client = await PageClient.logged_in(service, user_id)
    page = await client.submit(ACCOUNT, "create-token", {"name": HOSTILE, "lifetime_days": "30"})
    assert page.status_code == 200
    assert page.headers["Cache-Control"] == "no-store"
    assert "<script>alert" not in page.text
    [token] = re.findall(r"fgt_\w{40}", page.text)
    accepted = await service.get("/api/v2/account/", headers={"Authorization": f"Token {token}"})
    assert accepted.status_code == 200
    again = await client.get(ACCOUNT)
    assert token not in again.text
    assert HOSTILE in unescape(again.text)
    [token_id] = re.findall(r'name="id" value="(\d+)"', again.text)
    done = await client.submit_and_follow(ACCOUNT, "revoke", {"id": token_id, "name": HOSTILE})
    assert 'class="notice"' in done.text
    assert "<script>alert" not in done.text
    refused = await service.get("/api/v2/account/", headers={"Authorization": f"Token {token}"})
    assert refused.status_code == 401


async def test_token_with_limits(service: Service) -> None:
    _, user_id = await service.create_user()
    client = await PageClient.logged_in(service, user_id)
    fields = {
        "name": "Dashboard",
        "lifetime_days": "30",
        "scopes": "read",
        "networks": "127.0.0.0/8, 192.0.2.1",
    }
    page = await client.submit(ACCOUNT, "create-token", {**fields, "networks": "here"})
    assert page.status_code == 400
    assert 'id="create-token-networks-error"' in page.text
    page = await client.submit(ACCOUNT, "create-token", fields)
    [token] = re.findall(r"fgt_\w{40}", page.text)
    headers = {"Authorization": f"Token {token}"}
    assert (await service.get("/api/v2/assets/", headers=headers)).status_code == 200
    assert (
        await service.request("POST", "/api/v2/assets/", json={"name": "x"}, headers=headers)
    ).status_code == 403
    assert "read, 127.0.0.0/8, 192.0.2.1/32" in visible_text((await client.get(ACCOUNT)).text)


async def test_reload_creates_no_second_token(service: Service) -> None:
    _, user_id = await service.create_user()
    client = await PageClient.logged_in(service, user_id)
    page, fields = await client.get(ACCOUNT), {"name": "Power BI", "lifetime_days": "30"}
    created = await client.submit_from(page, ACCOUNT, "create-token", fields)
    [token] = re.findall(r"fgt_\w{40}", created.text)
    reloaded = await client.submit_from(page, ACCOUNT, "create-token", fields)
    assert reloaded.status_code == 400
    assert "This form was sent before, so nothing was done this time" in visible_text(reloaded.text)
    assert 'value="Power BI"' in reloaded.text
    assert not re.search(r"fgt_\w{40}", reloaded.text)
    assert (await client.get("/api/v2/account/tokens/?format=json")).json()["count"] == 1
    # Nothing that the browser keeps or that is logged has the secret.
    assert token not in str(created.headers) + str(reloaded.headers) + str(created.url)
    another = await client.submit_from(created, ACCOUNT, "create-token", {**fields, "name": "R"})
    assert another.status_code == 200, "the page with the secret has a new form"


async def test_password_form(service: Service) -> None:
    username, user_id = await service.create_user()
    client, other = (
        await PageClient.logged_in(service, user_id),
        await PageClient.logged_in(service, user_id),
    )
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD, "repeated": NEW_PASSWORD}
    for changes, field in (
        ({"repeated": "other"}, "repeated"),
        ({"current_password": "wrong"}, "current_password"),
        ({"new_password": "short", "repeated": "short"}, "new_password"),
    ):
        page = await client.submit(ACCOUNT, "password", {**fields, **changes})
        assert page.status_code == 400
        assert f'id="password-{field}-error"' in page.text
        assert NEW_PASSWORD not in page.text
    assert (await other.get(ACCOUNT)).status_code == 200
    done = await client.submit_and_follow(ACCOUNT, "password", fields)
    assert "Your password was changed, and 1 other session ended." in visible_text(done.text)
    assert (await other.get(ACCOUNT)).status_code == 401
    assert (await log_in(service, username=username, password=NEW_PASSWORD)).status_code == 303


# One-time links


async def use_link(
    service: Service, path: str, password: str = NEW_PASSWORD, **headers: str
) -> httpx.Response:
    fields = {"password": password, "repeated": password}
    answer = await service.client.post(
        path, data=fields, headers={**PAGE, "Origin": "null", **headers}
    )
    service.client.cookies.clear()
    return answer


async def test_link_sets_a_password_once(service: Service) -> None:
    username, user_id = await service.create_user()
    session = create_session(service, user_id)
    path = create_invitation(service, user_id)
    for _ in range(2):  # programs that preview links do not use them up
        page = await service.get(path, headers=PAGE)
        assert page.status_code == 200
        assert f'value="{username}"' in page.text
        assert (page.headers["Referrer-Policy"], page.headers["Cache-Control"]) == (
            "no-referrer",
            "no-store",
        )
    short = await use_link(service, path, "short")
    assert short.status_code == 400
    assert 'id="invitation-password-error"' in short.text
    assert short.headers["Referrer-Policy"] == "no-referrer"
    done = await use_link(service, path)
    assert (done.status_code, done.headers["Location"]) == (303, f"/login/?username={username}")
    assert not await is_live(service, session)
    assert (await log_in(service, username=username, password=NEW_PASSWORD)).status_code == 303
    for used in (
        await service.get(path, headers=PAGE),
        await use_link(service, path, "another password"),
    ):
        assert used.status_code == 404
        assert "This link is not valid any more" in used.text
        assert username not in used.text
        assert (used.headers["Referrer-Policy"], used.headers["Cache-Control"]) == (
            "no-referrer",
            "no-store",
        )
    assert (
        await log_in(service, username=username, password="another password")
    ).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_link_is_not_used_from_another_site(
    service: Service, headers: dict[str, str]
) -> None:
    _, user_id = await service.create_user()
    path = create_invitation(service, user_id)
    assert (await use_link(service, path, **headers)).status_code == 403
    assert (await use_link(service, path)).status_code == 303


async def test_links_are_not_in_the_access_log(
    start: StartService, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    async with start(access_log=True) as service:
        _, user_id = await service.create_user()
        path = create_invitation(service, user_id)
        await service.get(path, headers=PAGE)
        await use_link(service, path)
        log = capfdbinary.readouterr().err
        assert log.count(b'"path":"/invitation/{secret}/"') == 2
        assert b"fgi_" not in log
