"""Build the normalised content of a form: the same for every spelling of the workbook.

The content is stored.
"""

import re
from collections.abc import Iterable
from secrets import token_bytes
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.form_languages import translatable_columns
from fieldgate.imports.xlsform.issues import FormRejected
from fieldgate.imports.xlsform.locking import locking_profiles
from fieldgate.imports.xlsform.question_types import FILE_SELECT_TYPES, METADATA_TYPES
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import Cell, SheetRow, SheetTable
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITIES,
    EXTERNAL_CHOICES,
    FALSE_WORDS,
    LOCK_ALL,
    LOCKING,
    OSM,
    TRANSLATABLE_COLUMNS,
    TRUE_WORDS,
)

SCHEMA_VERSION = "1"

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ALPHABET = f"{_LETTERS}0123456789"
_KUID_LENGTH = 9
_HASHTAG = re.compile(r"[#+][^#+\s]+")
_COMPUTED_COLUMNS = frozenset({"type", "select_from_list_name"})
_NON_NAME_CHARS = re.compile(r"[^\w.-]+")


def normalise(
    survey: SheetTable,
    questions: Iterable[Question],
    sheets: dict[str, SheetTable],
    settings: dict[str, str],
    languages: list[str | None],
) -> dict[str, Any]:
    """The content as stored. Metadata rows come first, as in KoboToolbox.

    The title is not part of it: it is the name of the asset, which can be changed.
    """
    rows = sorted(
        questions,
        key=lambda question: question.type.name not in METADATA_TYPES or bool(question.path),
    )
    names = _NameGenerator()
    content: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "survey": [_survey_row(question, languages, names) for question in rows],
        "choices": list(_choices(sheets.get(CHOICES), languages)),
        "settings": _settings(settings),
        "translations": languages,
        "translated": sorted(
            {
                column.key
                for table in (survey, sheets.get(CHOICES))
                for column in translatable_columns(table)
            }
        ),
    }
    for kind in (EXTERNAL_CHOICES, ENTITIES, OSM):
        if kind in sheets:
            content[kind] = [
                {cell.column.pyxform_header: cell.text for cell in row.cells}
                for row in sheets[kind].filled_rows()
            ]
    if LOCKING in sheets:
        content[LOCKING] = locking_profiles(sheets[LOCKING])
    return content


def _settings(settings: dict[str, str]) -> dict[str, Any]:
    stored: dict[str, Any] = {key: text for key, text in settings.items() if key != "form_title"}
    if LOCK_ALL in stored:
        stored[LOCK_ALL] = stored[LOCK_ALL].lower() in (*TRUE_WORDS, "1")
    return stored


class _NameGenerator:
    """Names for rows without one, made from their labels and numbered where labels are the same."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def name_for(self, given: str | None, fallback: str) -> str:
        base = given or _NON_NAME_CHARS.sub("_", fallback).strip("_") or "row"
        if not given and not (base[0].isalpha() or base[0] == "_"):
            base = f"_{base}"
        self._counts[base] = self._counts.get(base, 0) + 1
        return base if given or self._counts[base] == 1 else f"{base}_{self._counts[base]}"


def _survey_row(
    question: Question, languages: list[str | None], names: _NameGenerator
) -> dict[str, Any]:
    row: dict[str, Any] = {"type": question.type.name}
    if question.type.list_name:
        key = "file" if question.type.name in FILE_SELECT_TYPES else "select_from_list_name"
        row[key] = question.type.list_name
    if question.type.or_other:
        row["_or_other"] = True
    row |= _cells(question.row, languages)
    row["$kuid"] = _kuid()
    if not question.type.ends:
        label = question.row.text("label") or question.type.name
        name = names.name_for(question.name, label)
        row["$autoname"] = name
        row["$xpath"] = "/".join(part for part in (*question.path, name) if part)
    return row


def _choices(table: SheetTable | None, languages: list[str | None]) -> Iterable[dict[str, Any]]:
    for row in table.filled_rows() if table else ():
        if "list_name" in row:
            choice = _texts(row.cells, languages)
            yield {**choice, "$kuid": _kuid(), "$autovalue": choice.get("name")}


def _cells(row: SheetRow, languages: list[str | None]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for key, value in _texts(
        (cell for cell in row.cells if cell.column.key not in _COMPUTED_COLUMNS), languages
    ).items():
        if key == "required":
            cells[key] = _parse_boolean(value)
        elif key == "hxl":
            cells["tags"] = [f"hxl:{part}" for part in _HASHTAG.findall(value)]
        else:
            cells[key] = value
    return cells


def _texts(cells: Iterable[Cell], languages: list[str | None]) -> dict[str, Any]:
    """The texts of a row by column; lists of texts, one for each language, for translated columns."""
    texts: dict[str, Any] = {}
    for cell in cells:
        key = cell.column.key
        if key in TRANSLATABLE_COLUMNS:
            texts.setdefault(key, [None] * len(languages))[
                languages.index(cell.column.language)
            ] = cell.text
        elif not key.startswith("$"):
            texts[key] = cell.text
    return texts


def _parse_boolean(text: str) -> str | bool:
    """A boolean, or the expression as it is."""
    word = text.lower()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else text


def _kuid() -> str:
    """A short random id for a row, unique over all forms."""
    first, *rest = token_bytes(_KUID_LENGTH)
    return _LETTERS[first % len(_LETTERS)] + "".join(
        _ALPHABET[byte % len(_ALPHABET)] for byte in rest
    )


MAX_CONTENT_BYTES = 32 * 1024 * 1024


def check_content_size(parts: Iterable[Any]) -> None:
    """Raise FormRejected as soon as the parts together, as JSON, exceed MAX_CONTENT_BYTES."""
    size = 0
    for part in parts:
        size += len(msgspec.json.encode(part))
        if size > MAX_CONTENT_BYTES:
            message = Message(
                "The content of the file is larger than {size} MiB. Split the file, or shorten its lists of choices.",
                size=MAX_CONTENT_BYTES // (1024 * 1024),
            )
            raise FormRejected("too_large", message)
