"""Getting a token for a password, and checking a token, on any of the servers."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from typing import Any

import msgspec

from fieldgate_client.client import Client
from fieldgate_client.connection import Connection, ConnectionOptions
from fieldgate_client.errors import FieldgateError, InvalidRequest, NotAuthenticated, NotFound, UnexpectedResponse
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
    """A token for a user name and password: `/token/` of Fieldgate and KoboToolbox, `/get_auth_token` of IFRC GO."""
    import asyncio

    from fieldgate_client.cli.server_choice import check_token

    body = asyncio.run(_request_token(url, username, password, language))
    token = _decoded(body).get("token")
    if not isinstance(token, str) or not token:
        raise UnexpectedResponse(f"{url} did not answer with a token.")
    return check_token(token, "The answer of the server")


async def _request_token(url: str, username: str, password: str, language: str) -> bytes:
    credentials = b64encode(f"{username}:{password}".encode()).decode()
    once = RetryPolicy(attempts=1)
    basic = ConnectionOptions(timeout=_TIMEOUT_SECONDS, retries=once, headers={"Authorization": f"Basic {credentials}"})
    async with Connection(url, options=basic) as connection:
        with suppress(NotFound):
            return (await connection.get("/token/", {"format": "json"}, language=language)).body
    async with Connection(url, options=ConnectionOptions(timeout=_TIMEOUT_SECONDS, retries=once)) as connection:
        try:
            sent = {"username": username, "password": password}
            return (await connection.send("POST", "/get_auth_token", json=sent, language=language)).body
        except InvalidRequest as error:  # its answer to a wrong password
            raise NotAuthenticated(
                error.message or "The user name or password is wrong.", status=error.status, url=url
            ) from None


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.MsgspecError:
        return {}
