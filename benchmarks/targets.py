"""Targets other than rates, and whether they are met. They are reported, not enforced."""

import operator
from collections.abc import Iterable
from typing import Literal, Self

import msgspec
from rich import box
from rich.table import Table

Side = Literal["at least", "at most"]
AT_LEAST: Side = "at least"
AT_MOST: Side = "at most"


class Check(msgspec.Struct, frozen=True):
    """A figure and its limit."""

    what: str
    found: float
    side: Side
    limit: float
    unit: str
    is_met: bool

    @classmethod
    def of(cls, what: str, found: float, side: Side, limit: float, unit: str = "") -> Self:
        reaches = operator.ge if side == AT_LEAST else operator.le
        return cls(what, found, side, limit, unit, reaches(found, limit))


def checks_table_of(title: str, checks: Iterable[Check]) -> Table:
    table = Table(title=title, box=box.HORIZONTALS, pad_edge=False)
    table.add_column("what", overflow="fold")
    for heading in ("found", "target", "met"):
        table.add_column(heading, justify="right", no_wrap=True)
    for check in checks:
        unit = check.unit and f" {check.unit}"
        table.add_row(
            check.what, f"{check.found:,.2f}{unit}", f"{check.side} {check.limit:,g}{unit}", format_met(check.is_met)
        )
    return table


def format_met(is_met: bool | None) -> str:
    return {True: "[green]yes[/]", False: "[red]no[/]", None: ""}[is_met]
