"""Messages of pyxform are about rows of the author's workbook."""

import pytest

from fieldgate.imports.xlsform.compile.compiler_messages import find_place, strip_row
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.questions import parse_questions
from fieldgate.imports.xlsform.sheet_table import SheetTable
from fieldgate.imports.xlsform.workbook_reader import Sheet


def table(kind: str, rows: list[list[str]], name: str = "") -> SheetTable:
    return SheetTable.from_sheet(kind, Sheet(name or kind, list(enumerate(rows, 1))))


def form() -> ParsedForm:
    survey = table(
        "survey",
        [
            [],
            ["type", "name", "label"],
            [],
            ["text", "good", "A"],
            ["select_one_from_file towns.csv", "town", "B"],
        ],
        "Survey",
    )
    choices = table("choices", [["list_name", "name"], ["x", "1"]])
    return ParsedForm(survey, {"choices": choices}, parse_questions(survey, IssueCollector()))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[row : 3] Something is wrong.", ("Survey", 4)),
        ("[row : 1] On the 'choices' sheet, something is wrong.", ("choices", 1)),
        ("[row : 2] On the 'choices' sheet, something is wrong with 'good'.", ("choices", 2)),
        ("On the 'choices' sheet, something is wrong.", ("choices", None)),
        ("On the 'osm' sheet, something is wrong.", (None, None)),
        ("On the 'survey' sheet, something is wrong.", ("Survey", None)),
        ("On the 'survey' sheet, something is wrong with 'town'.", ("Survey", 5)),
        ("The survey element named 'good' has no label or hint.", ("Survey", 4)),
        ("There has been a problem trying to replace ${good} with the XPath.", ("Survey", 4)),
        (
            "To use big-image, you must also specify an image for the survey element named town.",
            ("Survey", 5),
        ),
        (
            "The same instance id will be generated. Instance name: 'towns', Existing type: 'file'",
            ("Survey", 5),
        ),
        ("Something is wrong with 'nothing'.", (None, None)),
        ("Something is wrong.", (None, None)),
    ],
)
def test_place(text: str, place: tuple[str | None, int | None]) -> None:
    assert find_place(text, form()) == place


def test_row_numbers_of_pyxform_are_not_shown() -> None:
    assert strip_row("[row : 3] Something is wrong.") == "Something is wrong."
