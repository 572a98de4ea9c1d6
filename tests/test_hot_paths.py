"""Hot paths must not cost more than expected. Instructions, statements and memory are counted; nothing is timed.

If this fails, a change has made frequent requests more expensive. Find the query, loop or copy
(`python -m benchmarks.counting` shows all counts) and remove it. If the cost is worth it, write the new figures with
`python -m benchmarks.counting --renew` and give the reason in the commit. The figures are upper bounds.
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.counting import (
    EXPECTED_FILE,
    Counts,
    Expected,
    find_regressions,
    make_data,
    this_python,
)
from benchmarks.processes import CHECKOUT

WHAT_TO_DO = f"\nWhat to do is at the top of tests/{Path(__file__).name}."

Made = tuple[Path, str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("hot-paths")
    return folder, make_data(folder)


@pytest.fixture(scope="module")
def expected() -> Expected:
    return msgspec.json.decode(EXPECTED_FILE.read_bytes(), type=Expected)


def counted(made: Made, *program: str) -> dict[str, Counts]:
    """Count in a separate process, so that the tests and their coverage are not counted."""
    folder, token = made
    command = [sys.executable, "-m", *program, "--json", "--data", str(folder), "--token", token]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    output = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300).stdout
    return msgspec.json.decode(output, type=dict[str, Counts])


@pytest.fixture(scope="module")
def found(made: Made) -> dict[str, Counts]:
    return counted(made, "benchmarks.counting")


def test_hot_paths_stay_within_their_bounds(expected: Expected, found: dict[str, Counts]) -> None:
    problems = find_regressions(expected, found, this_python())
    assert not problems, "\n".join(problems) + WHAT_TO_DO


def test_readme_names_all_hot_paths(expected: Expected) -> None:
    document = (CHECKOUT / "benchmarks" / "README.md").read_text()
    _, _, guard = document.partition("## The guard in `make test`")
    for name in expected.counts:
        assert name.partition(",")[0] in guard


@pytest.mark.parametrize(
    ("way", "path", "kind"),
    [
        ("query", "imports list, cold", "statements"),
        ("loop", "imports list, cold", "instructions"),
        ("copy", "50 events, warm", "memory"),
    ],
)
def test_regressions_are_detected(way: str, path: str, kind: str, made: Made, found: dict[str, Counts]) -> None:
    before = Expected(this_python(), found)
    problems = find_regressions(before, counted(made, "tests.injected_regressions", way), this_python())
    assert [each for each in problems if each.startswith(f"{path}:") and f" {kind}," in each]


def test_margins() -> None:
    before = Expected("3.11", {"a page": Counts(1000, 2, 100_000)})
    assert find_regressions(before, {"a page": Counts(1040, 2, 110_000)}, "3.11") == []
    assert find_regressions(before, {"a page": Counts(10, 0, 0)}, "3.11") == []
    assert find_regressions(before, {"a page": Counts(1100, 3, 200_000)}, "3.11") == [
        "a page: 1100 instructions, expected 1000",
        "a page: 3 statements, expected 2",
        "a page: 200000 memory, expected 100000",
    ]
    assert find_regressions(before, {"a page": Counts(9999, 2, 100_000)}, "3.12") == []
    assert find_regressions(before, {}, "3.11") == ["a page: is no longer answered"]
    assert find_regressions(before, {**dict(before.counts), "another": Counts(1, 0, 0)}, "3.11") == [
        "another: has no expected figures"
    ]
