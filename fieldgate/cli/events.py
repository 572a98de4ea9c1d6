"""`fieldgate events …`: the ways events get in."""

import click

from fieldgate.cli.events_in import load, sync


@click.group()
def events() -> None:
    """Bring events in."""


events.add_command(load)
events.add_command(sync)
