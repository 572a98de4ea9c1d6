"""The hot paths cost no more than they did. Nothing is timed: steps are counted, and counts are the same everywhere.

If this fails, a change has made every such request dearer. Look for the query, the loop or the copy that came with it
(`python -m benchmarks.counting` shows all counts) and take it out. Only where the price is worth it, and the commit
says why, write the new figures with `python -m benchmarks.counting --renew`: what is let in here stays in every
request.
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
    find_stale_figures,
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
    """What a process of its own counts: what else the tests do, and their coverage, would be counted as well."""
    folder, token = made
    command = [sys.executable, "-m", *program, "--json", "--data", str(folder), "--token", token]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    told = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=300).stdout
    return msgspec.json.decode(told, type=dict[str, Counts])


@pytest.fixture(scope="module")
def found(made: Made) -> dict[str, Counts]:
    return counted(made, "benchmarks.counting")


def test_the_hot_paths_cost_no_more_than_they_did(expected: Expected, found: dict[str, Counts]) -> None:
    said = find_regressions(expected, found, this_python())
    assert not said, "\n".join(said) + WHAT_TO_DO


def test_the_document_names_them_all(expected: Expected) -> None:
    document = (CHECKOUT / "benchmarks" / "README.md").read_text()
    _, _, guard = document.partition("## The guard in `make test`")
    for name in expected.counts:
        assert name.partition(",")[0] in guard


def test_what_was_saved_is_kept(expected: Expected, found: dict[str, Counts]) -> None:
    said = find_stale_figures(expected, found, this_python())
    assert not said, "\n".join(said) + "\nGood: now hold it, with python -m benchmarks.counting --renew"


@pytest.mark.parametrize(
    ("way", "path", "kind"),
    [
        ("query", "imports list, cold", "statements"),
        ("loop", "imports list, cold", "instructions"),
        ("copy", "50 events, warm", "memory"),
    ],
)
def test_what_makes_them_worse_is_noticed(way: str, path: str, kind: str, made: Made, found: dict[str, Counts]) -> None:
    before = Expected(this_python(), found)
    said = find_regressions(before, counted(made, "tests.injected_regressions", way), this_python())
    assert [each for each in said if each.startswith(f"{path}:") and f" {kind}," in each]


def test_counts_within_the_margin_pass_and_others_are_told() -> None:
    before = Expected("3.11", {"a page": Counts(1000, 2, 100_000)})
    assert find_regressions(before, {"a page": Counts(1040, 2, 110_000)}, "3.11") == []
    assert find_regressions(before, {"a page": Counts(10, 0, 0)}, "3.11") == []
    assert find_regressions(before, {"a page": Counts(1100, 3, 200_000)}, "3.11") == [
        "a page: 1100 instructions, where 1000 were enough",
        "a page: 3 statements, where 2 were enough",
        "a page: 200000 memory, where 100000 were enough",
    ]
    assert find_regressions(before, {"a page": Counts(9999, 2, 100_000)}, "3.12") == []
    assert find_regressions(before, {}, "3.11") == ["a page: is not answered any more"]


def test_figures_far_above_what_is_counted_are_told() -> None:
    before = Expected("3.11", {"a page": Counts(1000, 2, 100_000)})
    assert find_stale_figures(before, {"a page": Counts(900, 2, 100_000)}, "3.11") == []
    assert find_stale_figures(before, {"a page": Counts(700, 2, 100_000), "another": Counts(1, 0, 0)}, "3.11") == [
        "another: nothing is expected of it",
        "a page: 700 instructions, where 1000 are expected",
    ]
    assert find_stale_figures(before, {"a page": Counts(700, 2, 100_000)}, "3.12") == []
