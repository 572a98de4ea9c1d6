"""Problems and warnings of an import, grouped by sheet."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.web.pages.import_issues import ShownCell, count_issues, group_issues

MORE = {"sheet": None, "row": None, "column": None, "code": "more", "message": "There are 7 more."}


def issue(sheet: str | None, row: int | None = None, column: str | None = None, message: str = "x") -> dict[str, Any]:
    return {"sheet": sheet, "row": row, "column": column, "code": "code", "message": message}


def row(number: int, *cells: str, marks: tuple[tuple[str, int, int | None], ...] = ()) -> dict[str, Any]:
    shown = [{"kind": kind, "index": index, "cell": cell} for kind, index, cell in marks]
    return {"row": number, "cells": list(cells), "marks": shown}


def test_issues_with_their_rows() -> None:
    messages = {
        "problems": [issue("survey", 5, "type"), issue("choices", 2), issue(None), MORE],
        "warnings": [issue("survey", 5, "type"), issue("survey", 9)],
    }
    survey = {
        "sheet": "survey",
        "columns": ["A", "B"],
        "header": row(1, "type", "name"),
        "rows": [
            row(4, "text", "a"),
            row(5, "integr", "", marks=(("problem", 0, 0), ("warning", 0, 0))),
            row(9, "", "z", marks=(("warning", 1, None),)),
        ],
    }
    first, second, third = group_issues(messages, [survey])
    assert [first.sheet, second.sheet, third.sheet] == ["survey", "choices", None]
    assert [each.id for each in first.issues] == ["problem-1", "warning-1", "warning-2"]
    assert first.issues[0].cells == [ShownCell("type", "integr", "problem", ["problem-1", "warning-1"])]
    assert [(cell.header, cell.text, cell.mark) for cell in first.issues[2].cells] == [("name", "z", "")]
    assert [(each.number, each.mark, each.is_apart) for each in first.rows] == [
        (4, "", False),
        (5, "", False),
        (9, "warning", True),
    ]
    assert (len(first.problems), len(first.warnings)) == (1, 2)
    assert (second.header, second.rows, second.issues[0].cells) == (None, (), ())


def test_issue_in_the_header_shows_no_row() -> None:
    excerpt = {
        "sheet": "survey",
        "columns": ["A"],
        "header": row(1, "lable", marks=(("problem", 0, 0),)),
        "rows": [],
    }
    [group] = group_issues({"problems": [issue("survey", 1, "lable")]}, [excerpt])
    assert group.issues[0].cells == ()
    assert group.header is not None
    assert group.header.cells[0].mark == "problem"


def test_counts() -> None:
    assert (count_issues([]).listed, count_issues([]).more) == (0, "")
    counted = count_issues([issue("survey"), issue("survey"), MORE])
    assert (counted.listed, counted.more) == (2, "There are 7 more.")


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.booleans()), max_size=20))
def test_every_issue_is_in_one_group(found: list[tuple[str | None, bool]]) -> None:
    problems = [issue(sheet, message=str(at)) for at, (sheet, is_problem) in enumerate(found) if is_problem]
    warnings = [issue(sheet, message=str(at)) for at, (sheet, is_problem) in enumerate(found) if not is_problem]
    groups = group_issues({"problems": problems, "warnings": warnings}, [])
    shown = [(each.kind, each.message, group.sheet) for group in groups for each in group.issues]
    expected = [("problem", each["message"], each["sheet"]) for each in problems]
    expected += [("warning", each["message"], each["sheet"]) for each in warnings]
    assert sorted(shown, key=str) == sorted(expected, key=str)
    assert len({group.sheet for group in groups}) == len(groups)
