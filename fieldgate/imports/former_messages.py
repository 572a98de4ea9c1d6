"""Former texts of messages, so that imports stored by earlier releases are still translated.

A message is stored as its English text. When a text in the code changes, imports with the old text would be shown in
English in every language: add the old text here. If the values are the same, an entry in `_REWORDED` is enough.
"""

from collections.abc import Callable
from typing import Any

from fieldgate.i18n.messages import Message, PluralMessage

_REWORDED = {
    "The asset to be replaced is not there any more. Import the file as a new one.": (
        "The asset to replace no longer exists. Import the file as a new asset."
    ),
    "The file could not be read: it is damaged, or of a kind that no reader understands. Open it, save it anew and send"
    " that.": (
        "The file could not be read: it is damaged or of an unknown kind. Open it, save it again and send the new file."
    ),
    "The file takes too long to read. Make it smaller, or split it. A small file is damaged: open it, save it anew and"
    " send that.": (
        "The file takes too long to read. Make it smaller or split it. If it is small, it may be damaged: open it, save"
        " it again and send the new file."
    ),
    "The file takes too much memory to read. Make it smaller, or split it. A small file is damaged: open it, save it"
    " anew and send that.": (
        "The file takes too much memory to read. Make it smaller or split it. If it is small, it may be damaged: open"
        " it, save it again and send the new file."
    ),
    "You may not change the asset to be replaced any more. Ask its owner for the permission change_asset, or import the"
    " file as a new one.": (
        "You may no longer change the asset to replace. Ask its owner for the permission change_asset, or import the"
        " file as a new asset."
    ),
}

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
            "The file could not be read in {count} attempt. Simplify it, or contact the operator of this service.",
            "The file could not be read in {count} attempts. Simplify it, or contact the operator of this service.",
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

FORMER_TEXTS = frozenset((*_REWORDED, *_REPLACEMENTS))


def replace_former_message(text: str, values: dict[str, Any]) -> Message | None:
    """Return the current message for a former text, None if the text is not a former one."""
    if reworded := _REWORDED.get(text):
        return Message(reworded, **values)
    replacement = _REPLACEMENTS.get(text)
    return replacement(values) if replacement else None
