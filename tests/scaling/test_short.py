"""The measurements of docs/scaling.md with little data: what must be right is, and the page can be written."""

from pathlib import Path
from typing import Any

import pytest

from tests.scaling.__main__ import measure
from tests.scaling.fill import SHORT
from tests.scaling.scaling_page import render
from tests.scaling.sections import FEW, PROCESSES, SECTIONS

pytestmark = pytest.mark.nightly


def test_all_sections(tmp_path: Path) -> None:
    results = measure(SHORT, FEW, list(SECTIONS), file=tmp_path / "results.json")
    for conditions in results["start"].values():
        assert [len(found["seconds"]) for found in conditions.values()] == [1, PROCESSES]
    assert all(
        found["statements"] > 0
        for name, found in results["statements"].items()
        if "1, import" not in name
    )
    for found in results["visibility"].values():
        assert found["writes"] > 0
        assert sum(found.get("late_permissions", {}).values()) == 0
    for name, fault in {**results["restarts"], "failover": results["failover"]}.items():
        _check_fault(name, fault)
    assert results["restarts"]["rolling"]["writes"].keys() | results["restarts"]["rolling"][
        "reads"
    ] <= {"200", "201"}
    page = render(results)
    assert "{" not in page
    assert page.count("\n| ---") == 4


def _check_fault(name: str, found: dict[str, Any]) -> None:
    assert found["acknowledged"] > 0
    assert (found["lost"], found["duplicated"], found["stale_reads"]) == (0, 0, 0), name
    assert "500" not in found["writes"].keys() | found["reads"], name
