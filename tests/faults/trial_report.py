"""What a trial saw, as a row of the table in `docs/reliability.md`.

trial_report.add(TrialResult(trial="kill -9 of a process", database="SQLite", acknowledged=200, statuses={"201": 200}))
"""

import os
from pathlib import Path

import msgspec

REPORT_VARIABLE = "FAULT_REPORT"  # a file that `make faults` sets; results are appended to it as JSON lines


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
    """Collects results for the table. Without the variable it keeps nothing."""

    def add(self, result: TrialResult) -> None:
        target = os.environ.get(REPORT_VARIABLE)
        if target:
            with Path(target).open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")


def read_results(file: Path) -> list[TrialResult]:
    return [msgspec.json.decode(line, type=TrialResult) for line in file.read_bytes().splitlines()]
