"""`/api/v2/account/`: own tokens, sessions and password."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from fieldgate.accounts.login_throttle import PAIR_POLICY
from fieldgate.http.request.authentication import SESSION_COOKIE
from fieldgate.identity import csrf_token
from tests.conftest import BASE_URL, Service, StartService
from tests.data.accounts import PASSWORD, create_token

ACCOUNT = "/api/v2/account/"
TOKENS, SESSIONS, PASSWORD_PATH = f"{ACCOUNT}tokens/", f"{ACCOUNT}sessions/", f"{ACCOUNT}password/"
NEW_PASSWORD = "battery staple"


def with_token(token: str) -> dict[str, str]:
    return {"Authorization": f"Token {token}"}


async def in_session(service: Service, user_id: int) -> dict[str, str]:
    """Headers of a request in a new browser session, with its CSRF token."""
    session = create_token(
        service, user_id, issued_by="session", expires_at=datetime.now(UTC) + timedelta(days=1)
    )
    return {"Cookie": f"{SESSION_COOKIE.decode()}={session}", "X-CSRFToken": csrf_token(session)}


async def is_logged_in(service: Service, headers: dict[str, str]) -> bool:
    return (await service.get(ACCOUNT, headers=headers)).status_code == 200


async def test_account_of_the_caller(service: Service) -> None:
    username, user_id = await service.create_user(
        first_name="Amina", last_name="Diallo", countries=("KEN",)
    )
    headers = await in_session(service, user_id)
    answer = await service.get(ACCOUNT, headers=headers)
    record = answer.json()
    assert (record["username"], record["first_name"], record["countries"]) == (
        username,
        "Amina",
        ["KEN"],
    )
    assert record["user"] == f"{BASE_URL}/api/v2/users/{username}/"
    assert record["last_login"] is not None
    assert answer.headers["Cache-Control"] == "no-store"
    for path in (ACCOUNT, TOKENS, SESSIONS):
        assert (await service.get(path)).status_code == 401


async def test_token_is_created_listed_used_and_revoked(service: Service) -> None:
    _, user_id = await service.create_user()
    command = create_token(service, user_id)
    headers = await in_session(service, user_id)
    body = {"name": "  Power BI ", "lifetime_days": 7}
    created = await service.client.post(TOKENS, json=body, headers=headers)
    assert created.status_code == 201
    record = created.json()
    assert (record["name"], record["issued_by"], record["last_used"]) == ("Power BI", "http", None)
    lifetime = datetime.fromisoformat(record["expires"]) - datetime.fromisoformat(
        record["date_created"]
    )
    assert abs(lifetime - timedelta(days=7)) < timedelta(minutes=1)
    assert record["token"].startswith(record["prefix"])
    assert created.headers["Location"] == record["url"]
    assert created.headers["Cache-Control"] == "no-store"

    listed = (await service.get(TOKENS, headers=with_token(record["token"]))).json()
    assert [(each["name"], each["issued_by"], each["is_current"]) for each in listed["results"]] == [
        ("Power BI", "http", True), ("", "command", False),
    ]  # fmt: skip
    assert not {"token", "hash"} & set(listed["results"][0])
    assert record["token"] not in str(listed)

    assert (await service.request("DELETE", record["url"], headers=headers)).status_code == 204
    assert (await service.get(TOKENS, headers=with_token(record["token"]))).status_code == 401
    assert (await service.request("DELETE", record["url"], headers=headers)).status_code == 404
    assert (await service.get(TOKENS, headers=with_token(command))).json()["count"] == 1


async def test_token_cannot_create_a_token(service: Service) -> None:
    username, user_id = await service.create_user()
    token = create_token(service, user_id, issued_by="http")
    refused = await service.client.post(TOKENS, json={"name": "x"}, headers=with_token(token))
    assert refused.status_code == 403
    allowed = await service.client.post(
        TOKENS, json={"name": "x"}, auth=httpx.BasicAuth(username, PASSWORD)
    )
    assert allowed.status_code == 201


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "session"}, "name"),  # what the log calls other credentials
        ({"name": " Password"}, "name"),
        ({"name": "x", "lifetime_days": 0}, "lifetime_days"),
        ({"name": "x", "lifetime_days": 3651}, "lifetime_days"),
        ({"name": "x", "lifetime_days": "soon"}, "lifetime_days"),
        ({}, "name"),
    ],
)
async def test_invalid_tokens_are_not_created(
    service: Service, body: dict[str, Any], field: str
) -> None:
    _, user_id = await service.create_user()
    headers = await in_session(service, user_id)
    answer = await service.client.post(TOKENS, json=body, headers=headers)
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert (await service.get(TOKENS, headers=headers)).json()["count"] == 0


@pytest.mark.parametrize("token_id", ["0", "x", "-1", "٣", "99999999999999999999", "1 OR 1=1"])
async def test_tokens_of_others_and_unknown_ones_are_not_revoked(
    service: Service, token_id: str
) -> None:
    _, user_id = await service.create_user()
    other = await service.create_token()
    other_id = (await service.get(TOKENS, headers=with_token(other))).json()["results"][0]["id"]
    headers = await in_session(service, user_id)
    session_id = (await service.get(SESSIONS, headers=headers)).json()["results"][0]["id"]
    for number in (token_id, other_id, session_id):
        answer = await service.request("DELETE", f"{TOKENS}{number}/", headers=headers)
        assert answer.status_code == 404
    assert await is_logged_in(service, with_token(other))
    assert await is_logged_in(service, headers)


async def test_ending_all_other_sessions(service: Service) -> None:
    _, user_id = await service.create_user()
    sessions = [await in_session(service, user_id) for _ in range(3)]
    stranger = await in_session(service, (await service.create_user())[1])
    token = create_token(service, user_id, issued_by="http")
    listed = (await service.get(SESSIONS, headers=sessions[1])).json()["results"]
    assert [each["is_current"] for each in listed] == [False, True, False]
    assert (await service.request("DELETE", SESSIONS, headers=sessions[1])).status_code == 204
    assert [await is_logged_in(service, each) for each in sessions] == [False, True, False]
    assert await is_logged_in(service, stranger)
    assert await is_logged_in(service, with_token(token))


async def test_password_change_ends_other_sessions(service: Service) -> None:
    username, user_id = await service.create_user()
    sessions = [await in_session(service, user_id) for _ in range(2)]
    token = create_token(service, user_id, issued_by="http")
    body = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    answer = await service.client.post(PASSWORD_PATH, json=body, headers=sessions[0])
    assert (answer.status_code, answer.json()) == (200, {"sessions_ended": 1})
    assert [await is_logged_in(service, each) for each in sessions] == [True, False]
    assert await is_logged_in(service, with_token(token))
    for password, status in ((PASSWORD, 401), (NEW_PASSWORD, 200)):
        assert (
            await service.get(ACCOUNT, auth=httpx.BasicAuth(username, password))
        ).status_code == status


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [
        ("wrong password", NEW_PASSWORD, "current_password"),
        ("", NEW_PASSWORD, "current_password"),
        (PASSWORD, "short", "new_password"),
        (PASSWORD, PASSWORD, "new_password"),
    ],
)
async def test_refused_password_changes_nothing(
    service: Service, current: str, new: str, field: str
) -> None:
    username, user_id = await service.create_user()
    headers, other = await in_session(service, user_id), await in_session(service, user_id)
    body = {"current_password": current, "new_password": new}
    answer = await service.client.post(PASSWORD_PATH, json=body, headers=headers)
    assert (answer.status_code, list(answer.json())) == (400, [field])
    assert await is_logged_in(service, other)
    assert (await service.get(ACCOUNT, auth=httpx.BasicAuth(username, PASSWORD))).status_code == 200


@pytest.mark.usefixtures("long_throttle_waits")
async def test_guesses_of_the_current_password_are_throttled(start: StartService) -> None:
    async with start() as service:
        username, user_id = await service.create_user()
        headers = await in_session(service, user_id)
        body = {"current_password": "wrong password", "new_password": NEW_PASSWORD}
        for _ in range(PAIR_POLICY.free_failures):
            assert (
                await service.client.post(PASSWORD_PATH, json=body, headers=headers)
            ).status_code == 400
        right = {**body, "current_password": PASSWORD}
        refused = await service.client.post(PASSWORD_PATH, json=right, headers=headers)
        assert refused.status_code == 429
        assert "Retry-After" in refused.headers
        login = {"username": username, "password": PASSWORD}
        assert (await service.client.post("/get_auth_token", json=login)).status_code == 429
