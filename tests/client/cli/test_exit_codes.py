"""What an error looks like on the command line."""

import pytest
from fieldgate_client import errors
from fieldgate_client.cli.exit_codes import EXIT_CODES_HELP, ExitCode, describe_error
from fieldgate_client.forms import ImportFailed
from fieldgate_client.records import Import

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
        (errors.ServerFailed("Broken.", status=503), ExitCode.UNREACHABLE, "Broken. (status 503) Try again later."),
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
