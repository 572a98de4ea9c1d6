"""Rows, types and groups of the survey sheet."""

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx


def test_unknown_type_without_a_similar_one() -> None:
    rejected = rejection(xlsx({"survey": [HEADER, ["qwzx", "a", "A"]]}))
    assert str(rejected.problems[0].message).endswith("Enter one of the types of the XLSForm standard.")


def test_rows_without_type_and_name_are_ignored() -> None:
    form = parse_workbook(
        xlsx({"survey": [[*HEADER, "relevant"], GOOD, [None, None, None, "1 +* ${nothing}"]]}), "form"
    )
    assert [warning.code for warning in form.warnings] == ["ignored_row"]


def test_maximum_depth_of_groups() -> None:
    begins = [["begin group", f"g{number}", "G"] for number in range(100)]
    assert isinstance(parse_workbook(xlsx({"survey": [HEADER, *begins, GOOD, *([["end group"]] * 100)]}), "form"), Form)


def test_mismatched_end_is_reported_once() -> None:
    rows: Rows = [HEADER, ["begin group", "g", "G"], ["begin repeat", "r", "R"], GOOD, ["end group"]]
    assert [(problem.code, problem.row) for problem in rejection(xlsx({"survey": rows})).problems] == [
        ("unclosed_group", 3)
    ]
    rows = [HEADER, ["begin group", "g", "G"], GOOD, ["end repeat"]]
    assert [(problem.code, problem.row) for problem in rejection(xlsx({"survey": rows})).problems] == [
        ("unmatched_end", 4)
    ]


def test_disabled_rows_are_not_checked() -> None:
    rows: Rows = [[*HEADER, "disabled"], GOOD, ["nonsense", "good", "${nothing}", "yes"]]
    form = parse_workbook(xlsx({"survey": rows}), "form")
    assert isinstance(form, Form)
    assert form.row_count == 1
