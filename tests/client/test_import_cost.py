"""A script that only shows its help must not wait for an HTTP library."""

import json
import subprocess
import sys

import pytest

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
