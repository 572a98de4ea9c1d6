"""Lists of choices, and which of them a question uses."""

import re
from collections.abc import Iterable

from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES, EXTERNAL_CHOICES, OSM, TRANSLATABLE_COLUMNS

_WORD = re.compile(r"[\w.-]+")
_LIST_SHEETS = (CHOICES, EXTERNAL_CHOICES, OSM)


def first_rows(table: SheetTable | None) -> dict[str, int]:
    """Each list of a sheet, with the row of its first choice."""
    lists: dict[str, int] = {}
    for row in table.filled_rows() if table else ():
        if name := row.text("list_name"):
            lists.setdefault(name, row.number)
    return lists


class ChoiceLists:
    """The rows of every sheet that has lists, grouped by list."""

    def __init__(self, sheets: dict[str, SheetTable]) -> None:
        self._sheets = sheets
        self._rows: dict[str, dict[str, list[SheetRow]]] = {}
        for kind in _LIST_SHEETS:
            if kind in sheets:
                lists = self._rows[kind] = {}
                for row in sheets[kind].filled_rows():
                    lists.setdefault(row.text("list_name") or "", []).append(row)

    def used_by(self, questions: Iterable[Question]) -> dict[str, SheetTable]:
        """The sheets, reduced to the lists that these questions name in their type or any other column."""
        used = _mentioned_lists(questions)
        return self._sheets | {
            kind: self._sheets[kind].with_rows([row for name in lists if name in used for row in lists[name]])
            for kind, lists in self._rows.items()
        }


def _mentioned_lists(questions: Iterable[Question]) -> set[str]:
    """Words that may be list names. Matrices and look-ups name lists in other columns than the type."""
    names: set[str] = set()
    for question in questions:
        if question.type.list_name:
            names.add(question.type.list_name)
        for cell in question.row.cells:
            if cell.column.key not in TRANSLATABLE_COLUMNS:
                names.update(_WORD.findall(cell.text))
    return names
