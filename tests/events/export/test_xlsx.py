"""Exported workbooks: other programs read them, and no text becomes a formula or markup."""

import cProfile
import io
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import pytest
from openpyxl import load_workbook
from python_calamine import CalamineWorkbook

from fieldgate.events.export import xlsx
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.rows import COLUMNS
from fieldgate.http.response.csv_safe import CSVCell, encode_csv
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

MAX_CELL_UNITS = 32_767  # Excel's limit for one cell, in units of UTF-16


def row_of(**cells: CSVCell) -> list[CSVCell]:
    return [cells.get(column) for column in COLUMNS]


async def write(*rows: Sequence[CSVCell]) -> bytes:
    async def batches() -> AsyncIterator[list[bytes]]:
        for row in rows:
            yield [encode_csv([row])]

    context = FileContext(language=Language.ENGLISH, reference_data=ReferenceData([], []))
    return b"".join([chunk async for chunk in xlsx.write_xlsx(batches(), context)])


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "{=1}",
        "https://example.org",
        "<r><t>Flood</t></r>",
        "é😀\n\t",
        "_x0041_",
        "a&b<c>",
        "\x01 b",
        "0042",
    ],
)
async def test_texts_stay_texts(text: str) -> None:
    book = CalamineWorkbook.from_filelike(io.BytesIO(await write(row_of(name=text, id=7))))
    [header, row] = book.get_sheet_by_name("events").to_python()
    assert str(row[header.index("Name")]).rstrip(" ") == text
    assert row[header.index("Number")] == 7


async def test_long_texts_are_cut() -> None:
    book = CalamineWorkbook.from_filelike(
        io.BytesIO(await write(row_of(name="😀" * MAX_CELL_UNITS)))
    )
    [header, row] = book.get_sheet_by_name("events").to_python()
    assert row[header.index("Name")] == "😀" * (MAX_CELL_UNITS // 2)


async def test_dates_numbers_and_booleans_are_such() -> None:
    cells: dict[str, CSVCell] = {
        "id": 7, "disaster_start_date": "2026-10-31T05:00:00.123456Z", "created_at": "1890-01-01T00:00:00Z",
        "amount_requested": 1234.5, "num_affected": 12_000, "is_featured": "True", "auto_generated": "False",
    }  # fmt: skip
    content = await write(row_of(**cells))
    sheet = load_workbook(io.BytesIO(content)).active
    assert sheet is not None
    header, row = ([cell.value for cell in cells] for cells in sheet.iter_rows(max_row=2))
    assert sheet.freeze_panes == "A2", "the header stays in sight"
    assert header[:6] == ["Number", "Name", "Type", "Countries", "Regions", "Start (UTC)"]
    values = dict(zip(header, row, strict=True))
    assert values["Start (UTC)"] == datetime(2026, 10, 31, 5, 0, 0, 123000)
    assert values["First reported (UTC)"] == "1890-01-01T00:00:00Z", (
        "Excel has no earlier dates than 1900"
    )
    assert (values["Requested (CHF)"], values["People affected"]) == (1234.5, 12_000)
    assert (values["Featured"], values["Created automatically"]) == (True, False)
    assert values["Funded (CHF)"] is None, "unknown is not zero"
    assert sheet.column_dimensions["B"].width > sheet.column_dimensions["A"].width


def test_a_cell_costs_few_calls(tmp_path: Path) -> None:
    """A workbook is written in a thread, which keeps the interpreter from other requests."""
    rows = [
        encode_csv([row_of(id=n, name="Flood", is_featured="True", num_affected=7)])
        for n in range(100)
    ]
    workbook = xlsx.EventWorkbook(tmp_path, [["Number"]])
    calls = cProfile.Profile()
    calls.runcall(workbook.add, rows)
    workbook.complete()
    assert sum(each.callcount for each in calls.getstats()) < 12 * 4 * len(rows)
