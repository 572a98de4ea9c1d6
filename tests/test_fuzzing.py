"""schemathesis asks a running service everything our description allows, and much that it does not.

FUZZ_EXAMPLES=500 runs it for an hour, with other data each time.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.accounts import PASSWORD
from tests.processes import ServerProcess, run_command

HERE = Path(__file__).parent
EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "10")
EVENTS = "/api/v2/event/"
# The short form leaves out the two lists that take the very parameters of the list of events, and an operation that got
# every fourth request and refused them all to users that are no superusers.
SHORT = [
    "--generation-deterministic",
    *(f"--exclude-path={EVENTS}{name}/" for name in ("mini", "export")),
    "--exclude-operation-id=event_replacement",
]
# Most of the time goes into the phases "coverage" and "stateful": one role has them.
SHORTER = ["--phases", "examples,fuzzing", "--max-examples", "2"]

# With a database of examples, hypothesis shrinks every good example for it. That took most of the time.
LONG = ["--generation-database", "none"]

ROLES = {
    "anonymous": (),
    "user": ("user", "create", "fuzz"),
    "superuser": ("user", "create", "fuzz", "--superuser"),
}


@pytest.mark.parametrize("role", ROLES)
def test_the_service_does_what_its_description_says(role: str, tmp_path: Path) -> None:
    is_short = "FUZZ_EXAMPLES" not in os.environ
    credentials: list[str] = []
    if ROLES[role]:
        run_command(*ROLES[role], "--password-stdin", data=tmp_path, stdin=PASSWORD)
        token = run_command("token", "create", "fuzz", data=tmp_path).stdout.strip()
        credentials = ["--header", f"Authorization: Token {token}"]
    with ServerProcess(tmp_path) as served:
        done = subprocess.run(
            [
                Path(sys.executable).parent / "schemathesis",
                "--config-file", HERE / "schemathesis.toml",
                "run", f"{served.base_url}/api-docs/openapi.json",
                *credentials,
                "--max-examples", EXAMPLES,
                "--no-color",
                *(SHORT if is_short else LONG),
                *(SHORTER if is_short and role != "user" else []),
            ],
            capture_output=True,
            text=True,
            timeout=7200,
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzzing_rules", "PYTHONPATH": str(HERE.parent)},
            check=False,
        )  # fmt: skip
    failures = done.stdout.partition("= FAILURES =")[2].partition("= WARNINGS =")[0]
    assert done.returncode == 0, failures + done.stderr[-2000:]
    assert '"level":"error"' not in served.log
