"""Progress: lines off a terminal, messages about retries."""

import io
import sys

import pytest
from fieldgate_client.cli.output import RETRY_SECONDS, Output, Progress, show_progress
from fieldgate_client.connection import RetryNotice

NOTICE = RetryNotice("https://field.example/ answered 503", 1, 2.0)


def test_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    now = 100.0
    progress = Progress(Output("x"), "records", lambda: now)
    for time, line in (
        (101.0, ""),
        (112.4, "12 s: 1000 of 1952 records\n"),
        (113.0, ""),
        (123.0, "23 s: 1000 of 1952 records\n"),
    ):
        now = time
        progress.update(1000, 1952)
        assert capsys.readouterr().err == line


def test_retries_are_reported_but_do_not_flood(capsys: pytest.CaptureFixture[str]) -> None:
    message = "https://field.example/ answered 503. Trying again in 2.0 s (attempt 1 failed).\n"
    now = 0.0
    progress = Progress(Output("x"), "records", lambda: now)
    for time, told in ((0.0, message), (RETRY_SECONDS - 1, ""), (RETRY_SECONDS, message)):
        now = time
        progress.on_retry(NOTICE)
        assert capsys.readouterr().err == told


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
