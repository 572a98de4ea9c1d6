"""Exported workbooks: other programs read them, and no text becomes a formula or markup."""

import io
from collections.abc import AsyncIterator, Sequence

import pytest
from python_calamine import CalamineWorkbook

from fieldgate.events.csv_rows import COLUMNS
from fieldgate.events.export import xlsx
from fieldgate.events.export.file_context import FileContext
from fieldgate.http.response.csv_safe import CSVCell, encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

MAX_CELL_UNITS = 32_767  # Excel's limit for one cell, in units of UTF-16


def row_of(**cells: CSVCell) -> list[CSVCell]:
    return [cells.get(column) for column in COLUMNS]


async def write(*rows: Sequence[CSVCell], with_hashtags: bool = False) -> bytes:
    async def batches() -> AsyncIterator[list[bytes]]:
        for row in rows:
            yield [encode_csv([row])]

    context = FileContext(language=Language.ENGLISH, reference_data=ReferenceData([], []), with_hashtags=with_hashtags)
    return b"".join([chunk async for chunk in xlsx.write_xlsx(batches(), context)])


@pytest.mark.parametrize(
    "text",
    ["=1+1", "{=1}", "https://example.org", "<r><t>Flood</t></r>", "é😀\n\t", "_x0041_", "a&b<c>", "\x01 b", "0042"],
)
async def test_texts_stay_texts(text: str) -> None:
    book = CalamineWorkbook.from_filelike(io.BytesIO(await write(row_of(name=text, id=7))))
    [_, row] = book.get_sheet_by_name("events").to_python()
    assert str(row[COLUMNS.index("name")]).rstrip(" ") == text
    assert row[COLUMNS.index("id")] == 7


async def test_long_texts_are_cut() -> None:
    book = CalamineWorkbook.from_filelike(io.BytesIO(await write(row_of(name="😀" * MAX_CELL_UNITS))))
    [_, row] = book.get_sheet_by_name("events").to_python()
    assert row[COLUMNS.index("name")] == "😀" * (MAX_CELL_UNITS // 2)
