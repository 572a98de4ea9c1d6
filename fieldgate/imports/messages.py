"""Messages of an import: stored as they were meant, and said in the language of whoever reads them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate.i18n.languages import Language
from fieldgate.i18n.message_data import MessageData, message_from_data
from fieldgate.i18n.messages import Message, PluralMessage, translate
from fieldgate.imports.clipping import truncate
from fieldgate.imports.former_messages import replace_former_message

if TYPE_CHECKING:  # the libraries that read forms are heavy, and who only shows messages needs none of them
    from fieldgate.imports.xlsform import Issue

MAX_STORED_ISSUES = 500  # of a kind, for one import
MAX_STORED_BYTES = 128 * 1024  # of problems of a kind as they are stored: a list shows a thousand imports
MAX_VALUE_CHARS = 300  # characters of what somebody wrote, in a sentence of ours

CANNOT_REPLACE_COLLECTION = Message("A form cannot replace a collection. Choose another destination, or none.")


def serialize_message(message: Message) -> dict[str, Any]:
    """A message as a row can hold it."""
    values = {name: _serialize_value(value) for name, value in message.values.items()}
    stored: dict[str, Any] = {"text": message.text, "values": values}
    if message.plural is not None:
        stored["plural"] = message.plural
    return stored


def serialize_issues(issues: "Sequence[Issue]") -> list[dict[str, Any]]:
    """The first problems of a form, and how many more there are; who has many begins with these."""
    kept: list[dict[str, Any]] = []
    size = 0
    for problem in issues[:MAX_STORED_ISSUES]:
        stored = _serialize_issue(problem)
        size += len(msgspec.json.encode(stored))
        if size > MAX_STORED_BYTES:
            break
        kept.append(stored)
    if len(kept) < len(issues):
        more = PluralMessage(
            "There is {count} more, which is not listed here.",
            "There are {count} more, which are not listed here.",
            len(issues) - len(kept),
        )
        sentence = serialize_message(more)
        kept.append({"sheet": None, "row": None, "column": None, "code": "more", "message": sentence})
    return kept


def _serialize_issue(issue: "Issue") -> dict[str, Any]:
    return {
        "sheet": truncate(issue.sheet, MAX_VALUE_CHARS),
        "row": issue.row,
        "column": truncate(issue.column, MAX_VALUE_CHARS),
        "code": issue.code,
        "message": serialize_message(issue.message),
    }


def _serialize_value(value: object) -> object:
    if isinstance(value, Message):
        return serialize_message(value)
    return truncate(value, MAX_VALUE_CHARS) if isinstance(value, str) else value


def localize_messages(language: Language, stored: dict[str, Any]) -> dict[str, Any]:
    """Stored messages as a reader of this language gets them."""
    shown = dict(stored)
    if "error" in shown:
        shown["error"] = _translate(language, shown["error"])
    for key in ("problems", "warnings"):
        if key in shown:
            shown[key] = [{**problem, "message": _translate(language, problem["message"])} for problem in shown[key]]
    return shown


def _translate(language: Language, stored: dict[str, Any]) -> str:
    message = None if "plural" in stored else replace_former_message(stored["text"], stored["values"])
    return translate(message or message_from_data(msgspec.convert(stored, MessageData)), language)
