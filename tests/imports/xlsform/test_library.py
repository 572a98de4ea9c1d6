"""Library sheets: blocks, single questions, and their tags."""

from fieldgate.imports.xlsform import Library, understand
from tests.imports.xlsform.workbooks import xlsx


def test_blocks_questions_and_tags() -> None:
    library = understand(
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
    assert question.content["choices"] == block.content["choices"]
    assert not library.warnings
