"""Create the teams of a folder, with their members, and note them as names that assignments use."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from fieldgate.accounts.store import AccountStore
from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.accounts.teams import ADMIN, MAX_NAME_CHARS, Role, TeamStore
from fieldgate.assets.trash import Trash
from fieldgate.db import AsyncDatabase, DataVersions
from fieldgate.errors import Problem
from fieldgate.identity import User
from fieldgate.move.people import People
from fieldgate.move.plan import KnownAsset
from fieldgate.move.source_assets import MAX_SHOWN_CHARS, SourceTeam
from fieldgate.move.store import find_known, write_known

_COMPLETE = {"members": "complete"}  # in place of hashes: all members were added


class TeamMover:
    def __init__(
        self, database: AsyncDatabase, data_versions: DataVersions, source: str, people: People
    ) -> None:
        self._database = database
        self._source = source
        self._people = people
        self._accounts = AccountStore(database, data_versions)
        # No team is deleted here.
        self._store = TeamStore(
            database, data_versions, Trash(database, data_versions, 0).log_deleted_teams
        )

    async def move_all(self, teams: Sequence[SourceTeam], *, is_dry_run: bool) -> list[str]:
        """Return what was not done, in words. A team that is here already keeps its members."""
        names = Counter(team.name for team in teams)
        notes: list[str] = []
        for team in teams:
            if names[team.name] > 1:
                notes.append(
                    f"There are several teams {team.name[:MAX_NAME_CHARS]}. Rename them before you move."
                )
                continue
            try:
                notes += await self._move(team, is_dry_run)
            except Problem as problem:
                notes.append(f"Team {team.name[:MAX_NAME_CHARS]}: {problem.message}")
        return notes

    async def _move(self, team: SourceTeam, is_dry_run: bool) -> list[str]:
        name = TEAM_PREFIX + team.name  # as assignments name it
        own_name = team.name[:MAX_NAME_CHARS].strip()
        async with self._database.read_transaction() as connection:
            known = await find_known(connection, self._source, team.uid)
        if known is None and await self._accounts.find_owners(TEAM_PREFIX + own_name):
            return [f"A team {own_name} is here already. It keeps its members."]
        found, notes = defaultdict[Role, list[User]](list), list[str]()
        if known is None and len(team.name) > MAX_NAME_CHARS:
            notes.append(
                f"The name of the team {own_name} is longer there. It was cut to {MAX_NAME_CHARS} characters."
            )
        for username, role in team.roles.items():
            user = await self._people.find_owner(username)
            if user is not None:
                found[ADMIN if role == ADMIN else "member"].append(user)
            elif not self._people.is_invited(username):
                notes.append(
                    f"{username[:MAX_SHOWN_CHARS]} is not here, and so not in the team {own_name}."
                )
        if is_dry_run:
            self._people.invited.append(name)
            return notes
        if known is None:
            if not found[ADMIN]:
                return [f"No admin of the team {own_name} is here. It was not created."]

            async def note(connection: AsyncConnection, uid: str) -> None:
                await write_known(connection, self._source, team.uid, KnownAsset(uid))

            known = KnownAsset(
                await self._store.create(found[ADMIN][0], own_name, team.description, note)
            )
        self._people.table[name] = TEAM_PREFIX + known.uid
        if known.found != _COMPLETE:
            by = (found[ADMIN] or found["member"])[0]
            for role, users in found.items():
                await self._store.add_members(
                    by, known.uid, [each.username for each in users], role
                )
            async with self._database.transaction() as connection:
                await write_known(
                    connection, self._source, team.uid, KnownAsset(known.uid, _COMPLETE)
                )
        return notes
