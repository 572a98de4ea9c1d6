"""The sheets of a form side by side, as every check and the content need them."""

import msgspec

from fieldgate.imports.xlsform.questions import YES, Question
from fieldgate.imports.xlsform.sheet_table import Row, Table
from fieldgate.imports.xlsform.vocabulary import CHOICES, SETTINGS, STANDARD_WORDS, snake


class Draft(msgspec.Struct):
    """`survey` may also be a library sheet: its rows are the same."""

    survey: Table
    sheets: dict[str, Table]
    questions: list[Question]

    @property
    def choices(self) -> Table | None:
        return self.sheets.get(CHOICES)

    @property
    def settings(self) -> dict[str, str]:
        """The first filled row of the settings sheet: XLSForm has no use for another."""
        table = self.sheets.get(SETTINGS)
        row: Row | None = next(table.filled(), None) if table else None
        cells = [cell for cell in row.cells if cell.column.known] if row else []
        cells.sort(key=lambda cell: snake(cell.column.header) in STANDARD_WORDS)
        return {cell.column.key: cell.text for cell in cells}

    def allows(self, setting: str) -> bool:
        return self.settings.get(setting, "").lower() in YES
