"""A workbook for each problem and warning, with its place; and a form with ten mistakes."""

from collections.abc import Mapping

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.xlsform import Form, Issue, parse_workbook
from tests.imports.xlsform.forms import (
    GOOD,
    HEADER,
    LIST,
    LOCKING,
    TREES,
    Place,
    book,
    place,
    profiles,
    rejection,
)
from tests.imports.xlsform.workbooks import Rows, xlsx

PROBLEMS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "missing_type": (book(GOOD, "|age|Age"), Place("survey", 3, "type")),
    "missing_column": (book("age|Age", "|B", header="name|label"), Place("survey", 1, "type")),
    "no_questions": (
        {"survey": [[], [*HEADER, "disabled"], ["text", "a", "A", "yes"]]},
        Place("survey", 2, None),
    ),
    "unknown_type": (book("txt|a|A", header="Type|name|label"), Place("survey", 2, "Type")),
    "missing_name": (book([], "text||A"), Place("survey", 3, "name")),
    "invalid_name": (book("text|1st|A", header="type|Name|label"), Place("survey", 2, "Name")),
    "reserved_name": (book("text|meta|A"), Place("survey", 2, "name")),
    "duplicate_name": (book(GOOD, "integer|good|A"), Place("survey", 3, "name")),
    "missing_label": (book("text|a"), Place("survey", 2, "label")),
    "missing_calculation": (book("calculate|a"), Place("survey", 2, "calculation")),
    "unmatched_end": (book(GOOD, "end group"), Place("survey", 3, "type")),
    "unclosed_group": (book("begin repeat|r|R", GOOD), Place("survey", 2, "type")),
    "missing_choice_list": (book("select_one|a|A"), Place("survey", 2, "type")),
    "unknown_choice_list": (book("select_one x|a|A"), Place("survey", 2, "type")),
    "unknown_choice_file": (book("select_one_from_file x.pdf|a|A"), Place("survey", 2, "type")),
    "repeat_in_loop": (
        book(
            "begin loop over x|l|L",
            "begin repeat|r|R",
            GOOD,
            "end repeat",
            "end loop",
            choices=[LIST, "x|a|A", "x|b|B"],
        ),
        Place("survey", 3, "type"),
    ),
    "broken_placeholder": (
        book("begin loop over x|l|L", "text|a|100% sure?", "end loop", choices=[LIST, "x|a|A"]),
        Place("survey", 3, "label"),
    ),
    "invalid_choice_name": (
        book("begin loop over x|l|L", GOOD, "end loop", choices=[LIST, "x|1|A"]),
        Place("choices", 2, "name"),
    ),
    "missing_loop_label": (
        book("begin loop over x|l|L", GOOD, "end loop", choices=[LIST, "x|a"]),
        Place("choices", 2, "label"),
    ),
    "earlier_answers": (
        book("begin repeat|r|R", GOOD, "end repeat", "select_multiple ${good}|a|A"),
        Place("survey", 5, "type"),
    ),
    "missing_choice_filter": (
        book("select_one_external x|a|A", external_choices=[LIST, "x|1|One"]),
        Place("survey", 2, "choice_filter"),
    ),
    "or_other_with_filter": (
        book(
            "select_one x or_other|a|A|name = 1", columns="Choice Filter", choices=[LIST, "x|1|One"]
        ),
        Place("survey", 2, "Choice Filter"),
    ),
    "or_other_without_list": (
        book("begin repeat|r|R", GOOD, "end repeat", "select_one ${good} or_other|a|A"),
        Place("survey", 5, "type"),
    ),
    "external_in_repeat": (
        book("begin repeat|r|R", GOOD, "csv-external|f", "end repeat"),
        Place("survey", 4, "type"),
    ),
    "duplicate_instance": (
        book("csv-external|f", "begin group|g|G", GOOD, "xml-external|f", "end group"),
        Place("survey", 5, "name"),
    ),
    "deep_nesting": (
        book(*(["begin group", f"g{n}", "G"] for n in range(1500)), GOOD, *[["end group"]] * 1500),
        Place("survey", 102, "type"),
    ),
    "missing_choice_name": (
        book("select_one x|a|A", Choices=[LIST, "x||One"]),
        Place("Choices", 2, "name"),
    ),
    "duplicate_choice": (
        book("select_one x|a|A", choices=[LIST, "x|1|One", "x|1|Two"]),
        Place("choices", 3, "name"),
    ),
    "choice_name_with_space": (
        book("select_multiple x|a|A", choices=[LIST, "x|1 2|One"]),
        Place("choices", 2, "name"),
    ),
    "unknown_reference": (
        book(GOOD, "text|a|A|${god} = 'x'", columns="Relevance"),
        Place("survey", 3, "Relevance"),
    ),
    "ambiguous_reference": (
        book(GOOD, "begin group|g|G", GOOD, "end group", "note|n|You said ${good}"),
        Place("survey", 6, "label"),
    ),
    "broken_reference": (book("note|a|Hello ${your name}"), Place("survey", 2, "label")),
    "broken_expression": (
        book(GOOD, "calculate|a||${good} +* 3", columns="calculation"),
        Place("survey", 3, "calculation"),
    ),
    "duplicate_column": (book(GOOD, columns="relevant|Relevance"), Place("survey", 1, "Relevance")),
    "missing_choice_label": (
        book(
            *([f"{kind} x", kind, "A"] for kind in ("select_one", "select_multiple", "rank")),
            choices=[LIST, "y|1|One", "x|1", "x|2"],
        ),
        Place("choices", 3, "label"),
    ),
    "missing_header_row": (
        book(
            "select_one x|a|A",
            "select_multiple y|b|B",
            choices=[[], [], "x|1|One", "x|2|Two", "y|1|One"],
        ),
        Place("choices", 3, None),
    ),
    "invalid_attribute": (
        book(GOOD, "text|a|A|x", "text|b|B|x", columns="bind::a b"),
        Place("survey", 3, "bind::a b"),
    ),
    "undeclared_prefix": (
        book(GOOD, "text|a|A|x", columns="Bind::foo:bar"),
        Place("survey", 3, "Bind::foo:bar"),
    ),
    "not_compiled": (
        book(GOOD, "range|a|A|step=0", columns="parameters"),
        Place("survey", 3, None),
    ),
    "broken_parameters": (
        book("integer|a|A|rows", columns="Parameters"),
        Place("survey", 2, "Parameters"),
    ),
    "unknown_parameter": (
        book("text|a|A|colour=red", columns="parameters"),
        Place("survey", 2, "parameters"),
    ),
    "invalid_parameter": (
        book("image|a|A|max-pixels=many", columns="parameters"),
        Place("survey", 2, "parameters"),
    ),
    "missing_trigger": (book(GOOD, "background-geopoint|a"), Place("survey", 3, "trigger")),
    "broken_trigger": (
        book(GOOD, "text|a|A|good", columns="trigger"),
        Place("survey", 3, "trigger"),
    ),
    "hidden_trigger": (
        book("calculate|a|||1", "text|good|Good|${a}", columns="trigger|calculation"),
        Place("survey", 3, "trigger"),
    ),
    "missing_locking_profile": (profiles("restriction", "choice_add"), Place(LOCKING, 1, None)),
    "missing_restriction": (profiles("restriction|p", "|locked"), Place(LOCKING, 2, "restriction")),
    "unknown_restriction": (
        profiles("restriction|p", "choice_eat|locked"),
        Place(LOCKING, 2, "restriction"),
    ),
    "group_as_trigger": (
        book("begin group|g|G", GOOD, "end group", "text|a|A|${good}, ${g}", columns="trigger"),
        Place("survey", 5, "trigger"),
    ),
    "missing_image": (
        book("phone number|a|A|a.png", columns="media::big-image"),
        Place("survey", 2, "media::image"),
    ),
    "reference_without_answer": (
        book("csv-external|f", "note|n|See ${f}"),
        Place("survey", 3, "label"),
    ),
    "missing_entities": (
        book("text|good|Good|x", columns="save_to"),
        Place("survey", 2, "save_to"),
    ),
    "unknown_entity_list": (
        book("text|good|Good|birds#x", columns="save_to", entities=TREES),
        Place("survey", 2, "save_to"),
    ),
    "ambiguous_save_to": (
        book("text|good|Good|x", columns="save_to", entities=[*TREES, "birds|Bird"]),
        Place("survey", 2, "save_to"),
    ),
    "invalid_save_to": (
        book("text|good|Good|Name", columns="save_to", entities=TREES),
        Place("survey", 2, "save_to"),
    ),
    "duplicate_save_to": (
        book("text|good|Good|x", "text|a|A|trees#x", columns="save_to", entities=TREES),
        Place("survey", 3, "save_to"),
    ),
    "save_to_of_group": (
        book("begin group|g|G|x", GOOD, "end group", columns="save_to", entities=TREES),
        Place("survey", 2, "save_to"),
    ),
    "missing_entity_list": (
        book(GOOD, entities=["list_name|label", "|Tree"]),
        Place("entities", 2, "list_name"),
    ),
    "invalid_entity_list": (
        book(GOOD, entities=["list_name|label", "tr.ees|Tree"]),
        Place("entities", 2, "list_name"),
    ),
    "duplicate_entity_list": (
        book(GOOD, entities=[*TREES, "trees|Tree"]),
        Place("entities", 3, "list_name"),
    ),
    "missing_entity_label": (
        book(GOOD, entities=["list_name|label", "trees"]),
        Place("entities", 2, "label"),
    ),
    "missing_entity_id": (
        book(GOOD, entities=["list_name|label|update_if", "trees|Tree|1 = 1"]),
        Place("entities", 2, "entity_id"),
    ),
    "missing_update_if": (
        book(GOOD, entities=["list_name|create_if|entity_id", "trees|1 = 1|${good}"]),
        Place("entities", 2, "update_if"),
    ),
    "unknown_entity_column": (
        book(GOOD, entities=["list_name|label|Colour", "trees|Tree|green"]),
        Place("entities", 2, "Colour"),
    ),
}
WARNINGS: dict[str, tuple[Mapping[str, Rows], Place]] = {
    "missing_list_name": (
        book("select_one x|a|A", choices=[LIST, "x|1|One", "|2"]),
        Place("choices", 3, "list_name"),
    ),
    "duplicate_column": (
        book(GOOD, settings=["id_string|form_id", "x|y"]),
        Place("settings", 1, "form_id"),
    ),
    "default_language_spelling": (
        book(
            GOOD, header="type|name|label::English (en)", settings=["default_language", "English"]
        ),
        Place("settings", 2, "default_language"),
    ),
    "missing_column": (
        book(GOOD, choices=["name|label", "1|One", "2|Two"]),
        Place("choices", 1, "list_name"),
    ),
    "ignored_row": (book(GOOD, "|||remark", columns="hint"), Place("survey", 3, None)),
    "live_only_type": (
        book("begin_kobomatrix|m|M", GOOD, "end_kobomatrix"),
        Place("survey", 2, "type"),
    ),
    "similar_name": (book(GOOD, "text|Good|A"), Place("survey", 3, "name")),
    "unused_choice_list": (book(GOOD, choices=[LIST, "x|1|One"]), Place("choices", 2, "list_name")),
    "missing_choice_label": (
        book("select_one x|a|A", choices=[LIST, "x|1|One", "x|2"]),
        Place("choices", 3, "label"),
    ),
    "missing_header_row": (book(GOOD, choices=["x|1|One", "x|2|Two"]), Place("choices", 1, None)),
    "unknown_default_language": (
        book(
            GOOD,
            header="type|name|label::French (fr)",
            settings=["form_title|default_language", "T|English (en)"],
        ),
        Place("settings", 2, "default_language"),
    ),
    "unknown_column": (
        book(GOOD, "text|a|A|Ana", columns="Reviewer"),
        Place("survey", 3, "Reviewer"),
    ),
    "missing_header": (book(GOOD, "text|a|A|B"), Place("survey", 3, None)),
    "unused_sheet": (book(GOOD, choises=[LIST, "x|1|One"]), Place("choises", None, None)),
    "bad_language_code": (
        book(GOOD, header="type|name|label::Frnch (xx1)"),
        Place("survey", 1, "label::Frnch (xx1)"),
    ),
    "missing_translation": (
        book("text|a|A", header="type|name|label::English (en)|label::French (fr)"),
        Place("survey", 2, "label::French (fr)"),
    ),
    "unknown_function": (
        book("calculate|a||sqroot(4)", columns="calculation"),
        Place("survey", 2, "calculation"),
    ),
    "compiler_warning": (book(GOOD, [], "simserial|a"), Place("survey", 4, None)),
    "ignored_rows": (book(GOOD, *([] for _ in range(61)), "end group"), Place("survey", 64, None)),
    "repeated_name": (
        book(GOOD, "begin group|g|G", "integer|good|Again", "end group"),
        Place("survey", 4, "name"),
    ),
    "unknown_locking_profile": (
        book("text|good|Good|strict", columns="kobo--locking-profile"),
        Place("survey", 2, "kobo--locking-profile"),
    ),
    "unknown_lock": (profiles("restriction|p", "choice_add|yes"), Place(LOCKING, 2, "p")),
    "undeclared_prefix": (
        book("calculate|a||instance('x')/root/item[1]/fuel:gas", columns="calculation"),
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


def test_a_list_that_may_be_meant_is_not_called_unused() -> None:
    data = xlsx(book("select_one colour|a|A", choices=[LIST, "color|red|Red"]))
    rejected = rejection(data)
    assert [problem.code for problem in rejected.problems] == ["unknown_choice_list"]
    assert rejected.warnings == []


@pytest.mark.parametrize(
    ("count", "codes"), [(20_000, {"missing_name"}), (20_001, {"too_many_rows"})]
)
def test_survey_with_too_many_rows(count: int, codes: set[str]) -> None:
    """Blank rows do not count. Beyond the limit, nothing else is checked."""
    lines = ["type,name,label", *["text,,A"] * 9, "", *["text,,A"] * (count - 9)]
    problems = rejection("\n".join(lines).encode()).problems
    assert {problem.code for problem in problems} == codes
    assert problems[-1].row == count + 2


def test_ten_mistakes_are_reported_at_once() -> None:
    data = xlsx(
        book(
            "txt|first|First",
            "text||Second",
            "text|3rd|Third",
            "text|fourth|Fourth|${fith} = 1",
            "integer|fourth|Fifth",
            "select_one colour|sixth|Sixth",
            "calculate|seventh|||concat(${first}",
            "date|eighth",
            "begin group|ninth|Ninth",
            "select_one size|tenth|Tenth",
            columns="relevant|calculation",
            choices=[LIST, "size|big|Big", "size|big|Large"],
        )
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
