"""The languages of a form, in the order of its columns."""

from collections.abc import Collection, Iterable

from pyxform.validators.pyxform.iana_subtags.validation import get_languages_with_bad_tags

from fieldgate.imports.xlsform.sheet_table import SheetColumn, SheetTable
from fieldgate.imports.xlsform.vocabulary import TRANSLATABLE_COLUMNS

UNNAMED_LANGUAGE = "default"  # what pyxform calls the language of columns without one
_MEDIA_PREFIX = "media::"


def list_languages(tables: Iterable[SheetTable | None], default: str | None) -> list[str | None]:
    """Each language once, None for columns without one. The default language comes first."""
    columns = [column for table in tables for column in translatable_columns(table)]
    found = dict.fromkeys(column.language for column in columns)
    ordered = list(found)
    default = default or language_of_media(columns)
    first = match_language(default, found) if default else None
    if default and first in found:
        ordered.remove(first)
        ordered.insert(0, first)
    return ordered


def translatable_columns(table: SheetTable | None) -> list[SheetColumn]:
    return (
        [column for column in table.columns if column.key in TRANSLATABLE_COLUMNS] if table else []
    )


def default_language(tables: Iterable[SheetTable | None], default: str | None) -> str | None:
    """The default language of the XForm: the first one if no column has the one that the form names.

    None if the form does not say.
    """
    columns = [column for table in tables for column in translatable_columns(table)]
    found = dict.fromkeys(column.language for column in columns)
    if default and default != UNNAMED_LANGUAGE:
        return match_language(default, found) or (
            default if None in found else next(iter(found), default)
        )
    if default:
        return default
    return language_of_media(columns)


def language_of_media(columns: Iterable[SheetColumn]) -> str | None:
    """The first language, if media are the only columns without one: they are then shown in that language."""
    columns = list(columns)
    first = next((column.language for column in columns if column.language), None)
    without_language = {column.key for column in columns if column.language is None}
    is_media_only = without_language and all(
        key.startswith(_MEDIA_PREFIX) for key in without_language
    )
    is_translated_too = any(
        column.key in without_language for column in columns if column.language is not None
    )
    return first if is_media_only and not is_translated_too else None


def match_language(default: str, found: Collection[str | None]) -> str | None:
    """The language that is meant by the default language: `English` matches `English (en)`. None if there is none.

    Columns without a language are in the default language, so that it needs no other column.
    """
    if default in found:
        return default
    if None in found:
        return None
    return next(
        (language for language in found if language and _differ_only_in_code(language, default)),
        None,
    )


def _differ_only_in_code(language: str, other: str) -> bool:
    (name, code), (other_name, other_code) = (
        (text.partition("(")[0].strip().lower(), text.partition("(")[2])
        for text in (language, other)
    )
    return name == other_name and not (code and other_code)


def has_invalid_code(language: str) -> bool:
    """Whether the code in `French (xx1)` is not a registered one. `French (fr)` and `French` are valid."""
    return (
        "(" in language and language.endswith(")") and bool(get_languages_with_bad_tags([language]))
    )
