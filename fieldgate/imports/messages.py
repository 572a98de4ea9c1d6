"""Messages of imports: stored untranslated, translated when they are read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import (
    Message,
    MessageData,
    PluralMessage,
    message_from_data,
    translate,
)
from fieldgate.imports.file_text import truncate
from fieldgate.imports.quoted_values import quote_values

if TYPE_CHECKING:  # xlsform loads heavy libraries, which showing messages does not need
    from fieldgate.imports.xlsform import Issue

MAX_STORED_ISSUES = 500  # problems, and as many warnings, of one import
MAX_STORED_BYTES = (
    128 * 1024
)  # of the problems or warnings of one import: a page lists up to 1000 imports
MAX_VALUE_CHARS = 300  # of a value from the file inside a message

CANNOT_REPLACE_COLLECTION = Message(
    "A form cannot replace a collection. Choose another destination, or none."
)


def serialize_message(message: Message) -> dict[str, Any]:
    """Return the message as JSON data."""
    values = {name: _serialize_value(value) for name, value in message.values.items()}
    stored: dict[str, Any] = {"text": message.text, "values": values}
    if message.plural is not None:
        stored["plural"] = message.plural
    return stored


def serialize_issues(issues: "Sequence[Issue]") -> list[dict[str, Any]]:
    """Return the first issues as JSON data, within the limits, and the number of the others."""
    kept: list[dict[str, Any]] = []
    size = 0
    for issue in issues[:MAX_STORED_ISSUES]:
        stored = _serialize_issue(issue)
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
        kept.append(
            {
                "sheet": None,
                "row": None,
                "column": None,
                "code": "more",
                "message": serialize_message(more),
            }
        )
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
    """Return stored messages translated to this language."""
    localized = dict(stored)
    for key in ("error", "waiting"):
        if key in localized:
            localized[key] = _translate(language, localized[key])
    for key in ("problems", "warnings"):
        if key in localized:
            localized[key] = [
                {**issue, "message": _translate(language, issue["message"])}
                for issue in localized[key]
            ]
    return localized


def _translate(language: Language, stored: dict[str, Any]) -> str:
    return translate(
        quote_values(message_from_data(msgspec.convert(stored, MessageData)), language), language
    )
