"""Messages of an import: stored as they were meant, and said in the language of whoever reads them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.imports.clipping import clipped

if TYPE_CHECKING:  # the libraries that read forms are heavy, and who only shows messages needs none of them
    from fieldgate.imports.xlsform import Problem

MOST_PROBLEMS = 500  # of a kind, for one import
MOST_BYTES = 128 * 1024  # of problems of a kind as they are stored: a list shows a thousand imports
LONGEST_VALUE = 300  # characters of what somebody wrote, in a sentence of ours

INTO_COLLECTION = Message("A form cannot replace a collection. Choose another destination, or none.")


def stored_sentence(message: Message) -> dict[str, Any]:
    """A message as a row can hold it."""
    return {"text": message.text, "values": {name: _stored_value(value) for name, value in message.values.items()}}


def stored_problems(problems: "Sequence[Problem]") -> list[dict[str, Any]]:
    """The first problems of a form, and how many more there are; who has many begins with these."""
    kept: list[dict[str, Any]] = []
    size = 0
    for problem in problems[:MOST_PROBLEMS]:
        stored = _stored_problem(problem)
        size += len(msgspec.json.encode(stored))
        if size > MOST_BYTES:
            break
        kept.append(stored)
    if len(kept) < len(problems):
        more = Message("There are {count} more, which are not listed here.", count=len(problems) - len(kept))
        sentence = stored_sentence(more)
        kept.append({"sheet": None, "row": None, "column": None, "code": "more", "message": sentence})
    return kept


def _stored_problem(problem: "Problem") -> dict[str, Any]:
    return {
        "sheet": clipped(problem.sheet, LONGEST_VALUE),
        "row": problem.row,
        "column": clipped(problem.column, LONGEST_VALUE),
        "code": problem.code,
        "message": stored_sentence(problem.message),
    }


def _stored_value(value: object) -> object:
    if isinstance(value, Message):
        value = str(value)
    return clipped(value, LONGEST_VALUE) if isinstance(value, str) else value


def messages_in(language: Language, stored: dict[str, Any]) -> dict[str, Any]:
    """Stored messages as a reader of this language gets them."""
    shown = dict(stored)
    if "error" in shown:
        shown["error"] = _said(language, shown["error"])
    for key in ("problems", "warnings"):
        if key in shown:
            shown[key] = [{**problem, "message": _said(language, problem["message"])} for problem in shown[key]]
    return shown


def _said(language: Language, sentence: dict[str, Any]) -> str:
    text, values = sentence["text"], sentence["values"]
    return translate(Message(text, **values), language)
