"""A library sheet: questions and blocks of questions to be put into forms later."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.content import normalise
from fieldgate.imports.xlsform.issues import Problem, Refused
from fieldgate.imports.xlsform.languages import languages
from fieldgate.imports.xlsform.lists import Lists
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.size import refuse_if_large
from fieldgate.imports.xlsform.summary import summarise

MOST_BLOCKS = 2_000  # blocks and single questions of one library

_TAG = "tag::"
_UNTAGGED = frozenset({"false", "0", "no", "n", "none"})


class LibraryItem(msgspec.Struct):
    """One asset of the collection. `name` is the block's, or else what the question is labelled or called."""

    name: str | None
    kind: Literal["block", "question"]
    content: dict[str, Any]
    summary: dict[str, Any]
    tags: list[str]


class Library(msgspec.Struct):
    """A library sheet understood."""

    blocks: list[LibraryItem]
    warnings: list[Problem]


def blocks(draft: Draft) -> list[LibraryItem]:
    """Blocks and single questions in the order in which the sheet first mentions them."""
    parts = _parts(draft.questions)
    if len(parts) > MOST_BLOCKS:
        message = Message("The library has more than {count} blocks and questions. Split the file.", count=MOST_BLOCKS)
        raise Refused("too_large", message)
    spoken = languages((draft.survey, draft.choices), draft.settings.get("default_language"))
    lists = Lists(draft.sheets)
    items = []

    def contents() -> Iterable[dict[str, Any]]:
        for block, questions in parts:
            items.append(_item(draft, block, questions, lists, spoken))
            yield items[-1].content

    refuse_if_large(contents())
    return items


def _parts(questions: Iterable[Question]) -> list[tuple[str | None, list[Question]]]:
    """A block may be continued anywhere in the sheet; a row without block stands for itself."""
    parts: list[tuple[str | None, list[Question]]] = []
    blocks: dict[str, list[Question]] = {}
    for question in questions:
        block = question.row.text("block")
        if block is None:
            parts.append((None, [question]))
        elif block in blocks:
            blocks[block].append(question)
        else:
            blocks[block] = [question]
            parts.append((block, blocks[block]))
    return parts


def _item(
    draft: Draft, block: str | None, questions: list[Question], lists: Lists, spoken: list[str | None]
) -> LibraryItem:
    content = normalise(draft.survey, questions, lists.used_by(questions), {}, spoken)
    for row in content["survey"]:
        for key in [key for key in row if key == "block" or key.startswith(_TAG)]:
            del row[key]
    first = questions[0].row
    return LibraryItem(
        name=block or first.text("label") or first.text("name"),
        kind="question" if block is None else "block",
        content=content,
        summary=summarise(content),
        tags=_tags(questions),
    )


def _tags(questions: Iterable[Question]) -> list[str]:
    return list(
        dict.fromkeys(
            cell.column.key.removeprefix(_TAG)
            for question in questions
            for cell in question.row.cells
            if cell.column.key.startswith(_TAG) and cell.text.lower() not in _UNTAGGED
        )
    )
