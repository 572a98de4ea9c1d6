"""What the measured database contains: as many records as an organisation would have.

One form is imported through the interface. Its rows are then copied, with other owners and names.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Table, insert, select

from benchmarks.data import import_request
from benchmarks.requests import IMPORTS, get_json, send
from benchmarks.servers import Server
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.accounts.tables import TEAM_PREFIX, team_members, teams, users
from fieldgate.assets.tables import assets, assignments, versions
from fieldgate.db import AsyncDatabase, DataVersions, WriteTransaction, now
from fieldgate.db.schema import upgrade
from fieldgate.db.uid import uid_from_bytes
from fieldgate.events.demo.generator import demo_events
from fieldgate.events.model import Event
from fieldgate.events.writes import save_events
from fieldgate.reference.queries import load_reference
from tests.processes import ServerProcess

ADMIN, READER, SPARE = "admin", "reader", "spare"
SPARE_USERS = 100  # without permissions: tests share assets with them
TEAM_SHARE = 5  # every fifth assignment is that of a team
TEAMS_OF_USER = 2
BATCH = 2000  # rows
IMPORT_TIMEOUT_SECONDS = 60

Report = Callable[[str], None]


class Sizes(msgspec.Struct, frozen=True):
    """How many records there are. Each asset has as many assignments, each user as many assets."""

    events: int
    assets: int
    assignments: int
    users: int
    teams: int


FULL = Sizes(events=1_000_000, assets=20_000, assignments=200_000, users=2_000, teams=200)
SHORT = Sizes(events=1_000, assets=60, assignments=600, users=40, teams=4)


class World(msgspec.Struct, frozen=True):
    """The database as the measurements see it. The reader sees nothing until something is shared."""

    sizes: Sizes
    tokens: Mapping[str, str]  # by username

    @property
    def user(self) -> str:
        """One of the users who have assets and belong to teams."""
        return user_name(0)

    def asset(self, number: int) -> str:
        """The uid of an asset."""
        return _uid("a", number % self.sizes.assets)

    def own_asset(self, number: int) -> str:
        """The uid of an asset of `user`."""
        return self.asset(number * self.sizes.users % self.sizes.assets)

    def free_pairs(self) -> Iterator[tuple[str, str]]:
        """Assets and users who have no permission for them."""
        for user in range(SPARE_USERS):
            for asset in range(self.sizes.assets):
                yield self.asset(asset), f"{SPARE}{user}"


def user_name(number: int) -> str:
    return f"user{number}"


async def fill(url: str, folder: Path, sizes: Sizes, report: Report) -> World:
    """Create the tables and the records. Commits do not wait for the disk meanwhile."""
    database = AsyncDatabase(f"{url}?synchronous_commit=off")
    try:
        await upgrade(database)
        accounts = AccountStore(database, DataVersions(database))
        names = [ADMIN, READER, *(user_name(number) for number in range(sizes.users))]
        names += [f"{SPARE}{number}" for number in range(SPARE_USERS)]
        report(f"{sizes.users} users, {sizes.teams} teams")
        ids = await _insert_users(
            database, [NewUser(username=name, is_superuser=name == ADMIN) for name in names]
        )
        tokens = {}
        for name in (ADMIN, READER, user_name(0)):
            tokens[name] = await accounts.issue_token(ids[name], IssuedBy.COMMAND, None)
        members = [ids[user_name(number)] for number in range(sizes.users)]
        team_ids = await _insert_teams(database, members, sizes.teams)
        report(f"{sizes.assets} assets")
        _import_form(url, folder, tokens[ADMIN])
        await _copy_assets(database, members, sizes.assets)
        report(f"{sizes.assignments} assignments")
        await _insert_assignments(database, members, team_ids, sizes)
        await _insert_events(database, sizes.events, report)
        return World(sizes, tokens)
    finally:
        await database.close()


def _uid(kind: str, number: int) -> str:
    return uid_from_bytes(kind, hashlib.sha512(f"{kind}{number}".encode()).digest())


async def _insert_users(database: AsyncDatabase, new: list[NewUser]) -> dict[str, int]:
    """Insert users, and return their ids by name."""
    rows = [
        {
            **msgspec.structs.asdict(user), "uid": _uid("u", number), "countries": [], "created_at": now(),
            "username_key": user.username, "search_text": user.username,
        }
        for number, user in enumerate(new)
    ]  # fmt: skip
    await _insert(database, users, rows)
    async with database.read_transaction() as connection:
        found = await connection.execute(select(users.c.username, users.c.id))
        return {row.username: row.id for row in found}


async def _insert_teams(database: AsyncDatabase, members: list[int], count: int) -> list[int]:
    uids = [_uid("t", number) for number in range(count)]
    rows = [
        {
            **msgspec.structs.asdict(NewUser(username=f"{TEAM_PREFIX}Team {number}")), "uid": uid, "countries": [],
            "created_at": now(), "username_key": f"TEAM:{uid}",
        }
        for number, uid in enumerate(uids)
    ]  # fmt: skip
    await _insert(database, users, rows)
    async with database.read_transaction() as connection:
        found = await connection.execute(
            select(users.c.uid, users.c.id).where(users.c.username.startswith("team:"))
        )
        ids = {row.uid: row.id for row in found}
    team_ids = [ids[uid] for uid in uids]
    named = enumerate(team_ids)
    rows = [
        {"id": id_, "name": f"Team {n}", "name_key": f"team {n}", "description": ""}
        for n, id_ in named
    ]
    await _insert(database, teams, rows)
    joined = {
        (team_ids[(number + turn * 7) % count], user): "member" if turn else "admin"
        for number, user in enumerate(members)
        for turn in range(TEAMS_OF_USER)
    }
    rows = [
        {"team_id": team, "user_id": user, "role": role, "joined_at": now()}
        for (team, user), role in joined.items()
    ]
    await _insert(database, team_members, rows)
    return team_ids


def _import_form(url: str, folder: Path, token: str) -> None:
    with ServerProcess(
        folder, "--import-workers", "1", environment={"FIELDGATE_DATABASE_URL": url}
    ) as served:
        server = Server("filling", served.port, served.process.pid, {ADMIN: token})
        uid = json.loads(send(import_request(ADMIN), server).body)["uid"]
        until = time.monotonic() + IMPORT_TIMEOUT_SECONDS
        while (record := get_json(server, f"{IMPORTS}{uid}/", ADMIN))["status"] != "complete":
            assert time.monotonic() < until, record
            time.sleep(0.1)


async def _copy_assets(database: AsyncDatabase, owners: list[int], count: int) -> None:
    async with database.read_transaction() as connection:
        asset = dict((await connection.execute(select(assets))).mappings().one())
        version = dict((await connection.execute(select(versions))).mappings().one())
    del asset["id"], version["id"]
    rows = [
        {
            **asset,
            "uid": _uid("a", each),
            "owner_id": owners[each % len(owners)],
            "name": f"Form {each}",
        }
        for each in range(count)
    ]
    for row in rows:
        row["name_key"] = row["search_text"] = row["name"].lower()
    await _insert(database, assets, rows)
    async with database.read_transaction() as connection:
        found = await connection.execute(select(assets.c.uid, assets.c.id))
        ids = {row.uid: row.id for row in found}
    rows = [
        {**version, "uid": _uid("v", each), "asset_id": ids[_uid("a", each)]}
        for each in range(count)
    ]
    await _insert(database, versions, rows)


async def _insert_assignments(
    database: AsyncDatabase, members: list[int], team_ids: list[int], sizes: Sizes
) -> None:
    """Share every asset with as many users and teams, never with its owner."""
    async with database.read_transaction() as connection:
        found = await connection.execute(select(assets.c.uid, assets.c.id))
        ids = {row.uid: row.id for row in found}
    rows = []
    for number in range(sizes.assignments):
        turn, asset = divmod(number, sizes.assets)
        is_team = turn % TEAM_SHARE == TEAM_SHARE - 1
        holders = team_ids if is_team else members
        holder = holders[(asset + asset // sizes.users + turn + 1) % len(holders)]
        rows.append(
            {
                "uid": _uid("p", number), "asset_id": ids[_uid("a", asset)], "user_id": holder,
                "permission": "view_asset", "is_denied": False, "created_at": now(),
            }
        )  # fmt: skip
    await _insert(database, assignments, rows)


async def _insert_events(database: AsyncDatabase, count: int, report: Report) -> None:
    generated = demo_events(count, await database.in_read(load_reference))
    written = 0
    while batch := list(islice(generated, BATCH)):

        def save(transaction: WriteTransaction, batch: Sequence[Event] = batch) -> None:
            save_events(transaction, batch)

        await database.in_write(save)
        written += len(batch)
        if written % (50 * BATCH) == 0 or written == count:
            report(f"{written} events")


async def _insert(database: AsyncDatabase, table: Table, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), BATCH):
        async with database.transaction() as connection:
            await connection.execute(insert(table), rows[start : start + BATCH])
