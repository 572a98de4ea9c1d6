"""Random forms are rejected if pyxform rejects them, and otherwise only for the reasons in STRICTER.

They are accepted if pyxform accepts them, and otherwise only for the reasons in is_more_lenient.
"""

from xml.parsers.expat import ExpatError, ParserCreate

from hypothesis import given
from hypothesis import strategies as st
from pyxform.xls2xform import convert

from fieldgate.imports.xlsform import Form, FormRejected, parse_workbook
from tests.imports.xlsform.workbooks import Rows, xlsx

# Codes of problems that pyxform does not report, and why.
STRICTER = {
    "broken_expression": "pyxform does not parse formulas; the form would fail on a phone",
    "broken_reference": "pyxform accepts ${} in a formula",
    "no_questions": "an empty form would erase the one that it replaces",
    "missing_choice_label": "ODK cannot open a form with a list without any label",
    "missing_calculation": "pyxform accepts the old spellings of calculate without a calculation",
    "invalid_attribute": "bind::a::b would be written with the braces of a Python dictionary",
}

TYPES = [
    *(
        "text",
        "integer",
        "note",
        "phone number",
        "image",
        "geopoint",
        "geotrace",
        "range",
        "audio",
        "hidden",
        "today",
    ),
    *(
        "select_one l",
        "select_multiple l",
        "rank l",
        "select_one m or_other",
        "select_one_from_file f.csv",
    ),
    *(
        "select_one_external x",
        "select_one nothing",
        "calculate",
        "q calculate",
        "csv-external",
        "uri:deviceid",
    ),
    *(
        "background-geopoint",
        "background-audio",
        "acknowledge",
        "number of days in last year",
        "florb",
        "osm",
    ),
]
CELLS = {
    "relevant": ["${a} = 1", "${b} +* 2", "1 = 1 = 1", "${nothing}", "selected(${a}, 'x')"],
    "calculation": ["1 + 1", "${a}", "concat("],
    "choice_filter": ["name = ${a}", "anything !", "k = 1"],
    "repeat_count": ["3", "${a}", "1 + 1"],
    "parameters": [
        "rows=3",
        "randomize=true",
        "seed=3",
        "start=1 end=5 step=1",
        "quality=low",
        "x",
        "value=k",
    ],
    "default": ["3", "now()", "${b}"],
    "trigger": ["${a}", "a", "${a}, ${b}", "${g}", "${a} ${b}"],
    "save_to": ["p", "trees#p", "birds#p", "label"],
    "required": ["yes", "${a} = 1"],
    "media::image": ["a.png"],
    "media::big-image": ["a.png"],
    "hint::French (fr)": ["Ici"],
    "bind::foo": ["x"],
    "bind::foo bar": ["x"],
    "bind::foo:bar": ["x"],
    "bind::a::b": ["x"],
}
SETTINGS = {
    "form_title": ["T"],
    "form_id": ["f"],
    "id_string": ["g"],
    "name": ["root", "g", "1 x"],
    "namespaces": ['foo="http://example.org"'],
    "default_language": ["French (fr)", "French", "English (en)", "default"],
    "instance_xmlns": ["http://example.org"],
    "attribute::foo:x": ["1"],
    "version": ["7"],
}
CHOICES: list[Rows] = [
    [["list_name", "name", "label"], ["l", "1", "One"], ["m", "1", "One"]],
    [
        ["list_name", "name", "label", "k"],
        ["l", "1", "One", "1"],
        ["l", "2", None, "2"],
        ["m", "1 2", "One"],
    ],
    [
        ["list_name", "name", "label::French (fr)"],
        ["l", "1", "Un"],
        ["m", "2", None],
        [None, "3", "Trois"],
    ],
    [
        ["list_name", "name", "label"],
        ["l", "1", "One"],
        ["l", "1", "Uno"],
        ["f", "1", "One"],
        ["m", "1", "One"],
    ],
]
ENTITIES: list[Rows] = [
    [["list_name", "label"], ["trees", "${a}"]],
    [["list_name", "label"], ["trees", None]],
    [["list_name", "entity_id", "create_if"], ["trees", "${a}", "1 = 1"]],
]


def usually(draw: st.DrawFn, usual: str, others: list[str]) -> str:
    return usual if draw(st.integers(0, 3)) else draw(st.sampled_from(others))


@st.composite
def surveys(draw: st.DrawFn) -> list[list[str | None]]:
    columns = draw(st.lists(st.sampled_from(list(CELLS)), max_size=3, unique=True))
    groups: list[str] = []
    rows: list[list[str | None]] = [
        ["type", "name", "label", *columns],
        ["text", "a", "A"],
        ["integer", "b", "B"],
    ]
    for number in range(draw(st.integers(0, 4))):
        if draw(st.integers(0, 4)) == 0:
            groups.append(draw(st.sampled_from(["group", "repeat"])))
            name, kind, label = (
                usually(draw, f"g{number or ''}", ["a", "data", "root"]),
                f"begin {groups[-1]}",
                "G",
            )
        else:
            name = usually(draw, f"q{number}", ["a", "q0_other", "g_count", "meta", "foo:q", "1st"])
            kind, label = (
                draw(st.sampled_from(TYPES)),
                usually(draw, "Label", ["", "See ${a}", "${}", "${nothing}"]),
            )
        cells = [draw(st.sampled_from([None, *CELLS[column]])) for column in columns]
        rows.append([kind, name, label or None, *cells])
    for kind in reversed(groups):
        rows.append([f"end {kind}"])
    return rows


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Rows]:
    sheets: dict[str, Rows] = {"survey": draw(surveys()), "choices": draw(st.sampled_from(CHOICES))}
    sheets["external_choices"] = [["list_name", "name", "k"], ["x", "1", "1"]]
    if draw(st.integers(0, 2)) == 0:
        chosen = draw(
            st.lists(st.sampled_from(list(SETTINGS)), min_size=1, max_size=3, unique=True)
        )
        sheets["settings"] = [chosen, [draw(st.sampled_from(SETTINGS[name])) for name in chosen]]
    if draw(st.integers(0, 2)) == 0:
        sheets["entities"] = draw(st.sampled_from(ENTITIES))
    return sheets


def compiles(data: bytes) -> bool:
    try:
        ParserCreate(namespace_separator=" ").Parse(convert(data, file_type=".xlsx").xform, True)
    except ExpatError:
        return False
    except Exception:  # pyxform raises errors of every kind
        return False
    return True


@given(forms())
def test_rejected_by_both_or_by_neither(sheets: dict[str, Rows]) -> None:
    data = xlsx(sheets)
    try:
        form = parse_workbook(data, "form")
    except FormRejected as rejection:
        codes = {problem.code for problem in rejection.problems}
        assert codes & STRICTER.keys() or not compiles(data), codes
    else:
        assert isinstance(form, Form)
        assert compiles(data) or is_more_lenient(form)


def is_more_lenient(form: Form) -> bool:
    """Mistakes in lists that no question uses, and questions with the name of the root."""
    warnings = {warning.code for warning in form.warnings}
    root = form.content["settings"].get("name", "data")
    return "unused_choice_list" in warnings or root in {
        row.get("name") for row in form.content["survey"]
    }
