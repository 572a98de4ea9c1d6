"""Users of a soak test: each has an address, a token, a form, and colleagues to share it with."""

import asyncio
from pathlib import Path

from benchmarks.sharing_data import add_assets, add_members, database_url_of
from benchmarks.soak_callers import Person
from fieldgate.accounts.passwords import Passwords
from fieldgate.accounts.store import AccountStore, IssuedBy, NewUser
from fieldgate.db import Database, DataVersions

PEOPLE = 16
MEMBERS_OF_A_PERSON = 20
ATTACKER = "attacker"


def add_people(data: Path | str) -> list[Person]:
    """Add users to the database in a folder, or to that of a URL."""
    names = [f"person{number}" for number in range(PEOPLE)]
    tokens = asyncio.run(_add_users(data, names))
    members = add_members(data, PEOPLE * MEMBERS_OF_A_PERSON)
    return [
        Person(
            address=f"127.0.2.{number + 1}",
            token=tokens[number],
            asset=add_assets(data, name, 1),
            members=members[number * MEMBERS_OF_A_PERSON : (number + 1) * MEMBERS_OF_A_PERSON],
        )
        for number, name in enumerate(names)
    ]


def add_attacker(data: Path | str) -> str:
    """Add the user who attacks, and return a token."""
    return asyncio.run(_add_users(data, [ATTACKER]))[0]


async def _add_users(data: Path | str, names: list[str]) -> list[str]:
    database = Database(database_url_of(data))
    store = AccountStore(database, DataVersions(database))
    password_hash = Passwords().hash("not guessed by anybody")
    try:
        ids = [await store.create_user(NewUser(username=name, password_hash=password_hash)) for name in names]
        return [await store.issue_token(number, IssuedBy.COMMAND, None) for number in ids]
    finally:
        await database.close()
