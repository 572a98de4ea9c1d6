"""Bytes in, a form or a library out, or a refusal that says everything that is wrong."""

from difflib import get_close_matches
from typing import Any

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.run import check_form, check_library, in_reading_order
from fieldgate.imports.xlsform.compile.xform_compiler import compile_form
from fieldgate.imports.xlsform.content import normalise
from fieldgate.imports.xlsform.issues import Findings, Problem, Refused
from fieldgate.imports.xlsform.languages import languages
from fieldgate.imports.xlsform.library import Library, blocks
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.questions import outline
from fieldgate.imports.xlsform.sheet_table import Table
from fieldgate.imports.xlsform.size import refuse_if_large
from fieldgate.imports.xlsform.summary import summarise
from fieldgate.imports.xlsform.vocabulary import LIBRARY, SHEETS, SURVEY, snake
from fieldgate.imports.xlsform.workbook_reader import Grid, is_windows_text, read

_LIKELY_SLIP = 0.8  # of 1, which means the same word: `choises` is one, `notes` is none


class Form(msgspec.Struct):
    """A survey sheet understood."""

    content: dict[str, Any]
    summary: dict[str, Any]
    title: str | None
    form_id: str | None
    version: str | None
    xform: str
    row_count: int
    warnings: list[Problem]


def understand(data: bytes, name: str) -> Form | Library:
    """The workbook as a form or as a library, whichever sheet it has. `name` is used where the form has no title."""
    findings = Findings()
    grids = read(data)
    if is_windows_text(data):
        message = Message(
            "The file is no Unicode text. Check its accents, or save it as CSV UTF-8 and import it again."
        )
        findings.warning("guessed_encoding", message, None)
    sheets = _tables(grids)
    _check_sheet_names(grids, sheets, findings)
    if LIBRARY in sheets:
        return _library(sheets.pop(LIBRARY), sheets, findings)
    return _form(sheets.pop(SURVEY), sheets, name, findings)


def _form(survey: Table, sheets: dict[str, Table], name: str, findings: Findings) -> Form:
    draft = Draft(survey, sheets, outline(survey, findings))
    check_form(draft, findings)
    findings.refuse_if_any()
    xform = compile_form(draft, name, findings)
    findings.refuse_if_any()
    findings.warnings = in_reading_order(findings.warnings, draft)
    settings = draft.settings
    spoken = languages((survey, draft.choices), settings.get("default_language"))
    content = normalise(survey, draft.questions, sheets, settings, spoken)
    refuse_if_large((content, xform))
    summary = summarise(content)
    return Form(
        content,
        summary,
        title=_one_line(settings.get("form_title")),
        form_id=settings.get("id_string"),
        version=settings.get("version"),
        xform=xform,
        row_count=summary["row_count"],
        warnings=findings.warnings,
    )


def _library(table: Table, sheets: dict[str, Table], findings: Findings) -> Library:
    draft = Draft(table, sheets, outline(table, findings))
    check_library(draft, findings)
    findings.refuse_if_any()
    return Library(blocks(draft), findings.warnings)


def _tables(grids: list[Grid]) -> dict[str, Table]:
    """The sheets that mean something, by what they mean. A workbook with one filled sheet needs no name for it."""
    kinds = {snake(grid.name): grid for grid in reversed(grids)}
    filled = [grid for grid in grids if any(any(texts) for _, texts in grid.rows)]
    if len(filled) == 1 and SURVEY not in kinds and LIBRARY not in kinds:
        kinds = {SURVEY: filled[0]}
    if SURVEY in kinds and LIBRARY in kinds:
        raise Refused("both_sheets", Message("A workbook has either a survey or a library sheet. Remove one of them."))
    if SURVEY not in kinds and LIBRARY not in kinds:
        raise Refused(
            "no_usable_sheet",
            Message("The workbook has no survey or library sheet. Name the sheet with the questions survey."),
        )
    return {kind: Table.of(kind, grid) for kind, grid in kinds.items() if kind in SHEETS}


def _check_sheet_names(grids: list[Grid], sheets: dict[str, Table], findings: Findings) -> None:
    """A sheet with almost the right name was probably meant to count. Others are the author's notes."""
    for grid in grids:
        kind = snake(grid.name)
        if kind not in sheets and not kind.startswith("_"):
            for guess in get_close_matches(
                kind, sorted(SHEETS - sheets.keys() - {SURVEY, LIBRARY}), n=1, cutoff=_LIKELY_SLIP
            ):
                message = Message("This sheet is not used. Rename it {name} if it belongs to the form.", name=guess)
                findings.warning("unused_sheet", message, grid.name)


def _one_line(title: str | None) -> str | None:
    return " ".join(title.split()) if title else None
