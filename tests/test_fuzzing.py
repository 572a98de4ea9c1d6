"""schemathesis asks a running service everything our description allows, and much that it does not.

The short form runs here; `make fuzz` runs it for minutes, with other data each time.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import PASSWORD
from tests.processes import ServerProcess, run_command

HERE = Path(__file__).parent
EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "10")
EVENTS = "/api/v2/event/"


def test_the_service_does_what_its_description_says(tmp_path: Path) -> None:
    run_command("user", "create", "fuzz", "--password-stdin", data=tmp_path, stdin=PASSWORD)
    # The short form leaves out the two lists that take the very parameters of the list of events, and an operation that
    # got every fourth request and refused them all, as this user is no superuser.
    short = [
        "--generation-deterministic",
        *(f"--exclude-path={EVENTS}{name}/" for name in ("mini", "export")),
        "--exclude-operation-id=event_replacement",
    ]
    seed = short if "FUZZ_EXAMPLES" not in os.environ else []
    with ServerProcess(tmp_path) as served:
        done = subprocess.run(
            [
                Path(sys.executable).parent / "schemathesis",
                "--config-file", HERE / "schemathesis.toml",
                "run", f"{served.base_url}/api-docs/openapi.json",
                "--auth", f"fuzz:{PASSWORD}",
                "--max-examples", EXAMPLES,
                "--no-color",
                *seed,
            ],
            capture_output=True,
            text=True,
            timeout=3600,
            cwd=tmp_path,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.fuzzing_rules", "PYTHONPATH": str(HERE.parent)},
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert '"level":"error"' not in served.log
