"""One broken workbook for every problem and warning, with the very place; and a form with ten mistakes at once."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.xlsform import Form, FormRejected, Issue, Library, parse_workbook
from tests.imports.xlsform.workbooks import Rows, csv_with_sections, xlsx

HEADER = ["type", "name", "label"]
GOOD = ["text", "good", "Good"]
LIST = ["list_name", "name", "label"]
TREES: list[list[str]] = [["list_name", "label"], ["trees", "Tree"]]


class Place(NamedTuple):
    sheet: str | None
    row: int | None
    column: str | None


def place(problem: Issue) -> Place:
    return Place(problem.sheet, problem.row, problem.column)


PROBLEMS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "missing_type": ({"survey": [HEADER, GOOD, [None, "age", "Age"]]}, Place("survey", 3, "type")),
    "missing_column": ({"survey": [["name", "label"], ["age", "Age"], [None, "B"]]}, Place("survey", 1, "type")),
    "no_questions": (
        {"survey": [[], [*HEADER, "disabled"], ["text", "a", "A", "yes"]]},
        Place("survey", 2, None),
    ),
    "unknown_type": ({"survey": [["Type", "name", "label"], ["txt", "a", "A"]]}, Place("survey", 2, "Type")),
    "missing_name": ({"survey": [HEADER, [], ["text", None, "A"]]}, Place("survey", 3, "name")),
    "invalid_name": ({"survey": [["type", "Name", "label"], ["text", "1st", "A"]]}, Place("survey", 2, "Name")),
    "reserved_name": ({"survey": [HEADER, ["text", "meta", "A"]]}, Place("survey", 2, "name")),
    "duplicate_name": ({"survey": [HEADER, GOOD, ["integer", "good", "A"]]}, Place("survey", 3, "name")),
    "missing_label": ({"survey": [HEADER, ["text", "a"]]}, Place("survey", 2, "label")),
    "missing_calculation": ({"survey": [HEADER, ["calculate", "a"]]}, Place("survey", 2, "calculation")),
    "unmatched_end": ({"survey": [HEADER, GOOD, ["end group"]]}, Place("survey", 3, "type")),
    "unclosed_group": ({"survey": [HEADER, ["begin repeat", "r", "R"], GOOD]}, Place("survey", 2, "type")),
    "missing_choice_list": ({"survey": [HEADER, ["select_one", "a", "A"]]}, Place("survey", 2, "type")),
    "unknown_choice_list": ({"survey": [HEADER, ["select_one x", "a", "A"]]}, Place("survey", 2, "type")),
    "unknown_choice_file": (
        {"survey": [HEADER, ["select_one_from_file x.pdf", "a", "A"]]},
        Place("survey", 2, "type"),
    ),
    "repeat_in_loop": (
        {
            "survey": [
                HEADER,
                ["begin loop over x", "l", "L"],
                ["begin repeat", "r", "R"],
                GOOD,
                ["end repeat"],
                ["end loop"],
            ],
            "choices": [LIST, ["x", "a", "A"], ["x", "b", "B"]],
        },
        Place("survey", 3, "type"),
    ),
    "broken_placeholder": (
        {
            "survey": [HEADER, ["begin loop over x", "l", "L"], ["text", "a", "100% sure?"], ["end loop"]],
            "choices": [LIST, ["x", "a", "A"]],
        },
        Place("survey", 3, "label"),
    ),
    "invalid_choice_name": (
        {"survey": [HEADER, ["begin loop over x", "l", "L"], GOOD, ["end loop"]], "choices": [LIST, ["x", "1", "A"]]},
        Place("choices", 2, "name"),
    ),
    "missing_loop_label": (
        {"survey": [HEADER, ["begin loop over x", "l", "L"], GOOD, ["end loop"]], "choices": [LIST, ["x", "a"]]},
        Place("choices", 2, "label"),
    ),
    "earlier_answers": (
        {
            "survey": [
                HEADER,
                ["begin repeat", "r", "R"],
                GOOD,
                ["end repeat"],
                ["select_multiple ${good}", "a", "A"],
            ]
        },
        Place("survey", 5, "type"),
    ),
    "missing_choice_filter": (
        {"survey": [HEADER, ["select_one_external x", "a", "A"]], "external_choices": [LIST, ["x", "1", "One"]]},
        Place("survey", 2, "choice_filter"),
    ),
    "or_other_with_filter": (
        {
            "survey": [[*HEADER, "Choice Filter"], ["select_one x or_other", "a", "A", "name = 1"]],
            "choices": [LIST, ["x", "1", "One"]],
        },
        Place("survey", 2, "Choice Filter"),
    ),
    "or_other_without_list": (
        {
            "survey": [
                HEADER,
                ["begin repeat", "r", "R"],
                GOOD,
                ["end repeat"],
                ["select_one ${good} or_other", "a", "A"],
            ]
        },
        Place("survey", 5, "type"),
    ),
    "external_in_repeat": (
        {"survey": [HEADER, ["begin repeat", "r", "R"], GOOD, ["csv-external", "f"], ["end repeat"]]},
        Place("survey", 4, "type"),
    ),
    "duplicate_instance": (
        {
            "survey": [
                HEADER,
                ["csv-external", "f"],
                ["begin group", "g", "G"],
                GOOD,
                ["xml-external", "f"],
                ["end group"],
            ]
        },
        Place("survey", 5, "name"),
    ),
    "deep_nesting": (
        {
            "survey": [
                HEADER,
                *(["begin group", f"g{n}", "G"] for n in range(1500)),
                GOOD,
                *([["end group"]] * 1500),
            ]
        },
        Place("survey", 102, "type"),
    ),
    "missing_choice_name": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "Choices": [LIST, ["x", None, "One"]]},
        Place("Choices", 2, "name"),
    ),
    "duplicate_choice": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1", "One"], ["x", "1", "Two"]]},
        Place("choices", 3, "name"),
    ),
    "choice_name_with_space": (
        {"survey": [HEADER, ["select_multiple x", "a", "A"]], "choices": [LIST, ["x", "1 2", "One"]]},
        Place("choices", 2, "name"),
    ),
    "unknown_reference": (
        {"survey": [[*HEADER, "Relevance"], GOOD, ["text", "a", "A", "${god} = 'x'"]]},
        Place("survey", 3, "Relevance"),
    ),
    "ambiguous_reference": (
        {
            "survey": [
                HEADER,
                GOOD,
                ["begin group", "g", "G"],
                GOOD,
                ["end group"],
                ["note", "n", "You said ${good}"],
            ]
        },
        Place("survey", 6, "label"),
    ),
    "broken_reference": ({"survey": [HEADER, ["note", "a", "Hello ${your name}"]]}, Place("survey", 2, "label")),
    "broken_expression": (
        {"survey": [[*HEADER, "calculation"], GOOD, ["calculate", "a", None, "${good} +* 3"]]},
        Place("survey", 3, "calculation"),
    ),
    "duplicate_column": (
        {"survey": [[*HEADER, "relevant", "Relevance"], GOOD]},
        Place("survey", 1, "Relevance"),
    ),
    "unknown_default_language": (
        {
            "survey": [["type", "name", "label::French (fr)"], GOOD],
            "settings": [["form_title", "default_language"], ["T", "English (en)"]],
        },
        Place("settings", 2, "default_language"),
    ),
    "invalid_attribute": (
        {"survey": [[*HEADER, "bind::a b"], GOOD, ["text", "a", "A", "x"], ["text", "b", "B", "x"]]},
        Place("survey", 3, "bind::a b"),
    ),
    "undeclared_prefix": (
        {"survey": [[*HEADER, "Bind::foo:bar"], GOOD, ["text", "a", "A", "x"]]},
        Place("survey", 3, "Bind::foo:bar"),
    ),
    "not_compiled": (
        {"survey": [[*HEADER, "parameters"], GOOD, ["range", "a", "A", "step=0"]]},
        Place("survey", 3, None),
    ),
    "broken_parameters": (
        {"survey": [[*HEADER, "Parameters"], ["integer", "a", "A", "rows"]]},
        Place("survey", 2, "Parameters"),
    ),
    "unknown_parameter": (
        {"survey": [[*HEADER, "parameters"], ["text", "a", "A", "colour=red"]]},
        Place("survey", 2, "parameters"),
    ),
    "invalid_parameter": (
        {"survey": [[*HEADER, "parameters"], ["image", "a", "A", "max-pixels=many"]]},
        Place("survey", 2, "parameters"),
    ),
    "missing_trigger": ({"survey": [HEADER, GOOD, ["background-geopoint", "a"]]}, Place("survey", 3, "trigger")),
    "broken_trigger": (
        {"survey": [[*HEADER, "trigger"], GOOD, ["text", "a", "A", "good"]]},
        Place("survey", 3, "trigger"),
    ),
    "group_as_trigger": (
        {
            "survey": [
                [*HEADER, "trigger"],
                ["begin group", "g", "G"],
                GOOD,
                ["end group"],
                ["text", "a", "A", "${good}, ${g}"],
            ]
        },
        Place("survey", 5, "trigger"),
    ),
    "missing_image": (
        {"survey": [[*HEADER, "media::big-image"], ["phone number", "a", "A", "a.png"]]},
        Place("survey", 2, "media::image"),
    ),
    "reference_without_answer": (
        {"survey": [HEADER, ["csv-external", "f"], ["note", "n", "See ${f}"]]},
        Place("survey", 3, "label"),
    ),
    "missing_entities": ({"survey": [[*HEADER, "save_to"], [*GOOD, "x"]]}, Place("survey", 2, "save_to")),
    "unknown_entity_list": (
        {"survey": [[*HEADER, "save_to"], [*GOOD, "birds#x"]], "entities": TREES},
        Place("survey", 2, "save_to"),
    ),
    "ambiguous_save_to": (
        {"survey": [[*HEADER, "save_to"], [*GOOD, "x"]], "entities": [*TREES, ["birds", "Bird"]]},
        Place("survey", 2, "save_to"),
    ),
    "invalid_save_to": (
        {"survey": [[*HEADER, "save_to"], [*GOOD, "Name"]], "entities": TREES},
        Place("survey", 2, "save_to"),
    ),
    "duplicate_save_to": (
        {"survey": [[*HEADER, "save_to"], [*GOOD, "x"], ["text", "a", "A", "trees#x"]], "entities": TREES},
        Place("survey", 3, "save_to"),
    ),
    "save_to_of_group": (
        {
            "survey": [[*HEADER, "save_to"], ["begin group", "g", "G", "x"], GOOD, ["end group"]],
            "entities": TREES,
        },
        Place("survey", 2, "save_to"),
    ),
    "missing_entity_list": (
        {"survey": [HEADER, GOOD], "entities": [["list_name", "label"], [None, "Tree"]]},
        Place("entities", 2, "list_name"),
    ),
    "invalid_entity_list": (
        {"survey": [HEADER, GOOD], "entities": [["list_name", "label"], ["tr.ees", "Tree"]]},
        Place("entities", 2, "list_name"),
    ),
    "duplicate_entity_list": (
        {"survey": [HEADER, GOOD], "entities": [*TREES, ["trees", "Tree"]]},
        Place("entities", 3, "list_name"),
    ),
    "missing_entity_label": (
        {"survey": [HEADER, GOOD], "entities": [["list_name", "label"], ["trees"]]},
        Place("entities", 2, "label"),
    ),
    "missing_entity_id": (
        {"survey": [HEADER, GOOD], "entities": [["list_name", "label", "update_if"], ["trees", "Tree", "1 = 1"]]},
        Place("entities", 2, "entity_id"),
    ),
    "missing_update_if": (
        {
            "survey": [HEADER, GOOD],
            "entities": [["list_name", "create_if", "entity_id"], ["trees", "1 = 1", "${good}"]],
        },
        Place("entities", 2, "update_if"),
    ),
    "unknown_entity_column": (
        {"survey": [HEADER, GOOD], "entities": [["list_name", "label", "Colour"], ["trees", "Tree", "green"]]},
        Place("entities", 2, "Colour"),
    ),
}

WARNINGS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "missing_list_name": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1", "One"], [None, "2"]]},
        Place("choices", 3, "list_name"),
    ),
    "duplicate_column": (
        {"survey": [HEADER, GOOD], "settings": [["id_string", "form_id"], ["x", "y"]]},
        Place("settings", 1, "form_id"),
    ),
    "default_language_spelling": (
        {
            "survey": [["type", "name", "label::English (en)"], GOOD],
            "settings": [["default_language"], ["English"]],
        },
        Place("settings", 2, "default_language"),
    ),
    "missing_column": (
        {"survey": [HEADER, GOOD], "choices": [["name", "label"], ["1", "One"], ["2", "Two"]]},
        Place("choices", 1, "list_name"),
    ),
    "ignored_row": ({"survey": [[*HEADER, "hint"], GOOD, [None, None, None, "remark"]]}, Place("survey", 3, None)),
    "live_only_type": (
        {"survey": [HEADER, ["begin_kobomatrix", "m", "M"], GOOD, ["end_kobomatrix"]]},
        Place("survey", 2, "type"),
    ),
    "similar_name": ({"survey": [HEADER, GOOD, ["text", "Good", "A"]]}, Place("survey", 3, "name")),
    "unused_choice_list": (
        {"survey": [HEADER, GOOD], "choices": [LIST, ["x", "1", "One"]]},
        Place("choices", 2, "list_name"),
    ),
    "missing_choice_label": (
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1"]]},
        Place("choices", 2, "label"),
    ),
    "unknown_column": (
        {"survey": [[*HEADER, "Reviewer"], GOOD, ["text", "a", "A", "Ana"]]},
        Place("survey", 3, "Reviewer"),
    ),
    "missing_header": ({"survey": [HEADER, GOOD, ["text", "a", "A", "B"]]}, Place("survey", 3, None)),
    "unused_sheet": ({"survey": [HEADER, GOOD], "choises": [LIST, ["x", "1", "One"]]}, Place("choises", None, None)),
    "bad_language_code": (
        {"survey": [["type", "name", "label::Frnch (xx1)"], GOOD]},
        Place("survey", 1, "label::Frnch (xx1)"),
    ),
    "missing_translation": (
        {"survey": [["type", "name", "label::English (en)", "label::French (fr)"], ["text", "a", "A"]]},
        Place("survey", 2, "label::French (fr)"),
    ),
    "unknown_function": (
        {"survey": [[*HEADER, "calculation"], ["calculate", "a", None, "sqroot(4)"]]},
        Place("survey", 2, "calculation"),
    ),
    "compiler_warning": ({"survey": [HEADER, GOOD, [], ["image", "a", "A"]]}, Place("survey", 4, None)),
}


def refused(data: bytes) -> FormRejected:
    with pytest.raises(FormRejected) as refusal:
        parse_workbook(data, "form")
    return refusal.value


@pytest.mark.parametrize("code", PROBLEMS)
def test_problem(code: str) -> None:
    sheets, where = PROBLEMS[code]
    refusal = refused(xlsx(sheets))
    assert refusal.error_type == "invalid_form"
    assert [(problem.code, place(problem)) for problem in refusal.problems] == [(code, where)]


@pytest.mark.parametrize("code", WARNINGS)
def test_warning(code: str) -> None:
    sheets, where = WARNINGS[code]
    form = parse_workbook(xlsx(sheets), "form")
    assert [(warning.code, place(warning)) for warning in form.warnings] == [(code, where)]
    assert isinstance(form, Form)
    assert form.xform.startswith("<?xml")


@pytest.mark.parametrize("language", Language)
def test_every_sentence_can_be_said(language: Language) -> None:
    for sheets, _ in [*PROBLEMS.values(), *WARNINGS.values()]:
        try:
            found = parse_workbook(xlsx(sheets), "form").warnings
        except FormRejected as refusal:
            found = refusal.problems
        for problem in found:
            assert "{" not in translate(problem.message, language).replace("${", "")


def test_ten_mistakes_are_reported_at_once() -> None:
    data = xlsx(
        {
            "survey": [
                ["type", "name", "label", "relevant", "calculation"],
                ["txt", "first", "First"],
                ["text", None, "Second"],
                ["text", "3rd", "Third"],
                ["text", "fourth", "Fourth", "${fith} = 1"],
                ["integer", "fourth", "Fifth"],
                ["select_one colour", "sixth", "Sixth"],
                ["calculate", "seventh", None, None, "concat(${first}"],
                ["date", "eighth"],
                ["begin group", "ninth", "Ninth"],
                ["select_one size", "tenth", "Tenth"],
            ],
            "choices": [LIST, ["size", "big", "Big"], ["size", "big", "Large"]],
        }
    )
    refusal = refused(data)
    assert [(problem.code, problem.sheet, problem.row) for problem in refusal.problems] == [
        ("unknown_type", "survey", 2),
        ("missing_name", "survey", 3),
        ("invalid_name", "survey", 4),
        ("unknown_reference", "survey", 5),
        ("duplicate_name", "survey", 6),
        ("unknown_choice_list", "survey", 7),
        ("broken_expression", "survey", 8),
        ("missing_label", "survey", 9),
        ("unclosed_group", "survey", 10),
        ("duplicate_choice", "choices", 3),
    ]
    assert str(refusal.error) == "The form was not imported. Problems to correct: 10."


def test_sentences_say_what_to_do() -> None:
    sentences = [
        str(problem.message)
        for code in ("unknown_type", "duplicate_name", "unknown_reference", "broken_reference")
        for problem in refused(xlsx(PROBLEMS[code][0])).problems
    ]
    assert sentences == [
        "txt is not a question type. Did you mean text?",
        "The name good is taken by row 2. Choose another name.",
        "No question is named god. Correct the reference, or add the question.",
        "${your name} is not a reference. Write ${name} with the name of a question.",
    ]


def test_a_type_that_resembles_none_gets_no_guess() -> None:
    refusal = refused(xlsx({"survey": [HEADER, ["qwzx", "a", "A"]]}))
    assert str(refusal.problems[0].message).endswith("Enter one of the types of the XLSForm standard.")


def test_what_the_compiler_says_is_passed_on_with_its_row() -> None:
    survey: Rows = [[*HEADER, "parameters"], GOOD, [], ["range", "a", "A", "step=0"]]
    (in_xlsx,) = refused(xlsx({"survey": survey})).problems
    (in_csv,) = refused(csv_with_sections({"survey": survey})).problems
    assert str(in_xlsx.message).startswith("The form could not be compiled: On the 'survey' sheet, the 'parameters'")
    assert (in_xlsx.row, in_csv.row) == (4, 5)


@pytest.mark.parametrize(
    ("sheets", "where", "begins"),
    [
        ({"survey": [HEADER, ["image", "a", "A"]]}, ("survey", 2), "Use the max-pixels parameter"),
        ({"survey": [HEADER, [], ["begin repeat", "r"], GOOD, ["end repeat"]]}, ("survey", 3), "Repeat has no label"),
        ({"survey": [HEADER, ["simserial", "a"]]}, ("survey", 2), "simserial is no longer supported"),
        (
            {
                "survey": [["type", "name", "label::English (en)"], ["select_one x or_other", "a", "A"]],
                "choices": [["list_name", "name", "label::English (en)"], ["x", "b", "B"]],
            },
            (None, None),
            "This form uses or_other and translations",
        ),
    ],
)
def test_what_the_compiler_remarks_is_passed_on(
    sheets: Mapping[str, Rows], where: tuple[str | None, int | None], begins: str
) -> None:
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, (warning.sheet, warning.row)) == ("compiler_warning", where)
    assert str(warning.message).startswith(f"The compiler of forms remarks: {begins}")


def test_what_we_say_in_our_own_words_is_not_said_again() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            ["type", "name", "label::English (en)", "hint::French (fr)"],
            ["select_one x", "good", "A", "B"],
            ["text", "Good", "A", "B"],
        ],
        "choices": [["list_name", "name", "label::English (en)"], ["x", "b"]],
    }
    warnings = parse_workbook(xlsx(sheets), "form").warnings
    assert {warning.code for warning in warnings} == {"similar_name", "missing_choice_label", "missing_translation"}


@pytest.mark.parametrize(
    ("sheets", "code", "where"),
    [
        ({"survey": [HEADER, ["text", "a:b", "A"]]}, "undeclared_prefix", Place("survey", 2, "name")),
        (
            {"survey": [HEADER, GOOD], "settings": [["attribute::a b"], ["1"]]},
            "invalid_attribute",
            Place("settings", 2, "attribute::a b"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["attribute::a:b"], ["1"]]},
            "undeclared_prefix",
            Place("settings", 2, "attribute::a:b"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["name"], ["a:b"]]},
            "undeclared_prefix",
            Place("settings", 2, "name"),
        ),
        (
            {"survey": [HEADER, GOOD], "settings": [["namespaces"], ['1a="http://x.org"']]},
            "malformed_xform",
            Place(None, None, None),
        ),
    ],
)
def test_an_xform_that_is_not_well_formed_is_refused(sheets: Mapping[str, Rows], code: str, where: Place) -> None:
    assert [(problem.code, place(problem)) for problem in refused(xlsx(sheets)).problems] == [(code, where)]


def test_prefixes_may_be_declared() -> None:
    form = parse_workbook(
        xlsx(
            {
                "survey": [[*HEADER, "bind::foo:bar"], [*GOOD, "x"], ["text", "foo:a", "A"]],
                "settings": [["namespaces", "attribute::foo:c"], ['foo="http://x.org"', "1"]],
            }
        ),
        "form",
    )
    assert isinstance(form, Form)
    assert 'foo:bar="x"' in form.xform


@pytest.mark.parametrize("header", ["1a", "a:b", "a::b", "#", "a b"])
def test_a_column_of_choices_that_cannot_be_written_as_xml_has_no_effect(header: str) -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [[*LIST, header], ["x", "1", "One", "remark"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert [(warning.code, warning.column) for warning in form.warnings] == [("unknown_column", header)]
    assert "remark" not in form.xform


@pytest.mark.parametrize(
    ("kind", "parameters", "codes"),
    [
        ("text", "rows = 3", []),
        ("text", "rows=3=4", ["broken_parameters"]),
        ("integer", "anything=goes", []),
        ("select_one x", "randomize=true, seed=3", []),
        ("select_one x", "randomize=maybe", ["invalid_parameter"]),
        ("rank x", "seed=3", ["invalid_parameter"]),
        ("range", "start=one; finish=2", ["invalid_parameter", "unknown_parameter"]),
        ("audio", "quality=external", []),
        ("background-audio", "quality=external", ["invalid_parameter"]),
        ("geotrace", "incremental=no", ["invalid_parameter"]),
        ("select_one_from_file x.csv", "value=Key label=Text", []),
        ("select_one_from_file x.csv", "value=a*", ["invalid_parameter"]),
        ("audit", "location-priority=balanced", ["invalid_parameter"]),
        ("audit", "location-priority=balanced location-min-interval=1 location-max-age=2", []),
    ],
)
def test_parameters(kind: str, parameters: str, codes: list[str]) -> None:
    header = ["type", "name", "label", "parameters"]
    row = [kind, None if kind == "audit" else "a", "A", parameters]
    sheets: Mapping[str, Rows] = {"survey": [header, row, GOOD]}
    if kind.endswith(" x"):
        sheets = {**sheets, "choices": [LIST, ["x", "1", "One"]]}
    if codes:
        assert sorted(problem.code for problem in refused(xlsx(sheets)).problems) == codes
    else:
        assert isinstance(parse_workbook(xlsx(sheets), "form"), Form)


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([["select_one x or_other", "a", "A"], ["text", "a_other", "B"]], 3),
        ([["text", "r_count", "A"], ["begin repeat", "r", "R", "1 + 1"], GOOD, ["end repeat"]], 2),
    ],
)
def test_names_that_a_compiler_makes_are_taken(rows: Rows, row: int) -> None:
    sheets: Mapping[str, Rows] = {"survey": [[*HEADER, "repeat_count"], *rows], "choices": [LIST, ["x", "1", "One"]]}
    (problem,) = refused(xlsx(sheets)).problems
    assert (problem.code, problem.row, problem.column) == ("duplicate_name", row, "name")


def test_the_root_of_a_form_may_have_another_name() -> None:
    repeat: Rows = [HEADER, ["begin repeat", "data", "R"], GOOD, ["end repeat"]]
    assert isinstance(parse_workbook(xlsx({"survey": repeat, "settings": [["name"], ["root"]]}), "form"), Form)
    for settings in ([], [["name"], ["data"]]):
        (problem,) = refused(xlsx({"survey": repeat, "settings": settings})).problems
        assert (problem.code, problem.row) == ("reserved_name", 2)
    (problem,) = refused(xlsx({"survey": [HEADER, GOOD], "settings": [["name"], ["1 x"]]})).problems
    assert (problem.code, place(problem)) == ("invalid_name", Place("settings", 2, "name"))


def test_an_audit_is_called_audit() -> None:
    (problem,) = refused(xlsx({"survey": [HEADER, ["audit", "log"], GOOD]})).problems
    assert (problem.code, place(problem)) == ("invalid_name", Place("survey", 2, "name"))


@pytest.mark.parametrize(("default", "calculated"), [("3", False), ("now()", True)])
def test_a_default_that_is_a_formula_calculates(default: str, calculated: bool) -> None:
    data = xlsx({"survey": [[*HEADER, "default"], ["calculate", "a", None, default]]})
    if calculated:
        assert isinstance(parse_workbook(data, "form"), Form)
    else:
        assert [problem.code for problem in refused(data).problems] == ["missing_calculation"]


def test_choices_with_a_translated_other_need_labels() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x or_other", "a", "A"]],
        "choices": [["list_name", "name", "label::French (fr)"], ["x", "1", "Un"], ["x", "2"]],
    }
    (problem,) = refused(xlsx(sheets)).problems
    assert (problem.code, place(problem)) == ("missing_choice_label", Place("choices", 3, "label::French (fr)"))


@pytest.mark.parametrize("headers", [["lable"], ["Lable", "state"]])
def test_a_column_of_choices_that_looks_like_a_slip_is_mentioned(headers: list[str]) -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [["list_name", "name", "label", *headers], ["x", "1", "One", *headers]],
    }
    (warning,) = parse_workbook(xlsx(sheets), "form").warnings
    assert (warning.code, warning.column) == ("unknown_column", headers[0])
    assert str(warning.message).endswith("Rename it label if that is meant.")


# Each compiles, and none deserves a word.
QUIET: dict[str, Mapping[str, Rows]] = {
    "columns of external choices": {
        "survey": [[*HEADER, "choice_filter"], GOOD, ["select_one_external x", "a", "A", "state = ${good}"]],
        "external_choices": [[*LIST, "state"], ["x", "1", "One", "n"]],
    },
    "columns of choices in a default": {
        "survey": [
            [*HEADER, "default"],
            ["select_one x", "a", "A"],
            ["text", "b", "B", "instance('x')/*/item[foo = 1]/name"],
        ],
        "choices": [[*LIST, "foo"], ["x", "1", "One", "n"]],
    },
    "choices with pictures only": {
        "survey": [HEADER, ["select_one x", "a", "A"]],
        "choices": [["list_name", "name", "media::image"], ["x", "1", "one.png"]],
    },
    "other answers to a list without labels": {
        "survey": [HEADER, ["select_one x or_other", "a", "A"]],
        "choices": [["list_name", "name", "label", "media::image"], ["x", "1", None, "one.png"]],
    },
    "sheets of remarks": {"survey": [HEADER, GOOD], "notes": [["x"]], "readme": [["x"]], "choices_old": [["x"]]},
    "blank rows among entities": {
        "survey": [[*HEADER, "save_to"], [*GOOD, "trees#x"]],
        "entities": [TREES[0], [None, None], TREES[1], [" ", " "]],
    },
    "a formula that is switched off": {"survey": [[*HEADER, "relevant", "disabled"], GOOD, [*GOOD, "1 +* 2", "yes"]]},
    "a formula at the end of a group": {
        "survey": [[*HEADER, "relevant"], ["begin group", "g", "G"], GOOD, ["end group", None, None, "1 +* 2"]]
    },
    "remarks in columns that do not concern the row": {
        "survey": [[*HEADER, "choice_filter", "repeat_count"], [*GOOD, "see below!", "1 +* 2"]]
    },
    "a prefix in a formula": {
        "survey": [[*HEADER, "relevant"], [*GOOD, "/data/foo:x = 1"]],
        "settings": [["namespaces"], ['foo="http://x.org"']],
    },
    "a note without a name": {"survey": [HEADER, ["note", None, "Hi"], ["note", "n", "${generated_note_name_2}"]]},
    "braces without a name": {"survey": [HEADER, ["note", "n", "Write ${} around names"]]},
    "another default language": {
        "survey": [[*HEADER, "label::French (fr)"], [*GOOD, "Bon"]],
        "settings": [["default_language"], ["English (en)"]],
    },
    "the default language as tools call it": {
        "survey": [[*HEADER, "label::French (fr)"], [*GOOD, "Bon"]],
        "settings": [["default_language"], ["default"]],
    },
    "a namespace of the instance": {"survey": [HEADER, GOOD], "settings": [["instance_xmlns"], ["http://x.org"]]},
}


@pytest.mark.parametrize("case", QUIET)
def test_nothing_is_said_of(case: str) -> None:
    form = parse_workbook(xlsx(QUIET[case]), "form")
    assert isinstance(form, Form)
    assert not form.warnings


def test_rows_of_remarks_may_hold_anything() -> None:
    form = parse_workbook(
        xlsx({"survey": [[*HEADER, "relevant"], GOOD, [None, None, None, "1 +* ${nothing}"]]}), "form"
    )
    assert [warning.code for warning in form.warnings] == ["ignored_row"]


def test_the_standard_word_wins_where_a_setting_is_given_twice() -> None:
    for header in (["form_id", "id_string", "form_title", "title"], ["id_string", "form_id", "title", "form_title"]):
        settings: Rows = [header, [f"{name}_value" for name in header]]
        form = parse_workbook(xlsx({"survey": [HEADER, GOOD], "settings": settings}), "form")
        assert isinstance(form, Form)
        assert (form.form_id, form.title) == ("form_id_value", "form_title_value")
        assert 'id="form_id_value"' in form.xform


def test_a_default_language_in_other_words_is_the_one_that_has_columns() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [["type", "name", "label::French (fr)", "label::English (en)"], ["text", "a", "A", "B"]],
        "settings": [["default_language"], ["english"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert form.summary["default_translation"] == "English (en)"
    assert form.xform.count("<translation ") == 2


def test_the_namespace_of_the_instance_is_passed_on() -> None:
    form = parse_workbook(xlsx(QUIET["a namespace of the instance"]), "form")
    assert isinstance(form, Form)
    assert '<data id="form" xmlns="http://x.org"' in form.xform


def test_what_breaks_the_compiler_is_not_said_in_its_words(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object, **named: object) -> None:
        raise KeyError("l")

    monkeypatch.setattr("fieldgate.imports.xlsform.compile.xform_compiler.workbook_to_json", broken)
    (problem,) = refused(xlsx({"survey": [HEADER, GOOD]})).problems
    assert problem.code == "not_compiled"
    assert str(problem.message).startswith("The form cannot be compiled.")
    assert "KeyError" in caplog.text


def test_groups_may_be_nested_a_hundred_times() -> None:
    begins = [["begin group", f"g{number}", "G"] for number in range(100)]
    assert isinstance(parse_workbook(xlsx({"survey": [HEADER, *begins, GOOD, *([["end group"]] * 100)]}), "form"), Form)


@pytest.mark.parametrize(
    ("rows", "row", "column"),
    [
        ([["csv-external", "f"], ["select_one_from_file f.xml", "a", "A"]], 3, "type"),
        ([["csv-external", "x"], ["select_one x", "a", "A"]], 2, "name"),
        ([["select_one_from_file x.csv", "a", "A"], ["select_one x", "b", "B"]], 2, "type"),
    ],
)
def test_files_and_lists_have_different_names(rows: Rows, row: int, column: str) -> None:
    (problem,) = refused(xlsx({"survey": [HEADER, *rows], "choices": [LIST, ["x", "1", "One"]]})).problems
    assert (problem.code, problem.row, problem.column) == ("duplicate_instance", row, column)


def test_one_file_may_be_used_twice() -> None:
    rows: Rows = [HEADER, ["csv-external", "f"], *(["select_one_from_file f.csv", name, "A"] for name in "ab")]
    assert isinstance(parse_workbook(xlsx({"survey": rows}), "form"), Form)


def test_tags_of_osm_questions_are_looked_for_where_there_is_such_a_sheet() -> None:
    survey: Rows = [HEADER, ["osm x", "a", "A"]]
    assert isinstance(parse_workbook(xlsx({"survey": survey}), "form"), Form)
    (problem,) = refused(xlsx({"survey": survey, "osm": [LIST, ["y", "1", "One"]]})).problems
    assert problem.code == "unknown_choice_list"


def test_a_group_that_is_ended_twice_is_one_mistake() -> None:
    rows: Rows = [HEADER, ["begin group", "g", "G"], ["begin repeat", "r", "R"], GOOD, ["end group"]]
    assert [(problem.code, problem.row) for problem in refused(xlsx({"survey": rows})).problems] == [
        ("unclosed_group", 3)
    ]
    rows = [HEADER, ["begin group", "g", "G"], GOOD, ["end repeat"]]
    assert [(problem.code, problem.row) for problem in refused(xlsx({"survey": rows})).problems] == [
        ("unmatched_end", 4)
    ]


@pytest.mark.parametrize(
    ("sheets", "sheet", "column"),
    [
        ({"survey": [["question", "answer"], ["How?", "So"], ["Why?", "Thus"]]}, "survey", "type"),
        ({"survey": [["type", "nam", "label"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "name"),
        ({"survey": [["type", "name", "lable"], ["text", "a", "A"], ["text", "b", "B"]]}, "survey", "label"),
        ({"survey": [HEADER, GOOD], "choices": [["list", "label"], ["x", "A"], ["x", "B"]]}, "choices", "name"),
    ],
)
def test_a_column_that_is_not_there_is_one_mistake(sheets: Mapping[str, Rows], sheet: str, column: str) -> None:
    refusal = refused(xlsx(sheets))
    assert [(problem.code, place(problem)) for problem in refusal.problems] == [
        ("missing_column", Place(sheet, 1, column))
    ]
    assert "ignored_row" not in {warning.code for warning in refusal.warnings}


CHOICES: Rows = [LIST, ["x", "a", "A"], ["x", "b", "B"]]
BEGIN, END = ["begin loop over x", "l", "L"], ["end loop"]


@pytest.mark.parametrize(
    ("survey", "expected"),
    [
        ([HEADER, ["begin loop", "l", "L"], GOOD, END], [("missing_choice_list", 2)]),
        ([HEADER, ["begin loop over y", "l", "L"], GOOD, END], [("unknown_choice_list", 2)]),
        ([HEADER, ["begin loop over ${good}", "l", "L"], GOOD, END], [("unknown_choice_list", 2)]),
        ([HEADER, ["begin loop over x or_other", "l", "L"], GOOD, END], [("unknown_type", 2), ("unmatched_end", 4)]),
        ([HEADER, BEGIN, GOOD], [("unclosed_group", 2)]),
        ([HEADER, BEGIN, GOOD, ["end group"]], [("unmatched_end", 4)]),
        ([HEADER, GOOD, END], [("unmatched_end", 3)]),
        ([HEADER, BEGIN, GOOD, GOOD, END], [("duplicate_name", 4)]),
        ([HEADER, BEGIN, GOOD, ["note", "n", "So ${good}"], END], [("ambiguous_reference", 4)]),
        ([HEADER, BEGIN, GOOD, END, ["note", "n", "So ${good}"]], [("ambiguous_reference", 5)]),
        ([HEADER, BEGIN, GOOD, END, ["note", "n", "So ${a}"]], [("unknown_reference", 5)]),
        ([HEADER, BEGIN, ["text", "q", "%(colour)s"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "%(label)"], END], [("broken_placeholder", 3)]),
        ([HEADER, BEGIN, ["text", "q", "50 %"], END], [("broken_placeholder", 3)]),
    ],
)
def test_what_is_wrong_with_loops(survey: Rows, expected: list[tuple[str, int]]) -> None:
    found = refused(xlsx({"survey": survey, "choices": CHOICES})).problems
    assert [(problem.code, problem.row) for problem in found] == expected


def test_a_reference_into_a_loop_is_explained() -> None:
    rows: Rows = [HEADER, BEGIN, GOOD, END, ["note", "n", "So ${good}"]]
    (problem,) = refused(xlsx({"survey": rows, "choices": CHOICES})).problems
    assert str(problem.message) == (
        "good is asked for each choice of a loop, so that it is unclear which answer is meant."
        " Refer to a question outside the loop."
    )


def test_names_may_repeat_in_other_groups_but_not_for_repeats() -> None:
    def groups(kind: str) -> Rows:
        row = [f"begin {kind}", "same", "Same"]
        inner = [row, ["text", "a", "A"], [f"end {kind}"]]
        return [HEADER, ["begin group", "g", "G"], *inner, ["end group"], *inner]

    assert isinstance(parse_workbook(xlsx({"survey": groups("group")}), "form"), Form)
    (problem,) = refused(xlsx({"survey": groups("repeat")})).problems
    assert (problem.code, problem.row) == ("duplicate_name", 7)


def test_a_formula_with_a_broken_reference_is_one_mistake() -> None:
    rows: Rows = [[*HEADER, "calculation"], ["calculate", "a", None, "${b c} + 1"]]
    assert [problem.code for problem in refused(xlsx({"survey": rows})).problems] == ["broken_reference"]


def test_disabled_rows_and_rows_of_remarks_are_not_checked() -> None:
    rows: Rows = [[*HEADER, "disabled"], GOOD, ["nonsense", "good", "${nothing}", "yes"]]
    form = parse_workbook(xlsx({"survey": rows}), "form")
    assert isinstance(form, Form)
    assert form.row_count == 1


def test_choices_may_have_columns_for_filters_and_duplicates_where_allowed() -> None:
    sheets: Mapping[str, Rows] = {
        "survey": [
            [*HEADER, "choice_filter"],
            ["select_one town", "town", "Town"],
            ["select_one street", "street", "Street", "of_town = ${town}"],
        ],
        "choices": [
            [*LIST, "of_town", "remarks"],
            ["town", "a", "A", None, "north"],
            ["street", "main", "Main street", "a"],
            ["street", "main", "Main street", "b"],
            [None, None, None, None, "to be continued"],
        ],
        "settings": [["allow_choice_duplicates"], ["yes"]],
    }
    form = parse_workbook(xlsx(sheets), "form")
    assert isinstance(form, Form)
    assert not form.warnings
    assert "<remarks>north</remarks>" in form.xform


@pytest.mark.parametrize(
    ("sheets", "error_type"),
    [
        ({"survey": [HEADER, GOOD], "library": [HEADER, GOOD]}, "both_sheets"),
        ({"questions": [HEADER, GOOD], "choices": [LIST]}, "no_usable_sheet"),
    ],
)
def test_workbooks_that_are_no_form(sheets: Mapping[str, Rows], error_type: str) -> None:
    refusal = refused(xlsx(sheets))
    assert refusal.error_type == error_type
    assert not refusal.problems


@pytest.mark.parametrize("kind", ["survey", "library"])
def test_a_sheet_without_questions_replaces_nothing(kind: str) -> None:
    empty: tuple[Rows, ...] = ([], [HEADER], [HEADER, [None, None, " "]])
    for rows in empty:
        assert [problem.code for problem in refused(xlsx({kind: rows, "choices": [LIST]})).problems] == ["no_questions"]


@pytest.mark.parametrize("sheets", [{"Sheet1": []}, {"Sheet1": [], "Sheet2": [[None, " "]]}])
def test_a_blank_workbook_is_no_form(sheets: Mapping[str, Rows]) -> None:
    assert refused(xlsx(sheets)).error_type == "no_usable_sheet"


def test_a_library_is_checked_too_but_for_names_and_labels() -> None:
    library = parse_workbook(xlsx({"library": [["block", *HEADER], ["b", "text"], ["b", "text"]]}), "library")
    assert isinstance(library, Library)
    (problem,) = refused(xlsx({"library": [HEADER, ["select_one x", "a", "A"]]})).problems
    assert (problem.code, problem.sheet) == ("unknown_choice_list", "library")
