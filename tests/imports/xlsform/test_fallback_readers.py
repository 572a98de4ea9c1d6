"""Workbooks that Calamine cannot read, and that the other readers give the same texts."""

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from fieldgate.imports.xlsform import FormRejected
from fieldgate.imports.xlsform.workbook_reader import Sheet, read_workbook
from tests.imports.xlsform.workbooks import XLS_ERRORS, Rows, xls, xlsx

SHEETS: Mapping[str, Rows] = {
    "survey": [["type", "name", "label"], [], ["text", "a", "Où?"]],
    "notes": [],
    "settings": [["form_title", "version"], ["Paint", 7]],
}
EXCEL_START = date(1901, 1, 1)  # before it, the two readers of xlsx count days differently

characters = st.characters(exclude_categories=["Cs"], min_codepoint=32)
cells = st.one_of(
    st.none(),
    st.text(characters, min_size=1, max_size=20).filter(
        lambda text: not text.startswith("=") and "_x" not in text
    ),
    st.integers(-(10**9), 10**9),
    st.floats(-1e12, 1e12, allow_nan=False),
    st.booleans(),
    st.sampled_from(list(XLS_ERRORS)),
    st.dates(EXCEL_START, date(2200, 1, 1)),
    st.datetimes(datetime(1901, 1, 1), datetime(2200, 1, 1)).map(
        lambda at: at.replace(microsecond=0)
    ),
    st.times().map(lambda at: at.replace(microsecond=0)),
)
tables = st.lists(st.lists(cells, max_size=5), max_size=5)


def with_part_replaced(book: bytes, part: str, old: str, new: str) -> bytes:
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book)) as source,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            text = source.read(name)
            target.writestr(
                name, text.replace(old.encode(), new.encode()) if name == part else text
            )
    return file.getvalue()


def rows_as_dimension() -> bytes:
    """An xlsx file that gives only the rows of its size."""
    return with_part_replaced(xlsx(SHEETS), "xl/worksheets/sheet1.xml", 'ref="A1:C3"', 'ref="1:63"')


def texts(sheets: list[Sheet]) -> list[tuple[str, dict[tuple[int, int], str]]]:
    """The cells that are not empty, by row and column."""
    return [
        (
            sheet.name,
            {
                (row, column): text
                for row, cells in sheet.rows
                for column, text in enumerate(cells)
                if text
            },
        )
        for sheet in sheets
    ]


@pytest.mark.parametrize("write", [xlsx, xls])
@given(tables, tables)
@example(
    [[0.1 + 0.2, 1e15, -0.0, 123456789.123]], [["1e5", "007", " a ", "a\nb", "a\u00a0b", "TRUE"]]
)
def test_readers_give_the_same_texts(
    write: Callable[[Mapping[str, Rows]], bytes], first: Rows, second: Rows
) -> None:
    data = write({"survey": first, "choices": second})
    assert texts(read_workbook(data, use_first_reader=False)) == texts(read_workbook(data))


def test_file_that_calamine_refuses() -> None:
    data = rows_as_dimension()
    with pytest.raises(Exception, match="column component"):
        CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_name("survey").to_python()
    assert texts(read_workbook(data)) == texts(read_workbook(xlsx(SHEETS)))


def test_sheet_that_is_missing_in_the_file() -> None:
    """openpyxl alone would read the other sheets."""
    data = with_part_replaced(
        rows_as_dimension(), "xl/_rels/workbook.xml.rels", "sheet3.xml", "sheet9.xml"
    )
    for use_first_reader in (True, False):
        with pytest.raises(FormRejected, match="unreadable_workbook"):
            read_workbook(data, use_first_reader=use_first_reader)


def test_control_characters_are_written_as_numbers() -> None:
    """Excel writes a carriage return as _x000D_."""
    data = xlsx({"survey": [["a_x000D_\nb"]]})
    assert texts(read_workbook(data, use_first_reader=False)) == [("survey", {(1, 0): "a\r\nb"})]


@pytest.mark.parametrize(
    ("cell", "row"),
    [
        ('<c r="XFD1048576"><v>1</v></c>', 1_048_576),
        ('<c r="A4294967295"><v>1</v></c>', 4_294_967_295),
    ],
)
def test_cells_far_away(cell: str, row: int) -> None:
    """openpyxl returns the rows before it, which could be billions."""
    far = with_part_replaced(
        xlsx(SHEETS),
        "xl/worksheets/sheet1.xml",
        "</sheetData>",
        f'<row r="{row}">{cell}</row></sheetData>',
    )
    with pytest.raises(FormRejected) as rejection:
        read_workbook(far, use_first_reader=False)
    assert rejection.value.error_type == (
        "too_large" if row == 1_048_576 else "unreadable_workbook"
    )
