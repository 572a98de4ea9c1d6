import pytest

from tests.faults.trial_report import TrialReport


@pytest.fixture
def trial_report() -> TrialReport:
    return TrialReport()
