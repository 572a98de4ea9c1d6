"""Names of sheets, columns and settings, and their aliases.

The aliases come from pyxform's own tables. Written out here are only the key of each column in form content, and what
KoboToolbox adds to XLSForm.
"""

import re
from collections.abc import Iterator, Mapping

from pyxform import aliases, constants

SURVEY, CHOICES, SETTINGS = constants.SURVEY, constants.CHOICES, constants.SETTINGS
EXTERNAL_CHOICES, ENTITIES, OSM = constants.EXTERNAL_CHOICES, constants.ENTITIES, constants.OSM
# KoboToolbox's own sheets.
LIBRARY = "library"
LOCKING = "kobo--locking-profiles"
LOCKING_PROFILE = "kobo--locking-profile"  # a column of the survey, and a setting
LOCK_ALL = "kobo--lock_all"  # a setting

SHEET_NAMES = frozenset({*constants.SUPPORTED_SHEET_NAMES, LIBRARY, LOCKING})

ROOT_NAME = constants.DEFAULT_FORM_NAME  # the root element of a form that does not name it

TRUE_WORDS = frozenset(word.lower() for word, value in aliases.yes_no.items() if value)
FALSE_WORDS = frozenset(word.lower() for word, value in aliases.yes_no.items() if not value)

# pyxform's name of a column: `label`, or the names of a group and of an attribute, such as `bind` and `relevant`.
_Target = str | tuple[str, ...]

_MEDIA = "media"
_DASHES = "-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_DASH = re.compile(f"[{_DASHES}]")
_KOBO_BEGINNING = re.compile(f"kobo[{_DASHES}]+")
_SEPARATOR = "::"
# The key of each column that has several spellings.
_PREFERRED_SPELLINGS = frozenset(
    {
        "relevant",
        "read_only",
        "calculation",
        "constraint_message",
        "required_message",
        "repeat_count",
        "no_app_error_string",
        "list_name",
        "form_title",
    }
)


def to_snake_case(text: str) -> str:
    """`External  Choices` as `external_choices`: case and spaces are not significant in names."""
    return "_".join(text.split()).lower()


def straighten_dashes(name: str) -> str:
    """`kobo–locking-profile` as `kobo--locking-profile`: word processors and Excel replace two hyphens by a dash."""
    beginning = _KOBO_BEGINNING.match(name)
    return f"kobo--{_DASH.sub('-', name[beginning.end() :])}" if beginning else name


def _group_prefixes() -> dict[str, str]:
    """Every prefix of a grouped header, with pyxform's name of the group: `bind` is `bind`, `body` is `control`."""
    groups = {
        target[0] for target in aliases.survey_header.values() if isinstance(target, tuple)
    } - {_MEDIA}
    synonyms = {
        spelling: target for spelling, target in aliases.survey_header.items() if target in groups
    }
    return {group: group for group in groups} | synonyms


_GROUP_PREFIXES = _group_prefixes()

# A header that starts with one of these and a separator goes into the form unchanged.
PASSTHROUGH_PREFIXES = frozenset({*_GROUP_PREFIXES, constants.ATTRIBUTE})


def _column_key(target: _Target, spellings: list[str]) -> str:
    """The key of a column in form content."""
    if preferred := next(
        (spelling for spelling in spellings if spelling in _PREFERRED_SPELLINGS), None
    ):
        return preferred
    if isinstance(target, str):
        return target
    return _SEPARATOR.join(target) if target[0] == _MEDIA else spellings[0]


def _column_spellings(headers: Mapping[str, _Target]) -> Iterator[tuple[str, str]]:
    """Every spelling in one of pyxform's tables of headers, in snake case, with the key of its column."""
    by_target: dict[_Target, list[str]] = {}
    for spelling, target in headers.items():
        if spelling not in _GROUP_PREFIXES:
            by_target.setdefault(target, []).append(spelling)
    for target, spellings in by_target.items():
        key = _column_key(target, spellings)
        for spelling in (*spellings, *_target_spellings(target)):
            yield to_snake_case(spelling), key


def _target_spellings(target: _Target) -> Iterator[str]:
    """The name that pyxform itself gives to a column is a valid header, too: `title`, `body::appearance`."""
    if isinstance(target, str):
        yield target
    elif target[0] == _MEDIA:
        yield _SEPARATOR.join(target)
    else:
        for prefix, group in _GROUP_PREFIXES.items():
            if group == target[0]:
                yield _SEPARATOR.join((prefix, *target[1:]))


_SURVEY_ALIASES = dict(_column_spellings(aliases.survey_header))
# pyxform has no `list` for `list_name`. It is accepted here because forms that use it have been imported before.
_CHOICE_ALIASES = dict(_column_spellings(aliases.list_header)) | {"list": "list_name"}

TRANSLATABLE_COLUMNS = frozenset(
    target if isinstance(target, str) else _SEPARATOR.join(target)
    for target in aliases.TRANSLATABLE_SURVEY_COLUMNS.values()
)

# pyxform translates these too, but does not list them as translatable. Their language is part of the key.
UNLISTED_TRANSLATABLE_COLUMNS = frozenset({"no_app_error_string"})

# Columns whose cells are XPath expressions.
EXPRESSION_COLUMNS = frozenset(
    {
        "relevant",
        "constraint",
        "calculation",
        "choice_filter",
        "required",
        "read_only",
        "repeat_count",
    }
)

# Columns that pyxform reads under this name only.
_UNALIASED_SURVEY_COLUMNS = frozenset(
    {"type", "name", "default", "parameters", "trigger", "choice_filter", "intent", "disabled"}
)

SURVEY_COLUMNS = _UNALIASED_SURVEY_COLUMNS | TRANSLATABLE_COLUMNS | {*_SURVEY_ALIASES.values()}

# KoboToolbox's own columns. pyxform does not know them.
KOBO_COLUMNS = frozenset(
    {
        "hxl",
        "tags",
        "$kuid",
        "$autoname",
        "$autovalue",
        "$xpath",
        "$given_name",
        "select_from_list_name",
        LOCKING_PROFILE,
        "kobo--matrix_list",
        "kobo--score-choices",
        "kobo--rank-items",
        "kobo--rank-constraint-message",
    }
)

# pyxform reads `geometry` from any choice, as a column of the author's own.
CHOICE_COLUMNS = frozenset({*_CHOICE_ALIASES.values(), "geometry"})

ENTITY_COLUMNS = frozenset(
    {*aliases.entities_header, *(column.value for column in constants.EntityColumns)}
)

# Settings that pyxform reads under this name only.
_UNALIASED_SETTINGS = frozenset(
    {
        "version",
        "default_language",
        "style",
        "name",
        "public_key",
        "submission_url",
        "auto_send",
        "auto_delete",
        "client_editable",
        "instance_name",
        "instance_id",
        "omit_instanceID",
        "instance_xmlns",
        "namespaces",
        "allow_choice_duplicates",
        "clean_text_values",
        "add_none_option",
        "flat",
        "delimiter",
        "sms_keyword",
        "sms_separator",
        "sms_allow_media",
        "sms_date_format",
        "sms_datetime_format",
        "sms_response",
    }
)
KOBO_SETTINGS = frozenset({LOCK_ALL, LOCKING_PROFILE})

_SETTING_ALIASES = dict(_column_spellings(aliases.settings_header)) | {
    to_snake_case(name): name for name in _UNALIASED_SETTINGS
}
SETTING_COLUMNS = frozenset({*_SETTING_ALIASES.values()}) | KOBO_SETTINGS

# Settings that may be given twice. The spelling of the standard wins, as in other tools.
SETTING_SYNONYMS = [{"form_id", "id_string"}, {"form_title", "title"}]
PREFERRED_SETTINGS = frozenset({"form_id", "form_title"})

COLUMN_ALIASES = {
    SURVEY: _SURVEY_ALIASES,
    LIBRARY: _SURVEY_ALIASES,
    CHOICES: _CHOICE_ALIASES,
    EXTERNAL_CHOICES: _CHOICE_ALIASES,
    OSM: _CHOICE_ALIASES,
    SETTINGS: _SETTING_ALIASES,
}

COLUMNS_BY_SHEET = {
    SURVEY: SURVEY_COLUMNS | KOBO_COLUMNS,
    LIBRARY: SURVEY_COLUMNS | KOBO_COLUMNS | {"block"},
    CHOICES: CHOICE_COLUMNS | KOBO_COLUMNS,
    EXTERNAL_CHOICES: CHOICE_COLUMNS,
    OSM: CHOICE_COLUMNS,
    SETTINGS: SETTING_COLUMNS,
}
