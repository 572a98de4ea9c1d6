"""Read a systemd unit, and apply to a process what systemd would, as far as that works without systemd."""

import json
import re
import subprocess
from pathlib import Path

PACKAGING = Path(__file__).parent.parent.parent / "packaging"

# Runs inside of the root, in Debian's Python. Sets what a process can set for itself, then becomes the program.
# systemd makes the same filters with the same library (src/shared/seccomp-util.c).
_CONFINE = """
import ctypes, json, os, resource, sys
spec = json.loads(sys.argv[1])
uid, gid = os.getuid(), os.getgid()
libc = ctypes.CDLL(None, use_errno=True)
if spec["private_users"]:
    assert libc.unshare(0x10000000) == 0, os.strerror(ctypes.get_errno())
    open("/proc/self/setgroups", "w").write("deny")
    open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
    open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
    for capability in range(64):  # a new user namespace begins with all of them
        libc.prctl(24, capability, 0, 0, 0)
files = min(spec["files"], resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # systemd could raise it
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
os.umask(spec["umask"])
class Comparison(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
ALLOW, ERRNO, NE, EQ, MASKED = 0x7FFF0000, 0x00050000, 1, 4, 7
def load(default, rules):
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(default)))
    for action, name, comparisons in rules:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number == -1:
            continue  # of another architecture or kernel
        array = (Comparison * len(comparisons))(*[Comparison(*each) for each in comparisons])
        added = library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(comparisons), array)
        assert added in (0, -33), (name, added)  # EDOM: not on this architecture
    assert library.seccomp_load(context) == 0
    library.seccomp_release(context)
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
namespaces = 0x7E020080
rules = [(ERRNO | EPERM, "setns", []), (ERRNO | EPERM, "unshare", []), (ERRNO | ENOSYS, "clone3", [])]
for flag in (1 << bit for bit in range(32)):
    if flag & namespaces:
        rules.append((ERRNO | EPERM, "clone", [(0, MASKED, flag, flag)]))
load(ALLOW, rules)
writable_code = (("mmap", 6), ("mprotect", 4), ("pkey_mprotect", 4), ("shmat", 32768))
load(ALLOW, [(ERRNO | EPERM, name, [(2, MASKED, flags, flags)]) for name, flags in writable_code])
others = [family for family in range(46) if family not in spec["families"]]
load(ALLOW, [(ERRNO | EAFNOSUPPORT, "socket", [(0, EQ, family, 0)]) for family in others])
load(ALLOW, [(ERRNO | EPERM, "sched_setscheduler", [(1, NE, 0, 0)])])
load(ERRNO | EPERM, [(ALLOW, name, []) for name in spec["calls"]])
os.execvp(sys.argv[2], sys.argv[2:])
"""
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}


def read_unit(path: Path) -> dict[str, list[str]]:
    """Return the values of each directive, in order."""
    values: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"([A-Za-z]+)=(.*)", line):
            values.setdefault(match[1], []).append(match[2])
    return values


def allowed_calls(unit: dict[str, list[str]]) -> list[str]:
    """The system calls that the filters of a unit allow, with groups as this machine's systemd has them."""
    allowed: set[str] = set()
    for line in unit["SystemCallFilter"]:
        names = {call for word in line.lstrip("~").split() for call in _expand(word)}
        allowed = allowed - names if line.startswith("~") else allowed | names
    return sorted(allowed)


def _expand(word: str) -> set[str]:
    if not word.startswith("@"):
        return {word}
    shown = subprocess.run(
        ["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in shown.stdout.splitlines()[1:]]
    return {call for line in lines if line and not line.startswith("#") for call in _expand(line)}


def confining_wrapper(unit: dict[str, list[str]]) -> list[str]:
    """A command that applies the filters, limits and user namespace of a unit, and then runs the rest of its words."""
    spec = {
        "private_users": unit["PrivateUsers"] == ["yes"],
        "files": int(unit["LimitNOFILE"][0]),
        "umask": int(unit["UMask"][0], 8),
        "families": [FAMILIES[word] for word in unit["RestrictAddressFamilies"][0].split()],
        "calls": allowed_calls(unit),
    }
    return ["/usr/bin/python3", "-I", "-c", _CONFINE, json.dumps(spec)]
