"""Problems and warnings of an import by sheet, each with its row, as pages show them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MORE = "more"  # the code of the last issue, which only says how many are not listed


class ShownCell(msgspec.Struct, frozen=True):
    """`mark` is problem, warning or empty; `issues` are the ids of what is said about the cell."""

    header: str
    text: str
    mark: str = ""
    issues: Sequence[str] = ()


class ShownRow(msgspec.Struct, frozen=True):
    """A row of a sheet. `mark` is that of the row as a whole. `is_apart`: rows are left out before it."""

    number: int
    cells: Sequence[ShownCell]
    mark: str = ""
    is_apart: bool = False


class ShownIssue(msgspec.Struct, frozen=True):
    """A problem or warning, with the filled cells of its row."""

    id: str
    kind: str
    row: int | None
    column: str | None
    message: str
    cells: Sequence[ShownCell] = ()


class SheetIssues(msgspec.Struct, frozen=True):
    """The issues of a sheet, or of the file as a whole (`sheet` is None). Without `header` the rows are not known."""

    sheet: str | None
    issues: Sequence[ShownIssue]
    columns: Sequence[str] = ()
    header: ShownRow | None = None
    rows: Sequence[ShownRow] = ()

    @property
    def problems(self) -> Sequence[ShownIssue]:
        return [issue for issue in self.issues if issue.kind == "problem"]

    @property
    def warnings(self) -> Sequence[ShownIssue]:
        return [issue for issue in self.issues if issue.kind == "warning"]


class IssueCount(msgspec.Struct, frozen=True):
    """How many issues are listed, and the sentence about those that are not."""

    listed: int
    more: str = ""


def count_issues(issues: Sequence[Mapping[str, Any]]) -> IssueCount:
    more = next((issue["message"] for issue in issues if issue["code"] == MORE), "")
    return IssueCount(sum(issue["code"] != MORE for issue in issues), more)


def group_issues(
    messages: Mapping[str, Any], sheets: Sequence[Mapping[str, Any]], prefix: str = ""
) -> list[SheetIssues]:
    """Problems and warnings by sheet, in the order of their first appearance. `sheets` are excerpts of the workbook.

    Ids begin with the prefix, which tells the files of a page apart.
    """
    by_sheet: dict[str | None, list[tuple[str, int, Mapping[str, Any]]]] = {}
    for kind, key in (("problem", "problems"), ("warning", "warnings")):
        for index, issue in enumerate(messages.get(key, ())):
            if issue["code"] != MORE:
                by_sheet.setdefault(issue["sheet"], []).append((kind, index, issue))
    excerpts = {excerpt["sheet"]: excerpt for excerpt in sheets}
    return [
        _sheet_issues(sheet, found, excerpts.get(sheet), prefix)
        for sheet, found in by_sheet.items()
    ]


def _sheet_issues(
    sheet: str | None,
    found: Sequence[tuple[str, int, Mapping[str, Any]]],
    excerpt: Mapping[str, Any] | None,
    prefix: str,
) -> SheetIssues:
    rows = [] if excerpt is None else [excerpt["header"], *excerpt["rows"]]
    headers = rows[0]["cells"] if rows else []
    shown_rows = {
        row["row"]: _shown_row(row, headers, rows[at - 1]["row"] if at > 1 else None, prefix)
        for at, row in enumerate(rows)
    }
    marked = {(mark["kind"], mark["index"]): row for row in rows for mark in row["marks"]}
    issues = [
        ShownIssue(
            id=_issue_id(kind, index, prefix),
            kind=kind,
            row=issue["row"],
            column=issue["column"],
            message=issue["message"],
            cells=_cells_beside(shown_rows, marked.get((kind, index)), headers),
        )
        for kind, index, issue in found
    ]
    if excerpt is None:
        return SheetIssues(sheet, issues)
    header, *others = shown_rows.values()
    return SheetIssues(sheet, issues, excerpt["columns"], header, others)


def _shown_row(
    row: Mapping[str, Any], headers: Sequence[str], previous: int | None, prefix: str
) -> ShownRow:
    return ShownRow(
        number=row["row"],
        cells=[
            ShownCell(
                headers[position],
                text,
                _strongest(mark["kind"] for mark in row["marks"] if mark["cell"] == position),
                [
                    _issue_id(mark["kind"], mark["index"], prefix)
                    for mark in row["marks"]
                    if mark["cell"] == position
                ],
            )
            for position, text in enumerate(row["cells"])
        ],
        mark=_strongest(mark["kind"] for mark in row["marks"] if mark["cell"] is None),
        is_apart=previous is not None and row["row"] - previous > 1,
    )


def _cells_beside(
    shown_rows: Mapping[int, ShownRow], row: Mapping[str, Any] | None, headers: Sequence[str]
) -> Sequence[ShownCell]:
    """The filled or marked cells of the row of an issue; none for the header, whose cells are names."""
    if row is None or row["cells"] == headers:
        return ()
    return [cell for cell in shown_rows[row["row"]].cells if cell.text or cell.mark]


def _strongest(kinds: Any) -> str:
    found = set(kinds)
    return "problem" if "problem" in found else "warning" if found else ""


def _issue_id(kind: str, index: int, prefix: str) -> str:
    return f"{prefix}{kind}-{index + 1}"
