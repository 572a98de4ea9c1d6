"""The machine and the versions of a run, needed to compare its figures with others."""

import os
import platform
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

import msgspec

from benchmarks import peer_environment

OUR_PACKAGES = ("fieldgate", "granian", "uvloop", "msgspec")
PEER_PACKAGES = ("django", "djangorestframework", "granian", "gunicorn")


class Machine(msgspec.Struct, frozen=True):
    cpu: str
    cores: int
    system: str
    disk: str  # file system of the temporary folder, where all data is
    python: str
    wrk: str
    ours: dict[str, str]
    peer: dict[str, str]


def this_machine() -> Machine:
    installed = peer_environment.versions()
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}",
        disk=_file_system(Path(tempfile.gettempdir())),
        python=platform.python_version(),
        wrk=_wrk_version(),
        ours={name: metadata.version(name) for name in OUR_PACKAGES},
        peer={name: installed[name] for name in PEER_PACKAGES if name in installed},
    )


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _file_system(folder: Path) -> str:
    """The file system of a folder: syncing is free in memory and expensive on a disk."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    enclosing = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(enclosing, key=lambda mount: len(mount[1]))[2]


def _wrk_version() -> str:
    if shutil.which("wrk") is None:
        return ""  # not every benchmark needs it
    # wrk prints its version with its usage, and exits with an error.
    output = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    return output.partition("[")[0].removeprefix("wrk").strip()
