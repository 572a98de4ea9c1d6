"""Compile a form to an XForm with pyxform, whose errors and warnings are the last of the checks."""

import logging
import re
from collections.abc import Iterator, Mapping
from itertools import chain, count
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from pyxform.errors import PyXFormError
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.choice_lists import incomplete_lists, used_lists
from fieldgate.imports.xlsform.compile.compiler_messages import (
    find_place,
    find_row,
    pyxform_rows,
    strip_row,
)
from fieldgate.imports.xlsform.compile.survey_builder import build_survey
from fieldgate.imports.xlsform.form_languages import default_language
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import Cell, SheetColumn, SheetRow, is_compiled
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITIES,
    EXTERNAL_CHOICES,
    KOBO_COLUMNS,
    OSM,
    ROOT_NAME,
    SETTINGS,
    SURVEY,
)

log = logging.getLogger(__name__)

# pyxform fails if a column sets an attribute `tag`, because its function that creates elements has a parameter of that
# name. For a control of a question it takes the value as the name of the element. So pyxform gets another name, which
# our checks refuse in a column of an author.
_TAG, _TAG_ALIAS = "tag", "tag?"
_TAG_COLUMNS = {
    f"{prefix}::{_TAG}": f"{prefix}::{_TAG_ALIAS}"
    for prefix in ("instance", "bind", "body", "control")
}

_MAX_REASON_CHARS = 200
_NON_ID_CHARS = re.compile(r"[^\w-]+")
# Warnings that our checks report as well (similar_name, missing_choice_label, missing_translation), and hints about
# optional parameters.
_IGNORED_WARNINGS = re.compile(
    r"case-insensitive match|Choices should have a label|^Language '|Use the max-pixels parameter"
)


def compile_form(
    form: ParsedForm, name: str, issues: IssueCollector, asset_uid: str | None = None
) -> str:
    """The XForm, or an empty text and a problem. Any error of pyxform is reported as a problem of the form.

    `asset_uid` names the root element where its usual name is taken by a question.
    """
    warnings: list[str] = []

    def fails(part: ParsedForm) -> bool:
        try:
            _compile(part, name, asset_uid, [])
        except MemoryError:
            raise  # not caused by the form alone
        except Exception:
            return True
        return False

    try:
        xform = _compile(form, name, asset_uid, warnings)
    except MemoryError:
        raise
    except PyXFormError as error:
        text = str(error).replace(f"::{_TAG_ALIAS}", f"::{_TAG}")
        message = Message("The form could not be compiled: {reason}", reason=strip_row(text))
        sheet, row = find_place(text, form)
        issues.add_problem(
            "not_compiled", message, *((sheet, row) if sheet and row else find_row(form, fails))
        )
        return ""
    except ExpatError:  # pyxform writes some cells into the document unescaped
        message = Message(
            "The form cannot be written as XML. Check the columns that begin with bind, body, instance or attribute, "
            "and the namespaces in sheet settings."
        )
        issues.add_problem("malformed_xform", message, *find_row(form, fails))
        return ""
    except Exception as error:  # pyxform also raises KeyError and the like
        log.warning("pyxform failed", exc_info=True)
        message = Message(
            "pyxform, the program that compiles forms, fails at this row ({reason}). Compare it with similar rows, or"
            " remove one cell after the other to find the one that it cannot process.",
            reason=f"{type(error).__name__}: {error}"[:_MAX_REASON_CHARS],
        )
        issues.add_problem("not_compiled", message, *find_row(form, fails))
        return ""
    for text in warnings:
        if not _IGNORED_WARNINGS.search(text):
            message = Message("pyxform warns: {reason}", reason=strip_row(text))
            issues.add_warning("compiler_warning", message, *find_place(text, form))
    return xform


def _compile(form: ParsedForm, name: str, asset_uid: str | None, warnings: list[str]) -> str:
    """The XForm. It declares no entities, so that expat, which checks it, is safe here."""
    xform = _run_pyxform(_to_pyxform_workbook(form, name, root_name(form, asset_uid)), warnings)
    ParserCreate(namespace_separator=" ").Parse(xform, True)
    return xform


def _run_pyxform(workbook: dict[str, Any], warnings: list[str]) -> str:
    """What `pyxform.xls2xform.convert` does, without its temporary file: the sandbox cannot write files."""
    definition = get_xlsform(xlsform=workbook)
    form = workbook_to_json(
        workbook_dict=definition,
        form_name=ROOT_NAME,
        fallback_form_name=definition.fallback_form_name,
        warnings=warnings,
    )
    document = build_survey(form).xml()
    for element in document.getElementsByTagName("*"):
        if element.hasAttribute(_TAG_ALIAS):
            element.setAttribute(_TAG, element.getAttribute(_TAG_ALIAS))
            element.removeAttribute(_TAG_ALIAS)
    return f'<?xml version="1.0"?>{document.toxml()}'


def _to_pyxform_workbook(form: ParsedForm, name: str, root: str) -> dict[str, Any]:
    """The sheets with canonical column names and types, in the form that pyxform takes."""
    types = {question.row.number: question.type.pyxform_type for question in form.questions}
    workbook: dict[str, Any] = {
        "fallback_form_name": ROOT_NAME,
        SURVEY: [_pyxform_row(row, types) for row in form.survey.rows],
        f"{SURVEY}_header": [
            {"type": None}
            | {
                _survey_header(column): None
                for column in form.survey.columns
                if _is_compiled_column(column)
            }
        ],
    }
    for kind in (CHOICES, EXTERNAL_CHOICES, ENTITIES, OSM):
        if table := form.sheets.get(kind):
            rows = [_pyxform_choice(row, kind) for row in pyxform_rows(table)]
            if kind == CHOICES:
                rows = _without_lists(rows, incomplete_lists(table) - used_lists(form))
                if not any(rows) or not table.has_column("list_name"):
                    continue
            workbook[kind] = rows
            workbook[f"{kind}_header"] = [
                {
                    column.pyxform_header: None
                    for column in table.columns
                    if is_compiled(column, kind)
                }
            ]
    named_settings = {
        _TAG_COLUMNS.get(key, key): text
        for key, text in form.settings.items()
        if not key.startswith("kobo--")
    }
    if default := default_language(
        (form.survey, form.choices), named_settings.get("default_language")
    ):
        named_settings["default_language"] = default
    if form.namespaces:
        named_settings["namespaces"] = form.namespaces
    if root != ROOT_NAME:
        named_settings["name"] = root
    settings = {
        "form_title": name,
        "id_string": _slug(named_settings.get("form_title", name)),
    } | named_settings
    workbook[SETTINGS] = [settings]
    workbook[f"{SETTINGS}_header"] = [dict.fromkeys(settings)]
    return workbook


def _slug(name: str) -> str:
    """`Household 2.0 survey` as `household_2_0_survey`."""
    return _NON_ID_CHARS.sub("_", name).strip("_").lower() or ROOT_NAME


def _pyxform_row(row: SheetRow, types: Mapping[int, str]) -> dict[str, str]:
    if row.number not in types:
        return {}
    cells = {
        _survey_header(cell.column): cell.text
        for cell in _in_order(row)
        if _is_compiled_column(cell.column)
    }
    return cells | {"type": types[row.number]}


def _survey_header(column: SheetColumn) -> str:
    return _TAG_COLUMNS.get(column.key, column.pyxform_header)


def _pyxform_choice(row: SheetRow, kind: str) -> dict[str, str]:
    """Keep the author's own columns: choice filters use them."""
    return {
        cell.column.pyxform_header: cell.text
        for cell in _in_order(row)
        if is_compiled(cell.column, kind)
    }


def _in_order(row: SheetRow) -> list[Cell]:
    """The cells, but without a language first if there are translations before: pyxform would overwrite them."""
    translated: set[str] = set()
    for cell in row.cells:
        if cell.column.language is not None:
            translated.add(cell.column.key)
        elif cell.column.key in translated:
            return sorted(row.cells, key=lambda cell: cell.column.language is not None)
    return row.cells


def _without_lists(choices: list[dict[str, str]], left_out: set[str]) -> list[dict[str, str]]:
    """Blank rows in place of lists that pyxform would refuse although no question uses them."""
    return [{} if choice.get("list_name") in left_out else choice for choice in choices]


def _is_compiled_column(column: SheetColumn) -> bool:
    return column.known and column.key not in KOBO_COLUMNS


def root_name(form: ParsedForm, asset_uid: str | None = None) -> str:
    """The root that the settings name, or `data`. Another name where pyxform would confuse it with a question.

    pyxform allows a question with the name of the root, but no repeat, and no reference to the question.
    """
    root = form.settings.get("name", ROOT_NAME)
    return next(_free_names(form, asset_uid)) if _is_confused(root, form) else root


def _is_confused(root: str, form: ParsedForm) -> bool:
    named = [question for question in form.questions if question.name == root]
    return any(question.type.begins == "repeat" for question in named) or (
        bool(named) and _is_referred_to(root, form)
    )


def _is_referred_to(name: str, form: ParsedForm) -> bool:
    references = (f"${{{name}}}", f"${{last-saved#{name}}}")
    return any(
        reference in cell.text
        for table in (form.survey, *form.sheets.values())
        for row in table.rows
        for cell in row.cells
        for reference in references
    )


def _free_names(form: ParsedForm, asset_uid: str | None) -> Iterator[str]:
    taken = {question.name for question in form.questions}
    names = chain(
        [asset_uid or ROOT_NAME, ROOT_NAME], (f"{ROOT_NAME}_{number}" for number in count(2))
    )
    return (name for name in names if name not in taken)
