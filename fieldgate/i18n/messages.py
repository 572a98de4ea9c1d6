"""Messages for people, and their translation.

translate(Message("Enter a whole number from {low} to {high}.", low=1, high=1000), Language.FRENCH)
translate(PluralMessage("Enter at most {count} word.", "Enter at most {count} words.", 5), Language.ARABIC)
"""

from typing import Any

import msgspec

from fieldgate.i18n.catalogs import load_catalog
from fieldgate.i18n.languages import Language


class Message:
    """A sentence in English with the values of its placeholders, translated when it is shown."""

    __slots__ = ("plural", "text", "values")

    def __init__(self, text: str, **values: object) -> None:
        self.text = text
        self.values = values
        self.plural: str | None = None

    def __str__(self) -> str:
        return translate(self, Language.ENGLISH)


class PluralMessage(Message):
    """A sentence whose form depends on a number, which is its value `count`."""

    __slots__ = ()

    def __init__(self, singular: str, plural: str, count: int, **values: object) -> None:
        super().__init__(singular, count=count, **values)
        self.plural = plural


def translate(message: Message, language: Language, *, format_values: bool = True) -> str:
    """Return the message in a language, or in English where it has no translation.

    Without `format_values` its placeholders stay, for a caller that writes numbers as people do.
    """
    catalog = load_catalog(language)
    if message.plural is None:
        text = catalog.gettext(message.text)
    else:
        text = catalog.ngettext(message.text, message.plural, message.values["count"])  # type: ignore[arg-type]
    if not message.values or not format_values:
        return text
    values = {
        name: translate(value, language) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return text.format(**values)


class MessageData(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    values: dict[str, "str | int | float | MessageData | None"]
    plural: str | None = None


def message_to_data(message: Message) -> MessageData:
    """Return the message as data, messages among its values too."""
    values: dict[str, Any] = {
        name: message_to_data(value) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return MessageData(message.text, values, message.plural)


def message_from_data(data: MessageData) -> Message:
    """Return the message that `message_to_data` was given. Raise ValueError if a plural has no number."""
    values = {
        name: message_from_data(value) if isinstance(value, MessageData) else value
        for name, value in data.values.items()
    }
    if data.plural is None:
        return Message(data.text, **values)
    count = values.pop("count", None)
    if not isinstance(count, int):
        raise ValueError("a plural message needs a count")
    return PluralMessage(data.text, data.plural, count, **values)
