"""Who can use a password: the login page, Basic, `/token/` and `/get_auth_token` follow one setting."""

import re

import httpx
import pytest

from fieldgate.accounts.authentication import WRONG_OR_NOT_ALLOWED
from fieldgate.providers import Provider
from fieldgate.settings import PasswordLogin
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD, create_token
from tests.web.page_client import PageClient, visible_text

PROVIDER = Provider(
    id="ngo", name="Red Cross account", issuer="https://login.example", client_id="x"
)
SWITCHED_OFF = "Passwords are switched off here. Log in with single sign-on, or use a token."
ONLY_SUPERUSERS = WRONG_OR_NOT_ALLOWED.text
WRONG = "The username or password is incorrect."


async def on_login_page(service: Service, username: str, password: str) -> httpx.Response:
    return await PageClient(service)._send(
        "POST", "/login/", data={"username": username, "password": password}
    )


async def with_basic(service: Service, username: str, password: str) -> httpx.Response:
    return await service.get("/me/", auth=(username, password))


async def token_by_get(service: Service, username: str, password: str) -> httpx.Response:
    return await service.get("/token/", auth=(username, password))


async def token_by_post(service: Service, username: str, password: str) -> httpx.Response:
    return await service.request("POST", "/token/", auth=(username, password))


async def get_auth_token(service: Service, username: str, password: str) -> httpx.Response:
    return await service.request(
        "POST", "/get_auth_token", json={"username": username, "password": password}
    )


WAYS = (on_login_page, with_basic, token_by_get, token_by_post, get_auth_token)


@pytest.mark.parametrize(
    ("value", "allowed", "refusal"),
    [
        (PasswordLogin.ALL, {"amina", "root"}, WRONG),
        (PasswordLogin.SUPERUSERS, {"root"}, ONLY_SUPERUSERS),
        (PasswordLogin.NONE, set(), SWITCHED_OFF),
    ],
)
@pytest.mark.usefixtures("long_throttle_waits")
async def test_every_way_follows_the_setting(
    start: StartService, value: PasswordLogin, allowed: set[str], refusal: str
) -> None:
    async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
        await service.create_user("amina")
        await service.create_user("root", is_superuser=True)
        for way in WAYS:
            for username in ("amina", "root"):
                answer = await way(service, username, PASSWORD)
                assert (answer.status_code < 400) is (username in allowed), (way, username)
                if username not in allowed:
                    assert refusal in visible_text(answer.text), (way, answer.text)
                    assert "Set-Cookie" not in answer.headers
        wrong = [visible_text((await way(service, "amina", "wrong")).text) for way in WAYS]
        assert all(refusal in text for text in wrong), wrong


@pytest.mark.parametrize("value", [PasswordLogin.SUPERUSERS, PasswordLogin.NONE])
async def test_tokens_and_sessions_through_a_provider_work(
    start: StartService, value: PasswordLogin
) -> None:
    async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
        _, user_id = await service.create_user("amina")
        token = create_token(service, user_id)
        assert (
            await service.get("/me/", headers={"Authorization": f"Token {token}"})
        ).status_code == 200
        page = await PageClient.logged_in(service, user_id, provider="ngo")
        assert (await page.get("/account/")).status_code == 200


@pytest.mark.parametrize(
    ("value", "with_password"),
    [
        (PasswordLogin.ALL, {"amina", "root"}),
        (PasswordLogin.SUPERUSERS, {"root"}),
        (PasswordLogin.NONE, set()),
    ],
)
async def test_sessions_are_for_those_who_could_log_in_the_same_way(
    start: StartService, value: PasswordLogin, with_password: set[str]
) -> None:
    async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
        for username in ("amina", "root"):
            _, user_id = await service.create_user(username, is_superuser=username == "root")
            for provider, is_accepted in (
                ("", username in with_password),
                ("ngo", True),
                ("removed", False),
            ):
                page = await PageClient.logged_in(service, user_id, provider=provider)
                assert (await page.get("/account/")).status_code == (200 if is_accepted else 401), (
                    username,
                    provider,
                )


async def test_a_session_with_a_password_ends_with_the_rights_to_use_one(
    start: StartService,
) -> None:
    async with start(
        base_url=BASE_URL, sign_on=(PROVIDER,), password_login=PasswordLogin.SUPERUSERS
    ) as service:
        await service.create_user("root", is_superuser=True)
        _, user_id = await service.create_user("sara", is_superuser=True)
        page = await PageClient.logged_in(service, user_id)
        assert (await page.get("/account/")).status_code == 200
        body = {"is_superuser": False}
        await service.request("PATCH", "/api/v2/users/sara/", json=body, auth=("root", PASSWORD))
        assert (await page.get("/account/")).status_code == 401


async def test_a_password_that_was_right_is_of_no_use_after_the_rights(start: StartService) -> None:
    """Correct passwords are kept in memory; who is no superuser any more cannot use one."""
    async with start(
        base_url=BASE_URL, sign_on=(PROVIDER,), password_login=PasswordLogin.SUPERUSERS
    ) as service:
        await service.create_user("root", is_superuser=True)
        await service.create_user("sara", is_superuser=True)
        assert (await with_basic(service, "sara", PASSWORD)).status_code == 200
        body = {"is_superuser": False}
        answer = await service.request(
            "PATCH", "/api/v2/users/sara/", json=body, auth=("root", PASSWORD)
        )
        assert answer.status_code == 200
        assert (await with_basic(service, "sara", PASSWORD)).status_code == 401


async def test_pages_offer_what_works(start: StartService) -> None:
    for value, has_form in (
        (PasswordLogin.ALL, True),
        (PasswordLogin.SUPERUSERS, True),
        (PasswordLogin.NONE, False),
    ):
        async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
            page = await PageClient(service).get("/login/")
            assert ('name="password"' in page.text) is has_form
            text = visible_text(page.text)
            assert ("Only superusers can log in with a password." in text) is (
                value is PasswordLogin.SUPERUSERS
            )
            assert ("password forgotten?" in text) is (value is PasswordLogin.ALL)
            assert ("No account? Ask the operator" in text) is (value is not PasswordLogin.ALL)
            assert "Log in with Red Cross account" in visible_text(page.text)
            # A link: the browser would not follow the redirect of a form to another site.
            assert re.search(r'<a [^>]*href="/login/ngo/\?next=/"', page.text)
            assert "form-action 'self'" in page.headers["Content-Security-Policy"]
            for is_superuser in (False, True):
                _, user_id = await service.create_user(is_superuser=is_superuser)
                account = await (await PageClient.logged_in(service, user_id, provider="ngo")).get(
                    "/account/"
                )
                assert ('name="new_password"' in account.text) is value.allows(
                    is_superuser=is_superuser
                )


async def test_without_a_provider_nothing_is_offered(service: Service) -> None:
    page = await PageClient(service).get("/login/")
    assert "Log in with" not in visible_text(page.text)
    _, user_id = await service.create_user()
    account = await (await PageClient.logged_in(service, user_id)).get("/account/")
    assert "Single sign-on" not in visible_text(account.text)
