"""The sheets of a form and its parsed questions: the input of the checks, the compiler and the content."""

import msgspec

from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    PREFERRED_SETTINGS,
    SETTINGS,
    TRUE_WORDS,
    to_snake_case,
)

_ESRI_COLUMN = "::esri:"  # as in `bind::esri:fieldType`
_ESRI_NAMESPACE = 'esri="http://esri.com/xforms"'


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

    @property
    def namespaces(self) -> str:
        """The setting, and the prefix of Survey123's own columns, which Survey123 declares itself."""
        declared = self.settings.get("namespaces", "")
        tables = (self.survey, self.sheets.get(SETTINGS))
        uses_esri = any(
            _ESRI_COLUMN in column.key for table in tables if table for column in table.columns
        )
        is_missing = uses_esri and not any(part.startswith("esri=") for part in declared.split())
        return f"{declared} {_ESRI_NAMESPACE}".strip() if is_missing else declared

    def is_enabled(self, setting: str) -> bool:
        return self.settings.get(setting, "").lower() in TRUE_WORDS
