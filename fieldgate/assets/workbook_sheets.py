"""Form content as the sheets of a workbook: the reverse of what `fieldgate.imports.xlsform` does.

survey, *others = content_sheets(content, title="Household survey")

Row N of the content, counted from 0, is row N + 2 of its sheet. Not restored, because content does not have it: the
order of columns and of metadata rows, spellings (`yes`, `string`), blank and disabled rows, sheets that are not part of
the form. This module does not import pyxform: the service writes workbooks, but never parses them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from fieldgate.i18n.messages import Message

FIRST_ROW = 2  # below the header
SURVEY, CHOICES, SETTINGS, LOCKING = "survey", "choices", "settings", "kobo--locking-profiles"
TRANSLATED_SHEETS = (SURVEY, CHOICES)
PLAIN_SHEETS = (
    "external_choices",
    "entities",
    "osm",
)  # the language is in the key: `label::French (fr)`

TRANSLATED_KEYS = frozenset(
    {
        "label", "hint", "guidance_hint", "constraint_message", "required_message",
        "media::audio", "media::big-image", "media::image", "media::video",
    }
)  # fmt: skip
# pyxform knows these with spaces only.
TYPES_WITH_SPACES = frozenset(
    {
        "number_of_days_in_last_month", "number_of_days_in_last_six_months", "number_of_days_in_last_year",
        "phone_number",
    }
)  # fmt: skip
FILE_SELECT_TYPES = frozenset({"select_one_from_file", "select_multiple_from_file"})
AUTO_NAMED_TYPES = frozenset({"note", "audit"})  # pyxform names them
LOOP = "begin_loop"

_HXL_PREFIX = "hxl:"
_RESTRICTION, _LOCKED = "restriction", "locked"
_MAX_ORDERED = (
    2_000  # finding the place of a new column takes time; more columns cannot be imported
)

_NOT_ROWS = Message("This must be a list of objects, one for each row.")
_NOT_A_CELL = Message("This value cannot be a cell. Send a text, a number, true or false.")
_TOO_MANY_TEXTS = Message(
    "This list has more texts than the form has languages. Add the language to translations."
)
_INVALID_LANGUAGES = Message("This must be a list of different languages. One of them may be null.")
_NAMELESS_COLUMN = Message(
    "This row has a value without a column name. Name the column, or remove the value."
)

_Row = Mapping[str, Any]


class ContentSheet(msgspec.Struct, frozen=True):
    """A sheet of a form. A row has the filled cells only, by header."""

    name: str
    headers: list[str]
    rows: list[dict[str, str]]


class ContentProblem(NamedTuple):
    """A value that cannot be written into a workbook. `row` is the row of the sheet."""

    message: Message
    sheet: str | None
    row: int | None = None
    column: str | None = None


class MalformedContent(Exception):
    """The content does not have the structure of a form."""

    def __init__(self, problems: list[ContentProblem]) -> None:
        super().__init__(problems)
        self.problems = problems


def content_sheets(content: Mapping[str, Any], title: str | None = None) -> list[ContentSheet]:
    """The sheets of a form, a block or a question, `survey` first. Raises MalformedContent with all problems.

    `title` replaces the title in the settings. A question without a name, as in a library, gets its generated one.
    """
    problems: list[ContentProblem] = []
    languages = _languages(content, problems)

    def build(kind: str, rows: Iterable[_Row]) -> _SheetBuilder:
        builder = _SheetBuilder(kind, languages, problems)
        for row in rows:
            builder.add(row)
        return builder

    survey = build(SURVEY, map(_survey_row, _rows(content, SURVEY, problems)))
    choices = build(CHOICES, map(_choice_row, _rows(content, CHOICES, problems)))
    _add_empty_columns(content, survey, choices)
    builders = [survey]
    if choices.rows:
        builders.append(choices)
    if settings := _settings(content, title, problems):
        builders.append(build(SETTINGS, [settings]))
    builders += (
        build(kind, _rows(content, kind, problems)) for kind in PLAIN_SHEETS if kind in content
    )
    if content.get(LOCKING) is not None:
        builders.append(build(LOCKING, _locking_rows(_rows(content, LOCKING, problems))))
    if problems:
        raise MalformedContent(problems)
    return [ContentSheet(builder.kind, builder.headers(), builder.rows) for builder in builders]


class _SheetBuilder:
    """Collects the rows of a sheet and its columns, in the order of the keys. A translated key has several columns."""

    def __init__(
        self, kind: str, languages: list[str | None], problems: list[ContentProblem]
    ) -> None:
        self.kind = kind
        self.languages = languages
        self.rows: list[dict[str, str]] = []
        self._problems = problems
        self._keys: list[str] = []
        self._headers_by_key: dict[str, dict[int, str]] = {}  # by the place of the language

    def add(self, row: _Row) -> None:
        cells: dict[str, str] = {}
        previous: str | None = None
        for key, value in row.items():
            if value is None or key.startswith("$"):
                continue
            if not key.strip():
                self._report(_NAMELESS_COLUMN)
                continue
            self._add_key(key, previous)
            previous = key
            for place, text in self._texts(key, value):
                header = self.add_column(key, place)
                if text:
                    cells[header] = text
        self.rows.append(cells)

    def add_column(self, key: str, place: int = 0) -> str:
        """The header of a key in a language. The column is added if it is new."""
        self._add_key(key, self._keys[-1] if self._keys else None)
        headers = self._headers_by_key[key]
        if place not in headers:
            is_translated = key in TRANSLATED_KEYS and self.kind in TRANSLATED_SHEETS
            language = self.languages[place] if is_translated else None
            headers[place] = key if language is None else f"{key}::{language}"
        return headers[place]

    @property
    def translated_keys(self) -> list[str]:
        return [key for key in self._keys if key in TRANSLATED_KEYS and self._headers_by_key[key]]

    def language_places(self) -> Iterator[int]:
        """The place of the language of each translated column."""
        return (
            place for key in self.translated_keys for place in sorted(self._headers_by_key[key])
        )

    def sort_translated_keys(self) -> None:
        """Sort the translated columns by language. The other columns stay where they are."""
        translated = iter(
            sorted(self.translated_keys, key=lambda key: min(self._headers_by_key[key]))
        )
        known = {*self.translated_keys}
        self._keys = [next(translated) if key in known else key for key in self._keys]

    def headers(self) -> list[str]:
        return [
            header for key in self._keys for _, header in sorted(self._headers_by_key[key].items())
        ]

    def _add_key(self, key: str, previous: str | None) -> None:
        if key in self._headers_by_key:
            return
        _insert_after(self._keys, previous, key)
        self._headers_by_key[key] = {}

    def _texts(self, key: str, value: Any) -> Iterator[tuple[int, str]]:
        if isinstance(value, list) and key in TRANSLATED_KEYS:
            if len(value) > len(self.languages):
                self._report(_TOO_MANY_TEXTS, key)
            for place, text in enumerate(value[: len(self.languages)]):
                if text is not None:
                    yield place, self._cell(key, text)
        else:
            yield 0, self._cell(key, value)

    def _cell(self, key: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        if isinstance(value, int | float):
            return str(value)
        self._report(_NOT_A_CELL, key)
        return ""

    def _report(self, message: Message, key: str | None = None) -> None:
        self._problems.append(ContentProblem(message, self.kind, FIRST_ROW + len(self.rows), key))


def _languages(content: _Row, problems: list[ContentProblem]) -> list[str | None]:
    """The languages of the form; the unnamed one if it has none."""
    languages: Any = content.get("translations") or [None]
    if (
        isinstance(languages, list)
        and all(language is None or isinstance(language, str) for language in languages)
        and len(set(languages)) == len(languages)
    ):
        return languages
    problems.append(ContentProblem(_INVALID_LANGUAGES, None, None, "translations"))
    return [None]


def _rows(content: _Row, kind: str, problems: list[ContentProblem]) -> list[_Row]:
    rows = content.get(kind)
    if rows is None:
        return []
    if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        return rows
    problems.append(ContentProblem(_NOT_ROWS, kind))
    return []


def _survey_row(row: _Row) -> _Row:
    """A row with its type in one cell."""
    type_ = row.get("type")
    if not isinstance(type_, str):
        return _with_hashtags(row)
    cells: dict[str, Any] = {"type": type_, **row}
    if not row.get("name") and type_ not in AUTO_NAMED_TYPES:
        cells = {
            "type": type_,
            "name": row.get("$autoname"),
            **{key: row[key] for key in row if key != "name"},
        }
    list_name = cells.pop("file" if type_ in FILE_SELECT_TYPES else "select_from_list_name", None)
    or_other = cells.pop("_or_other", None) in (True, "true")
    if type_ in TYPES_WITH_SPACES:
        cells["type"] = type_.replace("_", " ")
    elif list_name:
        words = (
            type_,
            "over" if type_ == LOOP else "",
            str(list_name),
            "or_other" if or_other else "",
        )
        cells["type"] = " ".join(filter(None, words))
    return _with_hashtags(cells)


def _choice_row(row: _Row) -> _Row:
    return _with_hashtags(row if row.get("name") else {**row, "name": row.get("$autovalue")})


def _with_hashtags(row: _Row) -> _Row:
    """A row with its HXL tags in the column `hxl`."""
    tags = row.get("tags")
    if isinstance(tags, list) and all(
        isinstance(tag, str) and tag.startswith(_HXL_PREFIX) for tag in tags
    ):
        text = " ".join(tag.removeprefix(_HXL_PREFIX) for tag in tags)
        return {
            ("hxl" if key == "tags" else key): (text if key == "tags" else value)
            for key, value in row.items()
        }
    return row


def _settings(content: _Row, title: str | None, problems: list[ContentProblem]) -> dict[str, Any]:
    settings = content.get(SETTINGS) or {}
    if isinstance(settings, list):
        settings = next(iter(_rows(content, SETTINGS, problems)), {})
    if not isinstance(settings, dict):
        problems.append(ContentProblem(_NOT_ROWS, SETTINGS))
        settings = {}
    return settings if title is None else {"form_title": title} | settings | {"form_title": title}


def _add_empty_columns(content: _Row, survey: _SheetBuilder, choices: _SheetBuilder) -> None:
    """Add columns without cells to the survey: those that were imported without cells, and those that put the
    languages in order. The order of the languages is that of the columns."""
    if not survey.rows:
        for key in ("type", "name", "label"):
            survey.add_column(key)
    translated = content.get("translated")
    for key in translated if isinstance(translated, list) else ():
        is_known = isinstance(key, str) and key in TRANSLATED_KEYS
        if is_known and key not in (*survey.translated_keys, *choices.translated_keys):
            survey.add_column(key)
    if _language_order(survey, choices) != list(range(len(survey.languages))):
        survey.sort_translated_keys()
    if survey.translated_keys and _language_order(survey, choices) != list(
        range(len(survey.languages))
    ):
        first = survey.translated_keys[0]
        for place in range(len(survey.languages)):
            survey.add_column(first, place)


def _language_order(*sheets: _SheetBuilder) -> list[int]:
    """The places of the languages in the order of their first columns."""
    return list(dict.fromkeys(place for sheet in sheets for place in sheet.language_places()))


def _locking_rows(profiles: list[_Row]) -> list[_Row]:
    """A row for each restriction and a column for each profile, from a list of profiles with their restrictions."""
    if not all(isinstance(profile.get("restrictions"), list) for profile in profiles):
        return profiles
    names = [str(profile.get("name")) for profile in profiles]
    order: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    for name, profile in zip(names, profiles, strict=True):
        previous: str | None = None
        for restriction in map(str, profile["restrictions"]):
            if restriction not in rows:
                _insert_after(order, previous, restriction)
                # The first row has all columns, so that profiles without restrictions get one.
                rows[restriction] = {_RESTRICTION: restriction} | (
                    {} if rows else dict.fromkeys(names, "")
                )
            rows[restriction][name] = _LOCKED
            previous = restriction
    return [rows[restriction] for restriction in order]


def _insert_after(order: list[str], previous: str | None, item: str) -> None:
    """Insert an item after another one, so that a list gets the order of several incomplete lists."""
    place = len(order)
    if place < _MAX_ORDERED:
        place = 0 if previous is None else order.index(previous) + 1
    order.insert(place, item)
