"""Exit codes of the command, and what a person can do about an error."""

from __future__ import annotations

from enum import IntEnum

from fieldgate_client import errors
from fieldgate_client.forms import ImportFailed
from fieldgate_client.server_url import InvalidURL, parse_list_url


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_ALLOWED = 3
    UNREACHABLE = 4
    INCOMPLETE = 5
    PROBLEMS = 6
    INTERRUPTED = 130


EXIT_CODES_HELP = """\
exit codes:
  0    done (also if the reader of standard output closes it, such as `head`)
  1    failed
  2    wrong arguments
  3    not logged in, or not allowed
  4    the server is unreachable, or fails or is busy on every attempt: try again later
  5    the list could not be read completely; no file was written
  6    a form was not imported, or could not be, because of problems in it
  130  interrupted with Ctrl-C or SIGTERM
"""


class UsageError(Exception):
    """Wrong arguments, found after parsing them."""


def describe_error(error: Exception, login_command: str = "") -> tuple[ExitCode, str]:
    """The exit code for an exception, and a line that says what happened and what to do next."""
    code, hint = ExitCode.FAILED, ""
    if isinstance(error, UsageError | InvalidURL | errors.UnknownName) or (
        isinstance(error, errors.InvalidRequest) and error.status is None
    ):
        code = ExitCode.USAGE
    elif isinstance(error, errors.NotAuthenticated):
        code = ExitCode.NOT_ALLOWED
        if login_command and error.url:
            hint = f"Log in with: {login_command} {parse_list_url(error.url).server}"
    elif isinstance(error, errors.NotAllowed):
        code, hint = (
            ExitCode.NOT_ALLOWED,
            "Ask the owner for the permission, or log in as another user.",
        )
    elif isinstance(error, errors.NotFound):
        hint = (
            "Check the address. What you may not see is not found either: log in if you have not."
        )
    elif isinstance(error, errors.TooManyRequests | errors.ServerFailed):
        code, hint = ExitCode.UNREACHABLE, "Try again later."
    elif isinstance(error, errors.ConnectionFailed):
        code, hint = ExitCode.UNREACHABLE, "Check the address and your connection, then try again."
    elif isinstance(error, errors.IncompleteList):
        code, hint = ExitCode.INCOMPLETE, "Try again, or when the list changes less."
    elif isinstance(error, ImportFailed):
        code = ExitCode.PROBLEMS
    elif isinstance(error, OSError) and not isinstance(error, errors.FieldgateError):
        return (
            code,
            f"{error.filename}: {error.strerror}"
            if error.filename and error.strerror
            else str(error),
        )
    elif not isinstance(error, errors.FieldgateError):
        return (
            code,
            f"Unexpected error: {type(error).__name__}: {error}. Run it again with --debug to report it.",
        )
    text = str(error)
    if hint:
        text = f"{text if text.endswith(('.', ')', '!', '?')) else text + '.'} {hint}"
    return code, text
