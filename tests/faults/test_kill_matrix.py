"""kill -9 under load: no acknowledged write is lost or duplicated, no read is stale."""

import os

import pytest

from tests.faults.kill_matrix import FAULTS, SHORT, Fault, run_site, run_trial, trials
from tests.faults.trial_report import TrialReport

TIMES = int(os.environ.get("KILLS", "20"))  # of each trial in the long form


@pytest.mark.parametrize("database", list(SHORT))
async def test_nothing_acknowledged_is_lost_or_duplicated(database: str) -> None:
    async with run_site(database, processes=2) as site:
        for fault in FAULTS[database][: SHORT[database]]:
            result = await run_trial(site, fault, times=1)
            assert (result.lost, result.duplicated) == (0, 0), result


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("database", "processes", "fault"),
    [pytest.param(*trial, id=f"{trial[0]}-{trial[1]}-{trial[2].name}") for trial in trials()],
)
async def test_many_times(
    database: str, processes: int, fault: Fault, trial_report: TrialReport
) -> None:
    async with run_site(database, processes) as site:
        result = await run_trial(site, fault, TIMES)
    trial_report.add(result)
    assert (result.lost, result.duplicated) == (0, 0), result
