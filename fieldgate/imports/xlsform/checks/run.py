"""Run all checks, so that an author sees all problems at once. pyxform stops at the first."""

from collections.abc import Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.choices import check_choices, check_externals, check_selects
from fieldgate.imports.xlsform.checks.columns import check_columns, check_missing_columns
from fieldgate.imports.xlsform.checks.entities import check_entities
from fieldgate.imports.xlsform.checks.expressions import (
    check_expressions,
    check_references,
    check_triggers,
)
from fieldgate.imports.xlsform.checks.languages import check_languages
from fieldgate.imports.xlsform.checks.locking import check_locking
from fieldgate.imports.xlsform.checks.loops import check_loops
from fieldgate.imports.xlsform.checks.names import check_labels, check_names
from fieldgate.imports.xlsform.checks.parameters import check_parameters
from fieldgate.imports.xlsform.checks.xml import check_xml
from fieldgate.imports.xlsform.issues import Issue, IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm


def check_form(form: ParsedForm, issues: IssueCollector) -> None:
    check_names(form, issues)
    check_labels(form, issues)
    check_xml(form, issues)
    check_externals(form, issues)
    check_entities(form, issues)
    check_locking(form, issues)
    check_library(form, issues)


def check_library(form: ParsedForm, issues: IssueCollector) -> None:
    """Questions of a library get their names when they are added to a form, so names are not checked."""
    check_columns(form, issues)
    check_selects(form, issues)
    check_choices(form, issues)
    check_loops(form, issues)
    check_parameters(form, issues)
    check_triggers(form, issues)
    check_references(form, issues)
    check_expressions(form, issues)
    check_languages(form, issues)
    check_missing_columns(form, issues)
    _check_empty(form, issues)
    issues.problems = sort_by_position(issues.problems, form)
    issues.warnings = sort_by_position(issues.warnings, form)


def _check_empty(form: ParsedForm, issues: IssueCollector) -> None:
    """An empty sheet would compile, and erase the form that it replaces."""
    if not form.questions and not issues.problems:
        message = Message(
            "The sheet has no questions. Enter at least one, with its type, name and label."
        )
        issues.add_problem("no_questions", message, form.survey.sheet_name, form.survey.header_row)


def sort_by_position(issues: Iterable[Issue], form: ParsedForm) -> list[Issue]:
    """Sort by sheet and row."""
    sheets = [form.survey.sheet_name, *(table.sheet_name for table in form.sheets.values())]
    order = {sheet: index for index, sheet in reversed(list(enumerate(sheets)))}
    return sorted(
        issues, key=lambda issue: (order.get(issue.sheet or "", len(order)), issue.row or 0)
    )
