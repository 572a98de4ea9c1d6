"""Workbooks for tests, written in memory in each of the formats that can be imported."""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date, time
from xml.sax.saxutils import escape, quoteattr

from openpyxl.utils.datetime import to_excel

from tests.imports.workbooks import Rows
from tests.imports.workbooks import write_xlsx as xlsx

__all__ = ["Rows", "xlsx"]

XLS_ERRORS = {
    "#NULL!": 0x00,
    "#DIV/0!": 0x07,
    "#VALUE!": 0x0F,
    "#REF!": 0x17,
    "#NAME?": 0x1D,
    "#NUM!": 0x24,
    "#N/A": 0x2A,
}
_XLS_FORMATS = (0, 22)  # the format of each style: general, date and time
_GENERAL, _DATE_AND_TIME = range(len(_XLS_FORMATS))


def xlsm(sheets: Mapping[str, Rows]) -> bytes:
    """The same with macros, as Excel saves it: another content type, and a part with macros."""
    plain, macros = (
        "openxmlformats-officedocument.spreadsheetml.sheet.main",
        "ms-excel.sheet.macroEnabled.main",
    )
    program = '<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>'
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(xlsx(sheets))) as book,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in book.namelist():
            data = book.read(name)
            if name == "[Content_Types].xml":
                data = (
                    data.decode()
                    .replace(plain, macros)
                    .replace("</Types>", f"{program}</Types>")
                    .encode()
                )
            archive.writestr(name, data)
        archive.writestr("xl/vbaProject.bin", ole2("PROJECT", b"Module=Module1\r\n"))
    return file.getvalue()


def rich_text_xlsx(sheets: Mapping[str, Rows]) -> bytes:
    """A workbook where a list in place of a text becomes a text with several formats, without `xml:space`."""
    parts: dict[str, str] = {}

    def mark(value: object) -> object:
        if not isinstance(value, list):
            return value
        runs = "".join(f"<r><t>{escape(part)}</t></r>" for part in value)
        parts[f"rich-text-{len(parts)}"] = runs
        return f"rich-text-{len(parts) - 1}"

    plain = xlsx(
        {name: [[mark(value) for value in row] for row in rows] for name, rows in sheets.items()}
    )
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(plain)) as book,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in book.namelist():
            data = book.read(name).decode()
            for marker, runs in parts.items():
                data = data.replace(f"<t>{marker}</t>", runs)
            archive.writestr(name, data)
    return file.getvalue()


def csv_text(rows: Rows, separator: str = ",") -> str:
    return "\n".join(separator.join(_csv_quote(value) for value in row) for row in rows)


def csv_with_sections(sheets: Mapping[str, Rows]) -> bytes:
    """Several sheets in one CSV file, as XLSForm's tools write them."""
    return "\n".join(
        f"{name}\n{csv_text([['', *row] for row in rows])}" for name, rows in sheets.items()
    ).encode()


def ods(sheets: Mapping[str, Rows]) -> bytes:
    tables = "".join(
        f"<table:table table:name={quoteattr(name)}>{''.join(map(_ods_row, rows))}</table:table>"
        for name, rows in sheets.items()
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    office = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<office:document-content xmlns:office="{office}:office:1.0" xmlns:table="{office}:table:1.0"'
        f' xmlns:text="{office}:text:1.0"><office:body><office:spreadsheet>{tables}</office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    manifest = (
        f'<manifest:manifest xmlns:manifest="{office}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return file.getvalue()


def xls(sheets: Mapping[str, Rows], extent: tuple[int, int] | None = None) -> bytes:
    """The binary format of Excel 97: records of a workbook (BIFF8) in a small OLE2 file.

    `extent` is how many rows and columns each sheet claims to have. Excel counts formatted cells, empty ones too.
    """
    bodies = [_biff_sheet(rows, extent) for rows in sheets.values()]
    start = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    for number_format in _XLS_FORMATS:
        start += _record(0x00E0, struct.pack("<HHH14x", 0, number_format, 0))
    end = _record(0x000A)
    length = len(start) + len(end) + sum(4 + 8 + 2 * len(name) for name in sheets)
    directory = b""
    for name, body in zip(sheets, bodies, strict=True):
        directory += _record(
            0x0085, struct.pack("<IHBB", length, 0, len(name), 1) + name.encode("utf-16-le")
        )
        length += len(body)
    return ole2("Workbook", start + directory + end + b"".join(bodies))


def ole2(name: str, stream: bytes) -> bytes:
    """A compound file that holds one stream. Streams shorter than 4096 bytes would need more machinery: pad."""
    stream = stream.ljust(4096, b"\0")
    sectors = -(-len(stream) // 512)
    chain = [0xFFFFFFFD, 0xFFFFFFFE, *range(3, 2 + sectors), 0xFFFFFFFE]
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIIII",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"",
        *(0x3E, 3, 0xFFFE, 9, 6),
        b"",
        *(0, 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0),
    )
    header += struct.pack("<108I", *([0xFFFFFFFF] * 108))
    allocation = struct.pack("<128I", *chain, *([0xFFFFFFFF] * (128 - len(chain))))
    entries = _ole2_entry("Root Entry", 5, 1, 0xFFFFFFFE, 0) + _ole2_entry(
        name, 2, 0xFFFFFFFF, 2, len(stream)
    )
    return header + allocation + entries.ljust(512, b"\0") + stream.ljust(sectors * 512, b"\0")


def _ole2_entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le")
    none = 0xFFFFFFFF
    return struct.pack(
        "<64sHBBIII16sI8s8sIQ",
        text,
        len(text) + 2,
        kind,
        1,
        none,
        none,
        child,
        b"",
        0,
        b"",
        b"",
        start,
        size,
    )


def _biff_sheet(rows: Rows, extent: tuple[int, int] | None) -> bytes:
    cells = b"".join(
        _biff_cell(y, x, value)
        for y, row in enumerate(rows)
        for x, value in enumerate(row)
        if value is not None
    )
    dimensions = (
        _record(0x0200, struct.pack("<IIHHH", 0, extent[0], 0, extent[1], 0)) if extent else b""
    )
    return (
        _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
        + dimensions
        + cells
        + _record(0x000A)
    )


def _biff_cell(y: int, x: int, value: object) -> bytes:
    if value in XLS_ERRORS:
        return _record(0x0205, struct.pack("<HHHBB", y, x, _GENERAL, XLS_ERRORS[str(value)], 1))
    if isinstance(value, bool):
        return _record(0x0205, struct.pack("<HHHBB", y, x, _GENERAL, value, 0))
    if isinstance(value, int | float):
        return _record(0x0203, struct.pack("<HHHd", y, x, _GENERAL, value))
    if isinstance(value, date | time):
        return _record(0x0203, struct.pack("<HHHd", y, x, _DATE_AND_TIME, to_excel(value)))
    text = str(value).encode("utf-16-le")
    return _record(0x0204, struct.pack("<HHHHB", y, x, _GENERAL, len(text) // 2, 1) + text)


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _csv_quote(value: object) -> str:
    return "" if value is None else '"' + str(value).replace('"', '""') + '"'


def _ods_row(row: Sequence[object]) -> str:
    cells = "".join(
        "<table:table-cell/>"
        if value is None
        else f'<table:table-cell office:value-type="string"><text:p>{escape(str(value))}</text:p></table:table-cell>'
        for value in row
    )
    return f"<table:table-row>{cells}</table:table-row>"
