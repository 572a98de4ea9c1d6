"""The benchmark runs with little data, and its table has all rows."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

CHECKOUT = Path(__file__).parents[1]
# The rows, and which of the peer, the floor and the baseline each is compared with.
ROWS = {
    "permission list": "peer floor baseline",
    "permission list with a token": "peer floor baseline",
    "50 events, warm": "peer floor baseline",
    "50 events, cold": "peer floor baseline",
    "50 events, filtered, cold": "peer floor baseline",
    "one event, cold": "floor baseline",
    "50 events as CSV, cold": "floor baseline",
    "imports list, warm": "peer floor baseline",
    "imports list, cold": "peer floor baseline",
    "50 of 100 shared assets, cold": "floor baseline",
    "POST an import": "peer floor baseline",
    "POST an assignment": "peer floor baseline",
    "bulk of 50 users": "baseline",
    "export as CSV": "baseline",
    "export as XLSX": "baseline",
    "start with 1,000 events": "",
    "memory with 1,000 events": "",
    "start with 2,000 events": "",
    "memory with 2,000 events": "",
    "deep page with 2,000 events by first page with 1,000": "",
}


@pytest.mark.nightly
def test_table_has_all_rows_and_comparisons(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".venv").symlink_to(Path(sys.executable).parents[1])
    options = ("--quick", "--results", tmp_path, "--events", "2000", "--baseline", tmp_path / "other")
    command = [sys.executable, "-m", "benchmarks", *map(str, options)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "table.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    assert rows[0] == [
        "work", "ours", "times the peer", "share of the floor", "times the baseline", "target", "met",
    ]  # fmt: skip
    found = {}
    for name, ours, *compared, _, _ in rows[2:]:
        assert float(ours.split()[0].replace(",", "")) > 0
        found[name] = " ".join(what for what, cell in zip(("peer", "floor", "baseline"), compared, strict=True) if cell)
    assert found == ROWS
    assert {row[-1] for row in rows[2:]} <= {"yes", "**no**", ""}
    assert all(row[-1] for row in rows[2:] if row[-2])
    assert ElementTree.parse(tmp_path / "growth.svg").getroot().tag.endswith("svg")
