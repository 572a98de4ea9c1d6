"""Loops as the compiler of the standard takes them: what it makes of the author's own words is what we make."""

from collections.abc import Sequence

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.workbooks import xlsx

HEADER = ("type", "name", "label", "relevant")
CHOICES = (("list_name", "name", "label"), ("x", "soap", "Soap"), ("x", "rope", "Rope"), ("x", "none", "None"))
BEGIN, END, ASK = ("begin loop over x", "l", "L"), ("end loop",), ("text", "a", "Why %(label)s?")
OUTSIDE = ("text", "o", "O")
Survey = Sequence[tuple[str, ...]]

COMPILE: list[Survey] = [
    (BEGIN, ASK, END),
    (("begin_loop x", "l"), ASK, ("end_loop",)),
    (BEGIN, END),
    (BEGIN, ("begin group", "g", "G"), ASK, ("end group",), END),
    (BEGIN, BEGIN, ASK, END, END),
    (OUTSIDE, BEGIN, ("select_one x", "a", "%(name)s", "${o} = '%(name)s'"), END, ("note", "n", "${l} ${o}")),
    (("begin repeat", "r", "R"), BEGIN, ASK, END, ("end repeat",)),
]
BREAK: list[Survey] = [
    (("begin loop", "l", "L"), ASK, END),
    (("begin loop over y", "l", "L"), ASK, END),
    (BEGIN, ASK),
    (BEGIN, ASK, ("end group",)),
    (("begin loop over x",), ASK, END),
    (BEGIN, ASK, ASK, END),
    (BEGIN, ASK, ("note", "n", "${a}"), END),
    (BEGIN, ASK, END, ("note", "n", "${a}")),
    (BEGIN, ASK, END, ("note", "n", "${soap}")),
    (BEGIN, ("text", "a", "50 %"), END),
    (BEGIN, ("text", "a", "%(colour)s"), END),
    (BEGIN, ("begin repeat", "r", "R"), ASK, ("end repeat",), END),
]


def bare(survey: Survey) -> str:
    """The XForm, without our hands in it."""
    workbook = {
        "survey": [dict(zip(HEADER, row, strict=False)) for row in survey],
        "choices": [dict(zip(CHOICES[0], row, strict=True)) for row in CHOICES[1:]],
        "fallback_form_name": "form",
    }
    return str(convert(workbook, form_name="data").xform)


def ours(survey: Survey) -> Form:
    form = parse_workbook(xlsx({"survey": [HEADER, *survey], "choices": CHOICES}), "form")
    assert isinstance(form, Form)
    return form


@pytest.mark.parametrize("survey", COMPILE)
def test_what_compiles_is_understood_in_the_same_way(survey: Survey) -> None:
    assert ours(survey).xform == bare(survey)


@pytest.mark.parametrize("survey", BREAK)
def test_what_breaks_is_refused_before_it_does(survey: Survey) -> None:
    with pytest.raises(Exception, match=r"."):
        bare(survey)
    with pytest.raises(FormRejected) as refusal:
        ours(survey)
    assert "not_compiled" not in {problem.code for problem in refusal.value.problems}
    assert all(problem.row for problem in refusal.value.problems)


def test_the_content_of_a_loop() -> None:
    rows = ours((BEGIN, ASK, END)).content["survey"]
    assert [(row["type"], row.get("select_from_list_name"), row.get("$xpath")) for row in rows] == [
        ("begin_loop", "x", "l"),
        ("text", None, "l/a"),
        ("end_loop", None, None),
    ]
