"""The virtual environment of the peer, created from its lock file and again whenever that changes."""

import hashlib
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import click

from benchmarks.processes import CHECKOUT

LOCK = CHECKOUT / "requirements" / "peer.txt"
FOLDER = CHECKOUT / "benchmarks" / ".venv-peer"
PYTHON = FOLDER / "bin" / "python"

INSTALL_TIMEOUT_SECONDS = 10 * 60

_STAMP = FOLDER / "made-from.sha256"


def ensure_ready() -> Path:
    """The Python of the peer, with exactly the packages of the lock file."""
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not _STAMP.is_file() or _STAMP.read_text() != wanted:
        click.echo(f"== virtual environment of the peer in {FOLDER.relative_to(CHECKOUT)}")
        shutil.rmtree(FOLDER, ignore_errors=True)
        _run(CHECKOUT / "scripts" / "make-venv", sys.executable, FOLDER)
        _run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", LOCK)
        _STAMP.write_text(wanted)
    return PYTHON


def static_file(url: str) -> bytes:
    """A file that the pages of the peer refer to by /static/…: the peer does not send it."""
    name = url.partition("?")[0].removeprefix("/static/")
    (file,) = FOLDER.glob(f"lib/python*/site-packages/rest_framework/static/{name}")
    return file.read_bytes()


def versions() -> dict[str, str]:
    """Versions of the installed packages."""
    packages = [str(folder) for folder in FOLDER.glob("lib/python*/site-packages")]
    return {found.name.lower(): found.version for found in metadata.distributions(path=packages)}


def _run(*command: str | Path) -> None:
    try:
        subprocess.run(command, check=True, timeout=INSTALL_TIMEOUT_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
        raise click.ClickException(f"The peer's environment could not be created: {failed}") from failed
