"""What a trial saw, as a row of the table in `docs/reliability.md`.

trial_report.add(TrialResult(trial="kill -9 of a process", database="SQLite", acknowledged=200, statuses={"201": 200}))
"""

import os
from pathlib import Path

import msgspec

REPORT_VARIABLE = "FAULT_REPORT"  # a file that `make nightly` sets; rows are appended to it


class TrialResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one trial. `lost` and `duplicated` count acknowledged writes."""

    trial: str
    database: str  # "SQLite", "PostgreSQL", "PgBouncer", or "-" where it does not matter
    acknowledged: int = 0
    lost: int = 0
    duplicated: int = 0
    statuses: dict[str, int] = {}  # responses by status, or by the name of a connection error
    recovery_seconds: float | None = None
    remark: str = ""


class TrialReport:
    """Collects rows for the table. Without the variable it keeps nothing."""

    def add(self, result: TrialResult) -> None:
        target = os.environ.get(REPORT_VARIABLE)
        if target:
            with Path(target).open("a") as file:
                file.write(_row(result))


def _row(result: TrialResult) -> str:
    refused = (
        (status, count) for status, count in sorted(result.statuses.items()) if status[0] in "345"
    )
    statuses = ", ".join(f"{status}: {count:,}" for status, count in refused)
    seconds = "" if result.recovery_seconds is None else f"{result.recovery_seconds:.1f} s"
    counts = (
        (f"{result.acknowledged:,}", f"{result.lost}", f"{result.duplicated}")
        if result.acknowledged
        else ("",) * 3
    )
    return f"| {' | '.join((result.trial, result.database, *counts, statuses, seconds, result.remark))} |\n"
