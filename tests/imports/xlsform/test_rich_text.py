"""Texts with several formats keep the spaces between their parts."""

import io
import zipfile

from hypothesis import given, settings
from hypothesis import strategies as st

from fieldgate.imports.xlsform.rich_text import preserve_spaces
from fieldgate.imports.xlsform.workbook_reader import read_workbook
from tests.imports.xlsform.workbooks import csv_text, rich_text_xlsx, xlsx

PARTS = st.lists(st.text("ab \"'&<é", min_size=1, max_size=5), min_size=1, max_size=4)


@settings(deadline=None)
@given(PARTS)
def test_text_is_the_sum_of_its_parts(parts: list[str]) -> None:
    (sheet,) = read_workbook(rich_text_xlsx({"survey": [["label", "end"], [parts, "x"]]}))
    assert sheet.rows[1][1][0] == "".join(parts).strip()


def shared_strings(data: bytes) -> bytes:
    """The same workbook with the rich texts among the shared strings."""
    file = io.BytesIO()
    texts = (
        '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        "<si><r><t>Are you </t></r><r><t>well</t></r><r><t> ?</t></r></si></sst>"
    )
    with zipfile.ZipFile(io.BytesIO(data)) as book, zipfile.ZipFile(file, "w") as archive:
        for name in book.namelist():
            if name != "xl/sharedStrings.xml":
                archive.writestr(name, book.read(name))
        archive.writestr("xl/sharedStrings.xml", texts)
    return file.getvalue()


def test_shared_strings_are_marked_too() -> None:
    with zipfile.ZipFile(io.BytesIO(preserve_spaces(shared_strings(xlsx({"survey": [["a"]]}))))) as book:
        texts = book.read("xl/sharedStrings.xml")
    assert texts.count(b'<t xml:space="preserve">') == 2
    assert b"<t>well</t>" in texts


def test_other_files_stay_the_same_object() -> None:
    plain, damaged = xlsx({"survey": [["a b"]]}), b"PK\x03\x04" + b"\x00" * 100
    for data in (plain, damaged, plain[:-200], csv_text([["a "]]).encode()):
        assert preserve_spaces(data) is data
