"""Where problems and warnings are in a workbook, and the rows around them, to show both together.

This module loads without the libraries that parse forms.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

IssueKind = Literal["problem", "warning"]


class IssueComment(msgspec.Struct, frozen=True):
    """The text of a problem or warning, to be written into the cell that it is about."""

    kind: IssueKind
    text: str
    sheet: str | None = None
    row: int | None = None
    column: str | None = None


class IssueMark(msgspec.Struct, frozen=True):
    """The place of a problem or warning in a row."""

    kind: Annotated[IssueKind, Meta(description="problem or warning.")]
    index: Annotated[
        int, Meta(description="Place in `problems` or `warnings` of the import, from 0.")
    ]
    cell: Annotated[
        int | None, Meta(description="Place in `cells`, from 0; null if it concerns the whole row.")
    ]


class ExcerptRow(msgspec.Struct, frozen=True):
    row: Annotated[int, Meta(description="Number of the row, as the spreadsheet shows it.")]
    cells: Annotated[
        list[str], Meta(description="Text of each column of the excerpt; long texts are cut.")
    ]
    marks: Annotated[list[IssueMark], Meta(description="Problems and warnings of this row.")]


class SheetExcerpt(msgspec.Struct, frozen=True):
    """Rows with issues, and the row before and after each."""

    sheet: Annotated[str, Meta(description="Name of the sheet.")]
    columns: Annotated[
        list[str], Meta(description="Letters of the columns, as the spreadsheet shows them.")
    ]
    header: Annotated[ExcerptRow, Meta(description="The row with the names of the columns.")]
    rows: Annotated[
        list[ExcerptRow],
        Meta(description="The rows with problems or warnings, and those next to them."),
    ]
