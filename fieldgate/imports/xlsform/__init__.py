"""XLSForm workbooks: what a spreadsheet says, as the content of a form, or everything that is wrong with it.

form = understand(data, "Household survey")
form.summary["row_count"]

Nothing here touches a file, a network or a database. Whatever the bytes are, nothing but Refused is raised, and
MemoryError where memory is limited.
"""

from fieldgate.imports.xlsform.importer import Form, parse_workbook
from fieldgate.imports.xlsform.issues import FormRejected, Issue
from fieldgate.imports.xlsform.library import Library, LibraryItem

__all__ = ["Form", "FormRejected", "Issue", "Library", "LibraryItem", "parse_workbook"]
