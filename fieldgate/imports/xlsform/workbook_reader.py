"""Read the bytes of a workbook into sheets of text: xlsx, xls, xlsm, ods or CSV.

Cells are formatted as by pyxform: whole numbers without a fraction, TRUE and FALSE, dates with their time,
non-breaking spaces as spaces, no spaces at either end.
"""

import csv
import io
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from python_calamine import CalamineWorkbook, SheetTypeEnum

from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.file_text import UTF_8, has_control_bytes, unicode_encoding
from fieldgate.imports.xlsform.fallback_readers import (
    SheetValues,
    read_xls_values,
    read_xlsx_values,
)
from fieldgate.imports.xlsform.issues import FormRejected
from fieldgate.imports.xlsform.rich_text import preserve_spaces
from fieldgate.imports.xlsform.vocabulary import SHEET_NAMES, to_snake_case

MAX_SHEETS = 50
MAX_ROWS = 100_000
MAX_COLUMNS = 2_000
MAX_CELL_CHARS = 65_536

ZIP_MAGIC = b"PK"
OLE2_MAGIC = b"\xd0\xcf\x11\xe0"
ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")  # the stream of an encrypted workbook
CSV_DELIMITERS = ",;\t"

log = logging.getLogger(__name__)

# Invisible characters that XML does not allow.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Sheet(msgspec.Struct):
    """The cells of a sheet. Each row has the number that the spreadsheet program shows."""

    name: str
    rows: list[tuple[int, list[str]]]


def read_workbook(data: bytes, *, use_first_reader: bool = True) -> list[Sheet]:
    """All sheets. Raises FormRejected if the data is not a workbook, or too large for a form.

    `use_first_reader` is False where it is known to end the process for this file.
    """
    if not has_second_reader(data):
        readers = [_read_csv]
    elif use_first_reader:
        readers = [_read_spreadsheet, _read_with_second_reader]
    else:
        readers = [_read_with_second_reader]
    for reader in readers:
        try:
            sheets = reader(data)
        except (FormRejected, MemoryError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Calamine, csv and the others raise many kinds of errors. A panic in Rust is not even an Exception.
            log.info("%s failed: %s", reader.__name__, error)
            continue
        for sheet in sheets:
            check_sheet_size(sheet)
        return sheets
    raise _unreadable_workbook(data)


def has_second_reader(data: bytes) -> bool:
    return data.startswith((ZIP_MAGIC, OLE2_MAGIC))


def _read_with_second_reader(data: bytes) -> list[Sheet]:
    workbook = (read_xls_values if data.startswith(OLE2_MAGIC) else read_xlsx_values)(data)
    _check_sheet_count(len(workbook))
    return [Sheet(sheet.name, _texts_of_sheet(sheet)) for sheet in workbook]


def _texts_of_sheet(sheet: SheetValues) -> list[tuple[int, list[str]]]:
    def checked() -> Iterator[list[Any]]:
        for number, values in enumerate(sheet.rows, 1):
            if values and (number > MAX_ROWS or len(values) > MAX_COLUMNS):
                raise _sheet_too_large(sheet.name)
            yield values

    return _numbered_texts(checked())


def _read_spreadsheet(data: bytes) -> list[Sheet]:
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(preserve_spaces(data)))
    names = [
        sheet.name for sheet in workbook.sheets_metadata if sheet.typ is SheetTypeEnum.WorkSheet
    ]
    _check_sheet_count(len(names))
    return [_read_sheet(workbook, name) for name in names]


def _read_sheet(workbook: CalamineWorkbook, name: str) -> Sheet:
    sheet = workbook.get_sheet_by_name(name)
    if sheet.end is not None and (sheet.end[0] >= MAX_ROWS or sheet.end[1] >= MAX_COLUMNS):
        raise _sheet_too_large(name)
    before = (
        [""] * sheet.start[1] if sheet.start else []
    )  # Calamine leaves out blank columns before the first
    return Sheet(name, _numbered_texts(before + row for row in sheet.iter_rows()))


def _numbered_texts(rows: Iterable[list[Any]]) -> list[tuple[int, list[str]]]:
    """The texts of rows, without blank cells at their ends and without blank rows at the end of the sheet."""
    numbered: list[tuple[int, list[str]]] = []
    for number, values in enumerate(rows, 1):
        texts = [_cell_text(value) for value in values] if values.count("") < len(values) else []
        while texts and not texts[-1]:
            texts.pop()
        numbered.append((number, texts))
    while numbered and not numbered[-1][1]:
        numbered.pop()
    return numbered


def _cell_text(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        # Spreadsheets store days as fractions, which are not exact. They show whole seconds.
        return str((value + timedelta(milliseconds=500)).replace(microsecond=0))
    if isinstance(value, date):
        return f"{value} 00:00:00"
    return clean_text(str(value))


def clean_text(text: str) -> str:
    """A text without spaces at either end and without characters that XML does not allow."""
    return _UNPRINTABLE.sub("", text.replace("\u00a0", " ")).strip()


def _read_csv(data: bytes) -> list[Sheet]:
    text = _decode_text(data)
    separator = max(CSV_DELIMITERS, key=text.partition("\n")[0].count)
    if not text.partition("\n")[0].count(separator):
        # The first line is the name of a sheet, so look at the second.
        separator = max(CSV_DELIMITERS, key=text.partition("\n")[2].partition("\n")[0].count)
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows = _numbered_texts(records)
    return _split_sections(rows) if _has_sections(rows) else [Sheet("survey", rows)]


def _has_sections(rows: list[tuple[int, list[str]]]) -> bool:
    """Whether a CSV file has several sheets, each after a line with only its name."""
    first = next((record for _, record in rows if any(record)), [])
    return bool(first) and to_snake_case(first[0]) in SHEET_NAMES and not any(first[1:])


def _split_sections(rows: Iterable[tuple[int, list[str]]]) -> list[Sheet]:
    sheets: list[Sheet] = []
    for number, record in rows:
        if record and record[0]:
            sheets.append(Sheet(record[0], []))
            _check_sheet_count(len(sheets))
        elif sheets:
            sheets[-1].rows.append((number, record[1:]))
    return sheets


def _decode_text(data: bytes) -> str:
    """Decode a CSV file in Unicode.

    Raises FormRejected for others: they do not say which letters they contain, and a guess could store wrong ones.
    """
    encoding = unicode_encoding(data)
    if encoding != UTF_8 or has_control_bytes(data):
        return data.decode(encoding)
    with suppress(UnicodeDecodeError):
        return data.decode(encoding)
    raise FormRejected(
        "unknown_encoding",
        Message(
            "It is not certain which letters this file contains. Save it as Unicode and import it again. In Excel,"
            " choose the file type CSV UTF-8. In LibreOffice, choose the character set Unicode (UTF-8)."
        ),
    )


def _check_sheet_count(sheets: int) -> None:
    if sheets > MAX_SHEETS:
        raise FormRejected(
            "too_large",
            PluralMessage(
                "The workbook has more than {count} sheet. Remove those that are not part of the form.",
                "The workbook has more than {count} sheets. Remove those that are not part of the form.",
                MAX_SHEETS,
            ),
        )


def check_sheet_size(sheet: Sheet) -> None:
    """Raise FormRejected if the sheet is too large for a form."""
    if len(sheet.rows) > MAX_ROWS:
        raise _sheet_too_large(sheet.name)
    for _, texts in sheet.rows:
        if len(texts) > MAX_COLUMNS or any(len(text) > MAX_CELL_CHARS for text in texts):
            raise _sheet_too_large(sheet.name)


def _sheet_too_large(sheet: str) -> FormRejected:
    return FormRejected(
        "too_large",
        Message(
            "Sheet {sheet} is too large. Keep it within {rows}, {columns} and {characters} per cell.",
            sheet=sheet,
            rows=PluralMessage("{count} row", "{count} rows", MAX_ROWS),
            columns=PluralMessage("{count} column", "{count} columns", MAX_COLUMNS),
            characters=PluralMessage("{count} character", "{count} characters", MAX_CELL_CHARS),
        ),
    )


def _unreadable_workbook(data: bytes) -> FormRejected:
    if data.startswith(OLE2_MAGIC) and ENCRYPTED_STREAM in data:
        message = Message(
            "The file is protected by a password. Save it without the password and import it again."
        )
    else:
        message = Message(
            "The file could not be read. Save it as an Excel workbook (.xlsx) and import it again."
        )
    return FormRejected("unreadable_workbook", message)
