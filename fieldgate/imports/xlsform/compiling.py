"""The last word: a compiler of XLSForms makes the XForm, or says why it cannot."""

import logging
import re
from collections.abc import Mapping
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from pyxform.errors import PyXFormError
from pyxform.xls2xform import convert

from fieldgate.http.language import Message
from fieldgate.imports.xlsform.draft import Draft
from fieldgate.imports.xlsform.languages import languages, meant
from fieldgate.imports.xlsform.name_checks import ROOT
from fieldgate.imports.xlsform.names import CHOICES, ENTITIES, EXTERNAL_CHOICES, LIVE_COLUMNS, OSM, SETTINGS, SURVEY
from fieldgate.imports.xlsform.problems import Findings
from fieldgate.imports.xlsform.tables import FIRST_ROW, Column, Row, Table, carried

log = logging.getLogger(__name__)

_ROW = re.compile(r"\[row : (\d+)\]")
_PREFIX = re.compile(r"^\[row : \w+\]\s*")
_SHEET = re.compile(r"'(survey|choices|settings|entities|external_choices|osm)' sheet")


def compile_form(draft: Draft, fallback: str, findings: Findings) -> str:
    """The XForm, or an empty text and a problem. Any error of the compiler is about the form, for us."""
    try:
        xform = str(convert(_workbook(draft, fallback), form_name=ROOT).xform)
    except MemoryError:
        raise  # says something of the machine and nothing of the form
    except PyXFormError as error:
        _report(error, draft, findings)
        return ""
    except Exception:  # The compiler lets errors of every kind out, KeyError among them: no author could read them.
        log.warning("the compiler failed", exc_info=True)
        message = Message("The form cannot be compiled. Remove what you changed last, and import it again.")
        findings.problem("not_compiled", message, None)
        return ""
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


def _workbook(draft: Draft, fallback: str) -> dict[str, Any]:
    """The sheets in the compiler's own words: what was spelled in another way arrives in the usual one."""
    types = {question.row.number: question.type.compiled for question in draft.questions}
    workbook: dict[str, Any] = {
        "fallback_form_name": fallback,
        SURVEY: [_compiled_row(row, types) for row in draft.survey.rows],
        f"{SURVEY}_header": [{"type": None} | _header(draft.survey)],
    }
    for kind in (CHOICES, EXTERNAL_CHOICES, ENTITIES, OSM):
        if table := draft.sheets.get(kind):
            workbook[kind] = [_compiled_choice(row, kind) for row in _compiled_rows(table)]
            workbook[f"{kind}_header"] = [_header(table)]
    if settings := {key: text for key, text in draft.settings.items() if not key.startswith("kobo--")}:
        if default := settings.get("default_language"):
            found = languages((draft.survey, draft.choices), default)
            settings["default_language"] = meant(default, found) or default
        workbook[SETTINGS] = [settings]
        workbook[f"{SETTINGS}_header"] = [dict.fromkeys(settings)]
    return workbook


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


def _report(error: PyXFormError, draft: Draft, findings: Findings) -> None:
    text = str(error)
    named = _SHEET.search(text)
    table = draft.sheets.get(named[1], draft.survey) if named else draft.survey
    message = Message("The form could not be compiled: {reason}", reason=_PREFIX.sub("", text))
    findings.problem("not_compiled", message, table.sheet if named or _ROW.search(text) else None, _row(text, table))


def _row(text: str, table: Table) -> int | None:
    found = _ROW.search(text)
    index = int(found[1]) - FIRST_ROW if found else -1
    rows = _compiled_rows(table)
    return rows[index].number if 0 <= index < len(rows) else None


def _compiled_rows(table: Table) -> list[Row]:
    """Blank rows are passed on, so that places can be counted; among entities they would be taken for mistakes."""
    return list(table.filled()) if table.kind == ENTITIES else table.rows
