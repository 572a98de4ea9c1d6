"""Packages that can be built again with the same bytes, the bill of materials, and the audit of locked versions."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

ROOT = Path(__file__).parent.parent
LOCK_FILES = sorted((ROOT / "requirements").glob("*.txt"))


def run_script(name: str, *words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / name, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_packages_are_reproducible(tmp_path: Path) -> None:
    """The script builds everything twice, in different surroundings, and compares."""
    done = run_script("build-packages", tmp_path / "dist")
    assert done.returncode == 0, done.stderr
    built = {path.name: path for path in (tmp_path / "dist").iterdir()}
    release = version("fieldgate")
    names = [
        f"{name}-{release}{end}"
        for name in ("fieldgate", "fieldgate_client")
        for end in ("-py3-none-any.whl", ".tar.gz")
    ]
    assert sorted(built) == sorted(names)
    assert sorted(re.findall(r"^[0-9a-f]{64}  (\S+)$", done.stdout, re.MULTILINE)) == sorted(names)
    wheel = set(zipfile.ZipFile(built[f"fieldgate-{release}-py3-none-any.whl"]).namelist())
    assert {
        "fieldgate/app.py",
        "fieldgate/web/templates/frame.html",
        "fieldgate/db/migrations/env.py",
    } <= wheel
    assert not [name for name in wheel if "__pycache__" in name or name.startswith("tests")]
    with tarfile.open(built[f"fieldgate-{release}.tar.gz"]) as sdist:
        assert f"fieldgate-{release}/docs/running.md" in sdist.getnames()


@pytest.fixture(scope="module")
def sbom(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sbom")
    written = []
    for name in ("a", "b"):
        done = run_script("make-sbom", folder / name)
        assert done.returncode == 0, done.stderr
        [file] = (folder / name).glob("fieldgate-*.cdx.json")
        written.append(file.read_bytes())
    assert written[0] == written[1], "the same commit gives the same bytes"
    document: dict[str, Any] = json.loads(written[0])
    return document


def test_sbom_is_valid_cyclonedx(sbom: dict[str, Any]) -> None:
    schemas = {
        name: json.loads(
            (files("cyclonedx.schema") / "_res" / f"{name}.SNAPSHOT.schema.json").read_text()
        )
        for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    place = schemas["bom-1.6"]["$id"].rpartition("/")[0]
    registry = jsonschema_rs.Registry(
        [(f"{place}/{name}.SNAPSHOT.schema.json", schema) for name, schema in schemas.items()]
    )
    validator = jsonschema_rs.Draft7Validator(
        schemas["bom-1.6"], registry=registry, validate_formats=True
    )
    assert [str(error) for error in validator.iter_errors(sbom)] == []
    sbom = json.loads(json.dumps(sbom))
    sbom["components"][0]["type"] = "nonsense"
    assert not validator.is_valid(sbom), "the schema is really used"


def test_sbom_lists_what_is_locked_with_hashes_and_licences(sbom: dict[str, Any]) -> None:
    text = (ROOT / "requirements" / "run.txt").read_text()
    locked = set(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE))
    components = {(each["name"], each["version"]): each for each in sbom["components"]}
    assert components.keys() == locked | {("fieldgate-client", version("fieldgate"))}
    assert sum(
        len(each["externalReferences"][0]["hashes"])
        for each in components.values()
        if "externalReferences" in each
    ) == len(set(re.findall(r"--hash=sha256:([0-9a-f]{64})", text)))
    assert all(
        each["licenses"] and each["purl"].startswith("pkg:pypi/") for each in components.values()
    )
    assert sbom["metadata"]["component"]["name"] == "fieldgate"
    references = {each["bom-ref"] for each in sbom["components"]} | {
        sbom["metadata"]["component"]["bom-ref"]
    }
    graph = {each["ref"]: each.get("dependsOn", []) for each in sbom["dependencies"]}
    assert graph.keys() == references
    assert {target for targets in graph.values() for target in targets} <= references
    assert any(
        target.startswith("granian==") for target in graph[sbom["metadata"]["component"]["bom-ref"]]
    )


@pytest.mark.parametrize("file", LOCK_FILES, ids=lambda file: file.name)
def test_every_locked_version_has_a_hash(file: Path) -> None:
    text = file.read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", text)
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text, "no registry is written into the file"


def test_build_tools_are_those_of_the_tests() -> None:
    """What builds a release is what the tests have used."""
    pattern = re.compile(r"^([a-z0-9._-]+==[^ ;\\]+)", re.MULTILINE)
    build, dev = (
        set(pattern.findall((ROOT / "requirements" / f"{name}.txt").read_text()))
        for name in ("build", "dev")
    )
    assert build <= dev


# Stands for pip-audit: answers what the test says about the known case and about the locked versions.
PIP_AUDIT = """#!/bin/sh
case "$*" in
    *known.txt*) cat {folder}/known.json; exit 1 ;;
    *) cat {folder}/locked.json; exit 0 ;;
esac
"""
ADVISORY = {"id": "GHSA-x", "fix_versions": ["2.0"]}
KNOWN = {"dependencies": [{"name": "jinja2", "version": "2.4.1", "vulns": [ADVISORY]}]}
SKIPPED = {"name": "a", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("known", "locked", "status", "words"),
    [
        (
            KNOWN,
            [{"name": "a", "version": "1", "vulns": []}],
            0,
            "No advisory is about a locked version.",
        ),
        (
            KNOWN,
            [{"name": "a", "version": "1", "vulns": [ADVISORY]}],
            1,
            "a 1: GHSA-x, fixed in 2.0",
        ),
        (KNOWN, [SKIPPED], 3, "NOT AUDITED"),
        (KNOWN, [SKIPPED, {"name": "b", "version": "1", "vulns": [ADVISORY]}], 3, "b 1: GHSA-x"),
        (
            {"dependencies": [{"name": "jinja2", "version": "2.4.1", "vulns": []}]},
            [],
            3,
            "NOT AUDITED",
        ),
        ({"dependencies": [{"name": "jinja2", "skip_reason": "not found"}]}, [], 3, "NOT AUDITED"),
        ("Connection refused", [], 3, "NOT AUDITED"),
        (KNOWN, "broken", 3, "NOT AUDITED"),
    ],
    ids=[
        "none",
        "found",
        "skipped",
        "found-and-skipped",
        "no-advisories",
        "not-found",
        "unreachable",
        "failed",
    ],
)
def test_audit_never_takes_silence_for_safety(
    tmp_path: Path, known: Any, locked: Any, status: int, words: str
) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(PIP_AUDIT.format(folder=tmp_path))
    program.chmod(0o755)
    (tmp_path / "known.json").write_text(json.dumps(known))
    (tmp_path / "locked.json").write_text(
        json.dumps({"dependencies": locked}) if locked != "broken" else ""
    )
    (tmp_path / "run.txt").write_text("a==1\n")
    done = run_script("audit", program, tmp_path / "run.txt")
    assert (done.returncode, words in done.stdout) == (status, True), done.stdout + done.stderr
    assert ("No advisory" in done.stdout) == (status == 0)
