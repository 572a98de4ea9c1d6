"""One broken workbook for every problem and warning, with the very place; and a form with ten mistakes at once."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fieldgate.http.language import Language
from fieldgate.imports.xlsform import Form, Library, Problem, Refused, understand
from tests.imports.xlsform.workbooks import Rows, sectioned, xlsx

HEADER = ["type", "name", "label"]
GOOD = ["text", "good", "Good"]
LIST = ["list_name", "name", "label"]


class Place(NamedTuple):
    sheet: str | None
    row: int | None
    column: str | None


def place(problem: Problem) -> Place:
    return Place(problem.sheet, problem.row, problem.column)


PROBLEMS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "missing_type": ({"survey": [HEADER, GOOD, [None, "age", "Age"]]}, Place("survey", 3, "type")),
    "missing_column": ({"survey": [["name", "label"], ["age", "Age"], [None, "B"]]}, Place("survey", 1, "type")),
    "unknown_type": ({"survey": [["Type", "name", "label"], ["txt", "a", "A"]]}, Place("survey", 2, "Type")),
    "missing_name": ({"survey": [HEADER, [], ["text", None, "A"]]}, Place("survey", 3, "name")),
    "invalid_name": ({"survey": [["type", "Name", "label"], ["text", "1st", "A"]]}, Place("survey", 2, "Name")),
    "reserved_name": ({"survey": [HEADER, ["text", "meta", "A"]]}, Place("survey", 2, "name")),
    "duplicate_name": ({"survey": [HEADER, GOOD, ["integer", "good", "A"]]}, Place("survey", 3, "name")),
    "missing_label": ({"survey": [HEADER, ["text", "a"]]}, Place("survey", 2, "label")),
    "missing_calculation": ({"survey": [HEADER, ["calculate", "a"]]}, Place("survey", 2, "calculation")),
    "unmatched_end": ({"survey": [HEADER, GOOD, ["end group"]]}, Place("survey", 3, "type")),
    "unclosed_group": ({"survey": [HEADER, ["begin repeat", "r", "R"], GOOD]}, Place("survey", 2, "type")),
    "missing_choice_list": ({"survey": [HEADER, ["select_one", "a", "A"]]}, Place("survey", 2, "type")),
    "unknown_choice_list": ({"survey": [HEADER, ["select_one x", "a", "A"]]}, Place("survey", 2, "type")),
    "unknown_choice_file": (
        {"survey": [HEADER, ["select_one_from_file x.pdf", "a", "A"]]},
        Place("survey", 2, "type"),
    ),
    "repeat_in_loop": (
        {
            "survey": [HEADER, ["begin loop over x", "l", "L"], ["begin repeat", "r", "R"], GOOD, ["end repeat"],
                       ["end loop"]],
            "choices": [LIST, ["x", "a", "A"], ["x", "b", "B"]],
        },
        Place("survey", 3, "type"),
    ),
    "broken_placeholder": (
        {
            "survey": [HEADER, ["begin loop over x", "l", "L"], ["text", "a", "100% sure?"], ["end loop"]],
            "choices": [LIST, ["x", "a", "A"]],
        },
        Place("survey", 3, "label"),
    ),
    "invalid_choice_name": (
        {"survey": [HEADER, ["begin loop over x", "l", "L"], GOOD, ["end loop"]], "choices": [LIST, ["x", "1", "A"]]},
        Place("choices", 2, "name"),
    ),
    "missing_loop_label": (
        {"survey": [HEADER, ["begin loop over x", "l", "L"], GOOD, ["end loop"]], "choices": [LIST, ["x", "a"]]},
        Place("choices", 2, "label"),
    ),
    "missing_list_name": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1", "One"], [None, "2", "Two"]]},
        Place("choices", 3, "list_name"),
    ),
    "missing_choice_name": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "Choices": [LIST, ["x", None, "One"]]},
        Place("Choices", 2, "name"),
    ),
    "duplicate_choice": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1", "One"], ["x", "1", "Two"]]},
        Place("choices", 3, "name"),
    ),
    "choice_name_with_space": (
        {"survey": [HEADER, ["select_multiple x", "a", "A"]], "choices": [LIST, ["x", "1 2", "One"]]},
        Place("choices", 2, "name"),
    ),
    "unknown_reference": (
        {"survey": [[*HEADER, "Relevance"], GOOD, ["text", "a", "A", "${god} = 'x'"]]},
        Place("survey", 3, "Relevance"),
    ),
    "ambiguous_reference": (
        {
            "survey": [
                HEADER,
                GOOD,
                ["begin group", "g", "G"],
                GOOD,
                ["end group"],
                ["note", "n", "You said ${good}"],
            ]
        },
        Place("survey", 6, "label"),
    ),
    "broken_reference": ({"survey": [HEADER, ["note", "a", "Hello ${your name}"]]}, Place("survey", 2, "label")),
    "broken_expression": (
        {"survey": [[*HEADER, "calculation"], GOOD, ["calculate", "a", None, "${good} +* 3"]]},
        Place("survey", 3, "calculation"),
    ),
    "duplicate_column": (
        {"survey": [[*HEADER, "relevant", "Relevance"], GOOD]},
        Place("survey", 1, "Relevance"),
    ),
    "unknown_default_language": (
        {
            "survey": [["type", "name", "label::French (fr)"], GOOD],
            "settings": [["form_title", "default_language"], ["T", "English (en)"]],
        },
        Place("settings", 2, "default_language"),
    ),
    "not_compiled": (
        {"survey": [[*HEADER, "parameters"], GOOD, ["text", "a", "A", "colour=red"]]},
        Place("survey", 3, None),
    ),
}  # fmt: skip

WARNINGS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "ignored_row": ({"survey": [[*HEADER, "hint"], GOOD, [None, None, None, "remark"]]}, Place("survey", 3, None)),
    "live_only_type": (
        {"survey": [HEADER, ["begin_kobomatrix", "m", "M"], GOOD, ["end_kobomatrix"]]},
        Place("survey", 2, "type"),
    ),
    "similar_name": ({"survey": [HEADER, GOOD, ["text", "Good", "A"]]}, Place("survey", 3, "name")),
    "unused_choice_list": (
        {"survey": [HEADER, GOOD], "choices": [LIST, ["x", "1", "One"]]},
        Place("choices", 2, "list_name"),
    ),
    "missing_choice_label": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1"]]},
        Place("choices", 2, "label"),
    ),
    "unknown_column": (
        {"survey": [[*HEADER, "Reviewer"], GOOD, ["text", "a", "A", "Ana"]]},
        Place("survey", 3, "Reviewer"),
    ),
    "missing_header": ({"survey": [HEADER, GOOD, ["text", "a", "A", "B"]]}, Place("survey", 3, None)),
    "unused_sheet": ({"survey": [HEADER, GOOD], "choises": [LIST, ["x", "1", "One"]]}, Place("choises", None, None)),
    "bad_language_code": (
        {"survey": [["type", "name", "label::Frnch (xx1)"], GOOD]},
        Place("survey", 1, "label::Frnch (xx1)"),
    ),
    "missing_translation": (
        {"survey": [["type", "name", "label::English (en)", "label::French (fr)"], ["text", "a", "A"]]},
        Place("survey", 2, "label::French (fr)"),
    ),
    "unknown_function": (
        {"survey": [[*HEADER, "calculation"], ["calculate", "a", None, "sqroot(4)"]]},
        Place("survey", 2, "calculation"),
    ),
    "compiler_warning": ({"survey": [HEADER, GOOD, [], ["image", "a", "A"]]}, Place("survey", 4, None)),
}


def refused(data: bytes) -> Refused:
    with pytest.raises(Refused) as refusal:
        understand(data, "form")
    return refusal.value


@pytest.mark.parametrize("code", PROBLEMS)
def test_problem(code: str) -> None:
    sheets, where = PROBLEMS[code]
    refusal = refused(xlsx(sheets))
    assert refusal.error_type == "invalid_form"
    assert [(problem.code, place(problem)) for problem in refusal.problems] == [(code, where)]


@pytest.mark.parametrize("code", WARNINGS)
def test_warning(code: str) -> None:
    sheets, where = WARNINGS[code]
    form = understand(xlsx(sheets), "form")
    assert [(warning.code, place(warning)) for warning in form.warnings] == [(code, where)]
    assert isinstance(form, Form)
    assert form.xform.startswith("<?xml")


@pytest.mark.parametrize("language", Language)
def test_every_sentence_can_be_said(language: Language) -> None:
    for sheets, _ in [*PROBLEMS.values(), *WARNINGS.values()]:
        try:
            found = understand(xlsx(sheets), "form").warnings
        except Refused as refusal:
            found = refusal.problems
        for problem in found:
            assert "{" not in language.say(problem.message).replace("${", "")


def test_ten_mistakes_are_reported_at_once() -> None:
    data = xlsx(
        {
            "survey": [
                ["type", "name", "label", "relevant", "calculation"],
                ["txt", "first", "First"],
                ["text", None, "Second"],
                ["text", "3rd", "Third"],
                ["text", "fourth", "Fourth", "${fith} = 1"],
                ["integer", "fourth", "Fifth"],
                ["select_one colour", "sixth", "Sixth"],
                ["calculate", "seventh", None, None, "concat(${first}"],
                ["date", "eighth"],
                ["begin group", "ninth", "Ninth"],
                ["select_one size", "tenth", "Tenth"],
            ],
            "choices": [LIST, ["size", "big", "Big"], ["size", "big", "Large"]],
        }
    )
    refusal = refused(data)
    assert [(problem.code, problem.sheet, problem.row) for problem in refusal.problems] == [
        ("unknown_type", "survey", 2),
        ("missing_name", "survey", 3),
        ("invalid_name", "survey", 4),
        ("unknown_reference", "survey", 5),
        ("duplicate_name", "survey", 6),
        ("unknown_choice_list", "survey", 7),
        ("broken_expression", "survey", 8),
        ("missing_label", "survey", 9),
        ("unclosed_group", "survey", 10),
        ("duplicate_choice", "choices", 3),
    ]
    assert str(refusal.error) == "The form was not imported. Problems to correct: 10."


def test_sentences_say_what_to_do() -> None:
    sentences = [
        str(problem.message)
        for code in ("unknown_type", "duplicate_name", "unknown_reference", "broken_reference")
        for problem in refused(xlsx(PROBLEMS[code][0])).problems
    ]
    assert sentences == [
        "txt is not a question type. Did you mean text?",
        "The name good is taken by row 2. Choose another name.",
        "No question is named god. Correct the reference, or add the question.",
        "${your name} is not a reference. Write ${name} with the name of a question.",
    ]


def test_a_type_that_resembles_none_gets_no_guess() -> None:
    refusal = refused(xlsx({"survey": [HEADER, ["qwzx", "a", "A"]]}))
    assert str(refusal.problems[0].message).endswith("Enter one of the types of the XLSForm standard.")


def test_what_the_compiler_says_is_passed_on_with_its_row() -> None:
    survey: Rows = [[*HEADER, "parameters"], GOOD, [], ["text", "a", "A", "colour=red"]]
    (in_xlsx,) = refused(xlsx({"survey": survey})).problems
    (in_csv,) = refused(sectioned({"survey": survey})).problems
    assert "colour" in str(in_xlsx.message)
    assert (in_xlsx.row, in_csv.row) == (4, 5)


@pytest.mark.parametrize(
    ("sheets", "where", "begins"),
    [
        ({"survey": [HEADER, ["image", "a", "A"]]}, ("survey", 2), "Use the max-pixels parameter"),
        ({"survey": [HEADER, [], ["begin repeat", "r"], GOOD, ["end repeat"]]}, ("survey", 3), "Repeat has no label"),
        ({"survey": [HEADER, ["simserial", "a"]]}, ("survey", 2), "simserial is no longer supported"),
        (
            {
                "survey": [["type", "name", "label::English (en)"], ["select_one x or_other", "a", "A"]],
                "choices": [["list_name", "name", "label::English (en)"], ["x", "b", "B"]],
            },
            (None, None),
            "This form uses or_other and translations",
        ),
        (
            {
                "survey": [[*HEADER, "choice_filter"], ["select_one x", "a", "A", "of = 1"]],
                "Choices": [[], [*LIST, "of", "my own"], ["x", "b", "B", 1]],
            },
            ("Choices", 2),
            "On the 'choices' sheet, the 'my own' value is invalid.",
        ),
    ],
)
def test_what_the_compiler_remarks_is_passed_on(
    sheets: Mapping[str, Rows], where: tuple[str | None, int | None], begins: str
) -> None:
    (warning,) = understand(xlsx(sheets), "form").warnings
    assert (warning.code, (warning.sheet, warning.row)) == ("compiler_warning", where)
    assert str(warning.message).startswith(f"The compiler of forms remarks: {begins}")


def test_what_we_say_in_our_own_words_is_not_said_again() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            ["type", "name", "label::English (en)", "hint::French (fr)"],
            ["select_one x", "good", "A", "B"],
            ["text", "Good", "A", "B"],
        ],
        "choices": [["list_name", "name", "label::English (en)"], ["x", "b"]],
    }
    warnings = understand(xlsx(sheets), "form").warnings
    assert {warning.code for warning in warnings} == {"similar_name", "missing_choice_label", "missing_translation"}


def test_a_group_that_is_ended_twice_is_one_mistake() -> None:
    rows: Rows = [HEADER, ["begin group", "g", "G"], ["begin repeat", "r", "R"], GOOD, ["end group"]]
    assert [(problem.code, problem.row) for problem in refused(xlsx({"survey": rows})).problems] == [
        ("unclosed_group", 3)
    ]
    rows = [HEADER, ["begin group", "g", "G"], GOOD, ["end repeat"]]
    assert [(problem.code, problem.row) for problem in refused(xlsx({"survey": rows})).problems] == [
        ("unmatched_end", 4)
    ]


@pytest.mark.parametrize(
    ("sheets", "sheet", "column"),
    [
        ({"survey": [["question", "answer"], ["How?", "So"], ["Why?", "Thus"]]}, "survey", "type"),
        ({"survey": [["type", "nam", "label"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "name"),
        ({"survey": [["type", "name", "lable"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "label"),
        ({"survey": [HEADER, GOOD], "choices": [["list", "label"], ["x", "A"], ["x", "B"]]}, "choices", "name"),
    ],
)
def test_a_column_that_is_not_there_is_one_mistake(sheets: Mapping[str, Rows], sheet: str, column: str) -> None:
    refusal = refused(xlsx(sheets))
    assert [(problem.code, place(problem)) for problem in refusal.problems] == [
        ("missing_column", Place(sheet, 1, column))
    ]
    assert "ignored_row" not in {warning.code for warning in refusal.warnings}


CHOICES: Rows = [LIST, ["x", "a", "A"], ["x", "b", "B"]]
BEGIN, END = ["begin loop over x", "l", "L"], ["end loop"]


@pytest.mark.parametrize(
    ("survey", "expected"),
    [
        ([HEADER, ["begin loop", "l", "L"], GOOD, END], [("missing_choice_list", 2)]),
        ([HEADER, ["begin loop over y", "l", "L"], GOOD, END], [("unknown_choice_list", 2)]),
        ([HEADER, ["begin loop over ${good}", "l", "L"], GOOD, END], [("unknown_choice_list", 2)]),
        ([HEADER, ["begin loop over x or_other", "l", "L"], GOOD, END], [("unknown_type", 2), ("unmatched_end", 4)]),
        ([HEADER, BEGIN, GOOD], [("unclosed_group", 2)]),
        ([HEADER, BEGIN, GOOD, ["end group"]], [("unmatched_end", 4)]),
        ([HEADER, GOOD, END], [("unmatched_end", 3)]),
        ([HEADER, BEGIN, GOOD, GOOD, END], [("duplicate_name", 4)]),
        ([HEADER, BEGIN, GOOD, ["note", "n", "So ${good}"], END], [("ambiguous_reference", 4)]),
        ([HEADER, BEGIN, GOOD, END, ["note", "n", "So ${good}"]], [("ambiguous_reference", 5)]),
        ([HEADER, BEGIN, GOOD, END, ["note", "n", "So ${a}"]], [("unknown_reference", 5)]),
        ([HEADER, BEGIN, ["text", "q", "%(colour)s"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "%(label)"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "50 %"], END], [("broken_placeholder", 3)]),
    ],
)
def test_what_is_wrong_with_loops(survey: Rows, expected: list[tuple[str, int]]) -> None:
    found = refused(xlsx({"survey": survey, "choices": CHOICES})).problems
    assert [(problem.code, problem.row) for problem in found] == expected


def test_a_reference_into_a_loop_is_explained() -> None:
    rows: Rows = [HEADER, BEGIN, GOOD, END, ["note", "n", "So ${good}"]]
    (problem,) = refused(xlsx({"survey": rows, "choices": CHOICES})).problems
    assert str(problem.message) == (
        "good is asked for each choice of a loop, so that it is unclear which answer is meant."
        " Refer to a question outside the loop."
    )


def test_names_may_repeat_in_other_groups_but_not_for_repeats() -> None:
    def groups(kind: str) -> Rows:
        row = [f"begin {kind}", "same", "Same"]
        inner = [row, ["text", "a", "A"], [f"end {kind}"]]
        return [HEADER, ["begin group", "g", "G"], *inner, ["end group"], *inner]

    assert isinstance(understand(xlsx({"survey": groups("group")}), "form"), Form)
    (problem,) = refused(xlsx({"survey": groups("repeat")})).problems
    assert (problem.code, problem.row) == ("duplicate_name", 7)


def test_a_formula_with_a_broken_reference_is_one_mistake() -> None:
    rows: Rows = [[*HEADER, "calculation"], ["calculate", "a", None, "${b c} + 1"]]
    assert [problem.code for problem in refused(xlsx({"survey": rows})).problems] == ["broken_reference"]


def test_disabled_rows_and_rows_of_remarks_are_not_checked() -> None:
    rows: Rows = [[*HEADER, "disabled"], GOOD, ["nonsense", "good", "${nothing}", "yes"]]
    form = understand(xlsx({"survey": rows}), "form")
    assert isinstance(form, Form)
    assert form.row_count == 1


def test_choices_may_have_columns_for_filters_and_duplicates_where_allowed() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            [*HEADER, "choice_filter"],
            ["select_one town", "town", "Town"],
            ["select_one street", "street", "Street", "of_town = ${town}"],
        ],
        "choices": [
            [*LIST, "of_town", "remarks"],
            ["town", "a", "A", None, "north"],
            ["street", "main", "Main street", "a"],
            ["street", "main", "Main street", "b"],
            [None, None, None, None, "to be continued"],
        ],
        "settings": [["allow_choice_duplicates"], ["yes"]],
    }
    form = understand(xlsx(sheets), "form")
    assert [(warning.code, warning.column) for warning in form.warnings] == [("unknown_column", "remarks")]


@pytest.mark.parametrize(
    ("sheets", "error_type"),
    [
        ({"survey": [HEADER, GOOD], "library": [HEADER, GOOD]}, "both_sheets"),
        ({"questions": [HEADER, GOOD], "choices": [LIST]}, "no_usable_sheet"),
    ],
)
def test_workbooks_that_are_no_form(sheets: Mapping[str, Rows], error_type: str) -> None:
    refusal = refused(xlsx(sheets))
    assert refusal.error_type == error_type
    assert not refusal.problems


def test_a_library_is_checked_too_but_for_names_and_labels() -> None:
    library = understand(xlsx({"library": [["block", *HEADER], ["b", "text"], ["b", "text"]]}), "library")
    assert isinstance(library, Library)
    (problem,) = refused(xlsx({"library": [HEADER, ["select_one x", "a", "A"]]})).problems
    assert (problem.code, problem.sheet) == ("unknown_choice_list", "library")
