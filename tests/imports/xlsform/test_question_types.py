"""Spellings of question types."""

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.question_types import (
    QuestionType,
    parse_question_type,
    suggest_question_type,
)
from tests.imports.xlsform.workbooks import xlsx

HEADER = ["type", "name", "label"]
CHOICES = [["list_name", "name", "label"], ["l", "a", "A"], ["l", "b", "B"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Text", QuestionType("text")),
        ("string", QuestionType("text")),
        ("q image", QuestionType("image")),
        ("add date time prompt", QuestionType("datetime")),
        ("get start time", QuestionType("start")),
        ("dateTime", QuestionType("datetime")),
        ("begin group", QuestionType("begin_group")),
        ("Begin_Repeat", QuestionType("begin_repeat")),
        ("end looped group", QuestionType("end_repeat")),
        ("begin_rank", QuestionType("begin_rank")),
        ("begin loop over Fruits", QuestionType("begin_loop", "Fruits")),
        ("Begin_loop fruits", QuestionType("begin_loop", "fruits")),
        ("begin_loop_over fruits", QuestionType("begin_loop", "fruits")),
        ("begin loop", QuestionType("begin_loop")),
        ("begin loop over fruits or_other", None),
        ("end_loop", QuestionType("end_loop")),
        ("end loop over fruits", None),
        ("rank fruits", QuestionType("rank", "fruits")),
        ("select_one yes_no", QuestionType("select_one", "yes_no")),
        ("select one from Yes_No or specify other", QuestionType("select_one", "Yes_No", or_other=True)),
        ("select all that apply from fruits or_other", QuestionType("select_multiple", "fruits", or_other=True)),
        ("select one from file towns.csv", QuestionType("select_one_from_file", "towns.csv")),
        ("select_multiple", QuestionType("select_multiple")),
        ("phone number", QuestionType("phone_number")),
        ("phonenumber", QuestionType("phonenumber")),
        ("get phone number", QuestionType("phonenumber")),
        ("uri:deviceid", QuestionType("uri:deviceid")),
        ("number of days in last six months", QuestionType("number_of_days_in_last_six_months")),
        ("q calculate", QuestionType("calculate")),
        ("add calculate prompt", QuestionType("calculate")),
        ("osm buildings", QuestionType("osm", "buildings")),
        (" select_one   yes_no ", QuestionType("select_one", "yes_no")),
        ("select_one\tyes_no\n", QuestionType("select_one", "yes_no")),
        ("select  one  from  yes_no", QuestionType("select_one", "yes_no")),
        ("select_multiple fruits  or   other", QuestionType("select_multiple", "fruits", or_other=True)),
        ("select_multiple fruits OR_OTHER", QuestionType("select_multiple", "fruits", or_other=True)),
        ("select_one or_other", QuestionType("select_one", "or_other")),
        ("rank  fruits", QuestionType("rank", "fruits")),
        ("begin   group", QuestionType("begin_group")),
        ("begin repeat fruits", QuestionType("begin_repeat")),
        ("begin repeat over fruits", QuestionType("begin_repeat")),
        ("Begin Repeat Over Fruits", QuestionType("begin_repeat")),
        ("begin looped group over fruits", QuestionType("begin_repeat")),
        ("begin group over", QuestionType("begin_group")),
        ("begin group of fruits", None),
        ("begin group over fruits here", None),
        ("begin_score fruits", None),
        ("end repeat fruits", None),
        ("begin", None),
        ("end time", QuestionType("end")),
        ("osm   buildings", QuestionType("osm", "buildings")),
        ("osm buildings roads", None),
        ("picture", QuestionType("image")),
        ("q text", None),
        ("", None),
        ("select_one yes no", None),
        ("select_one yes no or_other", None),
        ("text area", None),
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
