"""Code in the import sandbox cannot write files, reach the network or start programs."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.confinement import landlock_abi
from fieldgate.imports.xlsform import Form
from tests.imports.sandbox import escape_attempts, failing_readers
from tests.imports.sandbox.escape_attempts import (
    CHANGES,
    CREATIONS,
    DATABASE,
    EXISTING,
    FOLDER,
    HOOK_ONLY,
    KERNEL_ONLY,
    NEW,
    NEW_DATABASE,
)

FULL_ABI = 6  # the version of Landlock that refuses everything that the tests try
LIMITS = runner.SandboxLimits(512 * 1024 * 1024, 20)

needs_landlock = pytest.mark.skipif(
    landlock_abi() < FULL_ABI, reason="this kernel has no recent Landlock"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the attempts try to change."""
    (tmp_path / EXISTING).write_text("unchanged")
    (tmp_path / FOLDER).mkdir()
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("CREATE TABLE t (x)")
    return tmp_path


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        path.name: (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in folder.iterdir()
    }


def outcomes_in_sandbox(groups: tuple[str, ...], folder: Path) -> dict[str, str]:
    form = runner.run_in_process(escape_attempts.attempt_in_sandbox, (groups, str(folder)), LIMITS)
    assert isinstance(form, Form)
    return form.content


def test_sandbox_refuses_every_change(folder: Path) -> None:
    before = snapshot(folder)
    outcomes = outcomes_in_sandbox(("CREATIONS", "CHANGES", "HOOK_ONLY"), folder)
    assert outcomes == dict.fromkeys(CREATIONS | CHANGES | HOOK_ONLY, "refused")
    assert snapshot(folder) == before


@pytest.mark.parametrize("place", ["temporary folder", "working directory", "package"])
def test_sandbox_cannot_create_files_elsewhere(place: str) -> None:
    folders = {
        "temporary folder": Path(tempfile.gettempdir()),
        "working directory": Path.cwd(),
        "package": Path(runner.__file__).parent,
    }
    assert outcomes_in_sandbox(("CREATIONS",), folders[place]) == dict.fromkeys(
        CREATIONS, "refused"
    )
    assert not (folders[place] / NEW).exists()
    assert not (folders[place] / NEW_DATABASE).exists()


@needs_landlock
def test_sandbox_refuses_what_python_does_not_audit(folder: Path) -> None:
    before = snapshot(folder)
    assert outcomes_in_sandbox(("KERNEL_ONLY",), folder) == dict.fromkeys(KERNEL_ONLY, "refused")
    assert snapshot(folder) == before


def outcomes_with(mechanism: str, groups: tuple[str, ...], folder: Path) -> dict[str, str]:
    """Make the attempts in a process that is confined by one of the two mechanisms only."""
    program = (
        "import json, sys\n"
        "from fieldgate.imports.sandbox import confinement\n"
        "from tests.imports.sandbox.escape_attempts import attempt_in_sandbox\n"
        f"{mechanism}\n"
        f"print(json.dumps(attempt_in_sandbox({groups!r}, {str(folder)!r}).content))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment,
    )
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


@needs_landlock
def test_landlock_alone_refuses_changes(folder: Path) -> None:
    """It also holds for native code, such as SQLite's."""
    before = snapshot(folder)
    groups = ("CREATIONS", "CHANGES", "KERNEL_ONLY")
    outcomes = outcomes_with("assert confinement.restrict_with_landlock()", groups, folder)
    assert outcomes == dict.fromkeys(CREATIONS | CHANGES | KERNEL_ONLY, "refused")
    assert snapshot(folder) == before


def test_audit_hook_alone_refuses_changes(folder: Path) -> None:
    """It is all there is on kernels without Landlock."""
    before = snapshot(folder)
    groups = ("CREATIONS", "CHANGES", "HOOK_ONLY")
    outcomes = outcomes_with("sys.addaudithook(confinement._refuse)", groups, folder)
    assert outcomes == dict.fromkeys(CREATIONS | CHANGES | HOOK_ONLY, "refused")
    assert snapshot(folder) == before


def test_written_files_stay_empty() -> None:
    with pytest.raises(runner.SandboxFailure, match="fault") as failure:
        runner.run_in_process(failing_readers.write_to_memory_file, (b"",), LIMITS)
    assert "File too large" in failure.value.details
