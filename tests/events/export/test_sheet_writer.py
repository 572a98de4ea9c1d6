"""Workbooks have the cells that xlsxwriter writes, and other programs read them."""

import io
import re
import zipfile
from collections.abc import Sequence

import openpyxl
import pytest
import xlsxwriter
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape
from python_calamine import CalamineWorkbook

from fieldgate.events.export import sheet_writer
from fieldgate.events.export.sheet_writer import MAX_CELL_UNITS, LargeWorkbook

COLUMNS = ("name", "id", *(f"column {number}" for number in range(3, 29)))
NUMBERS = frozenset({"id"})
SHEET = "xl/worksheets/sheet1.xml"

texts = st.text(max_size=5) | st.text(alphabet="&<>\"'_x000D_\x00\x01\r\n\t \u3000é\ufffe😀", max_size=12)


def write(*rows: Sequence[str], header: Sequence[Sequence[str]] = (COLUMNS[:3],)) -> bytes:
    file = io.BytesIO()
    workbook = LargeWorkbook(file, "events", header, NUMBERS)
    workbook.add(rows[:2])
    workbook.add(rows[2:])
    workbook.close()
    return file.getvalue()


def write_with_xlsxwriter(*rows: Sequence[str]) -> bytes:
    file = io.BytesIO()
    options = {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}
    with xlsxwriter.Workbook(file, options) as workbook:
        sheet = workbook.add_worksheet("events")
        sheet.freeze_panes(1, 0)
        for place, row in enumerate([COLUMNS[:3], *rows]):
            for number, cell in enumerate(row):
                sheet.write(place, number, int(cell) if place and number == 1 else cell)
    return file.getvalue()


def sheet_of(workbook: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(workbook)) as archive:
        assert archive.testzip() is None
        return re.sub("<dimension [^>]*/>", "", archive.read(SHEET).decode())


@given(st.lists(st.tuples(texts, st.integers(0, 2**53).map(str), texts), max_size=4))
@example([("😀" * MAX_CELL_UNITS, "0", "x" * (MAX_CELL_UNITS + 1))])
@example([(" a", "1", "b\u00a0"), ("_x0041_", "2", "<r>")])
def test_sheets_are_those_of_xlsxwriter(rows: list[tuple[str, str, str]]) -> None:
    assert sheet_of(write(*rows)) == sheet_of(write_with_xlsxwriter(*rows))


def test_text_that_looks_like_markup_stays_text() -> None:
    """xlsxwriter would write this one as it is."""
    text = "<r><t>Flood</t></r>"
    [_, [found, *_]] = (
        CalamineWorkbook.from_filelike(io.BytesIO(write([text, "1", ""]))).get_sheet_by_index(0).to_python()
    )
    assert found == text


@pytest.mark.parametrize("text", ["_x005F_x000D_", "_x0041_x0042_x0043_", "a_x000d_b", "__x000D__"])
def test_text_that_looks_like_escapes_stays_text(text: str) -> None:
    """xlsxwriter misses escapes that share an underscore with the one before."""
    sheet = openpyxl.load_workbook(io.BytesIO(write([text, "1", ""])))["events"]
    assert unescape(sheet["A2"].value) == text  # openpyxl leaves this to its callers


def test_other_programs_read_the_workbook() -> None:
    row = ["=1+1", "7", *(f"cell {number}" for number in range(3, 29))]
    content = write(row, header=(COLUMNS, ["#tag"] * 28))
    sheet = openpyxl.load_workbook(io.BytesIO(content))["events"]
    assert sheet.freeze_panes == "A3"
    assert [cell.value for cell in sheet[3]] == ["=1+1", 7, *row[2:]]
    assert sheet["A3"].data_type != "f"
    assert sheet["AB3"].value == "cell 28"


def test_large_sheets_are_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_writer, "MAX_SHEET_BYTES", 10)
    book = CalamineWorkbook.from_filelike(io.BytesIO(write(*([str(n), "1", ""] for n in range(5)))))
    tables = [book.get_sheet_by_name(name).to_python()[1:] for name in book.sheet_names]
    assert [row[0] for table in tables for row in table] == ["0", "1", "2", "3", "4"]
    assert book.sheet_names == ["events", "events 2"]


def test_abandoned_workbook_leaves_nothing_open() -> None:
    with io.BytesIO() as file:
        workbook = LargeWorkbook(file, "events", [COLUMNS], NUMBERS)
        workbook.add([[""] * len(COLUMNS)])
        workbook.abandon()
