"""`import` against a real server."""

from pathlib import Path

import pytest
from fieldgate_client.cli.exit_codes import ExitCode, UsageError
from fieldgate_client.cli.import_forms import find_forms, worst_code

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
    assert [line.split()[:3] for line in table[1:]] == [["survey", "2", "type"], ["survey", "3", "name"]]
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


def test_folder_goes_on_after_a_form_with_problems(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    (forms / "empty.xlsx").write_bytes(b"")
    done = run("import", forms, "--language", "es")
    assert done.code == 1, "a file that is no form at all"
    assert "bad.xlsx: not imported: 2 problems" in done.out
    assert "no es un tipo de pregunta" in done.out
    assert "good.xlsx: imported as good" in done.out
    assert done.err.startswith(f"fieldgate-client import: error: {forms / 'empty.xlsx'}")


def test_hostile_texts(run: RunClient, logged_in: DemoServer, tmp_path: Path) -> None:
    """Names of files and texts of forms come back in messages."""
    file = tmp_path / "a\u202eb\x9b31m.csv"
    file.write_text("type,name,label\nflo\x9b2Jrb,a,A\n")
    done = run("import", file)
    assert done.code == 6
    assert "\x9b" not in done.out + done.err
    assert "\u202e" not in done.out + done.err


def test_not_logged_in(run: RunClient, demo_server: DemoServer, forms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIELDGATE_URL", demo_server.url)
    done = run("import", forms / "good.xlsx")
    assert (done.code, done.out) == (3, "")
    assert f"Log in with: fieldgate-client login {demo_server.url}" in done.err


def test_asset_that_is_not_there(run: RunClient, logged_in: DemoServer, forms: Path) -> None:
    done = run("import", forms / "good.xlsx", "--into", "a" + "2" * 21)
    assert done.code == 1
    assert "request " in done.err


def test_folders(forms: Path, tmp_path: Path) -> None:
    for name in (".~lock.good.xlsx#", "~$good.xlsx", ".hidden.xlsx", "notes.txt", "more.CSV"):
        (forms / name).write_text("x")
    (forms / "folder.xlsx").mkdir()
    expected = [forms / name for name in ("bad.xlsx", "good.xlsx", "more.CSV")]
    assert find_forms([str(forms)]) == expected
    assert find_forms([str(forms / "good.xlsx"), str(forms)]) == [expected[1], expected[0], expected[2]]
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "none"):
        with pytest.raises(UsageError):
            find_forms([str(tmp_path / wrong)])


def test_one_file_for_one_destination(run: RunClient, forms: Path) -> None:
    for option in ("--into", "--name"):
        done = run("import", forms, option, "x")
        assert (done.code, done.err) == (
            2,
            "fieldgate-client import: error: --into and --name need exactly one file.\n",
        )


def test_worst_code() -> None:
    assert worst_code([ExitCode.OK, ExitCode.PROBLEMS]) == ExitCode.PROBLEMS
    assert worst_code([ExitCode.FAILED, ExitCode.PROBLEMS]) == ExitCode.FAILED
    assert worst_code([ExitCode.OK]) == ExitCode.OK
