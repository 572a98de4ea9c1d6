"""Loops compile to the same XForm as with pyxform alone."""

from collections.abc import Sequence

import pytest
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, parse_workbook
from tests.imports.xlsform.workbooks import xlsx

HEADER = ("type", "name", "label", "relevant")
CHOICES = (
    ("list_name", "name", "label"),
    ("x", "soap", "Soap"),
    ("x", "rope", "Rope"),
    ("x", "none", "None"),
)
BEGIN, END, ASK = ("begin loop over x", "l", "L"), ("end loop",), ("text", "a", "Why %(label)s?")
OUTSIDE = ("text", "o", "O")
Survey = Sequence[tuple[str, ...]]

COMPILE: list[Survey] = [
    (BEGIN, ASK, END),
    (("begin_loop x", "l"), ASK, ("end_loop",)),
    (BEGIN, END),
    (BEGIN, ("begin group", "g", "G"), ASK, ("end group",), END),
    (BEGIN, BEGIN, ASK, END, END),
    (
        OUTSIDE,
        BEGIN,
        ("select_one x", "a", "%(name)s", "${o} = '%(name)s'"),
        END,
        ("note", "n", "${l} ${o}"),
    ),
    (("begin repeat", "r", "R"), BEGIN, ASK, END, ("end repeat",)),
]


def bare(survey: Survey) -> str:
    """The XForm of pyxform alone."""
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
def test_xform_is_the_same_as_from_pyxform(survey: Survey) -> None:
    assert ours(survey).xform == bare(survey)


def test_content() -> None:
    rows = ours((BEGIN, ASK, END)).content["survey"]
    assert [(row["type"], row.get("select_from_list_name"), row.get("$xpath")) for row in rows] == [
        ("begin_loop", "x", "l"),
        ("text", None, "l/a"),
        ("end_loop", None, None),
    ]


def test_doubled_percent_sign_is_allowed() -> None:
    assert "50 % of Soap" in ours((BEGIN, ("text", "q", "50 %% of %(label)s"), END)).xform
