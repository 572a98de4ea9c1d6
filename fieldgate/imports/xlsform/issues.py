"""Problems and warnings about a workbook, each with its place.

issues = IssueCollector()
issues.add_problem("missing_name", Message("Give this row a name."), "survey", 7, "name")
"""

from collections.abc import Collection

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.sheet_excerpts import SheetExcerpt


class Issue(msgspec.Struct, frozen=True):
    """A problem or a warning, with its place in the author's workbook."""

    code: str
    message: Message
    sheet: str | None = None
    row: int | None = None
    column: str | None = None


class FormRejected(Exception):
    """The workbook cannot be imported. Nothing of it is saved.

    `excerpts` are the rows that the problems and warnings are about, if the workbook could be read.
    """

    def __init__(
        self,
        error_type: str,
        error: Message,
        problems: list[Issue] | None = None,
        warnings: list[Issue] | None = None,
        excerpts: list[SheetExcerpt] | None = None,
    ) -> None:
        super().__init__(error_type)
        self.error_type = error_type
        self.error = error
        self.problems = problems or []
        self.warnings = warnings or []
        self.excerpts = excerpts or []


class IssueCollector:
    """Collects the issues of all checks, so that an author sees all of them at once."""

    def __init__(self) -> None:
        self.problems: list[Issue] = []
        self.warnings: list[Issue] = []

    def add_problem(
        self,
        code: str,
        message: Message,
        sheet: str | None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.problems.append(Issue(code, message, sheet, row, column))

    def add_warning(
        self,
        code: str,
        message: Message,
        sheet: str | None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.warnings.append(Issue(code, message, sheet, row, column))

    def discard(self, codes: Collection[str]) -> None:
        self.problems = [problem for problem in self.problems if problem.code not in codes]
        self.warnings = [warning for warning in self.warnings if warning.code not in codes]

    def raise_if_problems(self) -> None:
        if self.problems:
            raise FormRejected(
                "invalid_form", _describe_problems(self.problems), self.problems, self.warnings
            )


def _describe_problems(problems: list[Issue]) -> Message:
    """The first problem with its place, and the number of others: some clients show nothing else."""
    error = Message("The form was not imported. {problem}", problem=_with_place(problems[0]))
    if len(problems) == 1:
        return error
    return PluralMessage(
        "{error} There is {count} other problem.",
        "{error} There are {count} other problems.",
        len(problems) - 1,
        error=error,
    )


def _with_place(issue: Issue) -> Message:
    place = {"sheet": issue.sheet, "row": issue.row, "column": issue.column}
    if issue.sheet is None:
        return issue.message
    if issue.row is None:
        return Message("Sheet {sheet}: {problem}", sheet=issue.sheet, problem=issue.message)
    if issue.column is None:
        return Message(
            "Sheet {sheet}, row {row}: {problem}",
            sheet=issue.sheet,
            row=issue.row,
            problem=issue.message,
        )
    return Message(
        "Sheet {sheet}, row {row}, column {column}: {problem}", **place, problem=issue.message
    )
