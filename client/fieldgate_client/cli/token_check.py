"""Getting a token for a password, and checking a token, on any of the servers."""

from __future__ import annotations

from typing import Any

import msgspec

from fieldgate_client.client import Client
from fieldgate_client.connection import ConnectionOptions
from fieldgate_client.errors import (
    MAX_TEXT_CHARS,
    ConnectionFailed,
    FieldgateError,
    NotAuthenticated,
    NotFound,
    UnexpectedResponse,
    request_failed,
)
from fieldgate_client.retries import RetryPolicy

# A wrong token is refused everywhere. Which of these exist depends on the server.
_CHECKED_PATHS = ("account/", "permissions/", "event/")
_TIMEOUT_SECONDS = 60


def check_server(url: str, token: str, language: str = "") -> str:
    """Raise `NotAuthenticated` for a wrong token. Return the user name, if the server tells it."""
    options = ConnectionOptions(retries=RetryPolicy(attempts=2))
    with Client(url, token, language=language, options=options) as client:
        for path in _CHECKED_PATHS:
            try:
                found = client.get(path, limit=1)
            except NotFound:
                continue
            username = found.get("username") if isinstance(found, dict) else None
            return username if isinstance(username, str) else ""
    raise FieldgateError(f"{url} has none of the lists of Fieldgate, KoboToolbox or IFRC GO. Check the address.")


def exchange_password(url: str, username: str, password: str, language: str = "") -> str:
    """A token for a user name and password: `/token/` of Fieldgate and KoboToolbox, `/get_auth_token` of IFRC GO.

    Redirects are not followed: the password is for this server only.
    """
    import httpx

    headers = {"Accept": "application/json", **({"Accept-Language": language} if language else {})}
    try:
        with httpx.Client(headers=headers, timeout=_TIMEOUT_SECONDS, follow_redirects=False) as client:
            response = client.get(f"{url}/token/", params={"format": "json"}, auth=(username, password))
            if response.status_code == 404:
                body = {"username": username, "password": password}
                response = client.post(f"{url}/get_auth_token", json=body)
                if response.status_code == 400:  # its answer to a wrong password
                    message = _decoded(response.content).get("error_message") or "The user name or password is wrong."
                    raise NotAuthenticated(str(message)[:MAX_TEXT_CHARS], status=400, url=url)
    except httpx.HTTPError as error:
        raise ConnectionFailed(f"{url} is unreachable: {error}", url=url) from None
    if not response.is_success:
        raise request_failed(
            response.status_code, response.content, {name.lower(): text for name, text in response.headers.items()}, url
        )
    token = _decoded(response.content).get("token")
    if not isinstance(token, str) or not token:
        raise UnexpectedResponse(f"{url} did not answer with a token.", status=response.status_code)
    from fieldgate_client.cli.server_choice import check_token

    return check_token(token, "The answer of the server")


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}
