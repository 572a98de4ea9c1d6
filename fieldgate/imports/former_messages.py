"""Former texts of messages, so that imports stored by earlier releases are still translated.

A message is stored as its English text. When a text in the code changes, imports with the old text would be shown in
English in every language: add the old text here. If the values are the same, an entry in `REWORDED` is enough.
"""

from collections.abc import Callable
from typing import Any

from fieldgate.i18n.messages import Message, PluralMessage

REWORDED = {
    "Enter an address such as https://forms.example.org/household.xlsx, without user name and password.": (
        "Enter an address such as https://forms.example.org/household.xlsx, without username and password."
    ),
    "A group cannot be saved. Move this to one of its questions.": (
        "A group cannot be saved to an entity. Move save_to to one of its questions."
    ),
    "A loop goes over this list. Enter a label for this choice.": (
        "A loop uses this list. Enter a label for this choice."
    ),
    "A repeat cannot stand in a loop. Move it out of the loop, or make it a group.": (
        "A repeat is not allowed in a loop. Move it out of the loop, or make it a group."
    ),
    "Add randomize=true: a seed means nothing without it.": "Add randomize=true: a seed has no effect without it.",
    "Answers given before can be offered by select_one only. Use it, or name a list of choices.": (
        "Only select_one can offer earlier answers. Use select_one, or name a list of choices."
    ),
    "Enter a choice filter: select_one_external cannot do without one.": (
        "Enter a choice filter: select_one_external needs one."
    ),
    "Enter a trigger, as ${name}: the question whose answer has the place recorded.": (
        "Enter a trigger such as ${name}: the question whose answer starts recording the location."
    ),
    "Enter an entity_id: without it nothing says which entity is changed.": (
        "Enter an entity_id: it says which entity to update."
    ),
    "Enter an image as well: the big one is shown when people touch it.": (
        "Enter an image as well: the big image is shown when people tap it."
    ),
    "Enter update_if: with create_if and entity_id nothing else says when an entity is changed.": (
        "Enter update_if: a row with create_if and entity_id needs it."
    ),
    "Give all of {names}, or none.": "Enter all of {names}, or none of them.",
    "Give this choice a name: it is what answers are stored as.": (
        "Give this choice a name: answers are stored under this name."
    ),
    "Nothing can be saved yet. Add a sheet entities that names a list.": (
        "save_to needs a list of entities. Add a sheet entities that declares one."
    ),
    "Remove the name, or call it audit: it cannot have another one.": (
        "Remove the name, or change it to audit. No other name is allowed here."
    ),
    "The asset to be replaced is not there any more. Import the file as a new one.": (
        "The asset to replace no longer exists. Import the file as a new asset."
    ),
    "The compiler of forms remarks: {reason}": "pyxform warns: {reason}",
    "The file could not be read: it is damaged, or of a kind that no reader understands. Open it, save it anew and"
    " send that.": (
        "The file could not be read: it is damaged or of an unknown kind. Open it, save it again and send the new file."
    ),
    "The file is no Unicode text. Check its accents, or save it as CSV UTF-8 and import it again.": (
        "The file is not Unicode text. Check that its letters are right, or save it as CSV UTF-8 and import it again."
    ),
    "The file is not Unicode text. Check accented letters, or save it as CSV UTF-8 and import it again.": (
        "The file is not Unicode text. Check that its letters are right, or save it as CSV UTF-8 and import it again."
    ),
    "The file takes too long to read. Make it smaller, or split it. A small file is damaged: open it, save it anew"
    " and send that.": (
        "The file takes too long to read. Make it smaller or split it. If it is small, it may be damaged: open it,"
        " save it again and send the new file."
    ),
    "The file takes too much memory to read. Make it smaller, or split it. A small file is damaged: open it, save"
    " it anew and send that.": (
        "The file takes too much memory to read. Make it smaller or split it. If it is small, it may be damaged: open"
        " it, save it again and send the new file."
    ),
    "The form cannot be compiled. Remove what you changed last, and import it again.": (
        "The form could not be compiled. Undo your last changes and import it again."
    ),
    "The name {name} is made for row {row} as well. Choose another name.": (
        "The name {name} is also generated for row {row}. Choose another name."
    ),
    "This begin_{kind} is never ended. Add a row end_{kind} after its last row.": (
        "This begin_{kind} has no end_{kind}. Add a row end_{kind} after its last row."
    ),
    "This choice has no label. Enter what people should read.": (
        "This choice has no label. Enter the text that people see."
    ),
    "What is in the file becomes larger than {size} MiB. Split the file, or shorten its lists of choices.": (
        "The content of the file is larger than {size} MiB. Split the file, or shorten its lists of choices."
    ),
    "Write parameters as name=value, with a space between one and the next.": (
        "Write parameters as name=value, separated by spaces."
    ),
    "Write the trigger as ${name}, with commas between several.": (
        "Write the trigger as ${name}. Separate several triggers with commas."
    ),
    "You may not change the asset to be replaced any more. Ask its owner for the permission change_asset, or import"
    " the file as a new one.": (
        "You may no longer change the asset to replace. Ask its owner for the permission change_asset, or import the"
        " file as a new asset."
    ),
    "end_{kind} ends nothing here. Remove the row, or add begin_{kind} above it.": (
        "This end_{kind} has no begin_{kind}. Remove the row, or add begin_{kind} above it."
    ),
    "or_other and a choice filter exclude each other. Remove one of them.": (
        "or_other cannot be combined with a choice filter. Remove one of them."
    ),
    "{column} is kept as data of the choices. Rename it {name} if that is meant.": (
        "{column} is kept as data of the choices. If you meant {name}, rename it."
    ),
    "{column} is not a column of XLSForm and has no effect. Correct its name, or remove it.": (
        "{column} is not an XLSForm column and has no effect. Correct its name, or remove it."
    ),
    "{default} is taken to be {language}. Write it the same way.": (
        "{default} is treated as {language}. Use the same spelling for both."
    ),
    "{file} cannot hold choices. Name a .csv, .xml or .geojson file.": (
        "{file} cannot contain choices. Use a .csv, .xml or .geojson file."
    ),
    "{language} does not end with the code of a language, as in French (fr). Correct the code.": (
        "{language} does not end with a known language code, as in French (fr). Correct the code."
    ),
    "{name} is not a function that forms usually have. Check its spelling.": (
        "{name} is not a known function. Check its spelling."
    ),
    "{type} cannot stand in a repeat. Move the row out of it.": (
        "{type} is not allowed in a repeat. Move the row out of it."
    ),
}


def _several_entity_lists(values: dict[str, Any]) -> Message:
    return Message(
        "There are several lists of entities. Name one of them, as in {example}.", example=f"list#{values['name']}"
    )


# Texts with a number, from before messages had plurals, and others that became several messages.
_REPLACEMENTS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "Groups are nested too deeply here. Keep within {count} levels.": lambda values: PluralMessage(
        "Groups are nested too deeply here. Keep within {count} level.",
        "Groups are nested too deeply here. Keep within {count} levels.",
        values["count"],
    ),
    "Name a list of choices after {type}, as in {type} yes_no.": lambda values: Message(
        "Name a list of choices after {type}, as in {example}.",
        type=values["type"],
        example=f"{values['type']} yes_no",
    ),
    "Say which list is meant, as in list#{name}.": _several_entity_lists,
    "There are several lists of entities. Name one of them, as in list#{name}.": _several_entity_lists,
    "Sheet {sheet} is too large. Keep it within {rows} rows, {columns} columns and {characters} characters a cell.": (
        lambda values: Message(
            "Sheet {sheet} is too large. Keep it within {rows}, {columns} and {characters} per cell.",
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
    "The form was not imported. Problems to correct: {count}.": lambda values: PluralMessage(
        "The form was not imported. It has {count} problem.",
        "The form was not imported. It has {count} problems.",
        values["count"],
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

TEXTS_WITH_OTHER_VALUES = frozenset(_REPLACEMENTS)


def replace_former_message(text: str, values: dict[str, Any]) -> Message | None:
    """Return the current message for a former text, None if the text is not a former one."""
    if reworded := REWORDED.get(text):
        return Message(reworded, **values)
    replacement = _REPLACEMENTS.get(text)
    return replacement(values) if replacement else None
