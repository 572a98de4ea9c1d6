"""The sheets of a form and its parsed questions: the input of the checks, the compiler and the content."""

import msgspec

from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES, PREFERRED_SETTINGS, SETTINGS, TRUE_WORDS, to_snake_case


class ParsedForm(msgspec.Struct):
    """`survey` may also be a library sheet, which has the same rows."""

    survey: SheetTable
    sheets: dict[str, SheetTable]
    questions: list[Question]

    @property
    def choices(self) -> SheetTable | None:
        return self.sheets.get(CHOICES)

    @property
    def settings(self) -> dict[str, str]:
        """The first filled row of the settings sheet. XLSForm ignores other rows."""
        table = self.sheets.get(SETTINGS)
        row: SheetRow | None = next(table.filled_rows(), None) if table else None
        cells = [cell for cell in row.cells if cell.column.known] if row else []
        cells.sort(key=lambda cell: to_snake_case(cell.column.header) in PREFERRED_SETTINGS)
        return {cell.column.key: cell.text for cell in cells}

    def is_enabled(self, setting: str) -> bool:
        return self.settings.get(setting, "").lower() in TRUE_WORDS
