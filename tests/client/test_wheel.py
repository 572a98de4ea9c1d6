"""The wheel of the client library, installed in a bare environment without a package registry.

The installer gets httpx, msgspec and what these need as wheels that are packed from the environment of the tests. If
the wheel needed anything else, the installation would fail.
"""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import Parser
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fieldgate
from tests.processes import ServerProcess

pytestmark = pytest.mark.nightly

REPOSITORY = Path(__file__).parent.parent.parent
CLIENT = REPOSITORY / "client"
UV = Path(sys.executable).parent / "uv"
PERMISSIONS = 10


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=CLIENT, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the commands of an environment that has the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("bare")
    for name in needs_of("httpx", "msgspec"):
        pack_wheel(distribution(name), folder)
    uv("venv", "--python", sys.executable, folder / "venv")
    commands = folder / "venv" / "bin"
    uv("pip", "install", "--no-index", "--find-links", folder, "--python", commands / "python", wheel)
    return commands


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with ServerProcess(tmp_path_factory.mktemp("data"), "--no-worker") as served:
        yield served.base_url


def test_metadata(wheel: Path) -> None:
    metadata = read_metadata(wheel)
    needed = {Requirement(line).name for line in metadata.get_all("Requires-Dist", ()) if "extra ==" not in line}
    assert needed == {"anyio", "httpx", "msgspec"}
    assert metadata["Requires-Python"] == ">=3.10"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "fieldgate_client/py.typed" in names
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"fieldgate_client", f"fieldgate_client-{fieldgate.__version__}.dist-info"}
    assert [name for name in names if name.endswith("/LICENSE")]


def test_versions_of_service_and_client(wheel: Path) -> None:
    """Both are released together, and the service needs the client of its own version."""
    lines = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = next(each for each in map(Requirement, lines) if each.name == "fieldgate-client")
    assert read_metadata(wheel)["Version"] == fieldgate.__version__
    assert str(needed.specifier) == f"=={fieldgate.__version__}"


def test_only_what_is_needed_is_installed(bare: Path) -> None:
    listed = json.loads(uv("pip", "list", "--format", "json", "--python", bare / "python"))
    assert {each["name"] for each in listed} == {"fieldgate-client", *needs_of("httpx", "msgspec")}
    assert {"pandas", "rich", "requests", "fieldgate"}.isdisjoint(each["name"] for each in listed)


def test_commands_in_a_bare_environment(bare: Path, server: str, tmp_path: Path) -> None:
    assert run(bare / "fieldgate-client", "--version") == f"fieldgate-client {fieldgate.__version__}\n"
    assert "fetch" in run(bare / "fieldgate-client", "--help")
    assert run(bare / "python", "-m", "fieldgate_client", "--help") == run(bare / "fieldgate-client", "--help")
    url = f"{server}/api/v2/permissions/"
    run(bare / "fieldgate-client", "fetch", url, "--out", tmp_path / "permissions.csv")
    header, *rows = (tmp_path / "permissions.csv").read_text().splitlines()
    assert ("codename" in header.split(","), len(rows)) == (True, PERMISSIONS)
    lines = run(bare / "fieldgate-client", "fetch", url, "--out", "-").splitlines()
    assert len({json.loads(line)["codename"] for line in lines}) == len(lines) == PERMISSIONS


def test_library_in_a_bare_environment(bare: Path, server: str) -> None:
    program = f"""
from fieldgate_client import Client, MissingExtra
with Client({server!r}) as client:
    print(len(client.permissions()), client.permissions().first().codename)
    try:
        client.permissions().to_pandas()
    except MissingExtra as error:
        print(error)
"""
    counted, message = run(bare / "python", "-c", program).splitlines()
    assert counted == f"{PERMISSIONS} add_submissions"
    assert message == (
        'pandas is not installed. In the folder of the Fieldgate repository, run: pip install "./client[pandas]"'
    )


def needs_of(*names: str) -> set[str]:
    """Distributions with these names, and what they need in this environment without extras."""
    found: set[str] = set()
    remaining = [*names]
    while remaining:
        name = str(canonicalize_name(remaining.pop()))
        if name not in found:
            found.add(name)
            needed = map(Requirement, distribution(name).requires or ())
            remaining += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    return found


def pack_wheel(installed: Distribution, folder: Path) -> None:
    """Make a wheel again of what is installed."""
    description = Parser().parsestr(installed.read_text("WHEEL") or "")
    name = installed.name.replace("-", "_")
    wheel = folder / f"{name}-{installed.version}-{description['Tag']}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in installed.files or ():
            path = Path(str(file.locate()))
            is_made_by_installer = file.parts[0] == ".." or file.suffix == ".pyc"
            if not is_made_by_installer and path.exists():
                archive.write(path, str(file))


def read_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def uv(*arguments: str | Path) -> str:
    return run(UV, *arguments, "--offline", "--no-cache", "--quiet")


def run(*command: str | Path) -> str:
    left_out = ("PYTHON", "FIELDGATE", "UV_", "COVERAGE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
