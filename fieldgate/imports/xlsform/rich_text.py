"""Keep the spaces between the parts of a text with several formats.

Excel stores `Are you <b>well</b>?` as three parts. Calamine trims each part that does not say `xml:space="preserve"`,
and some programs leave that out, so that words run together. Excel itself and openpyxl keep the spaces.
"""

import io
import re
import zipfile
import zlib

MAX_UNPACKED_BYTES = (
    64 * 1024 * 1024
)  # of the whole workbook; a larger one is left to the limits of the reader

_ZIP_MAGIC = b"PK"
_PARTS_WITH_TEXTS = re.compile(r"/?xl/(?:sharedStrings|worksheets/[^/]+)\.xml", re.IGNORECASE)
# The tag before a text that begins or ends with a space.
_TRIMMING_TAG = re.compile(rb"<((?:\w+:)?t)>(?=\s|[^<]*\s</)")
_PRESERVING_TAG = rb'<\1 xml:space="preserve">'


def preserve_spaces(data: bytes) -> bytes:
    """The workbook with all spaces in its texts marked as significant. Mostly that is the same object."""
    if not data.startswith(_ZIP_MAGIC):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            changed = _changed_parts(archive)
            return _replace_parts(archive, changed) if changed else data
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        OSError,
        EOFError,
        ValueError,
        zlib.error,
    ):
        return data  # the reader reports what is wrong


def _changed_parts(archive: zipfile.ZipFile) -> dict[str, bytes]:
    parts = archive.infolist()
    if sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES or len(
        {part.filename for part in parts}
    ) < len(parts):
        return {}
    changed = {}
    for part in parts:
        if _PARTS_WITH_TEXTS.fullmatch(part.filename):
            text = archive.read(part)
            if _TRIMMING_TAG.search(text):
                changed[part.filename] = _TRIMMING_TAG.sub(_PRESERVING_TAG, text)
    return changed


def _replace_parts(archive: zipfile.ZipFile, changed: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as copy:
        for part in archive.infolist():
            copy.writestr(part.filename, changed.get(part.filename) or archive.read(part))
    return file.getvalue()
