"""XLSForm workbooks: what a spreadsheet says, as the content of a form, or everything that is wrong with it.

form = understand(data, "Household survey")
form.summary["row_count"]

Nothing here touches a file, a network or a database. Whatever the bytes are, nothing but Refused is raised, and
MemoryError where memory is limited.
"""

from fieldgate.imports.xlsform.importer import Form, understand
from fieldgate.imports.xlsform.issues import Problem, Refused
from fieldgate.imports.xlsform.library import Library, LibraryItem

__all__ = ["Form", "Library", "LibraryItem", "Problem", "Refused", "understand"]
