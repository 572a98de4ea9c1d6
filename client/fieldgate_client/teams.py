"""Teams: groups of people that forms are shared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from fieldgate_client.connection import Connection
from fieldgate_client.errors import UnknownName
from fieldgate_client.server_url import last_path_segment


class Team(msgspec.Struct, kw_only=True):
    uid: str
    name: str
    description: str = ""
    role: str | None = None  # of the caller: admin or member
    member_count: int = 0
    url: str = ""


class TeamMember(msgspec.Struct, kw_only=True):
    user__username: str
    role: str
    user: str = ""
    date_joined: str = ""
    user__is_active: bool = True

    @property
    def username(self) -> str:
        return self.user__username


class TeamAsset(msgspec.Struct, kw_only=True):
    """What a team may do with a form, or what somebody gains or loses by joining or leaving it."""

    asset: str
    asset__name: str = ""
    permissions: list[str] = []
    access: str = ""  # in a sentence
    user: str = ""

    @property
    def name(self) -> str:
        return self.asset__name

    @property
    def uid(self) -> str:
        return last_path_segment(self.asset)


class TeamChange(msgspec.Struct, kw_only=True):
    """What a change of members did, or would do."""

    added: list[TeamMember] = []
    assets: list[TeamAsset] = []  # in a dry run: what people would gain or lose


def team_path(team: Team | str) -> str:
    uid = team.uid if isinstance(team, Team) else last_path_segment(team) or team
    return f"teams/{quote(uid, safe='')}/"


def choose_team(teams: Sequence[Team], name: str) -> Team:
    """Find a team by uid, address or name. A name that two teams have finds none."""
    wanted = name.removeprefix("team:")
    uid = last_path_segment(wanted) or wanted
    found = [each for each in teams if each.uid == uid] or [
        each for each in teams if each.name.casefold() == wanted.casefold()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        uids = ", ".join(each.uid for each in found)
        raise UnknownName(f"You are in {len(found)} teams {wanted!r}. Name one by its uid: {uids}.")
    raise UnknownName(f"You are in no team {wanted!r}.")


async def create_team(connection: Connection, name: str, description: str) -> Team:
    response = await connection.send(
        "POST", "teams/", json={"name": name, "description": description}
    )
    return response.decode(Team)


async def change_members(
    connection: Connection, method: str, path: str, body: dict[str, Any] | None, *, dry_run: bool
) -> TeamChange:
    parameters = {"dry_run": "true"} if dry_run else {}
    # Adding and removing twice is the same as once.
    response = await connection.send(
        method, path, parameters=parameters, json=body, is_repeatable=method == "POST"
    )
    return response.decode(TeamChange) if response.body else TeamChange()
