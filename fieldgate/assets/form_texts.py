"""The texts of a form in one of its languages, for people to read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.i18n.languages import Language

MAX_QUOTED_CHARS = 80  # of a label inside another text
MAX_QUOTED_SOURCE_CHARS = 2000  # of the label with its tags
MAX_READABLE_CHARS = 10_000  # of a text whose references are replaced

_CODE = re.compile(r"\(\s*([A-Za-z]{2,3})(?:[-_][^()]*)?\s*\)\s*$")  # French (fr)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
# What is marked cannot contain the mark itself, so the time is linear in the length of the text.
_EMPHASIS = re.compile(r"\*\*(?=\S)([^*]{1,1000})(?<=\S)\*\*|__(?=\S)([^_]{1,1000})(?<=\S)__")
_REFERENCE = re.compile(r"\$\{\s*([^{}\s]{1,200})\s*\}")


class FormText(msgspec.Struct, frozen=True):
    """A text, and whether it is in the language that was asked for."""

    text: str
    is_translated: bool = True


NO_TEXT = FormText("")


def form_languages(content: Mapping[str, Any]) -> list[str | None]:
    """The languages of a form. None is a language without a name; every form has at least one."""
    return content.get("translations") or [None]


def language_code(name: str | None) -> str:
    """`fr` for `French (fr)`, or an empty text."""
    found = _CODE.search(name or "")
    return found[1].lower() if found else ""


def find_language(languages: Sequence[str | None], wanted: str) -> int | None:
    """The place of a language by its name or code, if the form has it."""
    key = wanted.strip().casefold()
    for place, name in enumerate(languages):
        if key == (name or "").casefold():
            return place
    return next((place for place, name in enumerate(languages) if key and key == language_code(name)), None)


def preferred_language(languages: Sequence[str | None], language: Language) -> int:
    """The place of a reader's language, or of the default language of the form."""
    names = {language.english_name.casefold(), language.native_name.casefold()}
    for place, name in enumerate(languages):
        if language_code(name) == language.value or (name or "").casefold() in names:
            return place
    return 0


def text_in(value: Any, place: int) -> FormText:
    """The text of a translated cell. If it has none in this language, the first one that it has."""
    if isinstance(value, str):
        return FormText(value)
    if not isinstance(value, list):
        return NO_TEXT
    if place < len(value) and value[place]:
        return FormText(str(value[place]))
    return next((FormText(str(text), is_translated=False) for text in value if text), NO_TEXT)


def plain(text: str) -> str:
    """A text without HTML tags and marks of emphasis."""
    return _EMPHASIS.sub(lambda found: found[1] or found[2], _TAG.sub("", text)).strip()


def clip(text: str, limit: int = MAX_QUOTED_CHARS) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


class LabelFinder:
    """The labels of questions and choices by name, in one language."""

    def __init__(self, content: Mapping[str, Any], place: int) -> None:
        self.place = place
        self._quoted: dict[str, str] = {}
        self._rows: dict[str, Mapping[str, Any]] = {}
        for row in content.get("survey") or ():
            if name := row.get("name") or row.get("$autoname"):
                self._rows.setdefault(str(name), row)
        self._choices: dict[str, dict[str, Mapping[str, Any]]] = {}
        for choice in content.get("choices") or ():
            list_name, name = str(choice.get("list_name")), str(choice.get("name") or choice.get("$autovalue"))
            self._choices.setdefault(list_name, {}).setdefault(name, choice)

    def question(self, name: str) -> str:
        """The label of a question, or its name. A form can refer to the same question thousands of times."""
        quoted = self._quoted.get(name)
        if quoted is None:
            row = self._rows.get(name)
            label = "" if row is None else self._quote(row)
            quoted = self._quoted[name] = clip(_REFERENCE.sub(r"[\1]", label) or name)
        return quoted

    def choice(self, question: str, name: str) -> str | None:
        """The label of a choice of a question; None if the question has no such choice."""
        row = self._rows.get(question)
        found = None if row is None else self._choices.get(str(row.get("select_from_list_name")), {}).get(name)
        return None if found is None else clip(self._quote(found) or name)

    def _quote(self, row: Mapping[str, Any]) -> str:
        return plain(text_in(row.get("label"), self.place).text[:MAX_QUOTED_SOURCE_CHARS])

    def choices(self, list_name: str) -> list[Mapping[str, Any]]:
        """The choices of a list, in order. A choice that is repeated appears once."""
        return list(self._choices.get(list_name, {}).values())

    def readable(self, text: str) -> str:
        """A text of the form with the labels of the questions that it refers to."""
        return _REFERENCE.sub(lambda found: f"[{self.question(found[1])}]", plain(text[:MAX_READABLE_CHARS]))
