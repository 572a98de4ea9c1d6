"""The last word: a compiler of XLSForms makes the XForm, or says why it cannot."""

import logging
import re
from collections.abc import Mapping
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from pyxform.builder import create_survey_element_from_dict
from pyxform.errors import PyXFormError
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.names import ROOT
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.languages import languages, meant
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.sheet_table import FIRST_ROW, Column, Row, Table, carried
from fieldgate.imports.xlsform.vocabulary import (
    CHOICES,
    ENTITIES,
    EXTERNAL_CHOICES,
    LIVE_COLUMNS,
    OSM,
    SETTINGS,
    SURVEY,
)

log = logging.getLogger(__name__)

_NOT_IN_IDS = re.compile(r"[^\w-]+")
_ROW = re.compile(r"\[row : (\w+)\]\s*")
_SHEET = re.compile(r"'(survey|choices|settings|entities|external_choices|osm)' sheet")
# Warnings for which we have our own words: similar_name, missing_choice_label, missing_translation.
_SAID_ALREADY = re.compile(r"case-insensitive match|Choices should have a label|^Language '")


def compile_form(draft: Draft, name: str, findings: Findings) -> str:
    """The XForm, or an empty text and a problem. Any error of the compiler is about the form, for us."""
    warnings: list[str] = []
    try:
        xform = _xform(_workbook(draft, name), warnings)
    except MemoryError:
        raise  # says something of the machine and nothing of the form
    except PyXFormError as error:
        text = str(error)
        message = Message("The form could not be compiled: {reason}", reason=_ROW.sub("", text))
        findings.problem("not_compiled", message, *_place(text, draft))
        return ""
    except Exception:  # The compiler lets errors of every kind out, KeyError among them: no author could read them.
        log.warning("the compiler failed", exc_info=True)
        message = Message("The form cannot be compiled. Remove what you changed last, and import it again.")
        findings.problem("not_compiled", message, None)
        return ""
    for text in warnings:
        if not _SAID_ALREADY.search(text):
            message = Message("The compiler of forms remarks: {reason}", reason=_ROW.sub("", text))
            findings.warning("compiler_warning", message, *_place(text, draft))
    _check_well_formed(xform, findings)
    return xform


def _check_well_formed(xform: str, findings: Findings) -> None:
    """The compiler writes some cells into the document as they are. It declares no entities, so expat is safe."""
    try:
        ParserCreate(namespace_separator=" ").Parse(xform, True)
    except ExpatError:
        message = Message(
            "The form cannot be written as XML. Check the columns that begin with bind, body, instance or attribute, "
            "and the namespaces in sheet settings."
        )
        findings.problem("malformed_xform", message, None)


def _xform(workbook: dict[str, Any], warnings: list[str]) -> str:
    """As pyxform's own `convert`, which writes the form to a file and reads it from there: here are no files."""
    given = get_xlsform(xlsform=workbook)
    form = workbook_to_json(
        workbook_dict=given, form_name=ROOT, fallback_form_name=given.fallback_form_name, warnings=warnings
    )
    return f'<?xml version="1.0"?>{create_survey_element_from_dict(form).xml().toxml()}'


def _workbook(draft: Draft, name: str) -> dict[str, Any]:
    """The sheets in the compiler's own words: what was spelled in another way arrives in the usual one."""
    types = {question.row.number: question.type.compiled for question in draft.questions}
    workbook: dict[str, Any] = {
        "fallback_form_name": ROOT,
        SURVEY: [_compiled_row(row, types) for row in draft.survey.rows],
        f"{SURVEY}_header": [{"type": None} | _header(draft.survey)],
    }
    for kind in (CHOICES, EXTERNAL_CHOICES, ENTITIES, OSM):
        if table := draft.sheets.get(kind):
            workbook[kind] = [_compiled_choice(row, kind) for row in _compiled_rows(table)]
            workbook[f"{kind}_header"] = [_header(table)]
    named = {key: text for key, text in draft.settings.items() if not key.startswith("kobo--")}
    if default := named.get("default_language"):
        found = languages((draft.survey, draft.choices), default)
        named["default_language"] = meant(default, found) or default
    settings = {"form_title": name, "id_string": _slug(named.get("form_title", name))} | named
    workbook[SETTINGS] = [settings]
    workbook[f"{SETTINGS}_header"] = [dict.fromkeys(settings)]
    return workbook


def _slug(name: str) -> str:
    """`Household 2.0 survey` as `household_2_0_survey`."""
    return _NOT_IN_IDS.sub("_", name).strip("_").lower() or ROOT


def _compiled_row(row: Row, types: Mapping[int, str]) -> dict[str, str]:
    if row.number not in types:
        return {}
    cells = {cell.column.compiled: cell.text for cell in row.cells if _concerns(cell.column)}
    return cells | {"type": types[row.number]}


def _compiled_choice(row: Row, kind: str) -> dict[str, str]:
    """Columns of the author's own stay: filters ask for them."""
    return {cell.column.compiled: cell.text for cell in row.cells if carried(cell.column, kind)}


def _concerns(column: Column) -> bool:
    return column.known and column.key not in LIVE_COLUMNS


def _header(table: Table) -> dict[str, None]:
    return {column.compiled: None for column in table.columns if carried(column, table.kind)}


def _place(text: str, draft: Draft) -> tuple[str | None, int | None]:
    """The sheet and the row that the compiler speaks of, as the author knows them."""
    named, row = _SHEET.search(text), _ROW.search(text)
    if not named and not row:
        return None, None
    table = draft.sheets.get(named[1], draft.survey) if named else draft.survey
    return table.sheet, _row(int(row[1]), table) if row and row[1].isdigit() else None


def _row(number: int, table: Table) -> int | None:
    index = number - FIRST_ROW
    if index == -1:
        return table.header_row
    rows = _compiled_rows(table)
    return rows[index].number if 0 <= index < len(rows) else None


def _compiled_rows(table: Table) -> list[Row]:
    """Blank rows are passed on, so that places can be counted; among entities they would be taken for mistakes."""
    return list(table.filled()) if table.kind == ENTITIES else table.rows
