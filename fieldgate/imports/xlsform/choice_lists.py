"""Lists of choices, and which of them a question uses."""

import re
from collections.abc import Iterable

from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    EXTERNAL_CHOICES,
    OSM,
    TRANSLATABLE_COLUMNS,
)

_WORD = re.compile(r"[\w.-]+")
_LIST_SHEETS = (CHOICES, EXTERNAL_CHOICES, OSM)


def first_rows(table: SheetTable | None) -> dict[str, int]:
    """Each list of a sheet, with the row of its first choice."""
    lists: dict[str, int] = {}
    for row in table.filled_rows() if table else ():
        if name := row.text("list_name"):
            lists.setdefault(name, row.number)
    return lists


def used_lists(form: ParsedForm) -> set[str]:
    """Lists that any cell of the survey mentions: matrices and look-ups name lists in other columns than the type."""
    words = {
        word
        for row in form.survey.filled_rows()
        for cell in row.cells
        for word in _WORD.findall(cell.text)
    }
    return words | {
        question.type.list_name for question in form.questions if question.type.list_name
    }


def incomplete_lists(table: SheetTable) -> set[str]:
    """Lists with a choice without a name, or with two choices of the same name."""
    found: set[str] = set()
    taken: set[tuple[str, str]] = set()
    for row in table.filled_rows():
        list_name, name = row.text("list_name"), row.text("name")
        if list_name and (name is None or (list_name, name) in taken):
            found.add(list_name)
        elif list_name and name:
            taken.add((list_name, name))
    return found


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
            kind: self._sheets[kind].with_rows(
                [row for name in lists if name in used for row in lists[name]]
            )
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
