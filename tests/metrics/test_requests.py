"""Request metrics of one and of several processes."""

import os
import subprocess
import sys
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from fieldgate.metrics.requests import RequestMetrics
from fieldgate.settings import Settings

COUNTING = """
import sys
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.settings import Settings
metrics = RequestMetrics(Settings())
for _ in range(int(sys.argv[1])):
    metrics.count_request("GET", "/a/", 200, 0.003)
print(metrics.to_prometheus().decode())
"""


def samples_of(exposition: str) -> dict[str, float]:
    return {
        " ".join(
            [sample.name, *(value for _, value in sorted(sample.labels.items()))]
        ): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
    }


def test_one_process() -> None:
    metrics = RequestMetrics(Settings())
    metrics.count_request("GET", "/a/", 200, 0.003)
    metrics.count_request("BREW", "/a/", 405, 0.1)
    metrics.count_refusal("reads")
    samples = samples_of(metrics.to_prometheus(is_ready=True).decode())
    assert samples["fieldgate_requests_total GET /a/ 200"] == 1
    assert samples["fieldgate_requests_total OTHER /a/ 405"] == 1
    assert samples["fieldgate_request_seconds_count /a/"] == 2
    assert samples["fieldgate_rate_limited_total reads"] == 1
    assert samples["fieldgate_ready"] == 1
    assert samples_of(metrics.to_prometheus(is_ready=False).decode())["fieldgate_ready"] == 0
    assert not [name for name in samples if "_created" in name]


def test_processes_share_a_folder(tmp_path: Path) -> None:
    """Counts are added up, also those of processes that have ended."""
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def count(number: int) -> dict[str, float]:
        command = [sys.executable, "-c", COUNTING, str(number)]
        return samples_of(
            subprocess.run(
                command, check=True, env=environment, capture_output=True, text=True
            ).stdout
        )

    count(9)
    samples = count(2)
    assert samples["fieldgate_requests_total GET /a/ 200"] == 11
    assert samples["fieldgate_request_seconds_bucket 0.005 /a/"] == 11
    samples = count(3)
    assert samples["fieldgate_requests_total GET /a/ 200"] == 14
