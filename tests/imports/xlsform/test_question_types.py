"""Spellings of question types."""

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.question_types import (
    QuestionType,
    parse_question_type,
    suggest_question_type,
)
from tests.imports.xlsform.forms import HEADER
from tests.imports.xlsform.workbooks import xlsx

CHOICES = [["list_name", "name", "label"], ["l", "a", "A"], ["l", "b", "B"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text", QuestionType("text")),
        ("add date time prompt", QuestionType("datetime")),
        ("begin group", QuestionType("begin_group")),
        ("end looped group", QuestionType("end_repeat")),
        ("begin loop over Fruits", QuestionType("begin_loop", "Fruits")),
        ("begin_loop_over fruits", QuestionType("begin_loop", "fruits")),
        ("begin loop over fruits or_other", None),
        ("end loop over fruits", None),
        ("rank fruits", QuestionType("rank", "fruits")),
        ("select_one yes_no", QuestionType("select_one", "yes_no")),
        (
            "select one from Yes_No or specify other",
            QuestionType("select_one", "Yes_No", or_other=True),
        ),
        (
            "select all that apply from fruits or_other",
            QuestionType("select_multiple", "fruits", or_other=True),
        ),
        ("select one from file towns.csv", QuestionType("select_one_from_file", "towns.csv")),
        ("phone number", QuestionType("phone_number")),
        ("number of days in last six months", QuestionType("number_of_days_in_last_six_months")),
        ("osm buildings", QuestionType("osm", "buildings")),
        ("select_one\tyes_no\n", QuestionType("select_one", "yes_no")),
        ("select  one  from  yes_no", QuestionType("select_one", "yes_no")),
        (
            "select_multiple fruits  or   other",
            QuestionType("select_multiple", "fruits", or_other=True),
        ),
        ("select_one or_other", QuestionType("select_one", "or_other")),
        ("begin looped group over fruits", QuestionType("begin_repeat")),
        ("begin group over", QuestionType("begin_group")),
        ("begin group of fruits", None),
        ("begin group over fruits here", None),
        ("begin_score fruits", None),
        ("end repeat fruits", None),
        ("osm buildings roads", None),
        ("q text", None),
        ("", None),
        ("select_one yes no", None),
        ("florb", None),
    ],
)
def test_parse(text: str, expected: QuestionType | None) -> None:
    assert parse_question_type(text) == expected


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("txt", "text"),
        ("selct_one yes_no", "select_one"),
        ("begin grup", "begin_group"),
        ("end lop", "end_loop"),
        ("qwzx", None),
    ],
)
def test_suggestion(text: str, guess: str | None) -> None:
    assert suggest_question_type(text) == guess


@pytest.mark.parametrize(
    ("cell", "end"),
    [
        ("select_one  l", None),
        (" select_one l ", None),
        ("select_one\u00a0l", None),
        ("select one from  l", None),
        ("select_multiple   l", None),
        ("select all that apply  from l", None),
        ("rank  l", None),
        ("select_one l  or specify  other", None),
        ("begin  repeat", "end  repeat"),
        ("begin group l", "end group"),
        ("begin repeat over l", "end repeat"),
        ("begin loop  over  l", "end  loop"),
        ("q  date", None),
    ],
)
def test_cells_compile_as_by_pyxform(cell: str, end: str | None) -> None:
    rows = [[cell, "a", "A"], *([["text", "t", "T"], [end]] if end else [])]
    data = xlsx({"survey": [HEADER, *rows], "choices": CHOICES, "settings": [["form_id"], ["f"]]})
    form = parse_workbook(data, "form")
    assert isinstance(form, Form)
    by_pyxform = str(convert(data, file_type=".xlsx", form_name="data").xform)
    assert form.xform.partition("</h:title>")[2] == by_pyxform.partition("</h:title>")[2]
