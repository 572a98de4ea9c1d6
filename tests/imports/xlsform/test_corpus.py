"""A form for each feature of XLSForm, with its expected content and XForm."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.forms import HEADER, LIST
from tests.imports.xlsform.workbooks import Rows, xlsx

YES_NO: Rows = [LIST, ["yes_no", "yes", "Yes"], ["yes_no", "no", "No"]]


class Expected(NamedTuple):
    row_count: int
    labels: list[str | None]
    holds: str = ""
    geo: bool = False
    languages: tuple[str | None, ...] = ()
    default: str | None = None


def survey(*rows: Sequence[object], header: list[str] | None = None, **sheets: Rows) -> dict[str, Rows]:
    return {"survey": [header or HEADER, *rows], **sheets}


FORMS: dict[str, tuple[Mapping[str, Rows], Expected]] = {
    "text": (survey(["text", "a", "A"]), Expected(1, ["A"], 'type="string"')),
    "numbers": (survey(["integer", "a", "A"], ["decimal", "b", "B"]), Expected(2, ["A", "B"], 'type="decimal"')),
    "dates": (
        survey(["date", "a", "A"], ["time", "b", "B"], ["dateTime", "c", "C"]),
        Expected(3, ["A", "B", "C"], 'type="dateTime"'),
    ),
    "range": (
        survey(["range", "a", "A", "start=0 end=10 step=2"], header=[*HEADER, "parameters"]),
        Expected(1, ["A"], "<range"),
    ),
    "note": (survey(["note", "n", "Read this"], ["text", "a", "A"]), Expected(1, ["A"])),
    "point": (survey(["geopoint", "a", "A"]), Expected(1, ["A"], 'type="geopoint"', geo=True)),
    "point at the start": (survey(["start-geopoint", "s", None], ["text", "a", "A"]), Expected(1, ["A"])),
    "metadata": (
        survey(["start", "start", None], ["end", "end", None], ["today", "today", None], ["deviceid", "d", None],
               ["text", "a", "A"]),
        Expected(1, ["A"], "jr:preload"),
    ),
    "media questions": (
        survey(["image", "a", "A"], ["audio", "b", "B"], ["video", "c", "C"], ["file", "d", "D"]),
        Expected(4, ["A", "B", "C", "D"], 'mediatype="image/*"'),
    ),
    "select one": (survey(["select_one yes_no", "a", "A"], choices=YES_NO), Expected(1, ["A"], "<select1")),
    "select many": (survey(["select_multiple yes_no", "a", "A"], choices=YES_NO), Expected(1, ["A"], "<select ")),
    "or other": (survey(["select_one yes_no or_other", "a", "A"], choices=YES_NO), Expected(1, ["A"], "a_other")),
    "cascade": (
        survey(
            ["select_one region", "r", "Region", None],
            ["select_one town", "t", "Town", "region = ${r}"],
            header=[*HEADER, "choice_filter"],
            choices=[[*LIST, "region"], ["region", "n", "North", None], ["town", "x", "X", "n"]],
        ),
        Expected(2, ["Region", "Town"], "region"),
    ),
    "choices from a file": (
        survey(["select_one_from_file towns.csv", "t", "Town"]),
        Expected(1, ["Town"], "jr://file-csv/towns.csv"),
    ),
    "external choices": (
        survey(
            ["text", "s", "State", None],
            ["select_one_external town", "t", "Town", "state=${s}"],
            header=[*HEADER, "choice_filter"],
            external_choices=[[*LIST, "state"], ["town", "x", "X", "n"]],
        ),
        Expected(2, ["State", "Town"], "instance('town')"),
    ),
    "group": (
        survey(["begin group", "g", "G"], ["text", "a", "A"], ["end group", None, None]),
        Expected(1, ["A"], 'ref="/data/g"'),
    ),
    "repeat": (
        survey(["begin repeat", "r", "R"], ["text", "a", "A"], ["end repeat", None, None]),
        Expected(2, ["R", "A"], "<repeat"),
    ),
    "repeat inside a group": (
        survey(["begin group", "g", "G"], ["begin repeat", "r", "R"], ["text", "a", "A"], ["end repeat", None, None],
               ["end group", None, None]),
        Expected(2, ["R", "A"], "/data/g/r"),
    ),
    "loop": (
        survey(["begin loop over yes_no", "l", "L"], ["text", "a", "Why %(label)s?"], ["end loop", None, None],
               choices=YES_NO),
        Expected(2, ["L", "Why %(label)s?"], "<label>Why Yes?</label>"),
    ),
    "loop in two languages": (
        survey(
            ["begin loop over x", "l", "L", "L"],
            ["text", "a", "How many %(label)s? 100%%", "Combien de %(label)s ?"],
            ["end loop", None, None, None],
            header=["type", "name", "label::English (en)", "label::French (fr)"],
            choices=[["list_name", "name", "label::English (en)", "label::French (fr)"], ["x", "s", "soap", "savon"]],
        ),
        Expected(2, ["L", "How many %(label)s? 100%%"], "Combien de savon ?",
                 languages=("English (en)", "French (fr)"), default="English (en)"),
    ),
    "same name in two groups": (
        survey(["begin group", "g", "G"], ["text", "a", "A"], ["end group", None, None],
               ["begin group", "h", "H"], ["text", "a", "B"], ["end group", None, None]),
        Expected(2, ["A", "B"], "/data/h/a"),
    ),
    "calculation": (
        survey(["integer", "a", "A", None], ["calculate", "b", None, "${a} * 2"], header=[*HEADER, "calculation"]),
        Expected(2, ["A"], "calculate="),
    ),
    "condition and constraint": (
        survey(
            ["integer", "a", "A", None, ". > 0", "yes"],
            ["text", "b", "B", "${a} > 5 and ${a} < 10", None, None],
            header=[*HEADER, "relevant", "constraint", "required"],
        ),
        Expected(2, ["A", "B"], "relevant="),
    ),
    "two languages": (
        survey(["text", "a", "A", "B"], header=["type", "name", "label::English (en)", "label::French (fr)"]),
        Expected(1, ["A"], "<translation", languages=("English (en)", "French (fr)"), default="English (en)"),
    ),
    "a default language": (
        survey(
            ["text", "a", "A", "B"],
            header=["type", "name", "label::English (en)", "label::French (fr)"],
            settings=[["default_language"], ["French (fr)"]],
        ),
        Expected(1, ["B"], "French", languages=("French (fr)", "English (en)"), default="French (fr)"),
    ),
    "a language in the choices only": (
        survey(
            ["select_one x", "a", "A"],
            header=["type", "name", "label::English (en)"],
            choices=[["list_name", "name", "label::English (en)", "label::Arabic (ar)"], ["x", "1", "One", "واحد"]],
        ),
        Expected(1, ["A"], "Arabic", languages=("English (en)", "Arabic (ar)"), default="English (en)"),
    ),
    "media of a label": (
        survey(["text", "a", "A", "a.png"], header=[*HEADER, "media::image"]),
        Expected(1, ["A"], "jr://images/a.png"),
    ),
    "hints and appearance": (
        survey(["text", "a", "A", "Help", "multiline"], header=[*HEADER, "hint", "appearance"]),
        Expected(1, ["A"], 'appearance="multiline"'),
    ),
    "settings": (
        survey(["text", "a", "A"], settings=[["form_title", "form_id", "version", "style"], ["T", "t1", "7", "pages"]]),
        Expected(1, ["A"], 'id="t1"'),
    ),
    "entities": (
        survey(
            ["text", "a", "A", "tree_name"],
            header=[*HEADER, "save_to"],
            entities=[["list_name", "label"], ["trees", "${a}"]],
        ),
        Expected(1, ["A"], "entity"),
    ),
    "headers in capitals": (survey(["text", "a", "A"], header=["Type", "NAME", "Label"]), Expected(1, ["A"])),
    "sheets in capitals": (
        {"Survey": [HEADER, ["select_one yes_no", "a", "A"]], "CHOICES": YES_NO},
        Expected(1, ["A"], "<select1"),
    ),
    "one sheet of any name": ({"Sheet1": [HEADER, ["text", "a", "A"]]}, Expected(1, ["A"])),
    "other writing": (survey(["text", "اسم", "ما اسمك؟"]), Expected(1, ["ما اسمك؟"])),
    "only what the live system knows": (
        survey(["begin_score", "s", "Score"], ["score__row", "a", "A"], ["end_score", None, None], ["text", "b", "B"]),
        Expected(3, ["Score", "A", "B"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("feature", FORMS)
def test_feature(feature: str) -> None:
    sheets, expected = FORMS[feature]
    form = parse_workbook(xlsx(sheets), "corpus.xlsx")
    assert isinstance(form, Form)
    summary: dict[str, Any] = form.summary
    assert set(summary) == {"geo", "labels", "columns", "languages", "row_count", "default_translation"}
    assert (summary["row_count"], summary["labels"], summary["geo"]) == (
        expected.row_count,
        expected.labels,
        expected.geo,
    )
    assert tuple(summary["languages"]) == expected.languages
    assert summary["default_translation"] == expected.default
    assert expected.holds in form.xform


# Files without a form, with their error type. `test_issues` has the mistakes in a form.
MISTAKES: dict[str, tuple[bytes, str]] = {
    "no usable sheet": (xlsx({"a": [["x"]], "b": [["y"]]}), "no_usable_sheet"),
    "blank sheets": (xlsx({"Sheet1": [], "Sheet2": [[None, " "]]}), "no_usable_sheet"),
    "both sheets": (xlsx({"survey": [HEADER], "library": [HEADER]}), "both_sheets"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake: str) -> None:
    data, error_type = MISTAKES[mistake]
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(data, "corpus.xlsx")
    assert rejection.value.error_type == error_type
    assert str(rejection.value.error)
    assert not rejection.value.problems
