"""Parse a small form when this module is loaded: by the fork server, so that processes forked from it need not.

The first form in a process takes a quarter longer than others: regular expressions are compiled, caches are filled,
modules are loaded. Forked processes have all of that in the memory that they share.
"""

import io
import logging
from collections.abc import Mapping, Sequence

from openpyxl import Workbook

from fieldgate.imports import xlsform

log = logging.getLogger(__name__)

_SHEETS: Mapping[str, Sequence[Sequence[str]]] = {
    "survey": (
        ("type", "name", "label::English (en)", "label::French (fr)", "required", "relevant", "calculate"),
        ("text", "name", "Name", "Nom", "yes", "", ""),
        ("begin_group", "household", "Household", "Ménage", "", "", ""),
        ("integer", "size", "Size", "Taille", "", "", ""),
        ("select_one yes_no", "displaced", "Displaced?", "Déplacé ?", "", "${size} > 1", ""),
        ("end_group", "", "", "", "", "", ""),
        ("calculate", "doubled", "", "", "", "", "${size} * 2"),
    ),
    "choices": (
        ("list_name", "name", "label::English (en)", "label::French (fr)"),
        ("yes_no", "yes", "Yes", "Oui"),
        ("yes_no", "no", "No", "Non"),
    ),
    "settings": (("form_title", "default_language"), ("Sample", "English (en)")),
}  # fmt: skip


def sample_workbook() -> bytes:
    """A form as an xlsx file."""
    workbook, buffer = Workbook(), io.BytesIO()
    workbook.remove(workbook.active)
    for name, rows in _SHEETS.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append([cell or None for cell in row])
    workbook.save(buffer)
    return buffer.getvalue()


def warm_up() -> None:
    try:
        xlsform.parse_workbook(sample_workbook(), "sample", None)
    except Exception:  # forms take longer, but are imported
        log.exception("the sample form could not be parsed")


warm_up()
