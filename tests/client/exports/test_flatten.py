"""The rule by which records become rows."""

from typing import Any

import msgspec
import pytest
from fieldgate_client import ExportLimit
from fieldgate_client.exports.flatten import decode_record, flatten
from fieldgate_client.exports.table import MAX_COLUMNS
from hypothesis import example, given
from hypothesis import strategies as st

from tests.client.exports.written import table_of

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
names = st.text("ab._", max_size=3)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
records = st.dictionaries(names, values, max_size=5)


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (1, {"f": 1}),
        (None, {"f": None}),
        ({"id": 12, "name": "Flood"}, {"f.id": 12, "f.name": "Flood"}),
        (
            [{"id": 1, "name": "Chad"}, {"id": 2, "name": "Kenya"}],
            {"f.id": "1, 2", "f.name": "Chad, Kenya"},
        ),
        ([{"iso": "TD"}, {"iso": None}, {"iso": "KE"}], {"f.iso": "TD, , KE"}),
        ([{"id": 1}], {"f.id": "1"}),
        ([{"iso": None}], {"f.iso": None}),
        ([{"a": 1}, {"b": True}], {"f.a": "1, ", "f.b": ", true"}),
        (["a", 2, 1.5, None, False], {"f": "a, 2, 1.5, , false"}),
        ([], {"f": None}),
        ({}, {"f": None}),
        ([{}], {"f": None}),
        (
            {"deep": {"x": 1}, "list": ["a", "b"], "none": []},
            {"f.deep": '{"x":1}', "f.list": "a, b", "f.none": None},
        ),
        ([{"tags": ["a"]}, {"tags": []}], {"f.tags": '[["a"],[]]'}),
        ({"list": [{"x": 1}, {"x": 2}]}, {"f.list": '[{"x":1},{"x":2}]'}),
        ([1, {"x": 2}], {"f": '[1,{"x":2}]'}),
    ],
)
def test_rule(value: Any, row: dict[str, Any]) -> None:
    assert flatten({"f": value}) == row


def test_columns_with_the_same_name_are_kept_apart() -> None:
    record = {"a": {"b": 1}, "a.b": 2, "a.b_": 3}
    assert flatten(record) == {"a.b__": 1, "a.b": 2, "a.b_": 3}


def scalars_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in scalars_in(each)]
    if isinstance(value, list):
        return [text for each in value for text in scalars_in(each)]
    return (
        []
        if value is None
        else [value if isinstance(value, str) else msgspec.json.encode(value).decode()]
    )


@given(records)
@example({"a": {"b.c": 1}, "a.b": {"c": 2}})
def test_no_value_is_lost(record: dict[str, Any]) -> None:
    row = flatten(record)
    for cell in row.values():
        assert cell is None or isinstance(cell, str | int | float)
    for name in record:
        assert name in row or any(column.startswith(f"{name}.") for column in row)
    text = "\0".join(
        cell if isinstance(cell, str) else msgspec.json.encode(cell).decode()
        for cell in row.values()
    )
    for scalar in scalars_in(record):
        assert scalar in text or msgspec.json.encode(scalar).decode()[1:-1] in text


FLOOD = {"id": 1, "name": "Flood"}


@pytest.mark.parametrize(
    ("several", "columns"),
    [
        (
            [{"id": 1, "dtype": None, "end": 1}, {"id": 2, "dtype": FLOOD}],
            ["id", "dtype.id", "dtype.name", "end"],
        ),
        (
            [{"dtype": FLOOD, "end": 1}, {"dtype": {"id": 1, "code": "x"}, "new": 2}],
            ["dtype.id", "dtype.name", "dtype.code", "end", "new"],
        ),
        (
            [{"dtype": {"id": 1}, "list": []}, {"dtype": None, "list": [{"x": 1}]}],
            ["dtype.id", "list.x"],
        ),
        ([{"id": 1, "other": [], "text": None}], ["id", "other", "text"]),
        ([{"id": 1, "text": None}, {"id": 1, "text": {"x": None}}], ["id", "text.x"]),
        ([], []),
    ],
)
def test_columns_of_an_object_stay_together(
    several: list[dict[str, Any]], columns: list[str]
) -> None:
    with table_of(several) as table:
        assert table.columns() == columns


def test_the_number_of_columns_is_bounded() -> None:
    with pytest.raises(ExportLimit, match="to_ndjson"):
        table_of([{f"field {number}": 1 for number in range(MAX_COLUMNS)}, {"one more": 1}])


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}),
        (b'{"a": 1e999, "b": -1e999, "c": 1.5}', {"a": "1e999", "b": "-1e999", "c": 1.5}),
        (b'{"a": %s, "b": 1}' % (b"9" * 5000), {"a": "9" * 5000, "b": 1}),
        (b'"text"', {"value": "text"}),
        (b"[1, 2]", {"value": [1, 2]}),
        (b"null", {"value": None}),
    ],
)
def test_any_json_is_a_record(data: bytes, record: dict[str, Any]) -> None:
    assert decode_record(data) == record
