"""Parse a workbook into a form or a library, or raise FormRejected with all problems."""

from difflib import get_close_matches
from itertools import islice
from typing import Any

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.xlsform.checks.run import check_form, check_library, sort_by_position
from fieldgate.imports.xlsform.compile.xform_compiler import compile_form
from fieldgate.imports.xlsform.content import check_content_size, normalise
from fieldgate.imports.xlsform.excerpt_builder import build_excerpts
from fieldgate.imports.xlsform.form_languages import list_languages
from fieldgate.imports.xlsform.issues import FormRejected, IssueCollector
from fieldgate.imports.xlsform.library import build_items
from fieldgate.imports.xlsform.locking import has_locking, strip_locking
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.parsed_results import Form, Library, UnlockedForm
from fieldgate.imports.xlsform.questions import parse_questions
from fieldgate.imports.xlsform.sheet_table import SheetTable
from fieldgate.imports.xlsform.summary import summarise, summarise_library
from fieldgate.imports.xlsform.vocabulary import (
    LIBRARY,
    SHEET_NAMES,
    SURVEY,
    straighten_dashes,
    to_snake_case,
)
from fieldgate.imports.xlsform.workbook_reader import Sheet, read_workbook

MAX_SURVEY_ROWS = 20_000  # without blank ones

_MAX_LISTED_SHEETS = 10
_SIMILARITY_CUTOFF = 0.8  # 1 means equal. `choises` is similar to `choices`, `notes` is not


def parse_workbook(
    data: bytes, name: str, asset_uid: str | None = None, use_first_reader: bool = True
) -> Form | Library:
    """Parse a workbook with a survey or a library sheet.

    `name` is the title of a form that has none. `asset_uid` names the root of the XForm where its usual name is taken.
    """
    issues = IssueCollector()
    workbook_sheets = read_workbook(data, use_first_reader=use_first_reader)
    try:
        parsed = parse_sheets(workbook_sheets, name, issues, asset_uid)
    except FormRejected as rejection:
        rejection.excerpts = build_excerpts(workbook_sheets, rejection.problems, rejection.warnings)
        raise
    parsed.excerpts = build_excerpts(workbook_sheets, (), parsed.warnings)
    return parsed


def parse_sheets(
    workbook_sheets: list[Sheet], name: str, issues: IssueCollector, asset_uid: str | None = None
) -> Form | Library:
    """Parse the sheets of a workbook."""
    sheets = tables_by_kind(workbook_sheets)
    _check_sheet_names(workbook_sheets, sheets, issues)
    if LIBRARY in sheets:
        return _build_library(sheets.pop(LIBRARY), sheets, issues)
    return _build_form(sheets.pop(SURVEY), sheets, name, issues, asset_uid)


def _build_form(
    survey: SheetTable,
    sheets: dict[str, SheetTable],
    name: str,
    issues: IssueCollector,
    asset_uid: str | None,
) -> Form:
    form = ParsedForm(survey, sheets, parse_questions(survey, issues))
    check_form(form, issues)
    issues.raise_if_problems()
    xform = compile_form(form, name, issues, asset_uid)
    issues.raise_if_problems()
    issues.warnings = sort_by_position(issues.warnings, form)
    settings = form.settings
    languages = list_languages((survey, form.choices), settings.get("default_language"))
    content = normalise(survey, form.questions, sheets, settings, languages)
    check_content_size((content, xform))
    summary = summarise(content)
    return Form(
        content,
        summary,
        title=" ".join(settings.get("form_title", "").split()) or None,
        form_id=settings.get("id_string"),
        version=settings.get("version"),
        xform=xform,
        row_count=summary["row_count"],
        warnings=issues.warnings,
        unlocked=_unlock(content) if has_locking(content) else None,
    )


def _unlock(content: dict[str, Any]) -> UnlockedForm:
    unlocked = strip_locking(content)
    return UnlockedForm(unlocked, summarise(unlocked))


def _build_library(
    table: SheetTable, sheets: dict[str, SheetTable], issues: IssueCollector
) -> Library:
    form = ParsedForm(table, sheets, parse_questions(table, issues))
    check_library(form, issues)
    issues.raise_if_problems()
    items = build_items(form)
    return Library(items, summarise_library([item.summary for item in items]), issues.warnings)


def tables_by_kind(workbook_sheets: list[Sheet]) -> dict[str, SheetTable]:
    """The known sheets by kind. If only one sheet is filled and has types, it is the survey, whatever its name."""
    kinds = {_sheet_kind(sheet): sheet for sheet in reversed(workbook_sheets)}
    filled_sheets = [
        sheet for sheet in workbook_sheets if any(any(texts) for _, texts in sheet.rows)
    ]
    if len(filled_sheets) == 1 and SURVEY not in kinds and LIBRARY not in kinds:
        kinds = (
            {SURVEY: filled_sheets[0]}
            if SheetTable.from_sheet(SURVEY, filled_sheets[0]).has_column("type")
            else {}
        )
    if SURVEY in kinds and LIBRARY in kinds:
        raise FormRejected(
            "both_sheets",
            Message("A workbook has either a survey or a library sheet. Remove one of them."),
        )
    if SURVEY not in kinds and LIBRARY not in kinds:
        raise FormRejected(
            "no_usable_sheet",
            Message(
                "The workbook has no sheet named survey. Its sheets are: {sheets}. Give the one with the questions the"
                " name survey.",
                sheets=", ".join(sheet.name for sheet in workbook_sheets[:_MAX_LISTED_SHEETS]),
            ),
        )
    tables = {
        kind: SheetTable.from_sheet(kind, sheet)
        for kind, sheet in kinds.items()
        if kind in SHEET_NAMES
    }
    _check_row_count(tables[SURVEY if SURVEY in tables else LIBRARY])
    return tables


def _check_row_count(survey: SheetTable) -> None:
    """Before all other checks: they take time for each row, and compiling takes most."""
    for row in islice(survey.filled_rows(), MAX_SURVEY_ROWS, None):
        issues = IssueCollector()
        message = PluralMessage(
            "A form has at most {count} row. Split it into several forms.",
            "A form has at most {count} rows. Split it into several forms.",
            MAX_SURVEY_ROWS,
        )
        issues.add_problem("too_many_rows", message, survey.sheet_name, row.number)
        issues.raise_if_problems()


def _check_sheet_names(
    workbook_sheets: list[Sheet], sheets: dict[str, SheetTable], issues: IssueCollector
) -> None:
    """Warn about sheets with almost a known name. Others are the author's notes."""
    for sheet in workbook_sheets:
        kind = _sheet_kind(sheet)
        if kind not in sheets and not kind.startswith("_"):
            for guess in get_close_matches(
                kind,
                sorted(SHEET_NAMES - sheets.keys() - {SURVEY, LIBRARY}),
                n=1,
                cutoff=_SIMILARITY_CUTOFF,
            ):
                message = Message(
                    "This sheet is not used. Rename it {name} if it belongs to the form.",
                    name=guess,
                )
                issues.add_warning("unused_sheet", message, sheet.name)


def _sheet_kind(sheet: Sheet) -> str:
    return straighten_dashes(to_snake_case(sheet.name))
