"""Check the default language, language codes and missing translations."""

from collections.abc import Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.form_languages import (
    UNNAMED_LANGUAGE,
    has_invalid_code,
    language_of_media,
    list_languages,
    match_language,
    translatable_columns,
)
from fieldgate.imports.xlsform.issues import IssueCollector
from fieldgate.imports.xlsform.parsed_form import ParsedForm
from fieldgate.imports.xlsform.sheet_table import SheetTable
from fieldgate.imports.xlsform.vocabulary import SETTINGS, TRANSLATABLE_COLUMNS


def check_languages(form: ParsedForm, issues: IssueCollector) -> None:
    default = form.settings.get("default_language")
    tables = [table for table in (form.survey, form.choices) if table is not None]
    found = list_languages(tables, default)
    named = [language for language in found if language is not None]
    _check_default(form, default, found, issues)
    for language in named:
        if has_invalid_code(language):
            table, header = _first_column(tables, language)
            message = Message(
                "{language} does not end with a known language code, as in French (fr). Correct the code.",
                language=language,
            )
            issues.add_warning(
                "bad_language_code", message, table.sheet_name, table.header_row, header
            )
    media_language = language_of_media(
        column for table in tables for column in translatable_columns(table)
    )
    expected = named if media_language else found
    if len(expected) > 1:
        for table in tables:
            _check_translations(table, expected, media_language, issues)


def _check_default(
    form: ParsedForm, default: str | None, found: list[str | None], issues: IssueCollector
) -> None:
    """Columns without a language are in the default language, whatever its name."""
    table = form.sheets.get(SETTINGS)
    if table is None or default is None or default in found:
        return
    place = table.place(next(table.filled_rows()), "default_language")
    if column := match_language(default, found):
        message = Message(
            "{default} is treated as {language}. Use the same spelling for both.",
            default=default,
            language=column,
        )
        issues.add_warning("default_language_spelling", message, *place)
    elif found and None not in found and default != UNNAMED_LANGUAGE:
        message = Message(
            "The default language {default} has no column, so that the form begins in {language}. Choose one of:"
            " {languages}.",
            default=default,
            language=found[0],
            languages=", ".join(language for language in found if language),
        )
        issues.add_warning("unknown_default_language", message, *place)


def _check_translations(
    table: SheetTable,
    found: Iterable[str | None],
    media_language: str | None,
    issues: IssueCollector,
) -> None:
    """One warning for each column and language, not for each row."""
    missing: dict[str, list[int]] = {}
    for row in table.filled_rows():
        written = {
            (cell.column.key, cell.column.language or media_language)
            for cell in row.cells
            if cell.column.key in TRANSLATABLE_COLUMNS
        }
        for key in sorted({key for key, _ in written}):
            for language in found:
                if (key, language) not in written:
                    missing.setdefault(
                        key if language is None else f"{key}::{language}", []
                    ).append(row.number)
    for column, rows in missing.items():
        message = Message(
            "Texts without a translation in {column}: {count}. Fill them in, starting with row {row}.",
            column=column,
            count=len(rows),
            row=rows[0],
        )
        issues.add_warning("missing_translation", message, table.sheet_name, rows[0], column)


def _first_column(tables: Iterable[SheetTable], language: str) -> tuple[SheetTable, str]:
    return next(
        (table, column.header)
        for table in tables
        for column in table.columns
        if column.language == language
    )
