"""Documents match the code: settings, commands, endpoints and packages are documented, and the examples run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from fieldgate_client.cli import ENVIRONMENT_HELP

from fieldgate.cli import main
from fieldgate.settings import CLIENT_VARIABLES, COMMAND_VARIABLES, PREFIX, Settings
from tests.endpoint_table import with_endpoints
from tests.processes import FIELDGATE_COMMAND, ServerProcess

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
RUNNING = (ROOT / "docs" / "running.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
DEPENDENCIES = (ROOT / "docs" / "dependencies.md").read_text()


@pytest.mark.parametrize("field", msgspec.structs.fields(Settings), ids=lambda field: field.name)
def test_every_setting_is_documented(field: msgspec.structs.FieldInfo) -> None:
    variable = f"{PREFIX}{field.name.upper()}"
    about = field.type.__metadata__[0].description
    row = re.search(rf"^\| `{variable}` \| .* \| (.*) \|$", OPERATIONS, re.MULTILINE)
    assert row, f"{variable} is not in docs/operations.md"
    assert row[1] == about


def test_no_setting_is_documented_that_is_not_there() -> None:
    names = {field.name for field in msgspec.structs.fields(Settings)}
    known = {f"{PREFIX}{name.upper()}" for name in names} | COMMAND_VARIABLES | CLIENT_VARIABLES
    for document in (README, RUNNING, OPERATIONS, GUIDE):
        assert set(re.findall(r"FIELDGATE_[A-Z_]+[A-Z]", document)) <= known


@pytest.mark.parametrize("variable", sorted(COMMAND_VARIABLES))
def test_every_variable_of_a_command_is_documented(variable: str) -> None:
    assert f"`{variable}`" in OPERATIONS
    assert variable in {each.envvar for _, command in _commands(main) for each in command.params}


def test_variables_of_the_client_are_documented() -> None:
    for variable in CLIENT_VARIABLES:
        assert f"`{variable}`" in OPERATIONS
        assert variable in ENVIRONMENT_HELP


def _commands(
    group: click.Group, words: tuple[str, ...] = ("fieldgate",)
) -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        else:
            arguments = [
                each.make_metavar(click.Context(command))
                for each in command.params
                if isinstance(each, click.Argument)
            ]
            yield " ".join((*words, name, *arguments)), command


@pytest.mark.parametrize(("usage", "command"), list(_commands(main)), ids=lambda each: str(each))
def test_every_command_and_option_is_documented(usage: str, command: click.Command) -> None:
    row = re.search(rf"^\| `{re.escape(usage)}` \| (.*) \|$", OPERATIONS, re.MULTILINE)
    assert row, f"{usage} is not in docs/operations.md"
    options = {
        option for each in command.params if isinstance(each, click.Option) for option in each.opts
    }
    assert set(re.findall(r"`(--[a-z-]+)`", row[1])) == options - {
        "--data"
    }  # which nearly all have
    assert command.help


def test_endpoints_of_the_guide_are_those_of_the_service() -> None:
    assert "<!-- endpoints: begin -->" in GUIDE
    assert with_endpoints(GUIDE) == GUIDE, "Run: make permission-matrix"


def test_every_dependency_has_its_reason() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    block = re.search(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert block
    for name in re.findall(r'"([a-z0-9-]+)', block[1]):
        assert re.search(rf"^\| .*\b{name}\b.* \|", DEPENDENCIES, re.MULTILINE), (
            f"{name} has no reason"
        )


def test_architecture_names_every_package_and_only_existing_modules() -> None:
    for path in (ROOT / "fieldgate").glob("*/__init__.py"):
        assert re.search(rf"^  {path.parent.name}/ ", ARCHITECTURE, re.MULTILINE), path.parent.name
    modules = {
        str(path.relative_to(ROOT)) for path in ROOT.glob("*/**/*.py") if ".venv" not in path.parts
    }
    for name in re.findall(r"`([\w/]+\.py)`", ARCHITECTURE):
        assert any(f"/{module}".endswith(f"/{name}") for module in modules), name


def _anchors(document: Path) -> set[str]:
    """Of the headings, as code hosts make them: lower case, without punctuation, with hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    for document in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "client").glob("*.md"),
    ):
        for name, anchor in re.findall(
            r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", document.read_text()
        ):
            target = document.parent / name if name else document
            assert target.exists(), f"{document.name}: {name}"
            assert not anchor or anchor in _anchors(target), f"{document.name}: {name}#{anchor}"


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_commands_of_the_table_in_the_readme(tmp_path: Path) -> None:
    """In their order, after the block of commands above the table, as somebody new to it would."""
    (create_users,) = (block for block in _blocks("sh") if "user create" in block)
    environment = {
        **os.environ,
        "FIELDGATE_DATA": str(tmp_path),
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }

    def run(script: str, stdin: str = "") -> str:
        script = script.replace(".venv/bin/fieldgate", str(FIELDGATE_COMMAND))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env=environment, cwd=tmp_path, input=stdin, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stderr}"
        return done.stdout

    rows = [
        line
        for line in README.split("| To |")[1].splitlines()
        if line.startswith("| ") and "**" in line
    ]
    commands = [command for row in rows for command in re.findall(r"`([^`]+)`", row)]
    assert len(rows) == 5
    assert len(commands) == 5
    with ServerProcess(tmp_path, "--demo", "--no-worker") as served:
        block = create_users.replace("http://127.0.0.1:8000", served.base_url)
        token = run(f"{{ {block}}} >&2; echo $TOKEN").strip()
        run(f".venv/bin/fieldgate-client login {served.base_url}", stdin=token)
        with served.client() as client:
            headers = {"Authorization": f"Token {token}"}
            form = client.post("/api/v2/assets/", json={"name": "Visit"}, headers=headers).json()[
                "uid"
            ]
        for command in commands:
            run(".venv/bin/fieldgate-client " + command.replace("FORM", form))
    assert "modify-user-permissions" in (tmp_path / "log.csv").read_text()


@pytest.mark.nightly
def test_readme_examples_run(tmp_path: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    environment = {
        **os.environ,
        "FIELDGATE_DATA": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    ran = 0
    with ServerProcess(tmp_path, "--demo") as served:
        for block in _blocks("sh"):
            if block.startswith("make "):
                assert block.split()[1] in targets
                continue
            script = block.replace("http://127.0.0.1:8000", served.base_url).replace(
                "curl ", "curl -sSf "
            )
            script = script.replace(".venv/bin/fieldgate", str(FIELDGATE_COMMAND))
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
            ran += 1
        printed = ""
        for block in _blocks("python"):
            script = block.replace("http://127.0.0.1:8000", served.base_url)
            done = subprocess.run(
                [sys.executable, "-c", script],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            printed += done.stdout
            ran += 1
    assert printed == "10 permissions, among them add_submissions\n"
    assert "Flood" in (tmp_path / "floods.csv").read_text()
    assert ran == 4
