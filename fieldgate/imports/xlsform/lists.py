"""The lists of choices a question uses, for where it leaves its form."""

import re
from collections.abc import Iterable

from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Row, Table
from fieldgate.imports.xlsform.vocabulary import CHOICES, EXTERNAL_CHOICES, OSM, TRANSLATABLE

WORD = re.compile(r"[\w.-]+")
_WITH_LISTS = (CHOICES, EXTERNAL_CHOICES, OSM)


class Lists:
    """Every sheet that holds lists, sorted once by the names of those."""

    def __init__(self, sheets: dict[str, Table]) -> None:
        self._sheets = sheets
        self._rows: dict[str, dict[str, list[Row]]] = {}
        for kind in _WITH_LISTS:
            if kind in sheets:
                lists = self._rows[kind] = {}
                for row in sheets[kind].filled():
                    lists.setdefault(row.text("list_name") or "", []).append(row)

    def used_by(self, questions: Iterable[Question]) -> dict[str, Table]:
        """The sheets with only the lists that these questions name, in their type or any other column."""
        used = _named(questions)
        return self._sheets | {
            kind: self._sheets[kind].with_rows([row for name in lists if name in used for row in lists[name]])
            for kind, lists in self._rows.items()
        }


def _named(questions: Iterable[Question]) -> set[str]:
    """Matrices and look-ups name their lists in other columns than the type; what people read names none."""
    named: set[str] = set()
    for question in questions:
        if question.type.list_name:
            named.add(question.type.list_name)
        for cell in question.row.cells:
            if cell.column.key not in TRANSLATABLE:
                named.update(WORD.findall(cell.text))
    return named
