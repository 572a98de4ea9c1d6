"""Messages as plain data: to store them in a row, or to send them between processes."""

from typing import Any

import msgspec

from fieldgate.i18n.messages import Message, PluralMessage


class MessageData(msgspec.Struct, frozen=True, omit_defaults=True):
    text: str
    values: dict[str, "str | int | float | MessageData | None"]
    plural: str | None = None


def message_to_data(message: Message) -> MessageData:
    """Return the message as data, messages among its values too."""
    values: dict[str, Any] = {
        name: message_to_data(value) if isinstance(value, Message) else value for name, value in message.values.items()
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
