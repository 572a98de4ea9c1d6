"""Read form content as if it were a workbook, so that it passes the same checks.

parse_sheets(sheets_of_content(content), "Household survey", IssueCollector())
"""

from collections.abc import Mapping
from typing import Any

from fieldgate.assets.content_sheets import ContentSheet, MalformedContent, content_sheets
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.sheet_table import FIRST_DATA_ROW
from fieldgate.imports.xlsform.workbook_reader import Sheet, check_sheet_size, clean_text


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
    rows = ([clean_text(row.get(header, "")) for header in content_sheet.headers] for row in content_sheet.rows)
    sheet = Sheet(content_sheet.name, [header_row, *enumerate(rows, first_row)])
    check_sheet_size(sheet)
    return sheet
