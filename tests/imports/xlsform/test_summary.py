"""Properties of summaries."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.xlsform import Form, parse_workbook
from fieldgate.imports.xlsform.summary import summarise
from tests.imports.xlsform.workbooks import Rows, csv_with_sections

COUNTED = [
    "text",
    "integer",
    "geopoint",
    "gps",
    "geotrace",
    "geoshape",
    "date",
    "acknowledge",
    "photo",
]
NOT_COUNTED = ["note", "start", "today", "end", "deviceid", "username", "start-geopoint"]
GEOGRAPHIC = {"geopoint", "gps", "geotrace", "geoshape"}
LANGUAGES = ["English (en)", "French (fr)", "Arabic (ar)", "Spanish (es)"]

types = st.lists(st.sampled_from(COUNTED + NOT_COUNTED), min_size=1, max_size=12)
columns = st.lists(
    st.sampled_from(["hint", "relevant", "required", "appearance", "default"]), unique=True
)
languages = st.lists(st.sampled_from(LANGUAGES), unique=True, min_size=1, max_size=4)

FILLED = {
    "hint": "Look here",
    "relevant": "1 = 1",
    "required": "yes",
    "appearance": "w1",
    "default": "x",
}


def summary(survey: Rows, settings: Rows = ()) -> dict[str, Any]:
    sheets = {"survey": survey, "settings": settings} if settings else {"survey": survey}
    form = parse_workbook(csv_with_sections(sheets), "form")
    assert isinstance(form, Form)
    assert form.row_count == form.summary["row_count"]
    return form.summary


def survey_of(chosen: list[str], extra: list[str] | None = None) -> list[list[str]]:
    extra = extra or []
    rows = [
        [kind, f"q{index}", f"Question {index}", *(FILLED[key] for key in extra)]
        for index, kind in enumerate(chosen)
    ]
    return [["type", "name", "label", *extra], *rows]


@given(types, columns)
def test_only_questions_count(chosen: list[str], extra: list[str]) -> None:
    """Notes and metadata do not."""
    found = summary(survey_of(chosen, extra))
    labels = [f"Question {index}" for index, kind in enumerate(chosen) if kind in COUNTED]
    assert found == {
        "geo": bool(GEOGRAPHIC & set(chosen)),
        "labels": labels[:5],
        "columns": found["columns"],
        "languages": [],
        "row_count": len(labels),
        "default_translation": None,
    }
    assert sorted(found["columns"]) == sorted({"type", "name", "label", *extra} if labels else ())


@given(languages, st.data())
def test_default_language_is_first(languages: list[str], data: st.DataObject) -> None:
    default = data.draw(st.sampled_from(languages))
    header = ["type", "name", *(f"label::{language}" for language in languages)]
    found = summary([header, ["text", "a", *languages]], [["default_language"], [default]])
    assert found["languages"] == [
        default,
        *(language for language in languages if language != default),
    ]
    assert found["default_translation"] == default
    assert found["labels"] == [default]


def test_limits_of_a_summary() -> None:
    long = "é" * 40_000
    others = [f"column {number} {long}" for number in range(300)]
    languages = [f"{number} {long}" for number in range(120)]
    row = {"type": "text", "label": [long] * 120, **dict.fromkeys(others, "x")}
    found = summarise({"survey": [row], "translations": languages})
    assert len(json.dumps(found, ensure_ascii=False)) < 40_000
    assert found["labels"][0].startswith("ééé")
    assert found["default_translation"] == found["languages"][0]
