"""Values from a file inside messages: in quotation marks, and without effect on the direction of the text around them.

translate(quote_values(Message("No question is named {name}.", name="age"), language), language)  # … named “age”.

The placeholder decides, so that messages need no marks of their own, and stored messages get them, too.
"""

import re
import unicodedata
from functools import cache

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage, translate

# Placeholders of names and words that stand in a sentence.
QUOTED = frozenset(
    {
        "column", "default", "example", "file", "guess", "language", "list", "name", "other", "prefix", "reference",
        "sheet", "type", "value", "word",
    }
)  # fmt: skip

_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_HAS_LATIN_LETTER = re.compile("[A-Za-z]")


def quoted(text: str) -> Message:
    """A value in quotation marks, for a message that `quote_values` does not see."""
    return Message("“{quoted}”", quoted=text)


def quote_values(message: Message, language: Language) -> Message:
    """Return the message with its texts as they are shown in a language, also in messages among its values."""
    values = {name: _shown(name, value, language) for name, value in message.values.items()}
    if message.plural is not None:
        return PluralMessage(message.text, message.plural, **values)  # type: ignore[arg-type]
    return Message(message.text, **values)


def _shown(name: str, value: object, language: Language) -> object:
    if isinstance(value, Message):
        return quote_values(value, language)
    if not isinstance(value, str):
        return value
    text = isolate_if_mixed(value, language)
    if name not in QUOTED:
        return text
    before, after = _quotation_marks(language)
    return f"{before}{text}{after}"


def isolate_if_mixed(text: str, language: Language) -> str:
    """Isolate a text that has letters of the other direction. A text of the same direction stays as it is."""
    if not text.isascii():
        text = _DIRECTION_CONTROLS.sub("", text)
        others = ("L",) if language.direction == "rtl" else ("R", "AL")
        is_mixed = any(unicodedata.bidirectional(character) in others for character in text)
    else:
        is_mixed = language.direction == "rtl" and _HAS_LATIN_LETTER.search(text) is not None
    return f"\u2068{text}\u2069" if is_mixed else text


@cache
def _quotation_marks(language: Language) -> tuple[str, str]:
    before, after = translate(quoted(""), language, format_values=False).split("{quoted}")
    return before, after
