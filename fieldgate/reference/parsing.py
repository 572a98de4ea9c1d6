"""Countries and disaster types as another server shows them, in every language it was asked in."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from fieldgate.i18n.localized_text import FALLBACK, Texts, own_texts
from fieldgate.reference.reference_data import Country, DisasterType

Kind = TypeVar("Kind", Country, DisasterType)
Seen = Mapping[str, Mapping[str, Any]]  # a record by the code of its language


class Unreadable(Exception):
    """A record that cannot be taken."""


def read_country(seen: Seen, before: Country | None = None, *, english_first: bool = False) -> Country:
    """A country. What the records do not carry, or have no translation for, stays as it was."""
    record = next(iter(seen.values()))
    values: dict[str, Any] = msgspec.structs.asdict(before) if before else {}
    taken = ("id", "record_type", "independent", "is_deprecated", "fdrs", "average_household_size")
    values |= {name: record[name] for name in taken if name in record}
    for name, length in (("iso", 2), ("iso3", 3)):
        code = record.get(name)
        values[name] = code if isinstance(code, str) and len(code) == length else values.get(name)
    if "region" in record:
        region = record["region"]
        values["region"] = region.get("id") if isinstance(region, dict) else region
    values["original_language"] = _original(record)
    values["names"] = _texts(seen, "name", before.names if before else {}, english_first)
    values["society_names"] = _texts(seen, "society_name", before.society_names if before else {}, english_first)
    return _made(values, Country)


def read_type(seen: Seen, before: DisasterType | None = None, *, english_first: bool = False) -> DisasterType:
    """A disaster type. What the records have no translation for stays as it was."""
    record = next(iter(seen.values()))
    values = {
        "id": record.get("id"),
        "names": _texts(seen, "name", before.names if before else {}, english_first),
        "summaries": _texts(seen, "summary", before.summaries if before else {}, english_first),
        "original_language": _original(record),
    }
    return _made(values, DisasterType)


def _original(record: Mapping[str, Any]) -> str:
    code = record.get("translation_module_original_language")
    return code if code in FALLBACK else "en"


def _texts(seen: Seen, name: str, before: Texts, english_first: bool) -> Texts:
    shown = {code: record.get(name) for code, record in seen.items()}
    texts = {code: text for code, text in shown.items() if isinstance(text, str) and "\0" not in text}
    return before | own_texts(texts, _original(next(iter(seen.values()))), english_first=english_first)


def _made(values: dict[str, Any], kind: type[Kind]) -> Kind:
    try:
        made = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from None
    if not made.names or not 0 <= made.id < 2**31:
        raise Unreadable("it has no name, or no proper id")
    return made
