"""The wheel of the client library: what it needs, and its version."""

import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import fieldgate

REPOSITORY = Path(__file__).parent.parent.parent
CLIENT = REPOSITORY / "client"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=CLIENT, check=True)
    return next(folder.glob("*.whl"))


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


def read_metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())
