"""Settings and database of the commands.

A command that begins with an empty database says that it creates one. For every other command the database must exist,
so that a mistyped `--data` is an error and not an empty database.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
import msgspec
from sqlalchemy.exc import ArgumentError

from fieldgate.accounts.store import AccountStore
from fieldgate.db import Database, DataVersions, sqlite_file
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.schema import SchemaStatus, UnsupportedSchema, read_state, upgrade
from fieldgate.settings import BadSetting, Settings

P = ParamSpec("P")
T = TypeVar("T")


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--data DIR`."""
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="FIELDGATE_DATA",
        help="Folder of the SQLite file, unless FIELDGATE_DATABASE_URL is set.  [default: data]",
    )(command)


def load_settings(data: Path | None) -> Settings:
    """Return the settings from the environment and `--data`."""
    try:
        settings = Settings.from_environment(os.environ)
    except BadSetting as error:
        raise click.ClickException(str(error)) from None
    return settings if data is None else msgspec.structs.replace(settings, data=data)


@asynccontextmanager
async def open_database(settings: Settings, *, creates: bool = False) -> AsyncIterator[Database]:
    """Open the database, with the schema of this release. With `creates`, an SQLite file need not exist yet."""
    database = connect(settings, creates=creates)
    try:
        state = await read_state(database)
        if state.status is SchemaStatus.EMPTY and not (creates and database.is_sqlite):
            raise _missing_database(settings, f"{database.address} has no tables of Fieldgate.")
        if state.status is SchemaStatus.EMPTY:
            announce_creation(database)
        if database.is_sqlite:
            await upgrade_schema(database)
        elif not state.is_usable:
            raise click.ClickException(state.message)
        yield database
    finally:
        await database.close()


def connect(settings: Settings, *, creates: bool) -> Database:
    """Return the database without looking into it. Only with `creates`, the folder of a new SQLite file is made."""
    try:
        file = sqlite_file(settings.database)
        if file is not None and not creates and not (file.is_file() and file.stat().st_size):
            raise _missing_database(settings, f"There is no database at {file.absolute()}.")
        _check_replica(settings, is_sqlite=file is not None)
        return Database(settings.database)
    except (ValueError, ArgumentError) as error:
        raise click.ClickException(f"FIELDGATE_DATABASE_URL: {error}") from None
    except OSError as error:
        raise click.ClickException(f"The folder {settings.data} cannot be used: {error.strerror}.") from None


def _check_replica(settings: Settings, *, is_sqlite: bool) -> None:
    if not settings.replica_url:
        return
    if is_sqlite:
        raise click.ClickException("FIELDGATE_REPLICA_URL: SQLite has no replicas. It needs FIELDGATE_DATABASE_URL.")
    try:
        PostgresURL.parse(settings.replica_url)
    except ValueError as error:
        raise click.ClickException(f"FIELDGATE_REPLICA_URL: {error}") from None


async def upgrade_schema(database: Database) -> None:
    """Upgrade the database to the schema of this release, unless it can be used as it is."""
    try:
        await upgrade(database)
    except UnsupportedSchema as error:
        raise click.ClickException(str(error)) from None


def announce_creation(database: Database) -> None:
    """Say on standard error that a new database is created, and where."""
    click.echo(f"Creating a new database: {database.address}", err=True)


def _missing_database(settings: Settings, what: str) -> click.ClickException:
    setting, option = "FIELDGATE_DATABASE_URL", ""
    if not settings.database_url:
        setting, option = "--data (or FIELDGATE_DATA)", f" --data {shlex.quote(str(settings.data))}"
    return click.ClickException(
        f"{what} Check {setting}. If it is right, create the database. Run: fieldgate migrate{option}"
    )


def with_account_store(
    command: Callable[Concatenate[AccountStore, P], Awaitable[T]], *, creates: bool = False
) -> Callable[Concatenate[Path | None, P], T]:
    """Run a coroutine with the account store of the database that `--data` and the environment choose."""

    def run(data: Path | None, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def run_with_store() -> T:
            async with open_database(load_settings(data), creates=creates) as database:
                return await command(AccountStore(database, DataVersions(database)), *args, **kwargs)

        return asyncio.run(run_with_store())

    return run
