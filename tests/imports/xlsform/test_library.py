"""Library sheets: blocks, single questions, and their tags."""

import pytest

from fieldgate.imports.xlsform import FormRejected, Library, parse_workbook
from fieldgate.imports.xlsform.library import MAX_BLOCKS
from tests.imports.xlsform.workbooks import xlsx


def test_blocks_questions_and_tags() -> None:
    library = parse_workbook(
        xlsx(
            {
                "library": [
                    ["block", "type", "name", "label", "tag:health", "tag:food aid"],
                    ["Water", "select_one yes_no", "well", "Is there a well?", "yes"],
                    [None, "integer", "age", "How old are you?", None, 1],
                    ["Water", "geopoint", "where", "Where is it?", "no", "none"],
                ],
                "choices": [["list_name", "name", "label"], ["yes_no", "yes", "Yes"]],
            }
        ),
        "library",
    )
    assert isinstance(library, Library)
    assert [(item.name, item.kind, item.tags) for item in library.blocks] == [
        ("Water", "block", ["health"]),
        ("How old are you?", "question", ["food aid"]),
    ]
    block, question = library.blocks
    assert [row["name"] for row in block.content["survey"]] == ["well", "where"]
    assert (block.summary["row_count"], block.summary["geo"]) == (2, True)
    assert set(block.summary["columns"]) == {"type", "name", "label", "select_from_list_name"}
    assert question.content["settings"] == {}
    assert [choice["name"] for choice in block.content["choices"]] == ["yes"]
    assert question.content["choices"] == [], "it uses none"
    assert not library.warnings


def library_of(questions: list[list[object]], choices: list[list[object]]) -> Library:
    header: list[object] = ["type", "name", "label"]
    lists: list[object] = ["list_name", "name", "label"]
    library = parse_workbook(
        xlsx({"library": [header, *questions], "choices": [lists, *choices]}), "library"
    )
    assert isinstance(library, Library)
    return library


def rejection(questions: list[list[object]], choices: list[list[object]]) -> FormRejected:
    with pytest.raises(FormRejected) as raised:
        library_of(questions, choices)
    return raised.value


def test_limits_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    many = rejection([["text", f"q{n}", "Q"] for n in range(MAX_BLOCKS + 1)], [])
    assert (many.error_type, str(MAX_BLOCKS) in str(many.error)) == ("too_large", True)
    monkeypatch.setattr("fieldgate.imports.xlsform.content.MAX_CONTENT_BYTES", 2 * 1024 * 1024)
    selects: list[list[object]] = [["select_one a", f"q{n}", "Q"] for n in range(100)]
    large = rejection(selects, [["a", n, "A choice"] for n in range(1000)])
    assert (large.error_type, "2 MiB" in str(large.error)) == ("too_large", True)
