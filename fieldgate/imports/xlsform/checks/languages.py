"""Languages: the default one must exist, codes must be real, and texts should be there in each of them."""

from collections.abc import Iterable

from fieldgate.i18n.messages import Message
from fieldgate.imports.xlsform.issues import Findings
from fieldgate.imports.xlsform.languages import has_bad_code, languages, meant
from fieldgate.imports.xlsform.parsed_form import Draft
from fieldgate.imports.xlsform.sheet_table import Table
from fieldgate.imports.xlsform.vocabulary import SETTINGS, TRANSLATABLE

_UNNAMED = "default"  # what the tools of XLSForm call a language without a name


def check_languages(draft: Draft, findings: Findings) -> None:
    default = draft.settings.get("default_language")
    tables = [table for table in (draft.survey, draft.choices) if table is not None]
    found = languages(tables, default)
    named = [language for language in found if language is not None]
    _check_default(draft, default, found, findings)
    for language in named:
        if has_bad_code(language):
            table, header = _first_column(tables, language)
            message = Message(
                "{language} does not end with the code of a language, as in French (fr). Correct the code.",
                language=language,
            )
            findings.warning("bad_language_code", message, table.sheet, table.header_row, header)
    if len(found) > 1:
        for table in tables:
            _check_translations(table, found, findings)


def _check_default(draft: Draft, default: str | None, found: list[str | None], findings: Findings) -> None:
    """Columns without a language are in the default one, whatever that is called."""
    table = draft.sheets.get(SETTINGS)
    if table is None or default is None or default in found:
        return
    place = (table.sheet, next(table.filled()).number, table.header("default_language"))
    if column := meant(default, found):
        message = Message(
            "{default} is taken to be {language}. Write it the same way.", default=default, language=column
        )
        findings.warning("default_language_spelling", message, *place)
    elif found and None not in found and default != _UNNAMED:
        message = Message(
            "The default language {default} has no column. Choose one of: {languages}.",
            default=default,
            languages=", ".join(language for language in found if language),
        )
        findings.problem("unknown_default_language", message, *place)


def _check_translations(table: Table, found: Iterable[str | None], findings: Findings) -> None:
    """One warning for each column and language: where half a form is not translated, a list of rows helps nobody."""
    missing: dict[str, list[int]] = {}
    for row in table.filled():
        written = {(cell.column.key, cell.column.language) for cell in row.cells if cell.column.key in TRANSLATABLE}
        for key in sorted({key for key, _ in written}):
            for language in found:
                if (key, language) not in written:
                    missing.setdefault(key if language is None else f"{key}::{language}", []).append(row.number)
    for column, rows in missing.items():
        message = Message(
            "Texts without a translation in {column}: {count}. Fill them in, starting with row {row}.",
            column=column,
            count=len(rows),
            row=rows[0],
        )
        findings.warning("missing_translation", message, table.sheet, rows[0], column)


def _first_column(tables: Iterable[Table], language: str) -> tuple[Table, str]:
    return next((table, column.header) for table in tables for column in table.columns if column.language == language)
