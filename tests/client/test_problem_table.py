"""Problems of a form, printed as a table."""

from fieldgate_client.problem_table import MAX_ROWS, format_problems
from fieldgate_client.records import Problem
from fieldgate_client.terminal_text import display_width


def test_columns_are_aligned_and_messages_wrapped() -> None:
    problems = [
        Problem(sheet="survey", row=3, column="label::日本語", message="The label is missing in one of the languages."),
        Problem(sheet="choices", row=120, column="name", message="名前が二度あります。" * 4),
        Problem(message="The form has no questions."),
    ]
    lines = format_problems(problems, width=60).splitlines()
    assert lines == [
        "sheet    row  column         problem",
        "survey     3  label::日本語  The label is missing in one of",
        "                             the languages.",
        "choices  120  name           名前が二度あります。名前が二度",
        "                             あります。名前が二度あります。",
        "                             名前が二度あります。",
        "                             The form has no questions.",
    ]


def test_hostile_texts_stay_in_their_cells() -> None:
    problem = Problem(sheet="\x1b[2Jx" * 100, row=1, column="a\nb\r\tc", message="first\nsecond \x1b]0;owned\x07end")
    lines = format_problems([problem], width=100).splitlines()
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert lines[1].endswith("…    1  a b c   first second end")
    assert display_width(lines[1]) < 100


def test_a_narrow_terminal_still_shows_messages() -> None:
    text = format_problems([Problem(sheet="survey", row=1, column="name", message="word " * 20)], width=10)
    assert text.count("word") == 20


def test_a_thousand_problems_are_cut() -> None:
    problems = [Problem(sheet="survey", row=row, message="wrong") for row in range(1000)]
    lines = format_problems(problems, width=80).splitlines()
    assert len(lines) == MAX_ROWS + 2
    assert lines[-1] == "… and 800 more"
