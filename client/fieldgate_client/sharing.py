"""Sharing assets: who may do what, with the effects before they happen, and explanations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote

from fieldgate_client import kobo_sharing
from fieldgate_client.connection import Connection
from fieldgate_client.errors import InvalidRequest, NotFound, UnexpectedResponse, UnsupportedByServer
from fieldgate_client.records import Asset
from fieldgate_client.server_url import identifier
from fieldgate_client.sharing_records import Explanation, SharingResult, SharingStep, WhatIf

Result = TypeVar("Result")


async def share(
    connection: Connection,
    steps: list[SharingStep],
    *,
    remove: bool = False,
    dry_run: bool = False,
) -> SharingResult:
    """Assign permissions to users on assets, or remove them.

    Fieldgate does everything or nothing. On KoboToolbox it is one request for each step; see `SharingIncomplete`.
    """
    if not await connection.is_fieldgate():
        if dry_run:
            raise UnsupportedByServer(
                f"{connection.server} is not a Fieldgate server and cannot try a change without doing it (dry_run). "
                "Nothing was sent."
            )
        return await kobo_sharing.share(connection, steps, remove=remove)
    body = {
        "assets": [*dict.fromkeys(step.asset for step in steps)],
        "users": [*dict.fromkeys(step.user for step in steps)],
        "permissions": [*dict.fromkeys(step.permission for step in steps)],
    }
    response = await connection.send(
        "POST",
        f"permission-assignments/{'remove' if remove else 'add'}/",
        parameters={"dry_run": "true"} if dry_run else {},
        json=body,
        is_repeatable=dry_run,
    )
    try:
        return response.decode(SharingResult)
    except (ValueError, RecursionError) as error:
        raise UnexpectedResponse(
            f"The permissions may have been changed, but the server did not answer as expected: {error}",
            status=response.status,
            request_id=response.request_id,
        ) from None


def sharing_steps(
    assets: Asset | str | Iterable[Asset | str], users: str | Iterable[str], permissions: Iterable[str]
) -> list[SharingStep]:
    """Every permission of every user on every asset. Each is an identifier or a URL."""
    uids = [asset_uid(each) for each in ([assets] if isinstance(assets, Asset | str) else assets)]
    names = [identifier(each) for each in ([users] if isinstance(users, str) else users)]
    codenames = [identifier(each) for each in permissions]
    for kind, given in (("asset", uids), ("user", names), ("permission", codenames)):
        if not given or not all(given):
            raise InvalidRequest(f"Name at least one {kind}, and no empty one.")
    steps = [SharingStep(uid, name, codename) for uid in uids for name in names for codename in codenames]
    return [*dict.fromkeys(steps)]


async def explain(connection: Connection, asset: Asset | str, user: str, permission: str) -> Explanation:
    path = f"assets/{quote(asset_uid(asset), safe='')}/permission-assignments/explain/"
    parameters = {"user": identifier(user), "permission": identifier(permission)}
    return await _get(connection, path, parameters, Explanation)


async def what_if(
    connection: Connection,
    held: Iterable[str],
    assign: Iterable[str],
    remove: Iterable[str],
    asset_type: str = "",
) -> WhatIf:
    lists = {"held": held, "assign": assign, "remove": remove}
    parameters = {
        name: ",".join(map(identifier, [given] if isinstance(given, str) else given)) for name, given in lists.items()
    }
    parameters["asset_type"] = asset_type
    parameters = {name: text for name, text in parameters.items() if text}
    return await _get(connection, "permissions/effects/", parameters, WhatIf)


def asset_uid(asset: Asset | str) -> str:
    return asset.uid if isinstance(asset, Asset) else identifier(asset)


async def _get(connection: Connection, path: str, parameters: dict[str, str], kind: type[Result]) -> Result:
    try:
        return await connection.fetch_json(path, kind, parameters)
    except NotFound:
        if await connection.is_fieldgate():
            raise
        raise UnsupportedByServer(f"{connection.server} is not a Fieldgate server and cannot explain this.") from None
