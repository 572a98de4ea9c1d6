"""Run programs in a root folder as a container engine or systemd does: read-only, not as root, without capabilities."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Mounts are made in a namespace of their own, which ends with the program.
MOUNTS = """
set -eu
mount --bind "$ROOT" "$ROOT"
mount -o remount,bind,ro "$ROOT"
mount -t tmpfs -o mode=1777,size=64m,noexec,nosuid tmpfs "$ROOT/tmp"
mount --bind "$DATA" "$ROOT/var/lib/fieldgate"
mount -t proc -o "$PROC" proc "$ROOT/proc"
mount -t tmpfs -o mode=755,size=64k tmpfs "$ROOT/dev"
for device in null zero full random urandom; do
    touch "$ROOT/dev/$device"
    mount --bind "/dev/$device" "$ROOT/dev/$device"
done
mkdir "$ROOT/dev/shm"
mount -t tmpfs -o mode=1777,size=64m,noexec tmpfs "$ROOT/dev/shm"
"""
DROP = "setpriv --reuid {uid} --regid {gid} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all"


class ConfinedRoot:
    """A root folder with a read-only file system, /var/lib/fieldgate for data, and a small /tmp."""

    def __init__(
        self,
        root: Path,
        data: Path,
        user: tuple[int, int],
        variables: dict[str, str],
        *,
        wrapper: Sequence[str] = (),
        proc_options: str = "nosuid,nodev,noexec",
    ) -> None:
        """`wrapper` is a program inside of the root that confines itself further and then runs the rest."""
        uid, gid = user
        # Not chroot: the kernel allows no user namespace below one.
        enter = 'cd "$ROOT"\npivot_root . .\numount -l .\ncd /var/lib/fieldgate\n'
        enter += f'exec {DROP.format(uid=uid, gid=gid)} "$@"'
        self._prefix = [
            shutil.which("unshare") or "",
            "--mount",
            "/bin/sh",
            "-c",
            MOUNTS + enter,
            "sh",
            *wrapper,
        ]
        data.mkdir(exist_ok=True)
        os.chown(data, uid, gid)
        # As under an engine or systemd, no variable of this machine gets in.
        self._environment = {
            **variables,
            "ROOT": str(root),
            "DATA": str(data),
            "PROC": proc_options,
        }
        self._environment["PATH"] = f"{variables['PATH']}:/usr/sbin:/sbin"

    def run(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._prefix, *command],
            env=self._environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a program whose process id is that of the program itself."""
        with log.open("wb") as output:
            return subprocess.Popen(
                [*self._prefix, *command],
                env=self._environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
