"""Memory and processor time of processes, as counted by the kernel."""

import os
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


def process_tree(pid: int) -> list[int]:
    """The ids of a process and its descendants."""
    found = [pid]
    for each in found:
        for thread in (PROC / str(each) / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, in bytes."""
    return _status_bytes(pid, "VmRSS:")


def peak_resident_bytes() -> int:
    """The most memory that this process had. Unlike `getrusage`, it leaves out the process that started this one."""
    return _status_bytes("self", "VmHWM:")


def _status_bytes(process: int | str, field: str) -> int:
    for line in (PROC / str(process) / "status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def largest_resident_bytes(pid: int) -> int:
    """Resident memory of the largest process of a tree: of a server, the one that answers."""
    return max(map(resident_bytes, process_tree(pid)))


def cpu_seconds(pids: Iterable[int]) -> float:
    """Processor time that processes have used."""
    used = 0
    for pid in pids:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])  # in user and in system mode
    return used / os.sysconf("SC_CLK_TCK")
