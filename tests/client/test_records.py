"""Typed records have every field that Fieldgate documents, with its type: the OpenAPI document is the proof."""

from typing import Any

import msgspec
import pytest
from fieldgate_client import records, sharing

from tests.openapi_checker import OpenAPIChecker

SCHEMAS: dict[str, Any] = OpenAPIChecker.for_operations([]).document["components"]["schemas"]
TIME = "2026-01-02T03:04:05Z"
# The struct for each schema.
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "EventRecord": records.Event,
    "MiniCountry": records.Country,
    "DisasterTypeRecord": records.DisasterType,
    "AppealRecord": records.Appeal,
    "FieldReportRecord": records.FieldReport,
    "DeletedEvent": records.DeletedEvent,
    "PermissionRecord": records.Permission,
    "AssetRecord": records.Asset,
    "AssignmentRecord": records.Assignment,
    "ImportRecord": records.Import,
    "EffectRecord": records.Effect,
    "EffectOnUser": records.Effect,
    "ChangeRecord": sharing.SharingResult,
    "ResultRecord": sharing.UserPermissions,
    "ExplanationRecord": sharing.Explanation,
    "MatchedRecord": sharing.MatchedRule,
    "NeedRecord": sharing.Need,
}


def example(schema: dict[str, Any], *, is_null: bool = False) -> Any:
    """A value of a schema; with `is_null`, null wherever it is allowed."""
    if "$ref" in schema:
        return example(SCHEMAS[schema["$ref"].rpartition("/")[2]], is_null=is_null)
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if each != {"type": "null"}]
        return (
            None
            if is_null and len(kinds) < len(schema["anyOf"])
            else example(kinds[0], is_null=is_null)
        )
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: example(each, is_null=is_null) for name, each in schema["properties"].items()}
    match schema.get("type"):
        case "array":
            return [example(schema["items"], is_null=is_null)] if schema["items"] else [1]
        case "object":
            return {"key": 1}
        case "string":
            return TIME
        case "integer":
            return 7
        case "number":
            return 1.5
        case "boolean":
            return True
        case "null":
            return None
    raise AssertionError(schema)


@pytest.mark.parametrize("is_null", [False, True], ids=["full", "null"])
@pytest.mark.parametrize("name", STRUCTS)
def test_every_documented_field_is_kept(name: str, is_null: bool) -> None:
    sent = example(SCHEMAS[name], is_null=is_null)
    assert set(sent) == set(SCHEMAS[name]["properties"])
    record = msgspec.json.decode(msgspec.json.encode(sent), type=STRUCTS[name])
    kept = msgspec.to_builtins(record)
    assert all(contains(kept.get(field), value) for field, value in sent.items()), (kept, sent)


def contains(kept: Any, sent: Any) -> bool:
    """Whether a record has all that was sent. Structs have more fields where two schemas share one."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        return all(contains(kept.get(name), value) for name, value in sent.items())
    if isinstance(sent, list) and isinstance(kept, list):
        return len(sent) == len(kept) and all(map(contains, kept, sent))
    return bool(kept == sent)


def test_dates_are_dates() -> None:
    event = msgspec.convert(example(SCHEMAS["EventRecord"]), records.Event, strict=False)
    for value in (
        event.disaster_start_date,
        event.created_at,
        event.updated_at,
        event.appeals[0].start_date,
    ):
        assert value is not None
        assert value.isoformat() == "2026-01-02T03:04:05+00:00"


def test_a_record_with_nothing_but_its_key() -> None:
    for kind, key in (
        (records.Event, {"id": 1}),
        (records.Asset, {"uid": "a"}),
        (records.Import, {"uid": "i"}),
    ):
        assert msgspec.to_builtins(msgspec.convert(key, kind)).items() >= key.items()
