"""The lists of choices a question uses, for where it leaves its form."""

import re
from collections.abc import Iterable

from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import CHOICES, EXTERNAL_CHOICES, OSM, TRANSLATABLE_COLUMNS

WORD = re.compile(r"[\w.-]+")
_LIST_SHEETS = (CHOICES, EXTERNAL_CHOICES, OSM)


class ChoiceLists:
    """Every sheet that holds lists, sorted once by the names of those."""

    def __init__(self, sheets: dict[str, SheetTable]) -> None:
        self._sheets = sheets
        self._rows: dict[str, dict[str, list[SheetRow]]] = {}
        for kind in _LIST_SHEETS:
            if kind in sheets:
                lists = self._rows[kind] = {}
                for row in sheets[kind].filled_rows():
                    lists.setdefault(row.text("list_name") or "", []).append(row)

    def used_by(self, questions: Iterable[Question]) -> dict[str, SheetTable]:
        """The sheets with only the lists that these questions name, in their type or any other column."""
        used = _mentioned_lists(questions)
        return self._sheets | {
            kind: self._sheets[kind].with_rows([row for name in lists if name in used for row in lists[name]])
            for kind, lists in self._rows.items()
        }


def _mentioned_lists(questions: Iterable[Question]) -> set[str]:
    """Matrices and look-ups name their lists in other columns than the type; what people read names none."""
    named: set[str] = set()
    for question in questions:
        if question.type.list_name:
            named.add(question.type.list_name)
        for cell in question.row.cells:
            if cell.column.key not in TRANSLATABLE_COLUMNS:
                named.update(WORD.findall(cell.text))
    return named
