"""Mistakes that the checks find, beyond one for each code in `test_issues`."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import pytest

from tests.imports.xlsform.forms import GOOD, HEADER, LIST, LOCKING, Row, book, profiles, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx

CHOICES: Rows = [LIST, ["x", "a", "A"], ["x", "b", "B"]]
TOWNS: Rows = [LIST, ["towns", "San José", "San José"]]
BEGIN, END = ["begin loop over x", "l", "L"], ["end loop"]
GROUP, END_GROUP = ["begin group", "g", "G"], ["end group"]
REPEAT, END_REPEAT = ["begin repeat", "r", "R"], ["end repeat"]


def survey(
    *rows: Row, column: str = "relevant", choices: Sequence[Row] = CHOICES
) -> dict[str, Rows]:
    """A survey whose rows have one more column."""
    return book(*rows, columns=column, choices=choices)


def settings(name: str, value: str) -> dict[str, Rows]:
    return book(GOOD, settings=[name, value])


# A workbook, the code of its only problem, and its sheet, row and column.
PROBLEMS: list[tuple[Mapping[str, Rows], str, tuple[str | None, int | None, str | None]]] = [
    # Choices
    (
        survey("select_multiple towns|a|A", choices=TOWNS),
        "choice_name_with_space",
        ("choices", 2, "name"),
    ),
    (
        survey("select_one towns|a|A", "select_multiple  towns|b|B", choices=TOWNS),
        "choice_name_with_space",
        ("choices", 2, "name"),
    ),
    (
        survey(
            "select_one x or_other|a|A",
            choices=["list_name|name|label::French (fr)", "x|1|Un", "x|2"],
        ),
        "missing_choice_label",
        ("choices", 3, "label::French (fr)"),
    ),
    (book("osm x|a|A", osm=[LIST, "y|1|One"]), "unknown_choice_list", ("survey", 2, "type")),
    (
        {"library": [HEADER, ["select_one x", "a", "A"]]},
        "unknown_choice_list",
        ("library", 2, "type"),
    ),
    # Columns
    (
        book("How?|So", "Why?|Thus", header="question|answer"),
        "missing_column",
        ("survey", 1, "type"),
    ),
    (book(GOOD, GOOD, header="type|nam|label"), "missing_column", ("survey", 1, "name")),
    (book(GOOD, "text|b|B", header="type|name|lable"), "missing_column", ("survey", 1, "label")),
    (
        survey("select_one x|a|A", choices=["list|label", "x|A", "x|B"]),
        "missing_column",
        ("choices", 1, "name"),
    ),
    # Formulas
    (
        survey("calculate|a||${b c} + 1", column="calculation"),
        "broken_reference",
        ("survey", 2, "calculation"),
    ),
    (
        settings("instance_name", "concat(${good}"),
        "broken_expression",
        ("settings", 2, "instance_name"),
    ),
    # External files
    (
        survey("csv-external|f", "select_one_from_file f.xml|a|A"),
        "duplicate_instance",
        ("survey", 3, "type"),
    ),
    (survey("csv-external|x", "select_one x|a|A"), "duplicate_instance", ("survey", 2, "name")),
    (
        survey("csv-external|f", GROUP, "csv-external|f", END_GROUP),
        "duplicate_instance",
        ("survey", 4, "name"),
    ),
    (
        survey("select_one_from_file x.csv|a|A", "select_one x|b|B"),
        "duplicate_instance",
        ("survey", 2, "type"),
    ),
    # Names
    (
        survey("select_one x or_other|a|A", "text|a_other|B"),
        "duplicate_name",
        ("survey", 3, "name"),
    ),
    (
        survey("text|r_count|A", [*REPEAT, "1 + 1"], GOOD, END_REPEAT, column="repeat_count"),
        "duplicate_name",
        ("survey", 2, "name"),
    ),
    (
        survey(GROUP, REPEAT, GOOD, END_REPEAT, END_GROUP, REPEAT, GOOD, END_REPEAT),
        "duplicate_name",
        ("survey", 7, "name"),
    ),
    (settings("name", "1 x"), "invalid_name", ("settings", 2, "name")),
    (survey("audit|log", GOOD), "invalid_name", ("survey", 2, "name")),
    (
        survey("calculate|a||3", column="default"),
        "missing_calculation",
        ("survey", 2, "calculation"),
    ),
    # Groups
    (survey(GROUP, REPEAT, GOOD, END_GROUP), "unclosed_group", ("survey", 3, "type")),
    (survey(GROUP, GOOD, END_REPEAT), "unmatched_end", ("survey", 4, "type")),
    # Loops
    (survey("begin loop|l|L", GOOD, END), "missing_choice_list", ("survey", 2, "type")),
    (survey("begin loop over y|l|L", GOOD, END), "unknown_choice_list", ("survey", 2, "type")),
    (
        survey("begin loop over ${good}|l|L", GOOD, END),
        "unknown_choice_list",
        ("survey", 2, "type"),
    ),
    (survey(BEGIN, GOOD), "unclosed_group", ("survey", 2, "type")),
    (survey(BEGIN, GOOD, END_GROUP), "unmatched_end", ("survey", 4, "type")),
    (survey(GOOD, END), "unmatched_end", ("survey", 3, "type")),
    (survey(BEGIN, GOOD, GOOD, END), "duplicate_name", ("survey", 4, "name")),
    (survey(BEGIN, GOOD, "note|n|So ${good}", END), "ambiguous_reference", ("survey", 4, "label")),
    (survey(BEGIN, GOOD, END, "note|n|So ${good}"), "ambiguous_reference", ("survey", 5, "label")),
    (survey(BEGIN, GOOD, END, "note|n|So ${a}"), "unknown_reference", ("survey", 5, "label")),
    (
        survey(BEGIN, GROUP, GOOD, END_GROUP, END, "note|n|So ${good}"),
        "ambiguous_reference",
        ("survey", 7, "label"),
    ),
    (survey(BEGIN, "text|q|%(colour)s", END), "broken_placeholder", ("survey", 3, "label")),
    (survey(BEGIN, "text|q|%(label)", END), "broken_placeholder", ("survey", 3, "label")),
    (survey(BEGIN, "text|q|50 %", END), "broken_placeholder", ("survey", 3, "label")),
    # Names of elements and attributes of the XForm
    (survey("text|a:b|A"), "undeclared_prefix", ("survey", 2, "name")),
    (
        survey("note|n|N|x", column="bind::nodeset"),
        "invalid_attribute",
        ("survey", 2, "bind::nodeset"),
    ),
    (
        survey("text|good|Good|x", [*REPEAT, "x"], END_REPEAT, column="Body::nodeset"),
        "invalid_attribute",
        ("survey", 3, "Body::nodeset"),
    ),
    (
        survey("text|good|Good|int", "select_one x|s|S|int", column="bind::type"),
        "invalid_attribute",
        ("survey", 3, "bind::type"),
    ),
    (settings("attribute::a b", "1"), "invalid_attribute", ("settings", 2, "attribute::a b")),
    (settings("attribute::a:b", "1"), "undeclared_prefix", ("settings", 2, "attribute::a:b")),
    (settings("name", "a:b"), "undeclared_prefix", ("settings", 2, "name")),
    (settings("namespaces", '1a="http://x.org"'), "malformed_xform", ("settings", 2, None)),
    # Locking profiles
    (profiles("profile", "choice_add"), "missing_column", (LOCKING, 1, "restriction")),
    (profiles([], "restriction|locked", "choice_add"), "reserved_name", (LOCKING, 2, "locked")),
    (profiles("restriction|p|p", "choice_add"), "duplicate_column", (LOCKING, 1, "p")),
    (profiles("restriction|p", ["x" * 10000]), "unknown_restriction", (LOCKING, 2, "restriction")),
]


@pytest.mark.parametrize(("sheets", "code", "where"), PROBLEMS)
def test_problem(
    sheets: Mapping[str, Rows], code: str, where: tuple[str | None, int | None, str | None]
) -> None:
    found = rejection(xlsx(sheets)).problems
    assert [(each.code, (each.sheet, each.row, each.column)) for each in found] == [(code, where)]


@pytest.mark.parametrize("kind", ["survey", "library"])
@pytest.mark.parametrize(
    "rows", [[], [HEADER], [HEADER, [None, None, " "]]], ids=["nothing", "header", "spaces"]
)
def test_sheet_without_questions(kind: str, rows: Rows) -> None:
    (problem,) = rejection(xlsx({kind: rows, "choices": [LIST]})).problems
    assert problem.code == "no_questions"


PARAMETERS = [
    ("text", "rows=3=4", ["broken_parameters"]),
    ("select_one x", "randomize=maybe", ["invalid_parameter"]),
    ("rank x", "seed=3", ["invalid_parameter"]),
    ("range", "start=one; finish=2", ["invalid_parameter", "unknown_parameter"]),
    ("background-audio", "quality=external", ["invalid_parameter"]),
    ("geotrace", "incremental=no", ["invalid_parameter"]),
    ("select_one_from_file f.csv", "value=a*", ["invalid_parameter"]),
    ("audit", "location-priority=balanced", ["invalid_parameter"]),
]


@pytest.mark.parametrize(("kind", "parameters", "codes"), PARAMETERS)
def test_parameters(kind: str, parameters: str, codes: list[str]) -> None:
    row = [kind, None if kind == "audit" else "a", "A", parameters]
    found = rejection(xlsx(survey(row, GOOD, column="parameters"))).problems
    assert sorted(problem.code for problem in found) == codes


# A workbook, and the message of its only problem.
MESSAGES: list[tuple[Mapping[str, Rows], str]] = [
    (
        survey("text|good|Good|${good} = 1 2"),
        "This formula cannot be read from character 13 on: 2. Check its brackets, quotes and operators.",
    ),
    (
        survey([*GOOD, f"1 2{'0' * 99}"]),
        f"This formula cannot be read from character 3 on: 2{'0' * 29}…. Check its brackets, quotes and operators.",
    ),
    (
        survey("text|good|Good|1 ="),
        "This formula ends too early: something is missing after its last character.",
    ),
    (
        survey("text|good|Good|(${good} = 1"),
        "( at character 1 of this formula is never closed. Add ) where it should end.",
    ),
    (
        survey("text|good|Good|1 = $( good )"),
        "This formula cannot be read from character 5 on: $( good ). Check its brackets, quotes and operators. Write"
        " ${good} instead of $( good ).",
    ),
    (
        survey("text|good|Good|. = 'l’eau"),
        "This formula cannot be read from character 8 on: eau. Check its brackets, quotes and operators. Write straight"
        " quotation marks instead of curly ones; around a text with an apostrophe, write double ones.",
    ),
    (
        survey([*GOOD, datetime(2024, 2, 1)]),
        "This formula cannot be read from character 12 on: 00:00:00. Check its brackets, quotes and operators. The"
        " spreadsheet has made a date of it: format the cell as text, and enter the formula again.",
    ),
    (survey("txet|a|A"), "txet is not a question type. Did you mean text?"),
    (
        survey("number|a|A"),
        "number is not a question type. Enter one of the types of the XLSForm standard.",
    ),
    (
        survey("speed violations list|a"),
        "speed violations list belongs to SurveyCTO. Here, use audit.",
    ),
    (
        survey("sensor_stream light_level|a"),
        "sensor_stream light_level belongs to SurveyCTO. There is nothing like it here: remove the row.",
    ),
    (survey("DataBindOnly|a"), "DataBindOnly belongs to CommCare. Here, use calculate."),
    (survey("Likert scale|a"), "Likert scale belongs to Survey123. Here, use select_one."),
    (
        survey("text|fuel:a|A"),
        'The prefix fuel is not declared. Write fuel="http://example.org/fuel" in column namespaces of sheet settings,'
        " with the address that belongs to the prefix, or remove the prefix.",
    ),
    (
        book(GOOD, columns="hint|label"),
        "Columns C and E are both named label. Keep one of the two.",
    ),
    (
        profiles("restriction|p||p", "choice_add"),
        "Columns B and D are both named p. Keep one of the two.",
    ),
]


@pytest.mark.parametrize(("sheets", "message"), MESSAGES)
def test_message(sheets: Mapping[str, Rows], message: str) -> None:
    assert [str(each.message) for each in rejection(xlsx(sheets)).problems] == [message]


@pytest.mark.parametrize(
    "sheets",
    [
        {"choices": CHOICES, "Questionnaire": [HEADER, GOOD]},
        {"choices": CHOICES},
        {"Sheet1": [["Name", "Age"], ["Amina", "30"]]},
    ],
)
def test_workbook_without_a_survey_sheet(sheets: Mapping[str, Rows]) -> None:
    rejected = rejection(xlsx(sheets))
    assert rejected.error_type == "no_usable_sheet"
    assert str(rejected.error) == (
        f"The workbook has no sheet named survey. Its sheets are: {', '.join(sheets)}. Give the one with the questions"
        " the name survey."
    )
