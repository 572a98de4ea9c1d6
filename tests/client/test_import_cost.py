"""Importing the package loads little: a script that only shows its help must not wait for an HTTP library."""

import json
import subprocess
import sys

import pytest

HEAVY = {
    "argparse",
    "asyncio",
    "concurrent",
    "csv",
    "difflib",
    "email",
    "http",
    "httpx",
    "logging",
    "mimetypes",
    "pandas",
    "pathlib",
    "polars",
    "pyarrow",
    "random",
    "rich",
    "shutil",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "xlsxwriter",
}


@pytest.mark.parametrize(
    "statement",
    [
        "import fieldgate_client",
        "from fieldgate_client import Client",
        "from fieldgate_client import AsyncClient",
        "from fieldgate_client import FieldgateError",
    ],
)
def test_an_import_loads_msgspec_and_little_else(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == set()


def test_the_first_client_loads_no_http_library() -> None:
    statement = "from fieldgate_client import Client; Client('https://field.example').events(type='Flood')"

    assert loaded_by(statement) & {"httpx", "httpcore", "email"} == set()


def test_heavy_modules_are_noticed() -> None:
    assert loaded_by("import httpx") >= {"httpx", "email", "http", "ssl"}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a new process, beyond msgspec."""
    program = f"""
import json, msgspec, sys
before = {{*sys.modules}}
{statement}
print(json.dumps([*{{*sys.modules}} - before]))
"""
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    return {name.partition(".")[0] for name in json.loads(output)}
