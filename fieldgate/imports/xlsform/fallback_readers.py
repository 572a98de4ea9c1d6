"""Read workbooks in Python, where Calamine fails: xlsx and xlsm with openpyxl, xls with xlrd.

They are slower, but read some files that Calamine refuses, for example with `<dimension ref="1:63"/>`. pyxform uses
them too, so they are installed and loaded anyway. Values are those that Calamine returns for the same cells.
"""

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import xlrd
from openpyxl.reader.excel import ExcelReader
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel

LAST_ROW = 1_048_576  # of any sheet

_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class SheetValues(NamedTuple):
    """A sheet, read row by row. Rows have no empty cells at their end."""

    name: str
    rows: Iterator[list[Any]]


def read_xlsx_values(data: bytes) -> list[SheetValues]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = ExcelReader(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        reader.read()
        # openpyxl leaves them out. A form without its choices would be another form.
        if any(part.target not in reader.valid_files for _, part in reader.parser.find_sheets()):
            raise ValueError("a sheet is missing in the file")
    return [SheetValues(sheet.title, _xlsx_rows(sheet)) for sheet in reader.wb.worksheets]


def _xlsx_rows(sheet: Any) -> Iterator[list[Any]]:
    sheet.reset_dimensions()  # what the file says about its size may be wrong
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in _at_most(LAST_ROW, sheet.iter_rows()):
            yield _strip_end(_xlsx_value(cell) for cell in row)


def _xlsx_value(cell: Any) -> Any:
    if cell.value is None or cell.data_type == "e":
        return ""
    if isinstance(cell.value, str):
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), cell.value)
    return cell.value


def read_xls_values(data: bytes) -> list[SheetValues]:
    workbook = xlrd.open_workbook(
        file_contents=data, logfile=io.StringIO(), on_demand=True, ragged_rows=True
    )
    names = workbook.sheet_names()
    return [SheetValues(name, _xls_rows(workbook, index)) for index, name in enumerate(names)]


def _xls_rows(workbook: Any, index: int) -> Iterator[list[Any]]:
    sheet = workbook.sheet_by_index(index)
    epoch = MAC_EPOCH if workbook.datemode else WINDOWS_EPOCH
    for number in range(sheet.nrows):
        cells = zip(sheet.row_types(number), sheet.row_values(number), strict=True)
        yield _strip_end(_xls_value(kind, value, epoch) for kind, value in cells)
    workbook.unload_sheet(index)


def _xls_value(kind: int, value: Any, epoch: Any) -> Any:
    match kind:
        case xlrd.XL_CELL_BOOLEAN:
            return bool(value)
        case xlrd.XL_CELL_DATE:
            return from_excel(value, epoch)
        case xlrd.XL_CELL_TEXT | xlrd.XL_CELL_NUMBER:
            return value
        case _:  # an error or nothing
            return ""


def _at_most(count: int, rows: Iterable[Any]) -> Iterator[Any]:
    """Raise ValueError for more. A file can claim any row number, and those before it are returned empty."""
    rows = iter(rows)
    yield from islice(rows, count)
    if next(rows, None) is not None:
        raise ValueError("a row has a number that no sheet has")


def _strip_end(values: Iterable[Any]) -> list[Any]:
    row = list(values)
    while row and row[-1] == "":
        row.pop()
    return row
