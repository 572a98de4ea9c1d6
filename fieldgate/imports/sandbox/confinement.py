"""Take away from a process what reading a workbook does not need: writing files, the network, other programs.

Two mechanisms, because neither is enough alone. Landlock is enforced by the kernel, so it also holds for native code;
it needs Linux 5.13 and no privileges, and is not used where the kernel or a container forbids it. The audit hook works
everywhere, but only sees what Python code does.
"""

import ctypes
import os
import resource
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

# linux/landlock.h; the numbers of the system calls are the same on all architectures.
_SYS_CREATE_RULESET = 444
_SYS_RESTRICT_SELF = 446
_CREATE_RULESET_VERSION = 1
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE_FILE, _TRUNCATE = 1 << 0, 1 << 1, 1 << 14
_REMOVE_AND_MAKE = sum(
    1 << bit for bit in range(4, 13)
)  # files, folders, sockets, pipes, devices, links
_TCP = 0b11  # bind, connect
_SCOPES = 0b11  # abstract sockets of other processes, signals to other processes
_TRUNCATE_ABI, _TCP_ABI, _SCOPES_ABI = 3, 4, 6

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FORBIDDEN_EVENTS = frozenset(
    (
        "os.chmod",
        "os.chown",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.link",
        "os.mkdir",
        "os.posix_spawn",
        "os.remove",
        "os.removexattr",
        "os.rename",
        "os.rmdir",
        "os.setxattr",
        "os.symlink",
        "os.system",
        "os.truncate",
        "os.utime",
        "pty.spawn",
        "sqlite3.connect",  # opens its file without Python's open
        "subprocess.Popen",
    )
)
_FORBIDDEN_PREFIXES = ("ctypes.", "shutil.", "socket.", "tempfile.")


def offer_to_oom_killer() -> None:
    """Have the kernel end this process first when the machine or container is out of memory. Call it before confining.

    Otherwise it could choose the worker, the service or the database.
    """
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text("1000")


def confine_process() -> None:
    """Forbid this process for good to write files, use the network or start programs. Call it before starting threads.

    Landlock holds for the calling thread and those that it starts.
    """
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    restrict_with_landlock()
    sys.addaudithook(_refuse)


def landlock_abi() -> int:
    """Return the version of Landlock that the kernel has, 0 if it has none or does not allow it."""
    if sys.platform != "linux":
        return 0
    version: int = _libc().syscall(
        _SYS_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION
    )
    return max(0, version)


def restrict_with_landlock() -> bool:
    """Have the kernel refuse changes to files, TCP and programs, as far as its version can. Return whether it does."""
    abi = landlock_abi()
    if not abi:
        return False
    files = _EXECUTE | _WRITE_FILE | _REMOVE_AND_MAKE | (_TRUNCATE if abi >= _TRUNCATE_ABI else 0)
    # Older kernels know fewer fields; they accept more if those are zero. Without rules, nothing is allowed.
    attributes = struct.pack(
        "QQQ", files, _TCP if abi >= _TCP_ABI else 0, _SCOPES if abi >= _SCOPES_ABI else 0
    )
    libc = _libc()
    ruleset = libc.syscall(_SYS_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    try:
        libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0)))
        return bool(libc.syscall(_SYS_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    is_writing = event == "open" and bool(arguments[2] & _WRITING_FLAGS)
    if is_writing or event in _FORBIDDEN_EVENTS or event.startswith(_FORBIDDEN_PREFIXES):
        raise PermissionError(f"{event} is not allowed in the import sandbox")
