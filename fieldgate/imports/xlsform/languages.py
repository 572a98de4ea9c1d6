"""The languages of a form, in the order in which its columns name them."""

from collections.abc import Iterable

from pyxform.validators.pyxform.iana_subtags.validation import (
    get_languages_with_bad_tags,
)

from fieldgate.imports.xlsform.names import TRANSLATABLE
from fieldgate.imports.xlsform.tables import Table


def languages(tables: Iterable[Table | None], default: str | None) -> list[str | None]:
    """Every language once, None for the one without a name; the default language comes first."""
    found: dict[str | None, None] = {}
    for table in tables:
        for column in table.columns if table else ():
            if column.key in TRANSLATABLE:
                found.setdefault(column.language)
    ordered = list(found)
    if default in found:
        ordered.remove(default)
        ordered.insert(0, default)
    return ordered


def has_bad_code(language: str) -> bool:
    """`French (fr)` and `French` are fine; `French (xx1)` names a language that nobody has registered."""
    return "(" in language and language.endswith(")") and bool(get_languages_with_bad_tags([language]))
