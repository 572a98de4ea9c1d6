"""Compile a form to an XForm with pyxform, whose errors and warnings are the last of the checks."""

import logging
import re
from collections.abc import Mapping
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from pyxform.errors import PyXFormError
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.compile.survey_builder import build_survey
from fieldgate.imports.xlsform.form_languages import list_languages, match_language
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import FIRST_DATA_ROW, SheetColumn, SheetRow, SheetTable, is_compiled
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

_NON_ID_CHARS = re.compile(r"[^\w-]+")
_ROW = re.compile(r"\[row : (\w+)\]\s*")
_SHEET = re.compile(r"'(survey|choices|settings|entities|external_choices|osm)' sheet")
# Warnings that our checks report as well: similar_name, missing_choice_label, missing_translation.
_DUPLICATE_WARNINGS = re.compile(r"case-insensitive match|Choices should have a label|^Language '")


def compile_form(form: ParsedForm, name: str, issues: IssueCollector) -> str:
    """The XForm, or an empty text and a problem. Any error of pyxform is reported as a problem of the form."""
    warnings: list[str] = []
    try:
        xform = _run_pyxform(_to_pyxform_workbook(form, name), warnings)
    except MemoryError:
        raise  # not caused by the form alone
    except PyXFormError as error:
        text = str(error)
        message = Message("The form could not be compiled: {reason}", reason=_ROW.sub("", text))
        issues.add_problem("not_compiled", message, *_location(text, form))
        return ""
    except Exception:  # pyxform also raises KeyError and the like, whose texts mean nothing to an author.
        log.warning("pyxform failed", exc_info=True)
        message = Message("The form could not be compiled. Undo your last changes and import it again.")
        issues.add_problem("not_compiled", message, None)
        return ""
    for text in warnings:
        if not _DUPLICATE_WARNINGS.search(text):
            message = Message("pyxform warns: {reason}", reason=_ROW.sub("", text))
            issues.add_warning("compiler_warning", message, *_location(text, form))
    _check_well_formed(xform, issues)
    return xform


def _check_well_formed(xform: str, issues: IssueCollector) -> None:
    """pyxform writes some cells into the document unescaped. It declares no entities, so expat is safe here."""
    try:
        ParserCreate(namespace_separator=" ").Parse(xform, True)
    except ExpatError:
        message = Message(
            "The form cannot be written as XML. Check the columns that begin with bind, body, instance or attribute, "
            "and the namespaces in sheet settings."
        )
        issues.add_problem("malformed_xform", message, None)


def _run_pyxform(workbook: dict[str, Any], warnings: list[str]) -> str:
    """What `pyxform.xls2xform.convert` does, without its temporary file: the sandbox cannot write files."""
    definition = get_xlsform(xlsform=workbook)
    form = workbook_to_json(
        workbook_dict=definition,
        form_name=ROOT_NAME,
        fallback_form_name=definition.fallback_form_name,
        warnings=warnings,
    )
    return f'<?xml version="1.0"?>{build_survey(form).xml().toxml()}'


def _to_pyxform_workbook(form: ParsedForm, name: str) -> dict[str, Any]:
    """The sheets with canonical column names and types, in the form that pyxform takes."""
    types = {question.row.number: question.type.pyxform_type for question in form.questions}
    workbook: dict[str, Any] = {
        "fallback_form_name": ROOT_NAME,
        SURVEY: [_pyxform_row(row, types) for row in form.survey.rows],
        f"{SURVEY}_header": [{"type": None} | _pyxform_headers(form.survey)],
    }
    for kind in (CHOICES, EXTERNAL_CHOICES, ENTITIES, OSM):
        if table := form.sheets.get(kind):
            workbook[kind] = [_pyxform_choice(row, kind) for row in _pyxform_rows(table)]
            workbook[f"{kind}_header"] = [_pyxform_headers(table)]
    named_settings = {key: text for key, text in form.settings.items() if not key.startswith("kobo--")}
    if default := named_settings.get("default_language"):
        found = list_languages((form.survey, form.choices), default)
        named_settings["default_language"] = match_language(default, found) or default
    settings = {"form_title": name, "id_string": _slug(named_settings.get("form_title", name))} | named_settings
    workbook[SETTINGS] = [settings]
    workbook[f"{SETTINGS}_header"] = [dict.fromkeys(settings)]
    return workbook


def _slug(name: str) -> str:
    """`Household 2.0 survey` as `household_2_0_survey`."""
    return _NON_ID_CHARS.sub("_", name).strip("_").lower() or ROOT_NAME


def _pyxform_row(row: SheetRow, types: Mapping[int, str]) -> dict[str, str]:
    if row.number not in types:
        return {}
    cells = {cell.column.pyxform_header: cell.text for cell in row.cells if _is_compiled_column(cell.column)}
    return cells | {"type": types[row.number]}


def _pyxform_choice(row: SheetRow, kind: str) -> dict[str, str]:
    """Keep the author's own columns: choice filters use them."""
    return {cell.column.pyxform_header: cell.text for cell in row.cells if is_compiled(cell.column, kind)}


def _is_compiled_column(column: SheetColumn) -> bool:
    return column.known and column.key not in KOBO_COLUMNS


def _pyxform_headers(table: SheetTable) -> dict[str, None]:
    return {column.pyxform_header: None for column in table.columns if is_compiled(column, table.kind)}


def _location(text: str, form: ParsedForm) -> tuple[str | None, int | None]:
    """The author's sheet and row that a text of pyxform refers to."""
    sheet, row = _SHEET.search(text), _ROW.search(text)
    if not sheet and not row:
        return None, None
    table = form.sheets.get(sheet[1], form.survey) if sheet else form.survey
    return table.sheet_name, _author_row(int(row[1]), table) if row and row[1].isdigit() else None


def _author_row(number: int, table: SheetTable) -> int | None:
    index = number - FIRST_DATA_ROW
    if index == -1:
        return table.header_row
    rows = _pyxform_rows(table)
    return rows[index].number if 0 <= index < len(rows) else None


def _pyxform_rows(table: SheetTable) -> list[SheetRow]:
    """Blank rows are kept, so that row numbers stay right; in the entities sheet pyxform would refuse them."""
    return list(table.filled_rows()) if table.kind == ENTITIES else table.rows
