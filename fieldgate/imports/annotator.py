"""A copy of an imported file with its problems and warnings marked, written in the sandbox."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from fieldgate.errors import NotFound, Problem, ServiceUnavailable
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.request_sandbox import RequestSandbox, SandboxClosed
from fieldgate.imports.sheet_excerpts import IssueComment, IssueKind
from fieldgate.imports.xlsform import FormRejected

TIMEOUT_RETRY_SECONDS = 60

TOO_SLOW = Message("The file takes too long to mark. Use the list of problems instead.")
CANNOT_BE_MARKED = Message("The file cannot be marked: it is too large, or damaged. Use the list of problems instead.")
MORE_ISSUES = "more"  # the code of the number of those that are not listed

log = logging.getLogger(__name__)


class WorkbookAnnotator:
    def __init__(self, sandbox: RequestSandbox) -> None:
        self._sandbox = sandbox

    async def annotate(
        self, user_id: int, load_file: Callable[[], Awaitable[bytes]], comments: list[IssueComment]
    ) -> bytes:
        """Return an xlsx file. The file is loaded last, so that few are in memory."""
        try:
            async with self._sandbox.slot(user_id):
                annotate = partial(runner.annotate_in_sandbox, await load_file(), comments)
                return await self._sandbox.run(annotate)
        except SandboxClosed:
            raise ServiceUnavailable from None
        except FormRejected as rejection:
            raise NotFound(rejection.error) from None
        except OSError:  # such as SandboxNotStarted
            log.exception("the sandbox could not be started")
            raise ServiceUnavailable from None
        except runner.SandboxFailure as failure:
            raise _problem_of(failure) from None


def _problem_of(failure: runner.SandboxFailure) -> Problem:
    level = logging.ERROR if failure.reason is runner.FailureReason.FAULT else logging.WARNING
    log.log(level, "a workbook could not be marked: %s %s", failure, failure.details)
    if failure.reason is runner.FailureReason.TIME:
        return ServiceUnavailable(TOO_SLOW, TIMEOUT_RETRY_SECONDS)
    return Problem() if failure.reason is runner.FailureReason.FAULT else NotFound(CANNOT_BE_MARKED)


def issue_comments(messages: Mapping[str, Any], language: Language) -> list[IssueComment]:
    """The comments to write into the workbook, from messages that are translated to this language."""
    labelled: tuple[tuple[IssueKind, Callable[[str], Message], Iterable[Mapping[str, Any]]], ...] = (
        ("problem", lambda text: Message("Problem: {message}", message=text), messages.get("problems", ())),
        ("warning", lambda text: Message("Warning: {message}", message=text), messages.get("warnings", ())),
    )
    return [
        IssueComment(kind, translate(label(issue["message"]), language), issue["sheet"], issue["row"], issue["column"])
        for kind, label, issues in labelled
        for issue in issues
        if issue["code"] != MORE_ISSUES
    ]
