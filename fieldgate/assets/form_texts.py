"""The texts of a form in one of its languages, for people to read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_QUOTED_CHARS = 80  # of a label inside another text
MAX_QUOTED_SOURCE_CHARS = 2000  # of the label with its tags
MAX_READABLE_CHARS = 10_000  # of a text whose references are replaced

_CODE = re.compile(r"\(\s*([A-Za-z]{2,3})(?:[-_][^()]*|\s*)\)\s*$")  # French (fr)
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
    return next(
        (place for place, name in enumerate(languages) if key and key == language_code(name)), None
    )


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


def row_name(row: Mapping[str, Any]) -> str:
    """The name of a question or group, given or generated."""
    return str(row.get("name") or row.get("$autoname") or "")


def choice_name(row: Mapping[str, Any]) -> str:
    return str(row.get("name") or row.get("$autovalue") or "")


class LabelFinder:
    """The labels of questions and choices by name, in one language."""

    def __init__(self, content: Mapping[str, Any], place: int) -> None:
        self.place = place
        self._quoted: dict[str, str] = {}
        self._rows: dict[str, Mapping[str, Any]] = {}
        for row in content.get("survey") or ():
            if name := row_name(row):
                self._rows.setdefault(name, row)
        self._choices: dict[str, dict[str, Mapping[str, Any]]] = {}
        for choice in content.get("choices") or ():
            list_name, name = (
                str(choice.get("list_name")),
                str(choice.get("name") or choice.get("$autovalue")),
            )
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
        found = (
            None
            if row is None
            else self._choices.get(str(row.get("select_from_list_name")), {}).get(name)
        )
        return None if found is None else clip(self._quote(found) or name)

    def _quote(self, row: Mapping[str, Any]) -> str:
        return plain(text_in(row.get("label"), self.place).text[:MAX_QUOTED_SOURCE_CHARS])

    def choices(self, list_name: str) -> list[Mapping[str, Any]]:
        """The choices of a list, in order. A choice that is repeated appears once."""
        return list(self._choices.get(list_name, {}).values())

    def readable(self, text: str) -> str:
        """A text of the form with the labels of the questions that it refers to."""
        return _REFERENCE.sub(
            lambda found: f"[{self.question(found[1])}]", plain(text[:MAX_READABLE_CHARS])
        )


FIELD_LABELS: dict[str, Message] = {
    "_or_other": Message("Allows another answer"),
    "appearance": Message("Appearance"),
    "calculation": Message("Calculated as"),
    "choice_filter": Message("Choices shown if"),
    "constraint": Message("Allowed if"),
    "constraint_message": Message("Message for a refused answer"),
    "default": Message("Default answer"),
    "default_language": Message("Default language"),
    "file": Message("File with the choices"),
    "form_id": Message("Form ID"),
    "guidance_hint": Message("Guidance"),
    "hint": Message("Hint"),
    "id_string": Message("Form ID"),
    "instance_name": Message("Name of a submission"),
    "label": Message("Label"),
    "media::audio": Message("Audio"),
    "media::big-image": Message("Large image"),
    "media::image": Message("Image"),
    "media::video": Message("Video"),
    "parameters": Message("Parameters"),
    "read_only": Message("Read only if"),
    "relevant": Message("Shown if"),
    "repeat_count": Message("Number of repetitions"),
    "required": Message("Required"),
    "required_message": Message("Message for a missing answer"),
    "select_from_list_name": Message("List of choices"),
    "style": Message("Layout"),
    "tags": Message("Tags"),
    "translations": Message("Order of languages"),
    "trigger": Message("Calculated when this changes"),
    "type": Message("Type"),
    "version": Message("Version"),
}

TYPE_NAMES: dict[str, Message] = {
    "acknowledge": Message("Confirmation"),
    "audio": Message("Audio recording"),
    "audit": Message("Log of the interview"),
    "background-audio": Message("Audio recording in the background"),
    "background-geopoint": Message("Location in the background"),
    "barcode": Message("Barcode or QR code"),
    "begin_group": Message("Group"),
    "begin_kobomatrix": Message("Table of questions"),
    "begin_loop": Message("Group repeated for each choice"),
    "begin_rank": Message("Ranking"),
    "begin_repeat": Message("Repeated group"),
    "begin_score": Message("Rating"),
    "calculate": Message("Calculation"),
    "csv-external": Message("Data file"),
    "date": Message("Date"),
    "datetime": Message("Date and time"),
    "decimal": Message("Decimal number"),
    "deviceid": Message("Id of the device"),
    "email": Message("Email address from the device"),
    "end": Message("End of the interview"),
    "file": Message("File"),
    "geopoint": Message("Location"),
    "geoshape": Message("Area on a map"),
    "geotrace": Message("Line on a map"),
    "hidden": Message("Hidden value"),
    "image": Message("Photo"),
    "integer": Message("Whole number"),
    "note": Message("Note"),
    "number_of_days_in_last_month": Message("Number of days in the last month"),
    "number_of_days_in_last_six_months": Message("Number of days in the last six months"),
    "number_of_days_in_last_year": Message("Number of days in the last year"),
    "osm": Message("OpenStreetMap feature"),
    "percentage": Message("Percentage"),
    "phone_number": Message("Phone number"),
    "phonenumber": Message("Phone number of the device"),
    "range": Message("Number on a scale"),
    "rank": Message("Ranking of choices"),
    "rank__level": Message("Rank"),
    "score__row": Message("Item to rate"),
    "select_multiple": Message("Several choices"),
    "select_multiple_from_file": Message("Several choices from a file"),
    "select_one": Message("One choice"),
    "select_one_external": Message("One choice from a long list"),
    "select_one_from_file": Message("One choice from a file"),
    "simserial": Message("Number of the SIM card"),
    "start": Message("Start of the interview"),
    "start-geopoint": Message("Location at the start"),
    "subscriberid": Message("Subscriber of the SIM card"),
    "text": Message("Text"),
    "time": Message("Time"),
    "today": Message("Date of the interview"),
    "trigger": Message("Confirmation"),
    "username": Message("User of the app"),
    "video": Message("Video"),
    "xml-external": Message("Data file"),
}


def type_name(question_type: str, language: Language) -> str:
    """The name of a type. A type that is not known is returned as it is."""
    message = TYPE_NAMES.get(question_type.removeprefix("uri:"))
    return question_type if message is None else translate(message, language)
