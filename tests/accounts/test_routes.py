"""`/token/`, `/get_auth_token`, and requests with the tokens they return."""

import base64
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from fieldgate.accounts.login_throttle import PAIR_POLICY, USER_POLICY
from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.identity import csrf_token
from fieldgate.settings import LOOPBACK
from tests.conftest import Service, StartService
from tests.data.accounts import (
    FAST_HASHER,
    PASSWORD,
    create_session,
    create_token,
    disable_user,
    revoke_token,
    tokens_of,
)

LIST = "/api/v2/permissions/"


def basic(username: str, password: str = PASSWORD) -> httpx.BasicAuth:
    return httpx.BasicAuth(username, password)


async def is_accepted(service: Service, token: str) -> bool:
    return (await service.get(LIST, headers={"Authorization": f"Token {token}"})).status_code == 200


@pytest.mark.parametrize(
    "scheme", ["Token {}", "Bearer {}", "token {}", "BEARER {}", "Token  {} ", "Token\t{}", "{}"]
)
async def test_ways_to_send_a_token(service: Service, scheme: str) -> None:
    token = await service.create_token()
    for path in (LIST, "/nowhere"):
        response = await service.get(path, headers={"Authorization": scheme.format(token)})
        assert response.status_code == (200 if path == LIST else 404)


async def test_get_and_post_return_a_new_token_each_time(service: Service) -> None:
    username, _ = await service.create_user()
    first = await service.client.get("/token/", auth=basic(username))
    second = await service.client.post("/token", auth=basic(username.upper()))
    assert (first.status_code, second.status_code) == (200, 201)
    issued = [first.json()["token"], second.json()["token"]]
    assert issued[0] != issued[1]
    assert [await is_accepted(service, token) for token in issued] == [True, True]
    for response in (first, second):
        assert response.headers["Cache-Control"] == "no-store"
        assert "ETag" not in response.headers
        assert list(response.json()) == ["token"]


async def test_token_cannot_be_used_to_get_a_token(service: Service) -> None:
    token = await service.create_token()
    for method in ("GET", "POST"):
        response = await service.request(
            method, "/token/", headers={"Authorization": f"Token {token}"}
        )
        assert response.status_code == 403
        assert "Basic" in response.json()["detail"]


async def test_delete_revokes_tokens_obtained_over_http(service: Service) -> None:
    username, number = await service.create_user()
    command = create_token(service, number)
    obtained = [
        (await service.client.get("/token/", auth=basic(username))).json()["token"]
        for _ in range(2)
    ]
    response = await service.request(
        "DELETE", "/token/", headers={"Authorization": f"Token {obtained[0]}"}
    )
    assert (response.status_code, response.content) == (204, b"")
    assert [await is_accepted(service, token) for token in obtained] == [False, False]
    assert await is_accepted(service, command)
    again = await service.client.delete("/token/", auth=basic(username))
    assert again.status_code == 404
    assert again.json() == {"detail": "There is no token to revoke."}


@pytest.mark.parametrize("body_kind", ["json", "data", "files"])
@pytest.mark.parametrize("path", ["/get_auth_token", "/get_auth_token/"])
async def test_get_auth_token(service: Service, body_kind: str, path: str) -> None:
    username, number = await service.create_user(first_name="Amina", last_name="Diallo")
    sent = {"username": username.upper(), "password": PASSWORD}
    body = {name: (None, value) for name, value in sent.items()} if body_kind == "files" else sent
    response = await service.client.post(path, **{body_kind: body})  # type: ignore[arg-type]
    assert response.status_code == 200
    record = response.json()
    assert list(record) == ["token", "username", "first", "last", "expires", "id"]
    assert (record["username"], record["first"], record["last"], record["id"]) == (
        username.upper(), "Amina", "Diallo", number,
    )  # fmt: skip
    expires = datetime.fromisoformat(record["expires"])
    assert record["expires"].endswith("Z")
    assert timedelta(days=364) < expires - datetime.now(UTC) < timedelta(days=366)
    assert await is_accepted(service, record["token"])


async def test_wrong_passwords(start: StartService) -> None:
    async with start() as service:
        username, _ = await service.create_user()
        bodies = []
        for name, password in ((username, "wrong"), ("nobody", PASSWORD), (username, "")):
            sent = {"username": name, "password": password}
            response = await service.client.post("/get_auth_token", json=sent)
            assert response.status_code == 400
            bodies.append(response.json())
            refused = await service.client.get("/token/", auth=basic(name, password))
            assert refused.status_code == 401
            assert refused.json() == response.json()
        assert all(list(body) == ["detail"] for body in bodies)
        assert bodies[0] == bodies[1] == bodies[2], (
            "the response does not reveal which of the two was wrong"
        )


async def test_revoked_token_and_disabled_user_are_refused_at_once(service: Service) -> None:
    username, number = await service.create_user()
    kept = create_token(service, number)
    gone = create_token(service, number)
    assert await is_accepted(service, gone)
    revoke_token(service, gone)
    assert not await is_accepted(service, gone)
    assert await is_accepted(service, kept)
    await disable_user(service, username)
    assert not await is_accepted(service, kept)
    assert (await service.client.get(LIST, auth=basic(username))).status_code == 401


async def test_session_needs_csrf_token_for_writes(service: Service) -> None:
    _, number = await service.create_user()
    session = create_session(service, number)
    cookie = {"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    without = await service.request("POST", "/token/", headers=cookie)
    assert without.status_code == 403
    wrong = await service.request("POST", "/token/", headers={**cookie, "X-CSRFToken": "x"})
    assert wrong.status_code == 403
    right = await service.request(
        "POST", "/token/", headers={**cookie, "X-CSRFToken": csrf_token(session)}
    )
    assert right.status_code == 201
    assert (await service.get("/token/", headers=cookie)).status_code == 403, (
        "a GET with a cookie must not create tokens"
    )
    assert not await is_accepted(service, session), "a session is not an API token"


async def test_head_creates_no_token(service: Service) -> None:
    username, user_id = await service.create_user()
    head = await service.client.head("/token/", auth=basic(username))
    assert head.status_code == 200
    assert tokens_of(service, user_id) == []
    assert (await service.client.get("/token/", auth=basic(username))).headers[
        "Content-Length"
    ] == head.headers["Content-Length"]


@pytest.mark.parametrize(
    "cookie",
    [
        "fieldgate_session=nonsense",
        "fieldgate_session=",
        "fieldgate_session",
        "a b=1; fieldgate_session=x; [=]",
        "fieldgate_session2=1",
    ],
)
async def test_invalid_session_is_anonymous(service: Service, cookie: str) -> None:
    assert (await service.get(LIST, headers={"Cookie": cookie})).status_code == 200


async def test_basic_credentials_in_latin_1_are_accepted(service: Service) -> None:
    """Some clients still send Basic credentials as Latin-1."""
    await service.create_user("rené", password_hash=FAST_HASHER.hash("déjà vu!"))
    for encoding in ("utf-8", "latin-1"):
        credentials = base64.b64encode("rené:déjà vu!".encode(encoding)).decode()
        response = await service.get(LIST, headers={"Authorization": f"Basic {credentials}"})
        assert response.status_code == 200


@pytest.mark.usefixtures("long_throttle_waits")
async def test_guesses_do_not_lock_the_user_out(start: StartService) -> None:
    async with start(trusted_proxies=LOOPBACK) as service:
        username, _ = await service.create_user()

        async def log_in(password: str, address: str) -> int:
            headers = {"X-Forwarded-For": address}
            fields = {"username": username, "password": password}
            return (
                await service.client.post("/get_auth_token", json=fields, headers=headers)
            ).status_code

        guesses = [await log_in("wrong", "192.0.2.66") for _ in range(12)]
        assert guesses == [400] * PAIR_POLICY.free_failures + [429] * 2
        assert await log_in(PASSWORD, "192.0.2.1") == 200
        assert await log_in(PASSWORD, "192.0.2.66") == 429
        for number in range(USER_POLICY.free_failures):
            await log_in("wrong", f"198.51.100.{number}")
        assert await log_in(PASSWORD, "198.51.100.1") == 429, (
            "an address that failed waits while a botnet guesses"
        )
        assert await log_in(PASSWORD, "192.0.2.2") == 200, "others do not"
        basic_client = await service.get(
            "/token/", auth=basic(username), headers={"X-Forwarded-For": "192.0.2.1"}
        )
        assert basic_client.status_code == 200
