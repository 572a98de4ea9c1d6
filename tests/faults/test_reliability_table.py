"""The table in docs/reliability.md has a row for every trial, and none with lost or duplicated writes."""

import re

import pytest

from tests.faults.reliability_table import PAGE, Row, known_trials, merge, read_rows, row_of, trials_in, write_rows
from tests.faults.trial_report import TrialResult

PAGE_TEXT = "# Title\n\n<!-- trials: begin -->\n<!-- trials: end -->\n\nMore.\n"


def row(trial: str, database: str = "SQLite", acknowledged: int = 1) -> Row:
    return row_of(TrialResult(trial=trial, database=database, acknowledged=acknowledged))


def test_every_trial_has_a_row() -> None:
    rows = read_rows(PAGE.read_text())
    missing = [name.pattern for name in known_trials() if not any(name.fullmatch(row.trial) for row in rows)]
    assert not missing, f"run `make faults`; no row for {missing}"


def test_names_with_values_are_patterns() -> None:
    source = "TrialResult(database='-', trial=f'{count:,} (idle) connections{suffix}')\nTrialResult(trial='disk full')"
    first, second = trials_in(source)
    assert re.fullmatch(first, "5,000 (idle) connections")
    assert not re.fullmatch(first, "5,000 silent connections")
    assert second == "disk\\ full"


@pytest.mark.parametrize("name", ["trial", "trial_name(fault)", "'disk ' + state"])
def test_name_that_is_computed_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="write the name of the trial"):
        list(trials_in(f"TrialResult(trial={name}, database='-')"))


def test_nothing_was_lost_or_duplicated() -> None:
    rows = read_rows(PAGE.read_text())
    assert rows
    assert [row for row in rows if (row.lost, row.duplicated) != ("0", "0")] == []


def test_rows_survive_writing_and_reading() -> None:
    statuses = {"201": 1200, "ConnectError": 3}
    result = TrialResult(trial="a|b", database="-", acknowledged=1203, statuses=statuses, recovery_seconds=1.26)
    page = write_rows(PAGE_TEXT, [row_of(result), row("c")])
    first, second = read_rows(page)
    assert first == Row("a/b", "-", "1,203", "0", "0", "201: 1,200, ConnectError: 3", "1.3 s", "")
    assert second == row("c")
    assert page.startswith("# Title\n")
    assert page.endswith("\n\nMore.\n")


def test_rows_of_trials_that_were_not_run_stay() -> None:
    known = [re.compile("second"), re.compile("first, .+")]
    old = [row("first, 20 %"), row("second"), row("no longer tried")]
    new = [row("second", acknowledged=7), row("second", "PostgreSQL")]
    merged = merge(old, new, known)
    assert [each.key for each in merged] == [
        ("second", "PostgreSQL"),
        ("second", "SQLite"),
        ("first, 20 %", "SQLite"),
        ("no longer tried", "SQLite"),
    ]
    assert merged[1].acknowledged == "7"
