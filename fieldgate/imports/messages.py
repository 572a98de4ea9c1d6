"""Messages of an import: stored as they were meant, and said in the language of whoever reads them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fieldgate.http.language import Language, Message

if TYPE_CHECKING:  # the libraries that read forms are heavy, and who only shows messages needs none of them
    from fieldgate.imports.xlsform import Problem

MOST_PROBLEMS = 500  # of a kind, for one import

INTO_COLLECTION = Message("A form cannot replace a collection. Choose another destination, or none.")


def stored_sentence(message: Message) -> dict[str, Any]:
    """A message as a row can hold it."""
    values = {name: str(value) if isinstance(value, Message) else value for name, value in message.values.items()}
    return {"text": message.text, "values": values}


def stored_problems(problems: "Sequence[Problem]") -> list[dict[str, Any]]:
    """The first problems of a form, and how many more there are; who has so many begins with these."""
    stored = [
        {
            "sheet": problem.sheet,
            "row": problem.row,
            "column": problem.column,
            "code": problem.code,
            "message": stored_sentence(problem.message),
        }
        for problem in problems[:MOST_PROBLEMS]
    ]
    if more := len(problems) - len(stored):
        message = stored_sentence(Message("Not listed here: {count} more.", count=more))
        stored.append({"sheet": None, "row": None, "column": None, "code": "more", "message": message})
    return stored


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
    return language.say(Message(text, **values))
