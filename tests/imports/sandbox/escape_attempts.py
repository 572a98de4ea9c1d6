"""What code in the sandbox could try in order to leave traces. The sandbox process imports this module."""

# ruff: noqa: PTH123, PTH211, SIM115 - the plain calls are what is tested

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fieldgate.imports.xlsform import Form

Attempt = Callable[[Path], object]

EXISTING = "existing.txt"
# Names that nothing else on the machine has.
NEW, NEW_DATABASE = "fieldgate-escape-attempt", "fieldgate-escape-attempt.db"
DATABASE = "existing.db"
FOLDER = "existing"


def _create_database(folder: Path) -> None:
    with sqlite3.connect(folder / NEW_DATABASE) as connection:
        connection.execute("CREATE TABLE t (x)")


def _write_database(folder: Path) -> None:
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("INSERT INTO t VALUES (1)")


# Refused by the kernel as well as by the audit hook.
CREATIONS: dict[str, Attempt] = {
    "open w": lambda folder: open(folder / NEW, "w"),
    "open x": lambda folder: open(folder / NEW, "x"),
    "open a": lambda folder: open(folder / NEW, "a"),
    "os.open O_CREAT": lambda folder: os.open(folder / NEW, os.O_CREAT | os.O_RDONLY),
    "os.open O_TMPFILE": lambda folder: os.open(folder, os.O_TMPFILE | os.O_RDWR),
    "write_bytes": lambda folder: (folder / NEW).write_bytes(b""),
    "touch": lambda folder: (folder / NEW).touch(),
    "mkstemp": lambda folder: tempfile.mkstemp(dir=folder),
    "NamedTemporaryFile": lambda folder: tempfile.NamedTemporaryFile(dir=folder, delete=False),
    "TemporaryFile": lambda folder: tempfile.TemporaryFile(dir=folder),
    "mkdtemp": lambda folder: tempfile.mkdtemp(dir=folder),
    "mkdir": lambda folder: (folder / NEW).mkdir(),
    "symlink": lambda folder: os.symlink("target", folder / NEW),
    "new database": _create_database,
}
CHANGES: dict[str, Attempt] = {
    "open r+": lambda folder: open(folder / EXISTING, "r+"),
    "os.open O_WRONLY": lambda folder: os.open(folder / EXISTING, os.O_WRONLY),
    "overwrite": lambda folder: (folder / EXISTING).write_bytes(b""),
    "os.truncate": lambda folder: os.truncate(folder / EXISTING, 0),
    "os.open O_TRUNC": lambda folder: os.open(folder / EXISTING, os.O_RDONLY | os.O_TRUNC),
    "rename": lambda folder: (folder / EXISTING).rename(folder / NEW),
    "replace": lambda folder: (folder / EXISTING).replace(folder / DATABASE),
    "unlink": lambda folder: (folder / EXISTING).unlink(),
    "rmdir": lambda folder: (folder / FOLDER).rmdir(),
    "rmtree": lambda folder: shutil.rmtree(folder / FOLDER),
    "hard link": lambda folder: os.link(folder / EXISTING, folder / NEW),
    "copy": lambda folder: shutil.copy(folder / EXISTING, folder / NEW),
    "write database": _write_database,
    "os.execv": lambda _: os.execv(sys.executable, [sys.executable, "-c", ""]),
    "os.posix_spawn": lambda _: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
    "subprocess": lambda _: subprocess.run([sys.executable, "-c", ""]),
}
# Landlock does not know these.
HOOK_ONLY: dict[str, Attempt] = {
    "chmod": lambda folder: (folder / EXISTING).chmod(0o777),
    "utime": lambda folder: os.utime(folder / EXISTING, (0, 0)),
    "os.system": lambda folder: os.system(f"touch {folder}/new"),
    "os.fork": lambda _: os.fork() or os._exit(0),
    "TCP socket": lambda _: socket.socket(),
    "UDP socket": lambda _: socket.socket(type=socket.SOCK_DGRAM),
    "Unix socket": lambda _: socket.socket(socket.AF_UNIX),
    "name lookup": lambda _: socket.getaddrinfo("localhost", 80),
}
# Python raises no audit event for these.
KERNEL_ONLY: dict[str, Attempt] = {
    "mkfifo": lambda folder: os.mkfifo(folder / NEW),
    "signal to parent": lambda _: os.kill(os.getppid(), 0),
}


def attempt_all(attempts: Mapping[str, Attempt], folder: str) -> dict[str, str]:
    """Return how each attempt ended: "refused" or "succeeded"."""
    outcomes = {}
    for name, attempt in attempts.items():
        try:
            attempt(Path(folder))
            outcomes[name] = "succeeded"
        except (PermissionError, sqlite3.OperationalError):
            outcomes[name] = "refused"
    return outcomes


def attempt_in_sandbox(groups: tuple[str, ...], folder: str) -> Form:
    """Make the attempts of these groups; the outcomes are the content of the form."""
    attempts = {name: attempt for group in groups for name, attempt in globals()[group].items()}
    return Form(attempt_all(attempts, folder), {}, None, None, None, "", 0, [])
