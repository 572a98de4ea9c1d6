"""Parse XLSForm workbooks into form content, or report everything that is wrong with them.

form = parse_workbook(data, "Household survey")
form.summary["row_count"]

This package uses no files, network or database. For any input it raises only FormRejected, or MemoryError where
memory is limited.
"""

from fieldgate.imports.xlsform.importer import Form, parse_workbook
from fieldgate.imports.xlsform.issues import FormRejected, Issue
from fieldgate.imports.xlsform.library import Library, LibraryItem
from fieldgate.imports.xlsform.workbook_reader import has_second_reader

__all__ = ["Form", "FormRejected", "Issue", "Library", "LibraryItem", "has_second_reader", "parse_workbook"]
