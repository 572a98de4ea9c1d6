"""Check form content that a client sent, as if it were a workbook.

The sheets of a workbook are made from the content, and pass the same checks. In problems, row 1 is the first row of its
part of the content.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from fieldgate.assets.workbook_sheets import ContentSheet, MalformedContent, content_sheets
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.xlsform.checks.run import check_library
from fieldgate.imports.xlsform.content import check_content_size, normalise
from fieldgate.imports.xlsform.form_languages import list_languages
from fieldgate.imports.xlsform.importer import parse_sheets, tables_by_kind
from fieldgate.imports.xlsform.issues import FormRejected, IssueCollector
from fieldgate.imports.xlsform.locking import strip_locking
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.parsed_results import EncodedContent, Form
from fieldgate.imports.xlsform.questions import parse_questions
from fieldgate.imports.xlsform.sheet_table import FIRST_DATA_ROW
from fieldgate.imports.xlsform.summary import summarise
from fieldgate.imports.xlsform.vocabulary import CHOICES, SURVEY
from fieldgate.imports.xlsform.workbook_reader import Sheet, check_sheet_size, clean_text

FIRST_ROW = 1
MAX_DEPTH = 8  # of objects and lists inside each other; a list of texts in a row has four

INVALID_CONTENT = "malformed_content"
_TITLE = "form_title"


def parse_content(encoded: EncodedContent) -> Form:
    """Return the form. Raise FormRejected with all problems."""
    content = _decode(encoded.data)
    if encoded.is_library:
        content = _without_generated_names(content)
    try:
        sheets = sheets_of_content(content, first_row=FIRST_ROW)
        if encoded.allows_empty and not content.get(SURVEY) and not content.get(CHOICES):
            return _empty_form(sheets)
        if encoded.is_library:
            return _library_form(sheets)
        return cast(
            Form, parse_sheets(sheets, encoded.name, IssueCollector(), encoded.asset_uid)
        )  # not a library
    except FormRejected as rejection:
        raise _without_header_rows(rejection) from None


def _decode(data: bytes) -> dict[str, Any]:
    try:
        content = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        raise FormRejected(INVALID_CONTENT, Message("The content is not valid JSON.")) from None
    if not isinstance(content, dict):
        raise FormRejected(
            INVALID_CONTENT, Message("The content must be a JSON object with a list named survey.")
        )
    _check_depth(content)
    return content


def _check_depth(content: dict[str, Any]) -> None:
    """Not recursive, as the depth may be anything."""
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise FormRejected(
        INVALID_CONTENT,
        PluralMessage(
            "The content is nested too deeply; at most {count} level is allowed.",
            "The content is nested too deeply; at most {count} levels are allowed.",
            MAX_DEPTH,
        ),
    )


def _without_generated_names(content: dict[str, Any]) -> dict[str, Any]:
    """Questions of a library get their names when they are added to a form."""
    rows = content.get(SURVEY)
    if not isinstance(rows, list):
        return content
    kept = [
        {key: value for key, value in row.items() if key != "$autoname"}
        if isinstance(row, dict)
        else row
        for row in rows
    ]
    return {**content, SURVEY: kept}


def _without_header_rows(rejection: FormRejected) -> FormRejected:
    """The rejection without row 0: the header of a sheet, which content does not have."""
    issues = IssueCollector()
    issues.problems = [
        msgspec.structs.replace(each, row=each.row or None) for each in rejection.problems
    ]
    issues.warnings = [
        msgspec.structs.replace(each, row=each.row or None) for each in rejection.warnings
    ]
    try:
        issues.raise_if_problems()
    except FormRejected as numbered:
        return numbered
    return rejection


def _empty_form(sheets: list[Sheet]) -> Form:
    """A form without questions: only its settings."""
    tables = tables_by_kind(sheets)
    survey = tables.pop(SURVEY)
    settings = ParsedForm(survey, tables, []).settings
    title = settings.pop(_TITLE, None)
    content = normalise(survey, [], {}, settings, [])
    return _to_form({**content, "translated": []}, title)


def _library_form(sheets: list[Sheet]) -> Form:
    issues = IssueCollector()
    tables = tables_by_kind(sheets)
    survey = tables.pop(SURVEY)
    form = ParsedForm(survey, tables, parse_questions(survey, issues))
    check_library(form, issues)
    issues.raise_if_problems()
    languages = list_languages((survey, form.choices), form.settings.get("default_language"))
    content = strip_locking(normalise(survey, form.questions, tables, {}, languages))
    check_content_size((content,))
    return _to_form(content, None)


def _to_form(content: dict[str, Any], title: str | None) -> Form:
    summary = summarise(content)
    return Form(
        content, summary, title, None, None, xform="", row_count=summary["row_count"], warnings=[]
    )


def sheets_of_content(content: Mapping[str, Any], first_row: int = FIRST_DATA_ROW) -> list[Sheet]:
    """The sheets as the workbook reader returns them. `first_row` is the number of the first row of content.

    Raises FormRejected if the content is malformed, or too large for a form.
    """
    try:
        return [_to_sheet(sheet, first_row) for sheet in content_sheets(content)]
    except MalformedContent as error:
        issues = IssueCollector()
        for message, sheet, row, column in error.problems:
            number = None if row is None else row - FIRST_DATA_ROW + first_row
            issues.add_problem("malformed_content", message, sheet, number, column)
        issues.raise_if_problems()
        raise


def _to_sheet(content_sheet: ContentSheet, first_row: int) -> Sheet:
    headers = [clean_text(header) for header in content_sheet.headers]
    header_row = (first_row - 1, headers)
    check_sheet_size(Sheet(content_sheet.name, [header_row]))
    rows = (
        [clean_text(row.get(header, "")) for header in content_sheet.headers]
        for row in content_sheet.rows
    )
    sheet = Sheet(content_sheet.name, [header_row, *enumerate(rows, first_row)])
    check_sheet_size(sheet)
    return sheet
