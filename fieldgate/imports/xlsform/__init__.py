"""Parse XLSForm workbooks into form content, or report everything that is wrong with them.

form = parse_workbook(data, "Household survey")
form.summary["row_count"]

This package uses no files, network or database. For any input it raises only FormRejected, or MemoryError where
memory is limited.

The libraries that parse forms take 30 MB and half a second to load. They are loaded by the first call, so that a
process that leaves parsing to a sandbox does not need them.
"""

from collections.abc import Sequence

from fieldgate.imports.sheet_excerpts import IssueComment, SheetExcerpt
from fieldgate.imports.xlsform.issues import FormRejected, Issue
from fieldgate.imports.xlsform.parsed_results import EncodedContent, Form, Library, LibraryItem

__all__ = [
    "EncodedContent",
    "Form",
    "FormRejected",
    "Issue",
    "IssueComment",
    "Library",
    "LibraryItem",
    "SheetExcerpt",
    "annotate_workbook",
    "has_second_reader",
    "parse_content",
    "parse_workbook",
]


def parse_workbook(
    data: bytes, name: str, asset_uid: str | None = None, use_first_reader: bool = True
) -> Form | Library:
    """Parse a workbook with a survey or a library sheet. `name` is the title of a form that has none."""
    from fieldgate.imports.xlsform import importer

    return importer.parse_workbook(data, name, asset_uid, use_first_reader)


def annotate_workbook(
    data: bytes, comments: Sequence[IssueComment], use_first_reader: bool = True
) -> bytes:
    """Write a copy of a workbook, as an xlsx file, with comments in its cells."""
    from fieldgate.imports.xlsform import annotated_workbook

    return annotated_workbook.annotate_workbook(data, comments, use_first_reader)


def has_second_reader(data: bytes) -> bool:
    """Whether a second reader can be tried if the first one fails."""
    from fieldgate.imports.xlsform import workbook_reader

    return workbook_reader.has_second_reader(data)


def parse_content(content: EncodedContent) -> Form:
    """Check form content like a workbook. A block or question of a library has no XForm."""
    from fieldgate.imports.xlsform import content_importer

    return content_importer.parse_content(content)
