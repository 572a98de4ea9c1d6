"""Messages for people, and their translation.

translate(Message("Enter a whole number from {low} to {high}.", low=1, high=1000), Language.FRENCH)
"""

from fieldgate.i18n.catalogs import load_catalog
from fieldgate.i18n.languages import Language


class Message:
    """A sentence for people, in English, and what goes into its braces. Said in a language at the very edge."""

    __slots__ = ("text", "values")

    def __init__(self, text: str, **values: object) -> None:
        self.text = text
        self.values = values

    def __str__(self) -> str:
        return translate(self, Language.ENGLISH)


def translate(message: Message, language: Language) -> str:
    """The message in a language; in English where it has no translation."""
    text = load_catalog(language).get(message.text) or message.text
    if not message.values:
        return text
    values = {
        name: translate(value, language) if isinstance(value, Message) else value
        for name, value in message.values.items()
    }
    return text.format(**values)
