"""Errors and warnings of pyxform, and what is passed to it."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyxform.errors import PyXFormError
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import DefinitionData

from fieldgate.imports.xlsform import Form, FormRejected, Issue, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, rejection
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, xlsx


def test_errors_of_pyxform_are_reported_with_their_row() -> None:
    survey: Rows = [[*HEADER, "parameters"], GOOD, [], ["range", "a", "A", "step=0"]]
    (in_xlsx,) = rejection(xlsx({"survey": survey})).problems
    (in_csv,) = rejection(csv_with_sections({"survey": survey})).problems
    assert str(in_xlsx.message).startswith(
        "The form could not be compiled: On the 'survey' sheet, the 'parameters'"
    )
    assert (in_xlsx.row, in_csv.row) == (4, 5)


@pytest.mark.parametrize(
    ("sheets", "where", "begins"),
    [
        (
            {"survey": [HEADER, [], ["begin repeat", "r"], GOOD, ["end repeat"]]},
            ("survey", 3),
            "Repeat has no label",
        ),
        (
            {"survey": [HEADER, ["simserial", "a"]]},
            ("survey", 2),
            "simserial is no longer supported",
        ),
        (
            {
                "survey": [
                    ["type", "name", "label::English (en)"],
                    ["select_one x or_other", "a", "A"],
                ],
                "choices": [["list_name", "name", "label::English (en)"], ["x", "b", "B"]],
            },
            (None, None),
            "This form uses or_other and translations",
        ),
    ],
)
def test_warnings_of_pyxform_are_reported(
    sheets: Mapping[str, Rows], where: tuple[str | None, int | None], begins: str
) -> None:
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, (warning.sheet, warning.row)) == ("compiler_warning", where)
    assert str(warning.message).startswith(f"pyxform warns: {begins}")


def test_warnings_of_our_checks_are_not_reported_twice() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            ["type", "name", "label::English (en)", "hint::French (fr)"],
            ["select_one x", "good", "A", "B"],
            ["text", "Good", "A", "B"],
        ],
        "choices": [["list_name", "name", "label::English (en)"], ["x", "b"], ["x", "c", "C"]],
    }
    warnings = parse_workbook(xlsx(sheets), "form").warnings
    assert {warning.code for warning in warnings} == {
        "similar_name",
        "missing_choice_label",
        "missing_translation",
    }


# ODK Validate 1.20.0 accepts the XForms of the next two tests. It also accepts those of the third, except for `ref`,
# `bind` and `bodyless` of `body` and `control`, which pyxform writes as they are.
@pytest.mark.parametrize(
    ("column", "tagged"),
    [
        ("instance::tag", ["<q {}/>", "<c {}/>", "<g {}>", "<r {}>"]),
        (
            "bind::tag",
            [
                '<bind nodeset="/data/q" type="string" {}/>',
                '<bind nodeset="/data/c" type="string" calculate="1" {}/>',
                '<bind nodeset="/data/g" {}/>',
                '<bind nodeset="/data/g/r" {}/>',
            ],
        ),
        (
            "body::tag",
            [
                '<input ref="/data/q" {}>',
                '<group ref="/data/g" {}>',
                '<repeat nodeset="/data/g/r" {}>',
            ],
        ),
        (
            "Control::tag",
            [
                '<input ref="/data/q" {}>',
                '<group ref="/data/g" {}>',
                '<repeat nodeset="/data/g/r" {}>',
            ],
        ),
    ],
)
def test_attributes_named_tag(column: str, tagged: list[str]) -> None:
    """pyxform 4.5 alone raises a TypeError, except for an answer, and renames the control of a question."""
    survey: Rows = [
        [*HEADER, "calculation", column],
        ["text", "q", "Q", None, "see <b> & ${c}"],
        ["calculate", "c", None, "1", "see <b> & ${c}"],
        ["begin group", "g", "G", None, "see <b> & ${c}"],
        ["begin repeat", "r", "R", None, "see <b> & ${c}"],
        ["text", "a", "A"],
        ["end repeat", None, None, None, "see <b> & ${c}"],
        ["end group"],
    ]
    form = parse_workbook(xlsx({"survey": survey}), "form")
    assert isinstance(form, Form)
    assert form.warnings == []
    attribute = 'tag="see &lt;b&gt; &amp;  /data/c "'
    assert [element.format(attribute) in form.xform for element in tagged] == [True] * len(tagged)
    assert form.xform.count(" tag") == len(tagged)


@pytest.mark.parametrize("prefix", ["instance", "bind", "body", "control", "attribute"])
def test_choices_have_no_attributes(prefix: str) -> None:
    """pyxform alone raises an AttributeError. Without the two colons it is a column of the author."""
    survey: Rows = [HEADER, ["select_one l", "s", "S"]]
    for column, is_compiled in ((f"{prefix}::tag", False), (prefix, True)):
        choices: Rows = [["list_name", "name", "label", column], ["l", "a", "A", "y"]]
        form = parse_workbook(xlsx({"survey": survey, "choices": choices}), "form")
        assert isinstance(form, Form)
        assert (f"<{prefix}>y</{prefix}>" in form.xform) is is_compiled
        assert "tag" not in form.xform


REFUSED_ATTRIBUTES = {"bind::nodeset", "body::nodeset", "control::nodeset", "bind::type"}


@pytest.mark.parametrize("prefix", ["instance", "bind", "body", "control", "attribute"])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "tag",
            "type",
            "name",
            "nodeset",
            "children",
            "label",
            "jr:foo",
            "toParseString",
            "bodyless",
            "self",
            "bind",
        ),
    ],
)
def test_attributes_of_any_name_are_compiled_or_have_a_place(prefix: str, name: str) -> None:
    header = f"{prefix}::{name}"
    rows: list[list[str | None]] = [
        ["text", "a", "A", None],
        ["select_one l", "b", "B", None],
        ["rank l", "c", "C", None],
        ["range", "d", "D", None],
        ["calculate", "g", None, "1"],
        ["audit", "audit", None, None],
        ["csv-external", "k", None, None],
        ["begin group", "l", "L", None],
        ["begin repeat", "m", "M", None],
        ["text", "n", "N", None],
        ["end repeat", None, None, None],
        ["end group", None, None, None],
        ["begin loop over l", "o", "O", None],
        ["text", "p", "P", None],
        ["end loop", None, None, None],
    ]
    survey: Rows = [[*HEADER, "calculation", header], *([*row, "x"] for row in rows)]
    data = xlsx(
        {"survey": survey, "choices": [["list_name", "name", "label"], ["l", "one", "One"]]}
    )
    problems: Sequence[Issue] = ()
    try:
        parse_workbook(data, "form")
    except FormRejected as rejected:
        problems = rejected.problems
    assert all(problem.row and problem.column == header for problem in problems)
    assert bool(problems) == (header in REFUSED_ATTRIBUTES)


ROWS: list[list[str]] = [
    ["select_one l", "a", "A"],
    ["begin group", "g", "G"],
    ["begin loop over l", "o", "O"],
    ["text", "p", "P ${q}"],
    ["end loop"],
    ["note", "q", "Q ${a}"],
    ["end group"],
    ["begin repeat", "r", "R"],
    ["calculate", "c", "C"],
    ["end repeat"],
]
CHOSEN: Rows = [["list_name", "name", "label"], ["l", "one", "One"], ["m", "two", "Two"]]


@pytest.mark.parametrize("error", [KeyError("l"), PyXFormError("Something is wrong.")])
@pytest.mark.parametrize(
    ("sheet", "row", "column"),
    [*(("survey", number + 2, 2) for number, row in enumerate(ROWS) if len(row) > 2), ("choices", 2, 2),
     ("choices", 3, 2), ("settings", 2, 1), ("entities", 2, 1)],
)  # fmt: skip
def test_row_that_pyxform_fails_at_is_found(
    sheet: str,
    row: int,
    column: int,
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(workbook_dict: DefinitionData, **named: Any) -> Any:
        if "BROKEN" in repr(workbook_dict):
            raise error
        return workbook_to_json(workbook_dict=workbook_dict, **named)

    monkeypatch.setattr("fieldgate.imports.xlsform.compile.xform_compiler.workbook_to_json", broken)
    form: dict[str, Rows] = {
        "survey": [
            [*HEADER, "calculation"],
            *([*each, "1"] if each[0] == "calculate" else each for each in ROWS),
        ],
        "choices": CHOSEN,
        "settings": [["form_id", "version"], ["f", "1"]],
        "entities": [["list_name", "label"], ["trees", "Tree"]],
    }
    sheets = {name: [list(each) for each in rows] for name, rows in form.items()}
    sheets[sheet][row - 1][column] = "BROKEN"
    (problem,) = rejection(xlsx(sheets)).problems
    assert (problem.code, problem.sheet, problem.row) == ("not_compiled", sheet, row)
    is_unexpected = isinstance(error, KeyError)
    assert ("KeyError" in str(problem.message), "KeyError" in caplog.text) == (
        is_unexpected,
        is_unexpected,
    )


def test_header_is_the_place_if_nothing_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.imports.xlsform.compile.xform_compiler.workbook_to_json", None)
    (problem,) = rejection(xlsx({"survey": [[], HEADER, GOOD]})).problems
    assert (problem.code, problem.sheet, problem.row) == ("not_compiled", "survey", 2)
