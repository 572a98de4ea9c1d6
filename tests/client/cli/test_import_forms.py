"""`import` against a real server."""

from pathlib import Path

import pytest
from fieldgate_client.cli.exit_codes import UsageError
from fieldgate_client.cli.import_forms import find_forms

from tests.client.cli.conftest import DemoServer, RunClient
from tests.imports.workbooks import xlsx

BAD = (("type", "name", "label"), ("florb", "a", "A"), ("text", "a b", "B"))


@pytest.fixture
def forms(tmp_path: Path) -> Path:
    folder = tmp_path / "forms"
    folder.mkdir()
    (folder / "good.xlsx").write_bytes(xlsx())
    (folder / "bad.xlsx").write_bytes(xlsx(survey=BAD))
    return folder


def test_problems_are_a_table(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    done = run("import", forms / "bad.xlsx")
    assert (done.code, done.err) == (6, "")
    first, *table, last = done.out.splitlines()
    assert first == f"{forms / 'bad.xlsx'}: not imported: 2 problems"
    assert table[0].split() == ["sheet", "row", "column", "problem"]
    assert [line.split()[:3] for line in table[1:]] == [
        ["survey", "2", "type"],
        ["survey", "3", "name"],
    ]
    assert last.startswith(f"See {logged_in.url}/api/v2/imports/i")


def test_new_form_and_new_version(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    done = run("import", forms / "good.xlsx", "--name", "Visit")
    assert done.code == 0
    first, address = done.out.splitlines()
    assert "imported as Visit (survey a" in first
    uid = address.rstrip("/").rpartition("/")[2]
    again = run("import", forms / "good.xlsx", "--into", address)
    assert again.out.splitlines()[1] == address
    versions = run("fetch", f"assets/{uid}/versions/", "--out", "-")
    assert len(versions.out.splitlines()) == 2


def test_folder_goes_on_after_a_form_with_problems(
    run: RunClient, logged_in: DemoServer, forms: Path
) -> None:
    (forms / "empty.xlsx").write_bytes(b"")
    done = run("import", forms, "--language", "es")
    assert done.code == 1, "a file that is no form at all"
    assert "bad.xlsx: not imported: 2 problems" in done.out
    assert "no es un tipo de pregunta" in done.out
    assert "good.xlsx: imported as good" in done.out
    assert done.err.startswith(f"fieldgate-client import: error: {forms / 'empty.xlsx'}")


def test_folders(forms: Path, tmp_path: Path) -> None:
    for name in (".~lock.good.xlsx#", "~$good.xlsx", ".hidden.xlsx", "notes.txt", "more.CSV"):
        (forms / name).write_text("x")
    (forms / "folder.xlsx").mkdir()
    expected = [forms / name for name in ("bad.xlsx", "good.xlsx", "more.CSV")]
    assert find_forms([str(forms)]) == expected
    assert find_forms([str(forms / "good.xlsx"), str(forms)]) == [
        expected[1],
        expected[0],
        expected[2],
    ]
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "none"):
        with pytest.raises(UsageError):
            find_forms([str(tmp_path / wrong)])
