"""Parse countries and disaster types from the responses of another server, one per language."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from fieldgate.i18n.localized_text import FALLBACK_LANGUAGES, LocalizedText, without_fallbacks
from fieldgate.reference.reference_data import Country, DisasterType
from fieldgate.reference.schemas import PROFILE_FIELDS

MAX_PROFILE_VALUE_BYTES = (
    64 * 1024
)  # a rectangle and a point are small; a border line would fill every list

ReferenceRecord = TypeVar("ReferenceRecord", Country, DisasterType)
RecordByLanguage = Mapping[str, Mapping[str, Any]]  # by language code


class InvalidReferenceRecord(Exception):
    """A record that cannot be used."""


def parse_country(
    by_language: RecordByLanguage, before: Country | None = None, *, english_first: bool = False
) -> Country:
    """Return the country. Fields and translations that the records do not have are kept from `before`."""
    record = next(iter(by_language.values()))
    values: dict[str, Any] = msgspec.structs.asdict(before) if before else {}
    copied = ("id", "record_type", "independent", "is_deprecated", "fdrs", "average_household_size")
    values |= {name: record[name] for name in copied if name in record}
    for name, length in (("iso", 2), ("iso3", 3)):
        code = record.get(name)
        values[name] = code if isinstance(code, str) and len(code) == length else values.get(name)
    if "region" in record:
        region = record["region"]
        values["region"] = region.get("id") if isinstance(region, dict) else region
    values["profile"] = dict(before.profile if before else {}) | _parse_profile(record)
    values["original_language"] = _original_language(record)
    values["overviews"] = _merge_texts(
        by_language, "overview", before.overviews if before else {}, english_first
    )
    values["names"] = _merge_texts(
        by_language, "name", before.names if before else {}, english_first
    )
    values["society_names"] = _merge_texts(
        by_language, "society_name", before.society_names if before else {}, english_first
    )
    return _convert_record(values, Country)


def parse_disaster_type(
    by_language: RecordByLanguage,
    before: DisasterType | None = None,
    *,
    english_first: bool = False,
) -> DisasterType:
    """Return the disaster type. Translations that the records do not have are kept from `before`."""
    record = next(iter(by_language.values()))
    values = {
        "id": record.get("id"),
        "names": _merge_texts(by_language, "name", before.names if before else {}, english_first),
        "summaries": _merge_texts(
            by_language, "summary", before.summaries if before else {}, english_first
        ),
        "original_language": _original_language(record),
    }
    return _convert_record(values, DisasterType)


def _parse_profile(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a full record. A value of another type counts as unknown."""
    profile = {}
    for name in PROFILE_FIELDS.keys() & record.keys():
        value = (
            str(record[name]) if isinstance(record[name], float) else record[name]
        )  # a score is decimal text
        if (
            isinstance(value, (list, dict))
            and len(msgspec.json.encode(value)) > MAX_PROFILE_VALUE_BYTES
        ):
            value = None
        try:
            profile[name] = msgspec.to_builtins(msgspec.convert(value, PROFILE_FIELDS[name]))
        except msgspec.ValidationError:
            continue
    return profile


def _original_language(record: Mapping[str, Any]) -> str:
    code = record.get("translation_module_original_language")
    return code if code in FALLBACK_LANGUAGES else "en"


def _merge_texts(
    by_language: RecordByLanguage, name: str, before: LocalizedText, english_first: bool
) -> LocalizedText:
    shown = {code: record.get(name) for code, record in by_language.items()}
    texts = {
        code: text for code, text in shown.items() if isinstance(text, str) and "\0" not in text
    }
    return before | without_fallbacks(
        texts, _original_language(next(iter(by_language.values()))), english_first=english_first
    )


def _convert_record(values: dict[str, Any], kind: type[ReferenceRecord]) -> ReferenceRecord:
    try:
        made = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidReferenceRecord(str(error)) from None
    if not made.names or not 0 <= made.id < 2**31:
        raise InvalidReferenceRecord("it has no name, or no valid id")
    return made
