"""The wheel of the client library: what it needs, and its version."""

import inspect
import json
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from fieldgate_client import AsyncClient, Client
from packaging.requirements import Requirement

import fieldgate

REPOSITORY = Path(__file__).parent.parent.parent
CLIENT = REPOSITORY / "client"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=CLIENT,
        check=True,
    )
    return next(folder.glob("*.whl"))


def test_metadata(wheel: Path) -> None:
    metadata = read_metadata(wheel)
    needed = {
        Requirement(line).name
        for line in metadata.get_all("Requires-Dist", ())
        if "extra ==" not in line
    }
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


HEAVY = {"httpx", "httpcore", "pandas", "polars", "pyarrow", "rich", "shtab", "xlsxwriter"}


@pytest.mark.parametrize(
    "statement",
    [
        "from fieldgate_client import Client; Client('https://field.example').events(type='Flood')",
        "from fieldgate_client.cli import main; main(['fetch', '--help'])",
    ],
)
def test_libraries_are_loaded_when_they_are_used(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == set()


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a new process, beyond msgspec."""
    program = f"""
import json, msgspec, sys
before = {{*sys.modules}}
{statement}
print(json.dumps([*{{*sys.modules}} - before]))
"""
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout.splitlines()[-1]
    return {name.partition(".")[0] for name in json.loads(output)}


METHODS = [
    name
    for name, _ in inspect.getmembers(AsyncClient, inspect.isfunction)
    if not name.startswith("_")
]


@pytest.mark.parametrize("name", METHODS)
def test_arguments(name: str) -> None:
    parameters = [
        [
            (each.name, each.kind, each.default, each.annotation)
            for each in inspect.signature(method).parameters.values()
        ]
        for method in (getattr(AsyncClient, name), getattr(Client, name))
    ]
    assert parameters[0] == parameters[1]


def test_both_are_made_with_the_same_arguments() -> None:
    assert inspect.signature(Client) == inspect.signature(AsyncClient)
