"""A workbook for each problem and warning, with its place; and a form with ten mistakes."""

from collections.abc import Mapping

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.xlsform import Form, Issue, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, TREES, Place, place, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx

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
    "missing_choice_label": (
        {
            "survey": [HEADER, *([f"{kind} x", kind, "A"] for kind in ("select_one", "select_multiple", "rank"))],
            "choices": [LIST, ["y", "1", "One"], ["x", "1"], ["x", "2"]],
        },
        Place("choices", 3, "label"),
    ),
    "missing_header_row": (
        {
            "survey": [HEADER, ["select_one x", "a", "A"], ["select_multiple y", "b", "B"]],
            "choices": [[], [], ["x", "1", "One"], ["x", "2", "Two"], ["y", "1", "One"]],
        },
        Place("choices", 3, None),
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
    "hidden_trigger": (
        {"survey": [[*HEADER, "trigger", "calculation"], ["calculate", "a", None, None, "1"], [*GOOD, "${a}"]]},
        Place("survey", 3, "trigger"),
    ),
    "missing_locking_profile": (
        {"survey": [HEADER, GOOD], "kobo--locking-profiles": [["restriction"], ["choice_add"]]},
        Place("kobo--locking-profiles", 1, None),
    ),
    "missing_restriction": (
        {"survey": [HEADER, GOOD], "kobo--locking-profiles": [["restriction", "p"], [None, "locked"]]},
        Place("kobo--locking-profiles", 2, "restriction"),
    ),
    "unknown_restriction": (
        {"survey": [HEADER, GOOD], "kobo--locking-profiles": [["restriction", "p"], ["choice_eat", "locked"]]},
        Place("kobo--locking-profiles", 2, "restriction"),
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
        {"survey": [HEADER, ["select_one x", "a", "A"]], "choices": [LIST, ["x", "1", "One"], ["x", "2"]]},
        Place("choices", 3, "label"),
    ),
    "missing_header_row": (
        {"survey": [HEADER, GOOD], "choices": [["x", "1", "One"], ["x", "2", "Two"]]},
        Place("choices", 1, None),
    ),
    "unknown_default_language": (
        {
            "survey": [["type", "name", "label::French (fr)"], GOOD],
            "settings": [["form_title", "default_language"], ["T", "English (en)"]],
        },
        Place("settings", 2, "default_language"),
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
    "compiler_warning": ({"survey": [HEADER, GOOD, [], ["simserial", "a"]]}, Place("survey", 4, None)),
    "ignored_rows": (
        {"survey": [HEADER, GOOD, *([] for _ in range(61)), ["end group"]]},
        Place("survey", 64, None),
    ),
    "repeated_name": (
        {"survey": [HEADER, GOOD, ["begin group", "g", "G"], ["integer", "good", "Again"], ["end group"]]},
        Place("survey", 4, "name"),
    ),
    "unknown_locking_profile": (
        {"survey": [[*HEADER, "kobo--locking-profile"], [*GOOD, "strict"]]},
        Place("survey", 2, "kobo--locking-profile"),
    ),
    "unknown_lock": (
        {"survey": [HEADER, GOOD], "kobo--locking-profiles": [["restriction", "p"], ["choice_add", "yes"]]},
        Place("kobo--locking-profiles", 2, "p"),
    ),
    "undeclared_prefix": (
        {"survey": [[*HEADER, "calculation"], ["calculate", "a", None, "instance('x')/root/item[1]/fuel:gas"]]},
        Place("survey", 2, "calculation"),
    ),
}


def assert_translated(issue: Issue) -> None:
    """Its message has all its values in every language."""
    for language in Language:
        assert "{" not in translate(issue.message, language).replace("${", "")


@pytest.mark.parametrize("code", PROBLEMS)
def test_problem(code: str) -> None:
    sheets, where = PROBLEMS[code]
    rejected = rejection(xlsx(sheets))
    assert rejected.error_type == "invalid_form"
    assert [(problem.code, place(problem)) for problem in rejected.problems] == [(code, where)]
    assert_translated(rejected.problems[0])


@pytest.mark.parametrize("code", WARNINGS)
def test_warning(code: str) -> None:
    sheets, where = WARNINGS[code]
    form = parse_workbook(xlsx(sheets), "form")
    assert [(warning.code, place(warning)) for warning in form.warnings] == [(code, where)]
    assert_translated(form.warnings[0])
    assert isinstance(form, Form)
    assert form.xform.startswith("<?xml")


@pytest.mark.parametrize(("count", "codes"), [(20_000, {"missing_name"}), (20_001, {"too_many_rows"})])
def test_survey_with_too_many_rows(count: int, codes: set[str]) -> None:
    """Blank rows do not count. Beyond the limit, nothing else is checked."""
    lines = ["type,name,label", *["text,,A"] * 9, "", *["text,,A"] * (count - 9)]
    problems = rejection("\n".join(lines).encode()).problems
    assert {problem.code for problem in problems} == codes
    assert problems[-1].row == count + 2


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
    rejected = rejection(data)
    assert [(problem.code, problem.sheet, problem.row) for problem in rejected.problems] == [
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
    assert str(rejected.error) == (
        "The form was not imported. Sheet survey, row 2, column type: txt is not a question type. Did you mean text?"
        " There are 9 other problems."
    )
