"""Sharing assets: who may do what, with the effects before they happen, and explanations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import msgspec

from fieldgate_client.errors import UnexpectedResponse
from fieldgate_client.records import Asset, Effect
from fieldgate_client.server_url import last_path_segment

Result = TypeVar("Result")

if TYPE_CHECKING:
    from fieldgate_client.connection import Connection, HTTPResponse


class SharingResult(msgspec.Struct, kw_only=True):
    """What a change of permissions does, or would do in a dry run."""

    effects: list[Effect] = []
    result: list[dict[str, Any]] = []  # what each affected user has afterwards
    counts: dict[str, int] = {}
    dry_run: bool = False


class Explanation(msgspec.Struct, kw_only=True):
    """Why a user has a permission on an asset, or has not."""

    allowed: bool
    user: str = ""
    permission: str = ""
    label: str | None = None
    rules: list[dict[str, Any]] = []
    needs: list[dict[str, Any]] = []


async def share(
    connection: Connection,
    assets: Asset | str | Iterable[Asset | str],
    users: str | Iterable[str],
    permissions: Iterable[str],
    *,
    remove: bool = False,
    dry_run: bool = False,
    language: str = "",
) -> SharingResult:
    """Assign permissions to users on assets, or remove them: everything or nothing."""
    body = {
        "assets": [_uid(each) for each in ([assets] if isinstance(assets, Asset | str) else assets)],
        "users": [users] if isinstance(users, str) else [*users],
        "permissions": [*permissions],
    }
    path = f"permission-assignments/{'remove' if remove else 'add'}/"
    parameters = {"dry_run": "true"} if dry_run else {}
    response = await connection.send("POST", path, parameters=parameters, json=body, language=language)
    return _decode(response, SharingResult)


async def explain(
    connection: Connection, asset: Asset | str, user: str, permission: str, *, language: str = ""
) -> Explanation:
    path = f"assets/{quote(_uid(asset), safe='')}/permission-assignments/explain/"
    parameters = {"user": user, "permission": permission}
    return await connection.fetch(path, parameters, lambda response: _decode(response, Explanation), language=language)


def _uid(asset: Asset | str) -> str:
    return asset.uid if isinstance(asset, Asset) else last_path_segment(asset)


def _decode(response: HTTPResponse, kind: type[Result]) -> Result:
    try:
        return msgspec.json.decode(response.body, type=kind, strict=False)
    except msgspec.MsgspecError as error:
        raise UnexpectedResponse(
            f"The server did not answer as expected: {error}", status=response.status, request_id=response.request_id
        ) from None
