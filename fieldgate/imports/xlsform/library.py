"""Parse a library sheet: questions and blocks of questions to be added to forms later."""

from collections.abc import Iterable
from typing import Any

from fieldgate.i18n.messages import PluralMessage
from fieldgate.imports.xlsform.choice_lists import ChoiceLists
from fieldgate.imports.xlsform.content import check_content_size, normalise
from fieldgate.imports.xlsform.form_languages import list_languages
from fieldgate.imports.xlsform.issues import FormRejected
from fieldgate.imports.xlsform.locking import strip_locking
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.parsed_results import LibraryItem
from fieldgate.imports.xlsform.questions import Question
from fieldgate.imports.xlsform.sheet_table import TAG_PREFIX
from fieldgate.imports.xlsform.summary import summarise

MAX_BLOCKS = 2_000  # including single questions

_FALSE_WORDS = frozenset({"false", "0", "no", "n", "none"})


def build_items(form: ParsedForm) -> list[LibraryItem]:
    """Blocks and single questions, in the order of their first rows."""
    parts = _group_by_block(form.questions)
    if len(parts) > MAX_BLOCKS:
        message = PluralMessage(
            "The library has more than {count} block or question. Split the file.",
            "The library has more than {count} blocks and questions. Split the file.",
            MAX_BLOCKS,
        )
        raise FormRejected("too_large", message)
    languages = list_languages((form.survey, form.choices), form.settings.get("default_language"))
    lists = ChoiceLists(form.sheets)
    items = []

    def contents() -> Iterable[dict[str, Any]]:
        for block, questions in parts:
            items.append(_build_item(form, block, questions, lists, languages))
            yield items[-1].content

    check_content_size(contents())
    return items


def _group_by_block(questions: Iterable[Question]) -> list[tuple[str | None, list[Question]]]:
    """The rows of a block may be anywhere in the sheet. A row without a block is an item of its own."""
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


def _build_item(
    form: ParsedForm,
    block: str | None,
    questions: list[Question],
    lists: ChoiceLists,
    languages: list[str | None],
) -> LibraryItem:
    content = strip_locking(
        normalise(form.survey, questions, lists.used_by(questions), {}, languages)
    )
    for row in content["survey"]:
        for key in [key for key in row if key == "block" or key.startswith(TAG_PREFIX)]:
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
            cell.column.key.removeprefix(TAG_PREFIX)
            for question in questions
            for cell in question.row.cells
            if cell.column.key.startswith(TAG_PREFIX) and cell.text.lower() not in _FALSE_WORDS
        )
    )
