"""The many spellings of question types."""

import pytest

from fieldgate.imports.xlsform.question_types import (
    STANDARD_TYPES,
    QuestionType,
    parse_question_type,
    suggest_question_type,
)


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
        ("select_one yes no", None),
        ("text area", None),
        ("florb", None),
    ],
)
def test_spellings(text: str, expected: QuestionType | None) -> None:
    assert parse_question_type(text) == expected


def test_every_standard_type_is_known_by_its_own_name() -> None:
    assert all(parse_question_type(name) == QuestionType(name) for name in STANDARD_TYPES)


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
def test_nearest(text: str, guess: str | None) -> None:
    assert suggest_question_type(text) == guess
