"""The builder gives pyxform's XForm, without the comparisons that take minutes in large forms."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyxform.builder import create_survey_element_from_dict
from pyxform.errors import PyXFormError
from pyxform.section import RepeatingSection
from pyxform.xls2json import workbook_to_json
from pyxform.xls2json_backends import get_xlsform

from fieldgate.imports.xlsform.compile.survey_builder import build_survey

Row = dict[str, str]
TYPES = (
    "text",
    "integer",
    "note",
    "select_one l",
    "select_multiple l",
    "calculate",
    "begin_repeat",
    "begin_group",
)

CHOICES = [{"list_name": "l", "name": name, "label": name.upper(), "k": "1"} for name in "ab"]
COLUMNS = {
    "relevant": ("${q0} = 1", "selected(${q1}, 'a')", "count(${s2}) > 1"),
    "default": ("${q0}", "now()", "3"),
    "choice_filter": ("k = ${q0}", "k = 1"),
    "repeat_count": ("${q0}", "3"),
    "label::English (en)": ("About ${q1}", "Plain"),
    "trigger": ("${q0}",),
}


@st.composite
def surveys(draw: st.DrawFn) -> list[Row]:
    """Questions in repeats and groups in any order, with references between them. Siblings can have equal content."""
    columns = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=3, unique=True))
    same_names = draw(st.booleans())
    rows: list[Row] = [
        {"type": "text", "name": "q0", "label": "Q"},
        {"type": "text", "name": "q1", "label": "Q"},
    ]
    open_sections: list[str] = []
    for number in range(2, draw(st.integers(3, 14))):
        kind = draw(st.sampled_from(TYPES))
        row = {"type": kind, "label": "L"}
        if kind.startswith("begin"):
            open_sections.append(kind.removeprefix("begin_"))
            row["name"] = f"s{number}"
        else:
            row["name"] = draw(st.sampled_from("abc")) if same_names else f"q{number}"
        row |= {"calculation": "1 + 1"} if kind == "calculate" else {}
        row |= {
            column: draw(st.sampled_from(COLUMNS[column]))
            for column in columns
            if draw(st.booleans())
        }
        rows.append(row)
        if open_sections and draw(st.integers(0, 2)) == 0:
            rows.append({"type": f"end_{open_sections.pop()}"})
    return rows + [{"type": f"end_{kind}"} for kind in reversed(open_sections)]


def to_json(survey: list[Row]) -> Any:
    headers = {key: None for row in survey for key in row}
    workbook = {"survey": survey, "survey_header": [headers], "choices": CHOICES}
    workbook["choices_header"] = [dict.fromkeys(CHOICES[0])]
    return workbook_to_json(
        workbook_dict=get_xlsform(xlsform=workbook), form_name="form", warnings=[]
    )


def compiled(build: Any, survey: list[Row]) -> str:
    try:
        return str(build(to_json(survey)).xml().toxml())
    except PyXFormError as error:
        return f"error: {error}"


@given(surveys())
def test_xform_is_that_of_pyxform(survey: list[Row]) -> None:
    assert compiled(build_survey, survey) == compiled(create_survey_element_from_dict, survey)


def test_repeats_are_not_copied_to_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyxform itself copies them, so that its time grows with the square of the rows. If it no longer does, remove
    our builder."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a repeat was copied")

    rows = ("begin_repeat", "begin_group", "text", "end_group", "end_repeat")
    survey = [
        {"type": kind, "name": f"n{number}", "label": "L"} for number, kind in enumerate(rows)
    ]
    survey = [row if not row["type"].startswith("end") else {"type": row["type"]} for row in survey]
    monkeypatch.setattr(RepeatingSection, "to_json_dict", refuse)
    assert "<repeat " in build_survey(to_json(survey)).xml().toxml()
    with pytest.raises(AssertionError, match="copied"):
        create_survey_element_from_dict(to_json(survey)).xml()
