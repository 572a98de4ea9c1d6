"""What is wrong with a workbook, said once for every place where it is wrong.

findings = Findings()
findings.problem("missing_name", Message("Give this row a name."), "survey", 7, "name")
"""

from collections.abc import Collection

import msgspec

from fieldgate.i18n.messages import Message


class Problem(msgspec.Struct, frozen=True):
    """One thing to correct or to consider, and the place in the author's own spreadsheet."""

    code: str
    message: Message
    sheet: str | None = None
    row: int | None = None
    column: str | None = None


class Refused(Exception):
    """The workbook cannot become assets; nothing of it is kept."""

    def __init__(
        self,
        error_type: str,
        error: Message,
        problems: list[Problem] | None = None,
        warnings: list[Problem] | None = None,
    ) -> None:
        super().__init__(error_type)
        self.error_type = error_type
        self.error = error
        self.problems = problems or []
        self.warnings = warnings or []


class Findings:
    """Collects what the checks find, so that an author sees everything at once and not one mistake per try."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def problem(
        self, code: str, message: Message, sheet: str | None, row: int | None = None, column: str | None = None
    ) -> None:
        self.problems.append(Problem(code, message, sheet, row, column))

    def warning(
        self, code: str, message: Message, sheet: str | None, row: int | None = None, column: str | None = None
    ) -> None:
        self.warnings.append(Problem(code, message, sheet, row, column))

    def forget(self, codes: Collection[str]) -> None:
        self.problems = [problem for problem in self.problems if problem.code not in codes]
        self.warnings = [warning for warning in self.warnings if warning.code not in codes]

    def refuse_if_any(self) -> None:
        if self.problems:
            raise Refused(
                "invalid_form",
                Message("The form was not imported. Problems to correct: {count}.", count=len(self.problems)),
                self.problems,
                self.warnings,
            )
