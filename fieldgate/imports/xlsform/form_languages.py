"""The languages of a form, in the order of its columns."""

from collections.abc import Collection, Iterable

from pyxform.validators.pyxform.iana_subtags.validation import (
    get_languages_with_bad_tags,
)

from fieldgate.imports.xlsform.sheet_table import SheetTable
from fieldgate.imports.xlsform.vocabulary import TRANSLATABLE_COLUMNS


def list_languages(tables: Iterable[SheetTable | None], default: str | None) -> list[str | None]:
    """Each language once, None for columns without one. The default language comes first."""
    found: dict[str | None, None] = {}
    for table in tables:
        for column in table.columns if table else ():
            if column.key in TRANSLATABLE_COLUMNS:
                found.setdefault(column.language)
    ordered = list(found)
    first = match_language(default, found) if default else None
    if default and first in found:
        ordered.remove(first)
        ordered.insert(0, first)
    return ordered


def match_language(default: str, found: Collection[str | None]) -> str | None:
    """The language that is meant by the default language: `English` matches `English (en)`. None if there is none."""
    if default in found:
        return default
    return next((language for language in found if language and _differ_only_in_code(language, default)), None)


def _differ_only_in_code(language: str, other: str) -> bool:
    (name, code), (other_name, other_code) = (
        (text.partition("(")[0].strip().lower(), text.partition("(")[2]) for text in (language, other)
    )
    return name == other_name and not (code and other_code)


def has_invalid_code(language: str) -> bool:
    """Whether the code in `French (xx1)` is not a registered one. `French (fr)` and `French` are valid."""
    return "(" in language and language.endswith(")") and bool(get_languages_with_bad_tags([language]))
