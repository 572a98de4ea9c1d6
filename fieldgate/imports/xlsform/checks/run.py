"""Every rule that can be checked over all rows at once, before a compiler stops at the first broken one."""

from collections.abc import Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.checks.choices import check_choices, check_selects
from fieldgate.imports.xlsform.checks.columns import check_columns, check_missing_columns
from fieldgate.imports.xlsform.checks.entitys import check_entities
from fieldgate.imports.xlsform.checks.expressions import check_expressions, check_references
from fieldgate.imports.xlsform.checks.externals import check_externals
from fieldgate.imports.xlsform.checks.languages import check_languages
from fieldgate.imports.xlsform.checks.loops import check_loops
from fieldgate.imports.xlsform.checks.names import check_labels, check_names
from fieldgate.imports.xlsform.checks.parameters import check_parameters
from fieldgate.imports.xlsform.checks.triggers import check_triggers
from fieldgate.imports.xlsform.checks.xml import check_xml
from fieldgate.imports.xlsform.issues import Findings, Problem
from fieldgate.imports.xlsform.parsed_form import Draft


def check_form(draft: Draft, findings: Findings) -> None:
    check_names(draft, findings)
    check_labels(draft, findings)
    check_xml(draft, findings)
    check_externals(draft, findings)
    check_entities(draft, findings)
    check_library(draft, findings)


def check_library(draft: Draft, findings: Findings) -> None:
    """A library is a store of questions: they get their names when they are put into a form."""
    check_columns(draft, findings)
    check_selects(draft, findings)
    check_choices(draft, findings)
    check_loops(draft, findings)
    check_parameters(draft, findings)
    check_triggers(draft, findings)
    check_references(draft, findings)
    check_expressions(draft, findings)
    check_languages(draft, findings)
    check_missing_columns(draft, findings)
    _check_empty(draft, findings)
    findings.problems = in_reading_order(findings.problems, draft)
    findings.warnings = in_reading_order(findings.warnings, draft)


def _check_empty(draft: Draft, findings: Findings) -> None:
    """Such a sheet would compile, and wipe the form that it replaces."""
    if not draft.questions and not findings.problems:
        message = Message("The sheet has no questions. Enter at least one, with its type, name and label.")
        findings.problem("no_questions", message, draft.survey.sheet, draft.survey.header_row)


def in_reading_order(problems: Iterable[Problem], draft: Draft) -> list[Problem]:
    """Sheet by sheet and row by row, as a person would correct them."""
    sheets = [draft.survey.sheet, *(table.sheet for table in draft.sheets.values())]
    order = {sheet: index for index, sheet in reversed(list(enumerate(sheets)))}
    return sorted(problems, key=lambda problem: (order.get(problem.sheet or "", len(order)), problem.row or 0))
