"""Problems and warnings about a workbook, each with its place.

issues = IssueCollector()
issues.add_problem("missing_name", Message("Give this row a name."), "survey", 7, "name")
"""

from collections.abc import Collection

import msgspec

from fieldgate.i18n.messages import Message


class Issue(msgspec.Struct, frozen=True):
    """A problem or a warning, with its place in the author's workbook."""

    code: str
    message: Message
    sheet: str | None = None
    row: int | None = None
    column: str | None = None


class FormRejected(Exception):
    """The workbook cannot be imported. Nothing of it is saved."""

    def __init__(
        self,
        error_type: str,
        error: Message,
        problems: list[Issue] | None = None,
        warnings: list[Issue] | None = None,
    ) -> None:
        super().__init__(error_type)
        self.error_type = error_type
        self.error = error
        self.problems = problems or []
        self.warnings = warnings or []


class IssueCollector:
    """Collects the issues of all checks, so that an author sees all of them at once."""

    def __init__(self) -> None:
        self.problems: list[Issue] = []
        self.warnings: list[Issue] = []

    def add_problem(
        self, code: str, message: Message, sheet: str | None, row: int | None = None, column: str | None = None
    ) -> None:
        self.problems.append(Issue(code, message, sheet, row, column))

    def add_warning(
        self, code: str, message: Message, sheet: str | None, row: int | None = None, column: str | None = None
    ) -> None:
        self.warnings.append(Issue(code, message, sheet, row, column))

    def discard(self, codes: Collection[str]) -> None:
        self.problems = [problem for problem in self.problems if problem.code not in codes]
        self.warnings = [warning for warning in self.warnings if warning.code not in codes]

    def raise_if_problems(self) -> None:
        if self.problems:
            raise FormRejected(
                "invalid_form",
                Message("The form was not imported. Problems to correct: {count}.", count=len(self.problems)),
                self.problems,
                self.warnings,
            )
