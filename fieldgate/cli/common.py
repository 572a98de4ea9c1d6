"""Settings and database of the commands.

A command that begins with an empty database says that it creates one. For every other command the database must exist,
so that a mistyped `--data` is an error and not an empty database.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from sqlalchemy.exc import ArgumentError

from fieldgate.accounts.store import AccountStore
from fieldgate.db import AsyncDatabase, DataVersions, is_unavailable, sqlite_file
from fieldgate.db.database_identity import (
    UnexpectedDatabase,
    check_marker,
    marker_file,
    read_identity,
    read_marker,
    write_marker,
)
from fieldgate.db.outages import damage_message
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.db.schema import (
    REQUIRED_REVISION,
    SchemaStatus,
    UnsupportedSchema,
    read_state,
    upgrade,
)
from fieldgate.db.use_lock import DatabaseInUse, exclusive_use, shared_use
from fieldgate.reference.queries import store_name_orders
from fieldgate.settings import BadSetting, Settings, parse_duration

# SQLite has one writer, and who waits only looks now and then whether it is their turn. Events are loaded in one
# transaction after the other, and demo events replaced in one that can take longer than the service lets requests wait.
COMMAND_BUSY_TIMEOUT_MS = 300_000

T = TypeVar("T")


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--data DIR`."""
    return click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="FIELDGATE_DATA",
        help="Folder of the SQLite file, unless FIELDGATE_DATABASE_URL is set.  [default: data]",
    )(command)


def parse_lifetime(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    """The callback of an option such as `90d`."""
    try:
        return None if value is None else timedelta(seconds=parse_duration(value))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def load_settings(data: Path | None) -> Settings:
    """Return the settings from the environment and `--data`."""
    try:
        settings = Settings.from_environment(os.environ)
    except BadSetting as error:
        raise click.ClickException(str(error)) from None
    settings = settings if data is None else msgspec.structs.replace(settings, data=data)
    try:
        sqlite_file(settings.database)
    except (ValueError, ArgumentError) as error:
        raise click.ClickException(f"FIELDGATE_DATABASE_URL: {error}") from None
    return settings


@asynccontextmanager
async def open_database(
    settings: Settings, *, creates: bool = False, busy_timeout_ms: int = COMMAND_BUSY_TIMEOUT_MS
) -> AsyncIterator[AsyncDatabase]:
    """Open the database, with the schema of this release. With `creates`, an SQLite file need not exist yet."""
    database = connect(settings, creates=creates, busy_timeout_ms=busy_timeout_ms)
    may_create = creates and database.is_sqlite
    try:
        if may_create:
            await upgrade_older_schema(settings, database)
        with in_use(settings):
            state = await read_state(database)
            if state.status is SchemaStatus.EMPTY and may_create:
                announce_creation(database)
                await create_tables(database)
            elif state.status is SchemaStatus.EMPTY:
                pooler = (
                    " If pg_restore was run through PgBouncer, restart PgBouncer."
                    if database.is_pooled
                    else ""
                )
                raise _missing_database(
                    settings, f"{database.address} has no tables of Fieldgate.{pooler}"
                )
            elif not state.is_usable:
                raise click.ClickException(state.message)
            mark_database(database)
            yield database
    finally:
        await database.close()


@contextmanager
def in_use(settings: Settings) -> Iterator[None]:
    """Show other processes that the database is in use, so that `restore` does not replace it."""
    try:
        with shared_use(sqlite_file(settings.database)):
            yield
    except DatabaseInUse:
        raise click.ClickException(
            "The database is being restored. Try again when that is done."
        ) from None


def connect(
    settings: Settings,
    *,
    creates: bool,
    accepts_any: bool = False,
    busy_timeout_ms: int = COMMAND_BUSY_TIMEOUT_MS,
) -> AsyncDatabase:
    """Return the database. Only with `creates`, the folder of a new SQLite file is made.

    An SQLite database must be the one that was used here before, unless `accepts_any`.
    """
    try:
        file = sqlite_file(settings.database)
        if file is not None and not accepts_any:
            _check_identity(file, settings)  # first: it says so if there was a database
        if file is not None and not creates and not (file.is_file() and file.stat().st_size):
            raise _missing_database(settings, f"There is no database at {file.absolute()}.")
        return AsyncDatabase(
            settings.database, is_pooled=settings.database_pooler, busy_timeout_ms=busy_timeout_ms
        )
    except (ValueError, ArgumentError) as error:  # an option in the URL
        raise click.ClickException(f"FIELDGATE_DATABASE_URL: {error}") from None
    except OSError as error:
        raise click.ClickException(
            f"The folder {settings.data} cannot be used: {error.strerror}."
        ) from None


def _check_identity(file: Path, settings: Settings) -> None:
    try:
        if read_marker(file) is not None:
            check_marker(file, read_identity(file))
    except UnexpectedDatabase as error:
        raise click.ClickException(f"{error}{settings.data_option}") from None
    except sqlite3.Error as error:
        if is_unavailable(error):
            raise
        raise click.ClickException(
            damage_message(file, error) or f"The database cannot be used: {error}"
        ) from None


def mark_database(database: AsyncDatabase, *, accepts_any: bool = False) -> None:
    """Note next to an SQLite file which database it is, if that is not noted yet, or with `accepts_any`."""
    file = Path(str(database.url.database))
    if not database.is_sqlite or not (accepts_any or read_marker(file) is None):
        return
    identity = read_identity(file)
    if identity is not None and identity != read_marker(file):
        try:
            write_marker(file, identity)
        except OSError as error:
            click.echo(
                f"Warning: {marker_file(file)} cannot be written: {error.strerror}.", err=True
            )


async def create_tables(database: AsyncDatabase) -> None:
    """Create the tables and what is derived from the data in them, unless another process does that now."""
    try:
        before = await upgrade(database)
    except UnsupportedSchema as error:
        raise click.ClickException(str(error)) from None
    if before.status is SchemaStatus.EMPTY:
        await database.in_write(store_name_orders)


async def upgrade_older_schema(settings: Settings, database: AsyncDatabase) -> None:
    """Upgrade the tables of an earlier release. Of an SQLite file, nobody else may be a user meanwhile."""
    if (await read_state(database)).status is not SchemaStatus.OLDER:
        return
    file = sqlite_file(settings.database)
    try:
        with nullcontext() if file is None else exclusive_use(file):
            before = await upgrade(database)
    except DatabaseInUse:
        raise click.ClickException(
            "The database must be upgraded for this release, and another process uses it. Stop that first."
        ) from None
    click.echo(
        f"Upgraded the database from schema {before.revision} to {REQUIRED_REVISION}.", err=True
    )


def announce_creation(database: AsyncDatabase) -> None:
    """Say on standard error that a new database is created, and where."""
    click.echo(f"Creating a new database: {database.address}", err=True)


def _missing_database(settings: Settings, what: str) -> click.ClickException:
    setting = "FIELDGATE_DATABASE_URL" if settings.database_url else "--data (or FIELDGATE_DATA)"
    return click.ClickException(
        f"{what} Check {setting}. If it is right, create the database. Run: fieldgate migrate{settings.data_option}"
    )


def database_address(data: Path | None) -> str:
    """The address of the database for messages, without a password."""
    url = load_settings(data).database
    file = sqlite_file(url)
    if file is not None:
        return str(file.absolute())
    return PostgresURL.parse(url).address


def run_with_database(
    data: Path | None, work: Callable[[AsyncDatabase], Awaitable[T]], *, creates: bool = False
) -> T:
    """Do something with the database that `--data` and the environment choose."""

    async def run() -> T:
        async with open_database(load_settings(data), creates=creates) as database:
            return await work(database)

    return asyncio.run(run())


def run_with_accounts(
    data: Path | None, work: Callable[[AccountStore], Awaitable[T]], *, creates: bool = False
) -> T:
    """The same with its account store."""
    return run_with_database(
        data, lambda each: work(AccountStore(each, DataVersions(each))), creates=creates
    )
