"""A token as the password of Basic credentials, which is all that spreadsheets and dashboards can store."""

import secrets

import httpx
import pytest

from fieldgate.accounts.login_throttle import PAIR_POLICY
from fieldgate.accounts.store import new_token
from fieldgate.providers import Provider
from fieldgate.settings import LOOPBACK, PasswordLogin
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import (
    PASSWORD,
    create_invitation,
    create_session,
    create_token,
    disable_user,
    revoke_token,
    tokens_of,
)

ME = "/me/"
PROVIDER = Provider(
    id="ngo", name="Red Cross account", issuer="https://login.example", client_id="x"
)


async def read(service: Service, username: str, token: str, path: str = ME) -> httpx.Response:
    return await service.get(path, auth=(username, token))


@pytest.mark.parametrize("value", list(PasswordLogin))
async def test_a_token_works_whoever_may_use_passwords(
    start: StartService, value: PasswordLogin
) -> None:
    async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
        username, user_id = await service.create_user()
        token = create_token(service, user_id)
        for name in (username, username.upper()):
            answer = await read(service, name, token)
            assert (answer.status_code, answer.json().get("username")) == (200, username)
        asset = await service.request(
            "POST", "/api/v2/assets/", auth=(username, token), json={"name": "Survey"}
        )
        assert asset.status_code == 201


async def test_a_service_account_has_no_password_but_tokens(service: Service) -> None:
    _, owner_id = await service.create_user()
    username, user_id = await service.create_user(
        f"dashboard_{secrets.token_hex(4)}", owner_id=owner_id
    )
    assert (await read(service, username, create_token(service, user_id))).status_code == 200


@pytest.mark.usefixtures("long_throttle_waits")
async def test_the_answer_does_not_say_what_was_wrong(start: StartService) -> None:
    async with start() as service:
        username, user_id = await service.create_user()
        other, other_id = await service.create_user()
        wrong = [
            (username, new_token()),
            (username, create_token(service, other_id)),
            (username, create_token(service, other_id, networks=("192.0.2.0/24",))),
            ("nobody", create_token(service, user_id)),
            ("", create_token(service, user_id)),
            (username, create_session(service, user_id)),
        ]
        answers = [await read(service, *credentials) for credentials in wrong]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.text for answer in answers}) == 1
        assert "token" in answers[0].json()["detail"]
        assert (await read(service, other, create_token(service, other_id))).status_code == 200


async def test_revocation_expiry_and_disabled_users_hold_at_once(start: StartService) -> None:
    async with start() as service:
        username, user_id = await service.create_user()
        revoked, token = [create_token(service, user_id) for _ in range(2)]
        assert (await read(service, username, revoked)).status_code == 200
        revoke_token(service, revoked)
        assert (await read(service, username, revoked)).status_code == 401
        assert (await read(service, username, token)).status_code == 200
        await disable_user(service, username)
        assert (await read(service, username, token)).status_code == 401


async def test_scopes_assets_and_networks_hold(start: StartService) -> None:
    async with start(trusted_proxies=LOOPBACK) as service:
        username, user_id = await service.create_user()
        forms = []
        for name in ("Survey", "Visit"):
            body = {"name": name}
            created = await service.request(
                "POST", "/api/v2/assets/", auth=(username, PASSWORD), json=body
            )
            forms.append(created.json()["uid"])
        token = create_token(
            service, user_id, scopes=["read"], assets=forms[:1], networks=["192.0.2.0/24"]
        )
        assert (await read(service, username, token, "/api/v2/assets/")).status_code == 403
        here = {"X-Forwarded-For": "192.0.2.7"}
        for uid, status in zip(forms, (200, 404), strict=True):
            answer = await service.get(
                f"/api/v2/assets/{uid}/", auth=(username, token), headers=here
            )
            assert answer.status_code == status
        path = f"/api/v2/assets/{forms[0]}/"
        change = await service.request(
            "PATCH", path, auth=(username, token), headers=here, json={"name": "x"}
        )
        assert change.status_code == 403
        assert "imports" in change.json()["detail"]


async def test_a_token_gets_no_other_credentials(service: Service) -> None:
    """Otherwise a limited token could be exchanged for one without limits."""
    username, user_id = await service.create_user()
    for scopes in (["all"], ["read"]):
        auth = (username, create_token(service, user_id, scopes=scopes))
        for method, path in (
            ("GET", "/token/"),
            ("POST", "/token/"),
            ("POST", "/api/v2/account/tokens/"),
        ):
            answer = await service.request(
                method, path, auth=auth, json={"name": "x"} if "account" in path else None
            )
            assert answer.status_code == 403, (method, path, answer.text)
    body = {"username": username, "password": auth[1]}
    assert (await service.request("POST", "/get_auth_token", json=body)).status_code == 400
    assert len(tokens_of(service, user_id)) == 2


@pytest.mark.usefixtures("long_throttle_waits")
@pytest.mark.parametrize("value", [PasswordLogin.ALL, PasswordLogin.NONE])
async def test_wrong_tokens_count_as_failed_logins(
    start: StartService, value: PasswordLogin
) -> None:
    async with start(base_url=BASE_URL, sign_on=(PROVIDER,), password_login=value) as service:
        username, user_id = await service.create_user()
        token = create_token(service, user_id)
        statuses = [(await read(service, username, new_token())).status_code for _ in range(12)]
        assert statuses == [401] * PAIR_POLICY.free_failures + [429] * 2
        assert (await read(service, username, token)).status_code == 200, (
            "valid tokens are not slowed down"
        )
        if value is PasswordLogin.ALL:
            assert (await read(service, username, PASSWORD)).status_code == 429


async def test_no_password_can_look_like_a_token(service: Service) -> None:
    """Basic credentials would take it for one, and it would never work there."""
    admin, _ = await service.create_user(is_superuser=True)
    username, user_id = await service.create_user()
    link = create_invitation(service, user_id)
    password = new_token()
    auth = (username, PASSWORD)
    texts = set()
    for language in ("en", "fr", "ar", "es"):
        answer = await service.request(
            "POST",
            "/api/v2/account/password/",
            auth=auth,
            headers={"Accept-Language": language},
            json={"current_password": PASSWORD, "new_password": password},
        )
        assert answer.status_code == 400
        [text] = answer.json()["new_password"]
        texts.add(text)
    assert len(texts) == 4
    created = await service.request(
        "POST",
        "/api/v2/users/",
        auth=(admin, PASSWORD),
        json={"username": "wash_team", "password": password},
    )
    assert (created.status_code, list(created.json())) == (400, ["password"])
    invited = await service.client.post(link, data={"password": password, "repeated": password})
    assert "form of a token" in invited.text
    assert (await read(service, username, PASSWORD)).status_code == 200
