"""`python -m tests.faults.reliability_table RESULTS`: write the table of `docs/reliability.md` from results of trials.

Rows of trials that were not run again stay. `--prune` removes all of them, for example after all trials were run and
some no longer exist.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tests.faults.kill_matrix import trial_names
from tests.faults.trial_report import TrialResult, read_results

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- trials: begin -->", "<!-- trials: end -->"
HEADINGS = ("trial", "database", "acknowledged", "lost", "duplicated", "statuses", "recovery", "remark")


class Row(msgspec.Struct, frozen=True):
    """One row, as text."""

    trial: str
    database: str
    acknowledged: str
    lost: str
    duplicated: str
    statuses: str
    recovery: str
    remark: str

    @property
    def key(self) -> tuple[str, str]:
        return self.trial, self.database


def row_of(result: TrialResult) -> Row:
    statuses = ", ".join(f"{name}: {number:,}" for name, number in result.statuses.items())
    recovery = "" if result.recovery_seconds is None else f"{result.recovery_seconds:.1f} s"
    figures = (f"{result.acknowledged:,}", str(result.lost), str(result.duplicated))
    cells = (result.trial, result.database, *figures, statuses, recovery, result.remark)
    return Row(*(cell.replace("|", "/").replace("\n", " ") for cell in cells))


def read_rows(page: str) -> list[Row]:
    """The rows of the table in the page."""
    table = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    return [Row(*(cell.strip() for cell in line.strip().strip("|").split("|"))) for line in table[2:]]


def write_rows(page: str, rows: Iterable[Row]) -> str:
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(msgspec.structs.astuple(row) for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def known_trials() -> list[re.Pattern[str]]:
    """Names of all trials in the tests, as patterns: what a test fills in matches anything."""
    named = [re.escape(name) for name in trial_names()]
    for file in sorted(Path(__file__).parent.glob("*.py")):
        if file.name not in {"kill_matrix.py", "test_reliability_table.py"}:
            named += trials_in(file.read_text())
    return [re.compile(name) for name in dict.fromkeys(named)]


def trials_in(source: str) -> Iterator[str]:
    """The patterns of a module. Raises `ValueError` for a name that is computed elsewhere: its row could be missing."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == TrialResult.__name__:
            yield _pattern_of(next(keyword.value for keyword in node.keywords if keyword.arg == "trial"))


def _pattern_of(name: ast.expr) -> str:
    if isinstance(name, ast.Constant):
        return re.escape(str(name.value))
    if isinstance(name, ast.JoinedStr):
        return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in name.values)
    raise ValueError(f"write the name of the trial in the call of TrialResult, instead of {ast.unparse(name)!r}")


def merge(old: Iterable[Row], new: Iterable[Row], known: list[re.Pattern[str]]) -> list[Row]:
    """The old rows, replaced by the new ones, in the order of the tests, then by database.

    Trials that no longer exist come last.
    """
    rows = {row.key: row for row in (*old, *new)}

    def place(row: Row) -> int:
        return next((number for number, name in enumerate(known) if name.fullmatch(row.trial)), len(known))

    return sorted(rows.values(), key=lambda row: (place(row), row.trial, row.database))


def main(results: Path, is_pruned: bool) -> None:
    page = PAGE.read_text()
    new = [row_of(result) for result in read_results(results)] if results.exists() else []
    old = [] if is_pruned else read_rows(page)
    PAGE.write_text(write_rows(page, merge(old, new, known_trials())))
    print(f"{len(new)} rows of {PAGE.name} are new")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--prune" in sys.argv[2:])
