"""Which stored files are sent as they are."""

import io
import zipfile

import pytest

from fieldgate.assets.workbook_downloads import XLSX_SUFFIX, as_workbook
from tests.imports.workbooks import xlsx

CONTENT_TYPES = "[Content_Types].xml"


def _with_broken_part(data: bytes, compression: int) -> bytes:
    """The same archive with unreadable bytes in the part that tells what kind of file it is."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(written, "w", compression) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
        part = target.getinfo(CONTENT_TYPES)
    start = part.header_offset + 30 + len(CONTENT_TYPES) + (4 if compression == zipfile.ZIP_LZMA else 0)
    broken = bytearray(written.getvalue())
    broken[start : start + part.compress_size // 2] = b"\xff" * (part.compress_size // 2)
    return bytes(broken)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_broken_archive_is_not_sent(compression: int) -> None:
    """Our reader does not need the part, so the file could be imported."""
    data = _with_broken_part(xlsx(survey=[["type", "name"], ["text", "a"]]), compression)
    assert as_workbook(data, XLSX_SUFFIX) is None
