"""`fieldgate backup` and `fieldgate restore`: copies of an SQLite database."""

import shlex
import sqlite3
from pathlib import Path

import click

from fieldgate.cli.common import connect, data_option, load_settings
from fieldgate.db import sqlite_file
from fieldgate.db.postgres_url import PostgresURL
from fieldgate.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@data_option
def backup(file: Path, force: bool, data: Path | None) -> None:
    """Write a copy of the SQLite database to FILE, while the service runs.

    SQLite checks the copy, and its rows are counted. A FILE that ends with .gz or .zst is compressed. On PostgreSQL
    the command prints how to use pg_dump.
    """
    # Here, as other commands do not need it.
    from fieldgate.db.backup import back_up
    from fieldgate.db.backup_content import BackupError

    settings = load_settings(data)
    database = _require_sqlite(
        settings,
        "back it up",
        "(umask 077 && pg_dump --format=custom --dbname={url} --file={file})",
        file,
    )
    connect(settings, creates=False)  # says so if there is no database
    try:
        result = back_up(database, file, overwrite=force)
    except BackupError as error:
        raise click.ClickException(str(error)) from None
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(f"The backup failed: {error}") from None
    click.echo(
        f"backed up {result.content.rows} rows of {len(result.content.tables)} tables to {file}: "
        f"{result.bytes} bytes, schema {result.content.revision}, in {result.seconds:.1f} s"
    )


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--force", is_flag=True, help="Replace an existing database. It is kept under another name."
)
@data_option
def restore(file: Path, force: bool, data: Path | None) -> None:
    """Make the backup FILE the database. Stop the service first.

    FILE is checked before anything is replaced. On PostgreSQL the command prints how to use pg_restore.
    """
    # Slow to import, and other commands do not need it.
    from fieldgate.db.backup_content import BackupError
    from fieldgate.db.restore import restore as restore_file

    settings = load_settings(data)
    database = _require_sqlite(
        settings,
        "restore it",
        "pg_restore --clean --if-exists --single-transaction --dbname={url} {file}",
        file,
    )
    try:
        result = restore_file(file, database, overwrite=force)
    except BackupError as error:
        raise click.ClickException(str(error)) from None
    except (OSError, sqlite3.Error) as error:
        raise click.ClickException(f"Nothing was restored: {error}") from None
    if result.replaced is not None:
        click.echo(f"The database that was there is now {result.replaced}", err=True)
    click.echo(
        f"restored {result.content.rows} rows of {len(result.content.tables)} tables to {database}: "
        f"schema {result.content.revision}, in {result.seconds:.1f} s"
    )


def _require_sqlite(settings: Settings, action: str, postgres_command: str, file: Path) -> Path:
    """The file of the database. PostgreSQL has its own tools: the error has the command."""
    database = sqlite_file(settings.database)
    if database is not None:
        return database
    address = PostgresURL.parse(settings.database).without_secrets().text
    command = postgres_command.format(file=shlex.quote(str(file)), url=shlex.quote(address))
    if settings.database_pooler:
        # pg_restore empties the search path of its session; Fieldgate would find no table in it.
        command += "\nReplace host and port by those of PostgreSQL itself, not of the pooler."
    raise click.ClickException(
        f"The database is PostgreSQL. To {action}, use its own tools, which ask for the password or read it from "
        f"PGPASSWORD or ~/.pgpass:\n{command}"
    )
