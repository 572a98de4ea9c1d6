"""The CSV row of an event as a reader of its list record would make it: what stored rows must be."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from fieldgate.events.plain_text import to_plain_text
from fieldgate.events.rows import COLUMNS
from fieldgate.http.response.csv_safe import CSVCell
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.reference.regions import REGION_NAMES


def to_rows(records: Iterable[bytes], language: Language) -> Iterator[list[CSVCell]]:
    """Convert JSON records to rows. Several values in one cell are joined by commas; HTML becomes text."""
    for record in records:
        fields = msgspec.json.decode(record)
        yield [_cell(fields, column, language) for column in COLUMNS]


def _cell(fields: dict[str, Any], column: str, language: Language) -> CSVCell:
    name, _, inner = column.partition(".")
    if column in ("amount_requested", "amount_funded"):
        cents = sum(round(appeal[column] * 100) for appeal in fields["appeals"])
        return (cents / 100 if cents % 100 else cents // 100) if fields["appeals"] else None
    if column == "appeals.count":
        return len(fields["appeals"])
    if name == "regions":
        ids = sorted({each["region"] for each in fields["countries"] if each["region"] is not None})
        return ", ".join(
            str(id_) if inner == "id" else translate(REGION_NAMES[id_], language) for id_ in ids
        )
    if column.startswith("field_reports.num_"):
        stated = [
            report[source + inner]
            for report in fields["field_reports"]
            for source in ("", "gov_", "other_")
        ]
        return next((number for number in stated if number is not None), None)
    if column == "dtype":
        return None
    value = fields.get(name, False) if name == "demo" else fields[name]
    if isinstance(value, list):
        return ", ".join(str(each[inner]) for each in value if each[inner] not in (None, ""))
    if inner:
        value = None if value is None else value[inner]
    if column in ("summary", "dtype.summary") and value is not None:
        return to_plain_text(value)
    found: CSVCell = str(value) if isinstance(value, bool) else value
    return found
