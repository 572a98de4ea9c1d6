"""The guide for operators: a reader types its commands, in their order."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from tests.client.document_blocks import (
    Block,
    PythonSession,
    Reader,
    python_environment,
    read_blocks,
)
from tests.conftest import Service, new_database
from tests.processes import free_port

ROOT = Path(__file__).parent.parent
RUNNING = ROOT / "docs" / "running.md"
OPERATIONS = ROOT / "docs" / "operations.md"
ALERTS = ROOT / "packaging" / "prometheus-alerts.yml"


def commands() -> list[Block]:
    return [block for block in read_blocks(RUNNING) if block.language == "sh"]


def without_make(block: Block) -> Block:
    """`make install` has made the environment that the tests run in."""
    return block._replace(
        text=block.text.replace("make install\n", "").replace("$PWD/.venv/bin:", "")
    )


@pytest.fixture
async def empty_postgres(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    async with new_database("postgresql", tmp_path, request, is_empty=True) as address:
        yield address


def test_every_command_runs(tmp_path: Path, empty_postgres: str) -> None:
    port = str(free_port())
    python = PythonSession()
    substitutions = {
        "127.0.0.1:8000": f"127.0.0.1:{port}",
        "postgresql://fieldgate@db.example.org/field": empty_postgres,
    }
    reader = Reader(
        tmp_path, python, substitutions, {**python_environment(), "FIELDGATE_PORT": port}
    )
    blocks = [without_make(block) for block in commands()]
    try:
        reader.run(blocks)
    finally:
        reader.interrupt()
        python.close()
    assert reader.ran == [block.place for block in blocks]
    assert "admin" in (tmp_path / "elsewhere" / "fieldgate.db").read_bytes().decode("latin-1")


def test_each_task_has_commands() -> None:
    text = RUNNING.read_text()
    for task in ("Install", "First start", "Back up", "Restore", "Update", "Move", "Monitor"):
        section = re.search(rf"^## {task}\n(.*?)^##", text, re.MULTILINE | re.DOTALL)
        assert section, task
        assert "\n```sh\n" in section[1], task


async def test_alerts_use_metrics_that_exist(service: Service) -> None:
    await service.get("/api/v2/permissions/")
    metrics = (await service.get("/metrics")).text
    rules = [
        rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
    ]
    assert len(rules) == 5
    for rule in rules:
        for name, labels in re.findall(r"\b(fieldgate_\w+)(?:{([^}]*)})?", rule["expr"]):
            family = re.sub(r"_bucket$", "", name)
            assert re.search(rf"^# TYPE {family} ", metrics, re.MULTILINE), name
            for label in re.findall(r"(\w+)[!=~]+\"", labels):
                assert re.search(rf"^{name}{{[^}}]*\b{label}=", metrics, re.MULTILINE), (
                    f"{name}: {label}"
                )
        assert {"summary", "advice"} == rule["annotations"].keys()


@pytest.mark.parametrize(
    "name",
    [
        "Containerfile", "packaging/fieldgate.service", "packaging/nginx.conf", "packaging/Caddyfile",
        "packaging/apache.conf", "packaging/compose.yaml", "packaging/prometheus-alerts.yml",
    ],
)  # fmt: skip
def test_files_for_operators_are_described(name: str) -> None:
    assert Path(name).name in OPERATIONS.read_text()
