"""Types of columns from their values and from typed structs."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from fieldgate_client.exports.column_types import (
    FLOAT,
    INTEGER,
    TEXT,
    TIME,
    ColumnType,
    KindTracker,
    expected_kinds,
    parse_time,
    to_type,
)
from fieldgate_client.exports.nested_types import NestedType, merge_nested, to_nested
from fieldgate_client.records import Asset, Event
from hypothesis import given
from hypothesis import strategies as st

UTC = UTC


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2021-03-04", datetime(2021, 3, 4, tzinfo=UTC)),
        ("2021-03-04T10:20:30Z", datetime(2021, 3, 4, 10, 20, 30, tzinfo=UTC)),
        ("2021-03-04T10:20:30", datetime(2021, 3, 4, 10, 20, 30, tzinfo=UTC)),
        ("2021-03-04 10:20:30.5+02:00", datetime(2021, 3, 4, 8, 20, 30, 500_000, tzinfo=UTC)),
        ("2021-03-04T10:20:30.123456Z", datetime(2021, 3, 4, 10, 20, 30, 123456, tzinfo=UTC)),
        ("2021-03-04T10:20:30.1234567Z", None),  # would be rounded
        ("0001-01-01T00:00:00+05:00", None),  # before the first year in UTC
        ("2021-02-30", None),
        ("2021-03-04T10:20", None),
        ("2021-03-04Tomorrow", None),
        ("20210304", None),
        ("", None),
        ("1234-56-7890", None),
    ],
)
def test_times(text: str, time: datetime | None) -> None:
    assert parse_time(text) == time


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11))]), min_value=datetime(2, 1, 1)))
def test_times_are_exact(time: datetime) -> None:
    assert parse_time(time.isoformat()) == time


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], ColumnType.TEXT),
        ([None], ColumnType.TEXT),
        ([1, None, -(2**63), 2**63 - 1], ColumnType.INTEGER),
        ([1, 2.5], ColumnType.FLOAT),
        ([2**53 + 1, 2.5], ColumnType.TEXT),  # not exact as a float
        ([1, 2**63], ColumnType.TEXT),
        ([True, None], ColumnType.BOOLEAN),
        ([True, 1], ColumnType.TEXT),
        (["2021-03-04", "2021-03-04T10:20:30Z"], ColumnType.TIME),
        (["2021-03-04", ""], ColumnType.TEXT),
        (["2021-03-04", 1], ColumnType.TEXT),
        (["a", "2021-03-04"], ColumnType.TEXT),
        ([1, "a"], ColumnType.TEXT),
        ([{"a": 1}, 1], ColumnType.NESTED),
    ],
)
def test_the_type_represents_all_values(values: list[Any], kind: ColumnType) -> None:
    kinds = KindTracker()
    for value in values:
        kinds.add({"column": value})
    assert kinds.column_type("column") is kind


cells = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(st.lists(cells))
def test_values_are_not_changed_by_their_type(values: list[Any]) -> None:
    kinds = KindTracker()
    for value in values:
        kinds.add({"column": value})
    kind = kinds.column_type("column")
    for value in values:
        converted = to_type(value, kind)
        if kind is ColumnType.TEXT and isinstance(value, bool):
            assert converted == str(value).lower()
        elif kind is ColumnType.TEXT and isinstance(value, float | int):
            assert float(converted) == float(value)
        elif kind is not ColumnType.TIME:
            assert converted == value


def test_types_of_structs() -> None:
    kinds = expected_kinds(Event)
    assert kinds["id"] == kinds["dtype.id"] == INTEGER
    assert kinds["name"] == kinds["countries.id"] == kinds["appeals.amount_requested"] == TEXT
    assert kinds["disaster_start_date"] == TIME
    assert "dtype" not in kinds
    assert expected_kinds(dict[str, Any]) == {}
    not_flat = expected_kinds(Event, flatten=False)
    assert not_flat["dtype"] == not_flat["countries"] == 0
    assert not_flat["disaster_start_date"] == TIME
    assert expected_kinds(Asset)["settings"] == 0
    tracker = KindTracker({"amount": FLOAT, "start": TIME, "name": TEXT})
    tracker.add({"amount": 1, "start": None, "name": "2021-03-04"})
    found = [tracker.column_type(name) for name in ("amount", "start", "name")]
    assert found == [ColumnType.FLOAT, ColumnType.TIME, ColumnType.TEXT], "whatever the values of one day are"


json_values = st.recursive(
    cells, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2)
)


def same_shape(value: Any, known: NestedType) -> bool:
    """Whether a converted value is what the type says."""
    if value is None:
        return True
    if known.is_list and known.item is not None:
        item = known.item
        return isinstance(value, list) and all(same_shape(each, item) for each in value)
    if known.is_struct:
        return value.keys() == known.fields.keys() and all(
            same_shape(value[name], known.fields[name]) for name in value
        )
    python_types: dict[ColumnType, Any] = {
        ColumnType.BOOLEAN: bool,
        ColumnType.INTEGER: int,
        ColumnType.FLOAT: float,
        ColumnType.TEXT: str,
        ColumnType.TIME: datetime,
    }
    return isinstance(value, python_types[known.scalar_type])


@given(st.lists(json_values, max_size=4))
def test_nested_values_have_their_type(several: list[Any]) -> None:
    known = NestedType()
    for value in several:
        merge_nested(known, value)
    for value in several:
        converted = to_nested(value, known)
        assert same_shape(converted, known)
        assert (converted is None) == (value is None)
