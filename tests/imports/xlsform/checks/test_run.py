"""Forms without warnings, empty sheets and libraries."""

from collections.abc import Mapping

import pytest

from fieldgate.imports.xlsform import Form, Library, parse_workbook
from tests.imports.xlsform.forms import GOOD, HEADER, LIST, TREES, rejection
from tests.imports.xlsform.workbooks import Rows, xlsx

# Each compiles without warnings.
WITHOUT_WARNINGS: dict[str, Mapping[str, Rows]] = {
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


@pytest.mark.parametrize("case", WITHOUT_WARNINGS)
def test_no_warnings(case: str) -> None:
    form = parse_workbook(xlsx(WITHOUT_WARNINGS[case]), "form")
    assert isinstance(form, Form)
    assert not form.warnings


@pytest.mark.parametrize("kind", ["survey", "library"])
def test_sheet_without_questions(kind: str) -> None:
    empty: tuple[Rows, ...] = ([], [HEADER], [HEADER, [None, None, " "]])
    for rows in empty:
        assert [problem.code for problem in rejection(xlsx({kind: rows, "choices": [LIST]})).problems] == [
            "no_questions"
        ]


def test_names_and_labels_of_libraries_are_not_checked() -> None:
    library = parse_workbook(xlsx({"library": [["block", *HEADER], ["b", "text"], ["b", "text"]]}), "library")
    assert isinstance(library, Library)
    (problem,) = rejection(xlsx({"library": [HEADER, ["select_one x", "a", "A"]]})).problems
    assert (problem.code, problem.sheet) == ("unknown_choice_list", "library")
