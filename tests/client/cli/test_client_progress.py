"""Progress: lines off a terminal, messages about retries."""

import io
import sys

import pytest
from fieldgate_client.cli.output import Output, show_progress
from fieldgate_client.connection import RetryNotice


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers are shown, retries are whole lines without escape sequences of the server."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_progress(Output("x"), "records") as progress:
        progress.update(7, 50)
        progress.on_retry(RetryNotice("\x1b[31m[bold]x[/bold]", 1, 2.0))
        progress.update(8, 50)
    shown = terminal.getvalue()
    assert "8/50" in shown
    assert "[bold]x[/bold]. Trying again in 2.0 s" in shown
    assert "\x1b[31m[bold]" not in shown
    assert capsys.readouterr().out == ""
