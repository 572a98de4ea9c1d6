"""`fieldgate fetch`, `import` and `share` are commands of the client library."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fieldgate.cli import main


@pytest.mark.parametrize("name", ["fetch", "import", "share"])
def test_help_has_the_right_name(name: str) -> None:
    done = CliRunner().invoke(main, [name, "--help"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"usage: fieldgate {name} [-h]")
    assert f"\n  fieldgate {name} " in done.stdout
    assert "exit codes:" in done.stdout


def test_all_arguments_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    done = CliRunner().invoke(main, ["fetch", "--server", "field", "--out", "x.csv", "--", "event/"])
    assert done.exit_code == 2
    assert done.stderr.startswith("fieldgate fetch: error: There is no server named 'field'.")
