"""The CSV row of an event as a reader of its list record would make it: what stored rows must be."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from fieldgate.events.csv_rows import COLUMNS
from fieldgate.events.plain_text import to_plain_text
from fieldgate.http.response.csv_safe import CSVCell


def to_rows(records: Iterable[bytes]) -> Iterator[list[CSVCell]]:
    """Convert JSON records to rows. Several values in one cell are joined by commas; HTML becomes text."""
    for record in records:
        fields = msgspec.json.decode(record)
        yield [_cell(fields, column) for column in COLUMNS]


def _cell(fields: dict[str, Any], column: str) -> CSVCell:
    name, _, inner = column.partition(".")
    value = fields[name]
    if isinstance(value, list):
        return ", ".join(str(each[inner]) for each in value if each[inner] not in (None, ""))
    if inner:
        value = None if value is None else value[inner]
    if column in ("summary", "dtype.summary") and value is not None:
        return to_plain_text(value)
    found: CSVCell = str(value) if isinstance(value, bool) else value
    return found
