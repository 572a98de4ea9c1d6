"""Clients generated from the OpenAPI document by programs of others work, and are generated without a warning."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.data.accounts import PASSWORD
from tests.imports.workbooks import xlsx
from tests.npm import BIN, NODE, node_modules
from tests.permissions.test_catalogue import TABLE
from tests.processes import TIMEOUT_SECONDS, ServerProcess, run_command

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent
EVENTS = 5


class Served(NamedTuple):
    """A service with an owner's token, a user `bashir` and some events, and a workbook to import."""

    base_url: str
    token: str
    workbook: Path

    @property
    def document_url(self) -> str:
        return f"{self.base_url}/api-docs/openapi.json"

    @property
    def arguments(self) -> tuple[str, str, str]:
        return self.base_url, self.token, str(self.workbook)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    data = tmp_path_factory.mktemp("served")
    for name in ("amina", "bashir"):
        run_command("user", "create", name, "--password-stdin", data=data, stdin=PASSWORD)
    token = run_command("token", "create", "amina", data=data).stdout.strip()
    run_command("events", "demo", str(EVENTS), data=data)
    workbook = data / "household.xlsx"
    workbook.write_bytes(xlsx())
    with ServerProcess(data) as process:
        yield Served(process.base_url, token, workbook)


def _run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a program, and return what it printed. Fails with its output if it fails or has something to complain of."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert not re.search(r"warn|deprecat|unsupported|skipp", output, re.IGNORECASE), output
    return done.stdout


def _check_report(report: dict[str, Any], served: Served, names: set[str]) -> None:
    assert len(set(report["assets"])) == len(names)
    assert names <= set(report["listed"])
    assert report["permissions"] == sorted(TABLE)
    assert report["events"] == [EVENTS, 2]
    user = f"{served.base_url}/api/v2/users/bashir/"
    assert f"{user} {served.base_url}/api/v2/permissions/view_asset/" in report["assignments"]
    assert "<h:html" in report["xform"]


def test_python_client(served: Served, tmp_path: Path) -> None:
    package = tmp_path / "generated_client"
    _run(
        BIN / "openapi-python-client",
        "generate",
        "--url", served.document_url,
        "--output-path", package,
        "--meta", "none",
        "--fail-on-warning",
        cwd=tmp_path,
    )  # fmt: skip
    scenario = HERE / "python" / "scenario.py"
    printed = _run(
        sys.executable,
        "-W",
        "error",
        scenario,
        *served.arguments,
        cwd=tmp_path,
        PYTHONPATH=str(tmp_path),
    )
    report = json.loads(printed)
    _check_report(report, served, {"As multipart", "As JSON", "As form"})
    permission = f"{served.base_url}/api/v2/permissions/partial_submissions/"
    assert f"{served.base_url}/api/v2/users/bashir/ {permission}" in report["assignments"], (
        "sent as a form"
    )


def test_typescript_client(served: Served, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(HERE / "typescript", project)
    modules = project / "node_modules"
    modules.symlink_to(node_modules())
    _run(
        NODE,
        modules / "@hey-api/openapi-ts/bin/run.js",
        "-i",
        served.document_url,
        "--no-log-file",
        cwd=project,
    )
    _run(NODE, modules / "typescript/bin/tsc", "--project", project, cwd=project)
    report = json.loads(
        _run(NODE, project / "built" / "scenario.js", *served.arguments, cwd=project)
    )
    _check_report(report, served, {"As multipart", "As JSON"})
