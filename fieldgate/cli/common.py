"""Settings and database of the commands."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
import msgspec
from sqlalchemy.exc import ArgumentError

from fieldgate.accounts.store import AccountStore
from fieldgate.db import Database, DataVersions
from fieldgate.db.schema import REQUIRED_REVISION, current_revision, upgrade
from fieldgate.settings import BadSetting, Settings, unknown_variables

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
    for variable in unknown_variables(os.environ):
        click.echo(f"Warning: {variable} is not a setting and has no effect.", err=True)
    return settings if data is None else msgspec.structs.replace(settings, data=data)


async def ensure_schema(database: Database) -> None:
    """Migrate SQLite; on PostgreSQL, check that `fieldgate migrate` was run."""
    if database.is_sqlite:
        await upgrade(database)
    elif await current_revision(database) != REQUIRED_REVISION:
        raise click.ClickException("The database does not have the schema of this release. Run: fieldgate migrate")


def open_database(settings: Settings) -> Database:
    try:
        return Database(settings.database)
    except (ValueError, ArgumentError) as error:
        raise click.ClickException(f"FIELDGATE_DATABASE_URL: {error}") from None
    except OSError as error:
        raise click.ClickException(f"The folder {settings.data} cannot be used: {error.strerror}.") from None


def with_account_store(
    command: Callable[Concatenate[AccountStore, P], Awaitable[T]],
) -> Callable[Concatenate[Path | None, P], T]:
    """Run a coroutine with the account store of the database that `--data` and the environment choose."""

    def run(data: Path | None, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def run_with_store() -> T:
            database = open_database(load_settings(data))
            try:
                await ensure_schema(database)
                return await command(AccountStore(database, DataVersions(database)), *args, **kwargs)
            finally:
                await database.close()

        return asyncio.run(run_with_store())

    return run
