"""A form for each feature of XLSForm, with its expected content and XForm."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.forms import HEADER, LIST, book
from tests.imports.xlsform.workbooks import Rows, xlsx

YES_NO: Rows = [LIST, ["yes_no", "yes", "Yes"], ["yes_no", "no", "No"]]


class Expected(NamedTuple):
    row_count: int
    labels: list[str | None]
    holds: str = ""
    geo: bool = False
    languages: tuple[str | None, ...] = ()
    default: str | None = None


FORMS: dict[str, tuple[Mapping[str, Rows], Expected]] = {
    "text": (book("text|a|A"), Expected(1, ["A"], 'type="string"')),
    "numbers": (book("integer|a|A", "decimal|b|B"), Expected(2, ["A", "B"], 'type="decimal"')),
    "dates": (
        book("date|a|A", "time|b|B", "dateTime|c|C"),
        Expected(3, ["A", "B", "C"], 'type="dateTime"'),
    ),
    "range": (
        book("range|a|A|start=0 end=10 step=2", columns="parameters"),
        Expected(1, ["A"], "<range"),
    ),
    "note": (book("note|n|Read this", "text|a|A"), Expected(1, ["A"])),
    "point": (book("geopoint|a|A"), Expected(1, ["A"], 'type="geopoint"', geo=True)),
    "point at the start": (book("start-geopoint|s", "text|a|A"), Expected(1, ["A"])),
    "metadata": (
        book("start|start", "end|end", "today|today", "deviceid|d", "text|a|A"),
        Expected(1, ["A"], "jr:preload"),
    ),
    "media questions": (
        book("image|a|A", "audio|b|B", "video|c|C", "file|d|D"),
        Expected(4, ["A", "B", "C", "D"], 'mediatype="image/*"'),
    ),
    "select one": (book("select_one yes_no|a|A", choices=YES_NO), Expected(1, ["A"], "<select1")),
    "select many": (
        book("select_multiple yes_no|a|A", choices=YES_NO),
        Expected(1, ["A"], "<select "),
    ),
    "or other": (
        book("select_one yes_no or_other|a|A", choices=YES_NO),
        Expected(1, ["A"], "a_other"),
    ),
    "cascade": (
        book(
            "select_one region|r|Region",
            "select_one town|t|Town|region = ${r}",
            columns="choice_filter",
            choices=["list_name|name|label|region", "region|n|North", "town|x|X|n"],
        ),
        Expected(2, ["Region", "Town"], "region"),
    ),
    "choices from a file": (
        book("select_one_from_file towns.csv|t|Town"),
        Expected(1, ["Town"], "jr://file-csv/towns.csv"),
    ),
    "external choices": (
        book(
            "text|s|State",
            "select_one_external town|t|Town|state=${s}",
            columns="choice_filter",
            external_choices=["list_name|name|label|state", "town|x|X|n"],
        ),
        Expected(2, ["State", "Town"], "instance('town')"),
    ),
    "group": (
        book("begin group|g|G", "text|a|A", "end group"),
        Expected(1, ["A"], 'ref="/data/g"'),
    ),
    "repeat": (
        book("begin repeat|r|R", "text|a|A", "end repeat"),
        Expected(2, ["R", "A"], "<repeat"),
    ),
    "repeat inside a group": (
        book("begin group|g|G", "begin repeat|r|R", "text|a|A", "end repeat", "end group"),
        Expected(2, ["R", "A"], "/data/g/r"),
    ),
    "loop": (
        book("begin loop over yes_no|l|L", "text|a|Why %(label)s?", "end loop", choices=YES_NO),
        Expected(2, ["L", "Why %(label)s?"], "<label>Why Yes?</label>"),
    ),
    "loop in two languages": (
        book(
            "begin loop over x|l|L|L",
            "text|a|How many %(label)s? 100%%|Combien de %(label)s ?",
            "end loop",
            header="type|name|label::English (en)|label::French (fr)",
            choices=["list_name|name|label::English (en)|label::French (fr)", "x|s|soap|savon"],
        ),
        Expected(
            2,
            ["L", "How many %(label)s? 100%%"],
            "Combien de savon ?",
            languages=("English (en)", "French (fr)"),
            default="English (en)",
        ),
    ),
    "same name in two groups": (
        book(
            "begin group|g|G", "text|a|A", "end group", "begin group|h|H", "text|a|B", "end group"
        ),
        Expected(2, ["A", "B"], "/data/h/a"),
    ),
    "calculation": (
        book("integer|a|A", "calculate|b||${a} * 2", columns="calculation"),
        Expected(2, ["A"], "calculate="),
    ),
    "condition and constraint": (
        book(
            "integer|a|A||. > 0|yes",
            "text|b|B|${a} > 5 and ${a} < 10",
            columns="relevant|constraint|required",
        ),
        Expected(2, ["A", "B"], "relevant="),
    ),
    "two languages": (
        book("text|a|A|B", header="type|name|label::English (en)|label::French (fr)"),
        Expected(
            1,
            ["A"],
            "<translation",
            languages=("English (en)", "French (fr)"),
            default="English (en)",
        ),
    ),
    "a default language": (
        book(
            "text|a|A|B",
            header="type|name|label::English (en)|label::French (fr)",
            settings=["default_language", "French (fr)"],
        ),
        Expected(
            1, ["B"], "French", languages=("French (fr)", "English (en)"), default="French (fr)"
        ),
    ),
    "a language in the choices only": (
        book(
            "select_one x|a|A",
            header="type|name|label::English (en)",
            choices=["list_name|name|label::English (en)|label::Arabic (ar)", "x|1|One|واحد"],
        ),
        Expected(
            1, ["A"], "Arabic", languages=("English (en)", "Arabic (ar)"), default="English (en)"
        ),
    ),
    "media of a label": (
        book("text|a|A|a.png", columns="media::image"),
        Expected(1, ["A"], "jr://images/a.png"),
    ),
    "hints and appearance": (
        book("text|a|A|Help|multiline", columns="hint|appearance"),
        Expected(1, ["A"], 'appearance="multiline"'),
    ),
    "settings": (
        book("text|a|A", settings=["form_title|form_id|version|style", "T|t1|7|pages"]),
        Expected(1, ["A"], 'id="t1"'),
    ),
    "entities": (
        book("text|a|A|tree_name", columns="save_to", entities=["list_name|label", "trees|${a}"]),
        Expected(1, ["A"], "entity"),
    ),
    "headers in capitals": (book("text|a|A", header="Type|NAME|Label"), Expected(1, ["A"])),
    "sheets in capitals": (
        {"Survey": [HEADER, ["select_one yes_no", "a", "A"]], "CHOICES": YES_NO},
        Expected(1, ["A"], "<select1"),
    ),
    "one sheet of any name": ({"Sheet1": [HEADER, ["text", "a", "A"]]}, Expected(1, ["A"])),
    "other writing": (book("text|اسم|ما اسمك؟"), Expected(1, ["ما اسمك؟"])),
    "only what the live system knows": (
        book("begin_score|s|Score", "score__row|a|A", "end_score", "text|b|B"),
        Expected(3, ["Score", "A", "B"]),
    ),
}


@pytest.mark.parametrize("feature", FORMS)
def test_feature(feature: str) -> None:
    sheets, expected = FORMS[feature]
    form = parse_workbook(xlsx(sheets), "corpus.xlsx")
    assert isinstance(form, Form)
    summary: dict[str, Any] = form.summary
    assert set(summary) == {
        "geo",
        "labels",
        "columns",
        "languages",
        "row_count",
        "default_translation",
    }
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
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake: str) -> None:
    data, error_type = MISTAKES[mistake]
    with pytest.raises(FormRejected) as rejection:
        parse_workbook(data, "corpus.xlsx")
    assert rejection.value.error_type == error_type
    assert str(rejection.value.error)
    assert not rejection.value.problems
