"""Messages as earlier versions stored them, which still have to be translated.

A message is stored as its English text. When a text in the code changes, rows with the old text would be shown in
English only: add the old text here, with the message that replaces it.
"""

from collections.abc import Callable
from typing import Any

from fieldgate.i18n.messages import Message, PluralMessage

# From before messages had plurals.
_REPLACEMENTS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "Groups are nested too deeply here. Keep within {count} levels.": lambda values: PluralMessage(
        "Groups are nested too deeply here. Keep within {count} level.",
        "Groups are nested too deeply here. Keep within {count} levels.",
        values["count"],
    ),
    "Sheet {sheet} is too large. Keep it within {rows} rows, {columns} columns and {characters} characters a cell.": (
        lambda values: Message(
            "Sheet {sheet} is too large. Keep it within {rows}, {columns} and {characters} a cell.",
            sheet=values["sheet"],
            rows=PluralMessage("{count} row", "{count} rows", values["rows"]),
            columns=PluralMessage("{count} column", "{count} columns", values["columns"]),
            characters=PluralMessage("{count} character", "{count} characters", values["characters"]),
        )
    ),
    "The file could not be read in {attempts} attempts. Simplify it, or ask whoever runs this service.": (
        lambda values: PluralMessage(
            "The file could not be read in {count} attempt. Simplify it, or ask whoever runs this service.",
            "The file could not be read in {count} attempts. Simplify it, or ask whoever runs this service.",
            values["attempts"],
        )
    ),
    "The library has more than {count} blocks and questions. Split the file.": lambda values: PluralMessage(
        "The library has more than {count} block or question. Split the file.",
        "The library has more than {count} blocks and questions. Split the file.",
        values["count"],
    ),
    "The workbook has more than {count} sheets. Remove those that are not part of the form.": (
        lambda values: PluralMessage(
            "The workbook has more than {count} sheet. Remove those that are not part of the form.",
            "The workbook has more than {count} sheets. Remove those that are not part of the form.",
            values["count"],
        )
    ),
    "There are {count} more, which are not listed here.": lambda values: PluralMessage(
        "There is {count} more, which is not listed here.",
        "There are {count} more, which are not listed here.",
        values["count"],
    ),
    "{count} questions are named {name}. Rename them, so that it is clear which is meant.": lambda values: (
        PluralMessage(
            "{count} question is named {name}. Rename it, so that it is clear which is meant.",
            "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
            values["count"],
            name=values["name"],
        )
    ),
}

FORMER_TEXTS = frozenset(_REPLACEMENTS)


def replace_former_message(text: str, values: dict[str, Any]) -> Message | None:
    """Return the message that replaces one with this text, if the text is a former one."""
    replacement = _REPLACEMENTS.get(text)
    return replacement(values) if replacement else None
