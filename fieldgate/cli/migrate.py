"""`fieldgate migrate`: upgrade the database schema, or go back to an older one."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fieldgate.cli.common import (
    announce_creation,
    connect,
    data_option,
    in_use,
    load_settings,
    mark_database,
    refuse_unfinished_copy,
    upgrade_schema,
)
from fieldgate.db.schema import REQUIRED_REVISION, SchemaState, SchemaStatus, downgrade, is_revision, read_state

if TYPE_CHECKING:
    from fieldgate.db.migrations import DataLoss  # not at run time: it loads Alembic

EMPTY = "base"  # the name of a database without tables


@click.command()
@click.option(
    "--new",
    is_flag=True,
    help="Use this SQLite database from now on, or create one, although another one was used here before.",
)
@click.option(
    "--to",
    "revision",
    metavar="REVISION",
    help="Go back to an older schema, for example 0014; `base` removes all tables.",
)
@click.option("--yes", is_flag=True, help="With --to: delete data that the older schema has no place for.")
@data_option
def migrate(new: bool, revision: str | None, yes: bool, data: Path | None) -> None:
    """Upgrade the database to the schema of this release.

    It is safe to run it again, and on several machines at once. On SQLite, `serve` does it at start-up.

    With --to, go back to the schema of an older release, before you install that release. Stop the service first. If
    data would be lost, nothing is changed unless --yes is given.
    """
    if revision is not None and revision != EMPTY and not is_revision(revision):
        raise click.BadParameter("expected four digits, for example 0014, or base.", param_hint="--to")
    with in_use(load_settings(data)):
        asyncio.run(_upgrade(data, accepts_any=new) if revision is None else _downgrade(revision, yes, data))


async def _upgrade(data: Path | None, *, accepts_any: bool) -> None:
    database = connect(load_settings(data), creates=True, accepts_any=accepts_any)
    try:
        before = await read_state(database)
        refuse_unfinished_copy(before.revision)
        if before.status is SchemaStatus.EMPTY:
            announce_creation(database)
        await upgrade_schema(database)
        mark_database(database, accepts_any=accepts_any)
    finally:
        await database.close()
    if before.status is SchemaStatus.CURRENT:
        click.echo(f"schema {REQUIRED_REVISION} (nothing to do)")
    elif before.status is SchemaStatus.COMPATIBLE:
        click.echo(f"schema {before.revision} of the next release, which this release can use (nothing to do)")
    else:
        click.echo(f"schema {REQUIRED_REVISION}, was {before.revision or 'empty'}")


async def _downgrade(revision: str, yes: bool, data: Path | None) -> None:
    from fieldgate.db.migrations import lost_by_downgrade, revisions

    database = connect(load_settings(data), creates=False)
    try:
        state = await read_state(database)
        _check_downgrade(state, revision, revisions())
        if state.revision is None or state.revision == revision:
            click.echo(f"schema {state.revision or 'empty'} (nothing to do)")
            return
        lost = await lost_by_downgrade(database, state.revision, revision)
        if lost and not yes:
            raise click.ClickException(_describe_loss(lost, revision))
        await downgrade(database, revision)
    finally:
        await database.close()
    click.echo(f"schema {'empty' if revision == EMPTY else revision}, was {state.revision}")


def _check_downgrade(state: SchemaState, revision: str, known: Sequence[str]) -> None:
    if revision != EMPTY and revision not in known:
        raise click.ClickException(f"There is no schema {revision}. The newest of this release is {known[-1]}.")
    if state.status is SchemaStatus.EMPTY:
        return
    if state.revision not in known:
        # Only a release that knows the newer schema can undo it.
        raise click.ClickException(
            f"The database has schema {state.revision}, which this release cannot undo. "
            "Run the command with the release that made it."
        )
    if revision != EMPTY and known.index(revision) > known.index(state.revision):
        raise click.ClickException(
            f"The database has the older schema {state.revision}. To upgrade it, run: fieldgate migrate"
        )


def _describe_loss(lost: "Sequence[DataLoss]", revision: str) -> str:
    lines = "".join(f"\n  {each.what}: {each.rows} (since schema {each.revision})" for each in lost)
    return (
        f"Schema {revision} has no place for this data, which would be deleted:{lines}\n"
        "Make a backup. Then run the command again with --yes."
    )
