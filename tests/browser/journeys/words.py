"""The texts of the interface in a language, by their English originals, so that one journey runs in every language."""

from functools import cache

from babel.messages.pofile import read_po

from fieldgate.i18n.catalogs import catalog_path
from fieldgate.i18n.languages import TRANSLATED_LANGUAGES, Language
from fieldgate.i18n.messages import Message, translate


@cache
def _known_messages() -> frozenset[str]:
    with catalog_path(TRANSLATED_LANGUAGES[0]).open("rb") as file:
        return frozenset(
            text
            for message in read_po(file)
            for text in (message.id if isinstance(message.id, tuple | list) else (message.id,))
        )


class Words:
    """`words("Log in")` is what the interface says for it. Texts that are not in the catalogue are an error."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def __call__(self, text: str, **values: object) -> str:
        assert text in _known_messages(), f"no message of the interface: {text}"
        return translate(Message(text, **values), self.language)
