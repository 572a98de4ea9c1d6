"""CSV, Excel and Parquet files, read back by other libraries."""

import csv
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas
import pyarrow.parquet
import pytest
from fieldgate_client import ExportLimit
from fieldgate_client.csv_cells import escape_formula
from fieldgate_client.exports.arrow import write_parquet
from fieldgate_client.exports.csv_file import write_csv
from fieldgate_client.exports.flatten import flatten
from fieldgate_client.exports.xlsx import MAX_CELL_UNITS, cell_text, excel_time, write_xlsx
from fieldgate_client.records import Event
from hypothesis import given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from tests.client.exports.hostile_records import HOSTILE
from tests.client.exports.written import file_of, table_of

COLUMNS = ["id", "text", "mixed", "mixed.a", "number", "when", "=HYPERLINK(1)", "late.x", "late.y"]


def read_csv(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def csv_text(cell: Any) -> str:
    """What `csv` reads for a cell."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str):
        return "" if cell is None else str(cell)
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "\ufffd", escape_formula(cell))


@pytest.mark.parametrize("page_size", [1, 3, 100])
def test_csv_with_hostile_values(page_size: int) -> None:
    header, *rows = read_csv(file_of(write_csv, HOSTILE, page_size=page_size))
    assert header == [csv_text(name) for name in COLUMNS], "whatever the pages are"
    expected = [
        {csv_text(name): csv_text(cell) for name, cell in flatten(record).items()}
        for record in HOSTILE
    ]
    assert rows == [[record.get(name, "") for name in header] for record in expected]
    formulas = [
        cell for row in [header, *rows] for cell in row if cell.lstrip()[:1] in ("=", "+", "-", "@")
    ]
    assert [cell for cell in formulas if not cell.lstrip("-").isdigit()] == []


def test_csv_is_read_by_pandas_as_it_was() -> None:
    """Submissions of KoboToolbox have numbers as text."""
    records = [
        {"text": "Ärzte; Pflege | Wasser", "number": "-5", "place": "-0.5"},
        {"text": "a - b\nc\td", "number": "7", "place": "1e3"},
    ]
    table = pandas.read_csv(io.BytesIO(file_of(write_csv, records)))
    assert table["text"].tolist() == [record["text"] for record in records]
    assert (table["number"].tolist(), table["place"].tolist()) == ([-5, 7], [-0.5, 1000.0])


def test_xlsx_with_hostile_values(tmp_path: Path) -> None:
    path = tmp_path / "records.xlsx"
    path.write_bytes(file_of(write_xlsx, HOSTILE))
    sheet = openpyxl.load_workbook(path).active
    assert sheet.title == "records"
    header, *rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    assert header == COLUMNS
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {
        "s",
        "inlineStr",
        "n",
        "b",
        "d",
    }, "no formula"
    assert not any(cell.hyperlink for row in sheet.iter_rows() for cell in row)
    assert [row[0] for row in rows] == [*range(1, 12)], "an empty row at the end is not there"
    assert [row[1] for row in rows[:5]] == [record["text"] for record in HOSTILE[:5]]
    assert rows[5][1] == "a\ufffdb\ufffdc\ufffd\ufffd\x7f\ufffd"
    assert rows[6][1] == "é" * (MAX_CELL_UNITS - 38) + " [cut: the text has 40,000 characters]"
    assert rows[7][1] == 'quotes " and, commas\nand lines\nthere\n'
    assert [row[2] for row in rows[:6]] == [1, "two", True, None, 1.5, "1, 2"]
    assert [row[4] for row in rows[:4]] == [1, str(2**70), -1, str(2**53 + 1)]
    again = CalamineWorkbook.from_path(str(path)).get_sheet_by_name("records").to_python()
    assert again[10][1] == HOSTILE[9]["text"], "Excel's own escapes are undone by its readers"


@given(st.text(st.characters(categories=["L", "So", "Cc"]), max_size=50), st.integers(1, 1200))
def test_cells_are_never_too_long(text: str, times: int) -> None:
    cell = cell_text(text * times)
    assert len(cell.encode("utf-16-le")) // 2 <= MAX_CELL_UNITS
    if len(text) * times * 2 <= MAX_CELL_UNITS:
        assert "[cut" not in cell


def test_a_sheet_has_a_limit() -> None:
    several = [{"id": number} for number in range(10)]
    with table_of(several, max_records=10) as table:
        assert table.count == 10
    with pytest.raises(ExportLimit, match=r"at most 9 records and a header.*to_csv or to_parquet"):
        table_of(several, max_records=9)


def test_parquet_with_hostile_values(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    path.write_bytes(file_of(write_parquet, HOSTILE))
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == COLUMNS
    assert [str(field.type) for field in table.schema] == [
        "int64", "string", "string", "int64", "string", "timestamp[us, tz=UTC]", "string", "int64", "string",
    ]  # fmt: skip
    assert table.column("id").to_pylist() == [*range(1, 12), None]
    assert table.column("text").to_pylist() == [record.get("text") for record in HOSTILE]
    assert table.column("mixed").to_pylist() == [
        "1", "two", "true", None, "1.5", "1, 2", None, None, "", "'=1", '"', None,
    ]  # fmt: skip
    assert table.column("number").to_pylist()[:3] == ["1", str(2**70), "-1"]
    assert table.column("when").to_pylist()[:4] == [
        datetime(2021, 3, 4, 10, 20, 30, tzinfo=UTC),
        None,
        datetime(2021, 3, 5, tzinfo=UTC),
        datetime(2021, 3, 4, 23, 0, 0, 500_000, tzinfo=UTC),
    ]
    assert table.column("late.x").to_pylist()[-3:] == [1, 2, None]


RECORDS: list[dict[str, Any]] = [
    {"id": 1, "when": "2026-10-21T11:40:45Z", "day": "2021-03-05", "mixed": "2021-03-05", "name": "2021-03-05",
     "limits": "1900-02-28T23:59:59Z", "number": 2021, "empty": None},
    {"id": 2, "when": "2021-03-05T00:00:00.5+01:00", "day": None, "mixed": "soon", "name": "x" * 80,
     "limits": "9999-12-31T23:59:59.999999Z", "number": 1.5, "empty": None},
    {"id": 3, "when": None, "day": "1900-03-01", "mixed": 1, "name": "x" * 20,
     "limits": "9999-12-31T23:59:59Z", "number": 0, "empty": None},
]  # fmt: skip


@pytest.fixture
def sheet() -> Any:
    return openpyxl.load_workbook(io.BytesIO(file_of(write_xlsx, RECORDS, Event))).active


def column(sheet: Any, name: str) -> list[Any]:
    (cells,) = (cells for cells in sheet.iter_cols() if cells[0].value == name)
    return [*cells[1:]]


def test_times_are_dates(sheet: Any) -> None:
    when, day = column(sheet, "when"), column(sheet, "day")
    assert [cell.is_date for cell in when] == [True, True, False]
    assert when[0].value == datetime(2026, 10, 21, 11, 40, 45)
    assert when[1].value == datetime(2021, 3, 4, 23, 0, 0, 500_000), "UTC"
    assert when[2].value is None
    assert when[0].number_format == "yyyy-mm-dd hh:mm"
    assert [cell.value for cell in day] == [datetime(2021, 3, 5), None, datetime(1900, 3, 1)]
    assert day[0].number_format == "yyyy-mm-dd"


def test_what_stays_text_or_a_number(sheet: Any) -> None:
    assert [cell.value for cell in column(sheet, "mixed")] == ["2021-03-05", "soon", 1]
    assert column(sheet, "name")[0].value == "2021-03-05", "names of events are text"
    limits = column(sheet, "limits")
    assert [cell.value for cell in limits[:2]] == [record["limits"] for record in RECORDS[:2]]
    assert limits[2].value == datetime(9999, 12, 31, 23, 59, 59)
    assert [cell.value for cell in column(sheet, "number")] == [2021, 1.5, 0]
    assert not any(
        cell.is_date for cell in [*column(sheet, "number"), *column(sheet, "mixed"), *limits[:2]]
    )


@given(st.datetimes())
def test_any_time(time: datetime) -> None:
    """Excel has it, or it stays text."""
    found = excel_time(f"{time.isoformat()}Z")
    assert found == (
        time if datetime(1900, 3, 1) <= time <= datetime(9999, 12, 31, 23, 59, 59) else None
    )
