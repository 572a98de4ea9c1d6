"""Whom a caller may know, to share with: own teams, their members, and people on own assets. Never everyone."""

from typing import Any

from sqlalchemy import Select, or_, select, union

from fieldgate.accounts.tables import PUBLIC_USER_ID, team_members, teams, users
from fieldgate.assets.tables import assets, assignments, grants_now, is_live
from fieldgate.db import AsyncDatabase, RowPage, paginate
from fieldgate.identity import User
from fieldgate.pagination import PageRequest


class SuggestionStore:
    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database

    async def page(self, caller: User, page: PageRequest) -> RowPage:
        """Return teams by name, then people by username."""
        order = [teams.c.id.is_(None), teams.c.name_key, users.c.username_key, users.c.id]
        return await paginate(self._database, _select_known(caller), page, order_by=order)


def _select_known(caller: User) -> Select[Any]:
    own_teams = select(team_members.c.team_id).where(team_members.c.user_id == caller.id)
    own_assets = select(assets.c.id).where(assets.c.owner_id == caller.id, is_live())
    is_shared = (assignments.c.asset_id.in_(own_assets), grants_now())
    known = union(
        own_teams,
        select(team_members.c.user_id).where(team_members.c.team_id.in_(own_teams)),
        select(assignments.c.user_id).where(*is_shared),
    )
    return (
        select(users.c.username, users.c.uid, teams.c.id.label("team_id"), teams.c.name)
        .join_from(users, teams, teams.c.id == users.c.id, isouter=True)
        .where(
            users.c.id.in_(known),
            users.c.id.not_in((PUBLIC_USER_ID, caller.id)),
            users.c.disabled_at.is_(None),
            # Others can share an asset with teams that its owner is not in.
            or_(teams.c.id.is_(None), teams.c.id.in_(own_teams)),
        )
    )
