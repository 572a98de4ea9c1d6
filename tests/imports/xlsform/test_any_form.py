"""Random forms are parsed or rejected: no other exception, and every message can be translated."""

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.xlsform import Form, FormRejected, Library, parse_workbook
from tests.imports.xlsform.workbooks import csv_with_sections

HEADERS = st.sampled_from(
    [
        *(
            "type",
            "name",
            "label",
            "label::French (fr)",
            "hint:English",
            "relevant",
            "calculation",
            "required",
        ),
        *(
            "choice_filter",
            "parameters",
            "appearance",
            "default",
            "trigger",
            "repeat_count",
            "media::image",
            "block",
        ),
        *(
            "list_name",
            "list name",
            "value",
            "save_to",
            "bind::foo",
            "body::x::y",
            "jr:count",
            "::",
            "label::",
            "?",
        ),
        *(
            "default_language",
            "form_title",
            "form_id",
            "instance_name",
            "name",
            "style",
            "allow_choice_duplicates",
        ),
    ]
)
CELLS = st.sampled_from(
    [
        *(
            "",
            "",
            "a",
            "b",
            "c",
            "x y",
            "1",
            "meta",
            "data",
            "${a}",
            "${b}",
            "${",
            "${a} + 1",
            "concat(",
            "yes",
            "no",
        ),
        *(
            "text",
            "note",
            "calculate",
            "select_one l",
            "select_multiple l or_other",
            "rank l",
            "range",
            "audit",
        ),
        *(
            "begin group",
            "end group",
            "begin repeat",
            "end repeat",
            "begin_score",
            "end_score",
            "background-geopoint",
        ),
        *("begin loop over l", "begin loop", "end loop", "%(label)s", "50 %"),
        *(
            "l",
            "French (fr)",
            "table-list",
            "randomize=true",
            "<b>",
            "&",
            "now()",
            "osm l",
            "select_one ${a}",
        ),
    ]
)
SHEETS = st.sampled_from(
    ["survey", "choices", "settings", "entities", "external_choices", "osm", "library"]
)


@st.composite
def grids(draw: st.DrawFn) -> list[list[str]]:
    header = draw(st.lists(HEADERS, max_size=6))
    rows = draw(st.lists(st.lists(CELLS, min_size=len(header), max_size=len(header)), max_size=6))
    return [header, *rows]


@st.composite
def surveys(draw: st.DrawFn) -> list[list[str]]:
    """Close to a real form, so that pyxform is reached."""
    header = ["type", "name", "label", *draw(st.lists(HEADERS, max_size=3, unique=True))]
    return [
        header,
        *([draw(CELLS), name, "Label", *(draw(CELLS) for _ in header[3:])] for name in "abcd"),
    ]


@given(st.dictionaries(SHEETS, grids(), max_size=4), surveys())
def test_parsed_or_rejected(sheets: dict[str, list[list[str]]], survey: list[list[str]]) -> None:
    for workbook in (
        sheets,
        {"survey": survey, **{name: grid for name, grid in sheets.items() if name != "library"}},
    ):
        try:
            found = parse_workbook(csv_with_sections({**workbook}), "any")
        except FormRejected as rejection:
            messages = [
                rejection.error,
                *(problem.message for problem in [*rejection.problems, *rejection.warnings]),
            ]
        else:
            assert isinstance(found, Form | Library)
            messages = [warning.message for warning in found.warnings]
        assert all(translate(message, language) for message in messages for language in Language)
