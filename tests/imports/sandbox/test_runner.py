"""The sandbox process: how it ends is reported, and nothing that it sends is trusted."""

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.watchdog import can_watch_memory
from fieldgate.imports.xlsform import Form
from fieldgate.runtime.process_limits import LOWER_BY, MAX_NICENESS
from tests.imports.sandbox import failing_readers
from tests.imports.sandbox.fork_servers import killing_fork_servers
from tests.imports.xlsform.workbooks import Rows, xls

MEBIBYTE = 1024 * 1024
LIMITS = runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=1)
LITTLE_TIME = runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=1, grace_seconds=0)
LITTLE_MEMORY = runner.SandboxLimits(memory_bytes=128 * MEBIBYTE, cpu_seconds=20)
CSV = b"type,name,label\ntext,a,A\n"

needs_proc = pytest.mark.skipif(
    not can_watch_memory(), reason="memory of processes cannot be read here"
)


@pytest.mark.parametrize(
    ("parse", "argument", "limits", "reason"),
    [
        (failing_readers.exhaust_memory, 2**31, LITTLE_MEMORY, "memory"),
        (failing_readers.exhaust_memory, 2**40, LITTLE_MEMORY, "memory"),
        (failing_readers.use_memory_briefly, 256 * MEBIBYTE, LITTLE_MEMORY, "memory"),
        (failing_readers.loop_forever, b"", LIMITS, "time"),
        (failing_readers.crash, b"", LIMITS, "crash"),
        (failing_readers.raise_error, b"", LIMITS, "fault"),
    ],
)
def test_failure_reason(
    parse: Any, argument: Any, limits: runner.SandboxLimits, reason: str
) -> None:
    with pytest.raises(runner.SandboxFailure, match=f"^{reason}$") as failure:
        runner.run_in_process(parse, (argument,), limits)
    assert ("an error of ours" in failure.value.details) == (reason == "fault")


@needs_proc
def test_reserved_memory_is_not_used_memory() -> None:
    form = runner.run_in_process(failing_readers.reserve_memory, (10 * 2**30,), LITTLE_MEMORY)
    assert isinstance(form, Form)


@needs_proc
def test_sandbox_is_first_to_be_killed_and_starts_no_processes() -> None:
    form = runner.run_in_process(failing_readers.process_limits, (b"",), LIMITS)
    assert isinstance(form, Form)
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    assert form.content == {"oom_score": 1000, "processes": [0, 0], "niceness": niceness}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities are per process")
def test_what_takes_long_gets_a_low_priority() -> None:
    limits = msgspec.structs.replace(LIMITS, cpu_seconds=20)
    form = runner.run_in_process(failing_readers.wait_for_low_priority, (b"",), limits)
    assert isinstance(form, Form)
    assert form.content == {
        "niceness": min(os.getpriority(os.PRIO_PROCESS, 0) + LOWER_BY, MAX_NICENESS)
    }


@needs_proc
@pytest.mark.parametrize("rows", [2**20, 2**24, 2**31])
def test_xls_that_claims_many_rows(rows: int) -> None:
    """Calamine reserves 10 GB for the first, is ended by the second and raises an error for the third."""
    survey: Rows = [["type", "name", "label"], ["integer", "age", "Âge"], ["text", "a", "A"]]
    form = runner.parse_in_sandbox(
        xls({"survey": survey}, extent=(rows, 256)), "old", LITTLE_MEMORY
    )
    assert isinstance(form, Form)
    assert form.summary["labels"] == ["Âge", "A"]


def test_time_by_the_clock_is_not_processor_time() -> None:
    with pytest.raises(runner.SandboxFailure, match=r"^busy$"):
        runner.run_in_process(failing_readers.get_no_processor_time, (b"",), LITTLE_TIME)


@needs_proc
def test_second_process_has_the_processor_time_that_is_left() -> None:
    """The first one waits for longer than its processor time, by the clock, and is then ended by its file."""
    survey: Rows = [["type", "name", "label"], ["text", "a", "A"]]
    book = xls({"survey": survey}, extent=(2**24, 256))
    limits = runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=3)
    form = runner._run_with_both_readers(failing_readers.wait_and_abort, (book, "old"), limits)
    assert isinstance(form, Form)


def test_second_process_has_the_time_that_is_left() -> None:
    """The first reader works and aborts. Then there is less than a second left for the second."""
    limits = runner.SandboxLimits(memory_bytes=2**30, cpu_seconds=2)
    with pytest.raises(runner.SandboxFailure, match="memory") as failure:
        runner._run_with_both_readers(
            failing_readers.work_and_abort, (xls({"survey": [["type"]]}),), limits
        )
    assert failure.value.aborted


class _MakeFolder:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


FORGED = {
    "rejection": {
        "error_type": "x",
        "error": {"text": "x", "values": {"text": "y"}},
        "problems": [],
        "warnings": [],
    }
}


@pytest.mark.parametrize(
    ("parse", "argument", "reason"),
    [
        (failing_readers.die_mid_result, b"", "crash"),
        (failing_readers.return_unserializable, b"", "fault"),
        (failing_readers.exit_early, b"", "crash"),
        (failing_readers.send_bytes, msgspec.msgpack.encode({"form": {"content": []}}), "crash"),
        (failing_readers.send_bytes, msgspec.msgpack.encode(FORGED), "crash"),
        (failing_readers.send_bytes, msgspec.msgpack.encode({}), "fault"),
        (failing_readers.send_endless, b"", "crash"),
        (failing_readers.send_half_and_hang, b"", "busy"),
        (failing_readers.close_and_hang, b"", "busy"),
    ],
)
def test_invalid_result_is_a_failure(parse: Any, argument: bytes, reason: str) -> None:
    with pytest.raises(runner.SandboxFailure, match=f"^{reason}$"):
        runner.run_in_process(parse, (argument,), LITTLE_TIME)


def test_result_is_not_unpickled(tmp_path: Path) -> None:
    pickled = pickle.dumps((True, _MakeFolder(tmp_path / "made")))
    with pytest.raises(runner.SandboxFailure, match="crash"):
        runner.run_in_process(failing_readers.send_bytes, (pickled,), LIMITS)
    assert list(tmp_path.iterdir()) == []


def test_oversized_result_is_not_sent() -> None:
    limits = runner.SandboxLimits(2048 * MEBIBYTE, 5)
    with pytest.raises(runner.SandboxFailure, match="memory"):
        runner.run_in_process(failing_readers.return_oversized, (b"",), limits)


def test_stop_signals_do_not_interrupt_reading() -> None:
    assert isinstance(
        runner.run_in_process(failing_readers.receive_stop_signals, (CSV,), LIMITS), Form
    )


def test_main_module_is_not_loaded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "print('loaded', flush=True)\n"
        "if __name__ == '__main__':\n"
        "    from fieldgate.imports.sandbox import runner\n"
        "    from concurrent.futures import ThreadPoolExecutor\n"
        f"    parse = lambda _: runner.parse_in_sandbox({CSV!r}, 'form', runner.SandboxLimits(2**30, 60))\n"
        "    with ThreadPoolExecutor(3) as pool:\n"
        "        list(pool.map(parse, range(30)))\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "loaded\n"


def test_long_path_of_the_temporary_folder(tmp_path: Path) -> None:
    """The path of a socket is limited. Its folder is then another one, and nothing is left in either."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    program = (
        "import os, sys, tempfile\n"
        "from fieldgate.imports.sandbox import runner\n"
        "runner.SHORT_FOLDER = sys.argv[1]\n"
        "runner.start_fork_server()\n"
        "print(len(os.listdir(sys.argv[1])), tempfile.gettempdir())\n"
    )
    with tempfile.TemporaryDirectory(dir=runner.SHORT_FOLDER) as short:
        environment = {**os.environ, "TMPDIR": str(folder)}
        ran = subprocess.run(
            [sys.executable, "-c", program, short], env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.split() == ["1", str(folder)]
        assert list(Path(short).iterdir()) == list(folder.iterdir()) == []


def test_killed_fork_server_is_not_a_failure_of_the_file() -> None:
    with killing_fork_servers(1) as killed, pytest.raises(runner.SandboxNotStarted):
        runner.parse_in_sandbox(CSV, "form", LITTLE_MEMORY)
    assert len(killed) == 1
    assert isinstance(runner.parse_in_sandbox(CSV, "form", LITTLE_MEMORY), Form)
