"""Help, versions, wrong arguments, and what is loaded for them."""

import subprocess

import pytest
from fieldgate_client import errors
from fieldgate_client.cli import COMMANDS, main
from fieldgate_client.cli.exit_codes import EXIT_CODES_HELP, ExitCode, describe_error
from fieldgate_client.forms import ImportFailed
from fieldgate_client.records import Import

from tests.client.cli.conftest import RunClient


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"], prog="other-name") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: other-name {command} ")
    assert f"  other-name {command}" in text, "an example"
    assert text.endswith(EXIT_CODES_HELP)
    assert "--token " not in text, "a token must not be an argument"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nope",),
        ("fetch",),
        ("fetch", "event/"),
        ("fetch", "event/", "--out", "x.csv", "--nope"),
        ("fetch", "event/", "--out", "x.csv", "--pag", "7"),
        ("fetch", "event/", "--out", "x.csv", "--page-size", "0"),
        ("fetch", "event/", "--out", "x.csv", "--start-date-from", "yesterday"),
        ("completion", "tcsh"),
    ],
)
def test_wrong_arguments(run: RunClient, arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "usage: fieldgate-client" in done.err


def test_completion_in_bash(run: RunClient, tmp_path: object) -> None:
    """What bash offers for the beginning of a line."""
    script = run("completion", "bash").out
    lines = {"fieldgate-client fe": "fetch", "fieldgate-client import --int": "--into"}
    for line, expected in lines.items():
        words = line.split(" ")
        ask = (
            f"\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; COMP_LINE='{line}'; COMP_POINT={len(line)}"
            f"\n_shtab_fieldgate_client fieldgate-client '{words[-1]}' '{words[-2]}'; echo \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(
            ["bash"], input=script + ask, capture_output=True, text=True, check=False
        )
        assert done.stdout.split() == [expected], done.stderr


URL = "https://field.example/api/v2/event/?limit=1"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (errors.UnknownName("No country 'x'."), ExitCode.USAGE, "No country 'x'."),
        (
            errors.NotAuthenticated("Wrong token.", status=401, request_id="r1", url=URL),
            ExitCode.NOT_ALLOWED,
            "Wrong token. (status 401, request r1) Log in with: fieldgate-client login https://field.example",
        ),
        (
            errors.ConnectionFailed("https://x is unreachable"),
            ExitCode.UNREACHABLE,
            "https://x is unreachable. Check the address and your connection, then try again.",
        ),
        (
            errors.ServerFailed("Broken.", status=503),
            ExitCode.UNREACHABLE,
            "Broken. (status 503) Try again later.",
        ),
        (ImportFailed(Import(uid="i", messages={"error": "No."})), ExitCode.PROBLEMS, "No."),
        (errors.InvalidRequest("Bad.", status=400), ExitCode.FAILED, "Bad. (status 400)"),
        (FileNotFoundError(2, "No such file", "x.csv"), ExitCode.FAILED, "x.csv: No such file"),
        (
            KeyError("x"),
            ExitCode.FAILED,
            "Unexpected error: KeyError: 'x'. Run it again with --debug to report it.",
        ),
    ],
)
def test_error(error: Exception, code: ExitCode, text: str) -> None:
    assert describe_error(error, "fieldgate-client login") == (code, text)


def test_every_code_is_in_the_help() -> None:
    for code in ExitCode:
        assert f"\n  {code.value:<4} " in f"\n{EXIT_CODES_HELP}", code
