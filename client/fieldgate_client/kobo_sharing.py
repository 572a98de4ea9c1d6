"""Sharing on KoboToolbox, which has no request for many users and assets: one request for each permission.

Names are checked first, so that a misspelt one changes nothing. Assigning and removing a permission twice is the same
as once, so these requests are repeated after a lost connection.
"""

from __future__ import annotations

from urllib.parse import quote

from fieldgate_client.connection import Connection
from fieldgate_client.errors import (
    ConnectionFailed,
    FieldgateError,
    InvalidRequest,
    NotFound,
    ServerFailed,
    UnknownName,
)
from fieldgate_client.records import Assignment, Effect
from fieldgate_client.server_url import API_ROOT, last_path_segment
from fieldgate_client.sharing_records import SharingIncomplete, SharingResult, SharingStep, UserPermissions

PARTIAL = "partial_submissions"

Assignments = dict[str, list[Assignment]]  # by uid of the asset


async def share(connection: Connection, steps: list[SharingStep], *, remove: bool = False) -> SharingResult:
    if not remove and any(step.permission == PARTIAL for step in steps):
        raise InvalidRequest(f"{PARTIAL} needs filters, which cannot be given here. Nothing was sent.")
    await _check_names(connection, steps)
    uids = [*dict.fromkeys(step.asset for step in steps)]
    before = await _read_assignments(connection, uids)
    for number, step in enumerate(steps):
        try:
            if remove:
                await _remove(connection, step, before)
            else:
                await _assign(connection, step)
        except FieldgateError as error:
            raise SharingIncomplete(
                error,
                done=steps[:number],
                failed=step,
                not_sent=steps[number + 1 :],
                is_unknown=isinstance(error, ConnectionFailed | ServerFailed),
            ) from error
    try:
        after = await _read_assignments(connection, uids)
    except FieldgateError as error:
        raise SharingIncomplete(error, done=steps, failed=None, not_sent=[]) from error
    return _compare(connection, steps, before, after)


async def _check_names(connection: Connection, steps: list[SharingStep]) -> None:
    for codename in dict.fromkeys(step.permission for step in steps):
        try:
            await connection.get(f"permissions/{quote(codename, safe='')}/")
        except NotFound:
            raise UnknownName(f"The server has no permission {codename!r}. Nothing was changed.") from None
    for username in dict.fromkeys(step.user for step in steps):
        try:
            await connection.get(f"users/{quote(username, safe='')}/")
        except NotFound:
            raise UnknownName(f"The server has no user {username!r}. Nothing was changed.") from None


async def _read_assignments(connection: Connection, uids: list[str]) -> Assignments:
    return {uid: await connection.fetch_json(_list_path(uid), list[Assignment]) for uid in uids}


async def _assign(connection: Connection, step: SharingStep) -> None:
    body = {"user": _user_url(connection, step.user), "permission": _permission_url(connection, step.permission)}
    await connection.send("POST", _list_path(step.asset), json=body, is_repeatable=True)


async def _remove(connection: Connection, step: SharingStep, before: Assignments) -> None:
    for each in before[step.asset]:
        if (each.username, each.codename) != (step.user, step.permission):
            continue
        path = _list_path(step.asset) + quote(last_path_segment(each.url), safe="") + "/"
        try:
            await connection.send("DELETE", path, is_repeatable=True)
        except NotFound:
            continue  # an earlier removal removed it, too


def _compare(
    connection: Connection, steps: list[SharingStep], before: Assignments, after: Assignments
) -> SharingResult:
    """What changed for the users, from the assignments before and after."""
    effects, result = [], []
    for uid, username in dict.fromkeys((step.asset, step.user) for step in steps):
        had, has = _held(before[uid], username), _held(after[uid], username)
        asset, user = f"{connection.server}{API_ROOT}assets/{uid}/", _user_url(connection, username)
        asked = {step.permission for step in steps if (step.asset, step.user) == (uid, username)}
        for effect, codenames in (("granted", has - had), ("removed", had - has)):
            effects += [
                Effect(
                    permission=_permission_url(connection, codename),
                    effect=effect,
                    reason="asked" if codename in asked else None,
                    message=f"{codename}: {effect}.",
                    user=user,
                    asset=asset,
                )
                for codename in sorted(codenames)
            ]
        permissions = [_permission_url(connection, codename) for codename in sorted(has)]
        result.append(UserPermissions(asset=asset, user=user, permissions=permissions))
    counts = {kind: len([each for each in effects if each.effect == kind]) for kind in ("granted", "removed")}
    return SharingResult(
        effects=effects, result=result, counts={kind: number for kind, number in counts.items() if number}
    )


def _held(assignments: list[Assignment], username: str) -> set[str]:
    return {each.codename for each in assignments if each.username == username}


def _list_path(uid: str) -> str:
    return f"assets/{quote(uid, safe='')}/permission-assignments/"


def _user_url(connection: Connection, username: str) -> str:
    return f"{connection.server}{API_ROOT}users/{quote(username, safe='')}/"


def _permission_url(connection: Connection, codename: str) -> str:
    return f"{connection.server}{API_ROOT}permissions/{quote(codename, safe='')}/"
