"""What makes a workbook usable: dates, a filter, widths and a header that stays."""

import io
from datetime import datetime
from typing import Any

import openpyxl
import pytest
from fieldgate_client.exports.xlsx import excel_time, write_xlsx
from fieldgate_client.records import Event
from hypothesis import given
from hypothesis import strategies as st

from tests.client.exports.written import file_of

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
    assert not any(cell.is_date for cell in [*column(sheet, "number"), *column(sheet, "mixed"), *limits[:2]])


@given(st.datetimes())
def test_any_time(time: datetime) -> None:
    """Excel has it, or it stays text."""
    found = excel_time(f"{time.isoformat()}Z")
    assert found == (time if datetime(1900, 3, 1) <= time <= datetime(9999, 12, 31, 23, 59, 59) else None)
