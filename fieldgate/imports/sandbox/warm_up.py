"""Parse a small form when this module is loaded, by the fork server only, so that forked processes need not.

The first form in a process takes a quarter longer than others: regular expressions are compiled, caches are filled,
modules are loaded. Forked processes have all of that in the memory that they share.
"""

import io
import logging
import zipfile
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from xml.sax.saxutils import escape

from fieldgate.imports import xlsform

log = logging.getLogger(__name__)

_SHEETS: Mapping[str, Sequence[Sequence[str]]] = {
    "survey": (
        ("type", "name", "label::English (en)", "label::French (fr)", "required", "relevant", "calculate"),
        ("text", "name", "Name", "Nom", "yes", "", ""),
        ("begin_group", "household", "Household", "Ménage", "", "", ""),
        ("integer", "size", "Size", "Taille", "", "", ""),
        ("select_one yes_no", "displaced", "Displaced?", "Déplacé ?", "", "${size} > 1", ""),
        ("end_group", "", "", "", "", "", ""),
        ("calculate", "doubled", "", "", "", "", "${size} * 2"),
    ),
    "choices": (
        ("list_name", "name", "label::English (en)", "label::French (fr)"),
        ("yes_no", "yes", "Yes", "Oui"),
        ("yes_no", "no", "No", "Non"),
    ),
    "settings": (("form_title", "default_language"), ("Sample", "English (en)")),
}  # fmt: skip


_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_WORKBOOK_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"


def sample_workbook() -> bytes:
    """A form as an xlsx file, made in memory: libraries that write workbooks use temporary files."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_WORKBOOK_TYPE}"/></Types>',
        "_rels/.rels": _relations("officeDocument", ["xl/workbook.xml"]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(_SHEETS, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations("worksheet", [f"worksheets/{name}.xml" for name in _SHEETS]),
        **{f"xl/worksheets/{name}.xml": _sheet(rows) for name, rows in _SHEETS.items()},
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def _relations(kind: str, targets: Sequence[str]) -> str:
    found = (
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for n, target in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{"".join(found)}</Relationships>'


def _sheet(rows: Sequence[Sequence[str]]) -> str:
    cells = [
        "".join(
            f'<c r="{letter}{n}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'
            for letter, text in zip(ascii_uppercase, row, strict=False)
        )
        for n, row in enumerate(rows, 1)
    ]
    numbered = "".join(f'<row r="{n}">{row}</row>' for n, row in enumerate(cells, 1))
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{numbered}</sheetData></worksheet>'


def warm_up() -> None:
    try:
        xlsform.parse_workbook(sample_workbook(), "sample", None)
    except Exception:  # forms take longer, but are imported
        log.exception("the sample form could not be parsed")


warm_up()
