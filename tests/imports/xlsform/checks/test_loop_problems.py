"""Problems of loops."""

import pytest

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx

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
        (
            [HEADER, BEGIN, ["begin group", "g", "G"], GOOD, ["end group"], END, ["note", "n", "So ${good}"]],
            [("ambiguous_reference", 7)],
        ),
        ([HEADER, BEGIN, ["text", "q", "%(colour)s"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "%(label)"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "50 %"], END], [("broken_placeholder", 3)]),
    ],
)
def test_loop_problems(survey: Rows, expected: list[tuple[str, int]]) -> None:
    found = rejection(xlsx({"survey": survey, "choices": CHOICES})).problems
    assert [(problem.code, problem.row) for problem in found] == expected


def test_doubled_percent_sign_is_allowed_in_a_loop() -> None:
    rows: Rows = [HEADER, BEGIN, ["text", "q", "50 %% of %(label)s"], END]
    form = parse_workbook(xlsx({"survey": rows, "choices": CHOICES}), "form")
    assert isinstance(form, Form)
    assert "50 % of A" in form.xform


def test_reference_into_a_loop() -> None:
    rows: Rows = [HEADER, BEGIN, GOOD, END, ["note", "n", "So ${good}"]]
    (problem,) = rejection(xlsx({"survey": rows, "choices": CHOICES})).problems
    assert str(problem.message) == (
        "good is asked for each choice of a loop, so that it is unclear which answer is meant."
        " Refer to a question outside the loop."
    )
