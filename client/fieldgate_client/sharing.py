"""Sharing assets: who may do what, with the effects before they happen, and explanations.

KoboToolbox has no request for many users and assets: there it is one request for each permission.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any
from urllib.parse import quote

import msgspec

from fieldgate_client.connection import Connection
from fieldgate_client.errors import (
    FieldgateError,
    InvalidRequest,
    NotFound,
    UnexpectedResponse,
    UnknownName,
    UnsupportedByServer,
)
from fieldgate_client.records import Asset, Assignment, Effect, TeamReference
from fieldgate_client.server_url import API_ROOT, identifier, last_path_segment
from fieldgate_client.terminal_text import clean_line

PARTIAL = "partial_submissions"
NEVER = "never"


class UserPermissions(msgspec.Struct, kw_only=True):
    """What a user has on an asset afterwards."""

    asset: str = ""
    user: str = ""
    permissions: list[str] = []

    @property
    def username(self) -> str:
        return last_path_segment(self.user)

    @property
    def codenames(self) -> list[str]:
        return [last_path_segment(each) for each in self.permissions]


class SharingResult(msgspec.Struct, kw_only=True):
    """What a change of permissions did, or would do in a dry run. Fieldgate lists at most 10,000 effects.

    KoboToolbox does not say what it did: then `effects` has what was asked for, and `result` is empty.
    """

    effects: list[Effect] = []
    result: list[UserPermissions] = []
    counts: dict[str, int] = {}
    dry_run: bool = False


class MatchedRule(msgspec.Struct, kw_only=True):
    rule: str
    message: str = ""
    decided: bool = False
    because: list[str] = []
    why: str = ""
    expires_at: str | None = None  # when it stops to apply
    via: list[TeamReference] = []  # teams through which the user has it


class Need(msgspec.Struct, kw_only=True):
    """A permission that could be assigned so that a user gets another one."""

    permission: str
    removes: list[str] = []
    message: str = ""
    why: str = ""


class Explanation(msgspec.Struct, kw_only=True):
    """Why a user has a permission on an asset, or has not."""

    allowed: bool
    user: str = ""
    permission: str = ""
    label: str | None = None
    asset: str = ""
    rules: list[MatchedRule] = []
    needs: list[Need] = []
    missing_scope: str | None = None  # that your token lacks to use your permission
    partial_permissions: list[dict[str, Any]] = []


class SharingStep(msgspec.Struct, frozen=True):
    """One permission of one user on one asset, by name."""

    asset: str
    user: str
    permission: str

    def __str__(self) -> str:
        return clean_line(f"{self.permission} of {self.user} on {self.asset}")


def sharing_steps(
    assets: Asset | str | Iterable[Asset | str],
    users: str | Iterable[str],
    permissions: Iterable[str],
) -> list[SharingStep]:
    """Every permission of every user on every asset. Each is an identifier or a URL."""
    uids = [asset_uid(each) for each in ([assets] if isinstance(assets, Asset | str) else assets)]
    names = [identifier(each) for each in ([users] if isinstance(users, str) else users)]
    codenames = [identifier(each) for each in permissions]
    for kind, given in (("asset", uids), ("user", names), ("permission", codenames)):
        if not given or not all(given):
            raise InvalidRequest(f"Name at least one {kind}, and no empty one.")
    steps = [
        SharingStep(uid, name, codename) for uid in uids for name in names for codename in codenames
    ]
    return [*dict.fromkeys(steps)]


async def share(
    connection: Connection,
    steps: list[SharingStep],
    *,
    remove: bool = False,
    dry_run: bool = False,
    until: date | str | None = None,
) -> SharingResult:
    """Assign permissions to users on assets, or remove them.

    Fieldgate does everything or nothing. On KoboToolbox it is one request for each step; an error names those that
    were done before.
    """
    if remove and until:
        raise InvalidRequest(
            "until is for permissions that are assigned, not for those that are removed."
        )
    if not await connection.is_fieldgate():
        if until:
            raise UnsupportedByServer(
                f"{connection.server} is not a Fieldgate server: access does not end there (until). Nothing was sent."
            )
        if dry_run:
            raise UnsupportedByServer(
                f"{connection.server} is not a Fieldgate server and cannot try a change without doing it (dry_run). "
                "Nothing was sent."
            )
        return await _share_one_by_one(connection, steps, remove=remove)
    body: dict[str, Any] = {
        "assets": [*dict.fromkeys(step.asset for step in steps)],
        "users": [*dict.fromkeys(step.user for step in steps)],
        "permissions": [*dict.fromkeys(step.permission for step in steps)],
    }
    if until:
        text = until if isinstance(until, str) else until.isoformat()
        body["expires_at"] = None if text == NEVER else text
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


async def explain(
    connection: Connection, asset: Asset | str, user: str, permission: str
) -> Explanation:
    path = f"{_list_path(asset_uid(asset))}explain/"
    parameters = {"user": identifier(user), "permission": identifier(permission)}
    try:
        return await connection.fetch_json(path, Explanation, parameters)
    except NotFound:
        if await connection.is_fieldgate():
            raise
        raise UnsupportedByServer(
            f"{connection.server} is not a Fieldgate server and cannot explain this."
        ) from None


def asset_uid(asset: Asset | str) -> str:
    return asset.uid if isinstance(asset, Asset) else identifier(asset)


async def _share_one_by_one(
    connection: Connection, steps: list[SharingStep], *, remove: bool
) -> SharingResult:
    """Names are checked first, so that a misspelt one changes nothing.

    Assigning and removing a permission twice is the same as once, so these requests are repeated after a lost
    connection.
    """
    if not remove and any(step.permission == PARTIAL for step in steps):
        raise InvalidRequest(
            f"{PARTIAL} needs filters, which cannot be given here. Nothing was sent."
        )
    await _check_names(connection, "permission", {step.permission: None for step in steps})
    await _check_names(connection, "user", {step.user: None for step in steps})
    uids = dict.fromkeys(step.asset for step in steps)
    before = {uid: await connection.fetch_json(_list_path(uid), list[Assignment]) for uid in uids}
    effects = []
    for number, step in enumerate(steps):
        asset, user, permission = (
            _url(connection, *each)
            for each in (
                ("assets", step.asset),
                ("users", step.user),
                ("permissions", step.permission),
            )
        )
        try:
            if remove:
                await _remove(connection, step, before[step.asset])
            else:
                body = {"user": user, "permission": permission}
                await connection.send("POST", _list_path(step.asset), json=body, is_repeatable=True)
        except FieldgateError as error:
            done = "; ".join(map(str, steps[:number])) or "nothing"
            error.message += f" This was for {step}. Done before: {done}."
            raise
        effect = "removed" if remove else "granted"
        message = f"{step.permission}: {effect}."
        effects.append(
            Effect(
                permission=permission,
                effect=effect,
                reason="asked",
                message=message,
                user=user,
                asset=asset,
            )
        )
    return SharingResult(effects=effects)


async def _check_names(connection: Connection, kind: str, names: Iterable[str]) -> None:
    for name in names:
        try:
            await connection.get(f"{kind}s/{quote(name, safe='')}/")
        except NotFound:
            raise UnknownName(f"The server has no {kind} {name!r}. Nothing was changed.") from None


async def _remove(connection: Connection, step: SharingStep, assignments: list[Assignment]) -> None:
    for each in assignments:
        if (each.username, each.codename) != (step.user, step.permission):
            continue
        path = _list_path(step.asset) + quote(last_path_segment(each.url), safe="") + "/"
        try:
            await connection.send("DELETE", path, is_repeatable=True)
        except NotFound:
            continue  # an earlier removal removed it, too


def _list_path(uid: str) -> str:
    return f"assets/{quote(uid, safe='')}/permission-assignments/"


def _url(connection: Connection, collection: str, name: str) -> str:
    return f"{connection.server}{API_ROOT}{collection}/{quote(name, safe='')}/"
