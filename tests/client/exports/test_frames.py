"""Data frames of pandas and polars."""

from typing import Any

import msgspec
import pandas
import polars
import pytest
from fieldgate_client.exports import arrow
from fieldgate_client.exports.arrow import to_pandas, to_polars
from fieldgate_client.records import Event
from hypothesis import given
from hypothesis import strategies as st

from tests.client.exports.hostile_records import HOSTILE
from tests.client.exports.test_tables import COLUMNS
from tests.client.exports.written import frame_of

EVENTS: list[dict[str, Any]] = [
    {"id": 1, "dtype": {"id": 12, "name": "Flood"}, "countries": [], "num_affected": 5, "is_featured": True,
     "disaster_start_date": "2021-03-04T10:20:30Z", "amount": 1, "new_field": "kept"},
    {"id": 2, "dtype": None, "countries": [{"id": 1, "name": "Chad"}, {"id": 2, "name": "Kenya"}], "num_affected": None,
     "is_featured": None, "disaster_start_date": None, "amount": 2.5},
]  # fmt: skip


@pytest.fixture(params=[1, 20_000])
def batch_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow, "ROWS_PER_BATCH", request.param)


@pytest.mark.usefixtures("batch_size")
def test_pandas() -> None:
    frame: pandas.DataFrame = frame_of(to_pandas, EVENTS, Event)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "id": "Int64", "dtype.id": "Int64", "dtype.name": "string", "countries.id": "string",
        "countries.name": "string", "num_affected": "Int64", "is_featured": "boolean",
        "disaster_start_date": "datetime64[us, UTC]", "amount": "Float64", "new_field": "string",
    }  # fmt: skip
    assert [*frame.index] == [0, 1]
    assert frame["countries.name"].isna()[0]
    assert frame["countries.name"][1] == "Chad, Kenya"
    assert frame["disaster_start_date"][0] == pandas.Timestamp("2021-03-04T10:20:30Z")
    assert frame["disaster_start_date"].isna()[1]
    assert [*frame["num_affected"].fillna(-1)] == [5, -1]
    assert frame["amount"].sum() == 3.5


@pytest.mark.usefixtures("batch_size")
def test_hostile_values() -> None:
    pandas_frame: pandas.DataFrame = frame_of(to_pandas, HOSTILE)
    polars_frame: polars.DataFrame = frame_of(to_polars, HOSTILE)
    assert [*pandas_frame.columns] == polars_frame.columns == COLUMNS
    for frame in (pandas_frame, polars_frame):
        assert [*frame["text"]][:-1] == [record["text"] for record in HOSTILE[:-1]]
        assert [*frame["number"]][:2] == ["1", str(2**70)]
    nested: polars.DataFrame = frame_of(to_polars, HOSTILE, is_flat=False)
    assert nested["mixed"].to_list()[5:8] == ["[1,2]", '{"a":1}', "[]"], (
        "JSON where no type fits all"
    )
    assert nested["late"].to_list()[-3:] == [{"x": 1, "y": None}, {"x": 2, "y": [3, 4]}, None]


@pytest.mark.usefixtures("batch_size")
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None], "string"),
        ([1, None, -(2**63), 2**63 - 1], "Int64"),
        ([1, 2.5], "Float64"),
        ([1, 2**63], "string"),
        ([True, None], "boolean"),
        ([True, 1], "string"),
        (
            ["2021-03-04", "2021-03-04T10:20:30Z", "2021-03-04 10:20:30.5+02:00"],
            "datetime64[us, UTC]",
        ),
        (["2021-03-04", ""], "string"),
        (["2021-03-04", 1], "string"),
        (["2021-03-04", "2021-02-30"], "string"),
        (["2021-03-04T10:20:30.1234567Z"], "string"),  # would be rounded
        (["1234-56-7890"], "string"),
        ([1, "a"], "string"),
    ],
)
def test_the_type_represents_all_values(values: list[Any], kind: str) -> None:
    assert str(frame_of(to_pandas, [{"column": value} for value in values])["column"].dtype) == kind


def test_columns_of_typed_records_have_their_type() -> None:
    """Whatever the values of one day are."""
    frame = frame_of(
        to_pandas, [{"id": 1, "name": "2021-03-04", "disaster_start_date": None}], Event
    )
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "string", "datetime64[us, UTC]"]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), values), max_size=4))
def test_any_records(several: list[dict[str, Any]]) -> None:
    for is_flat in (True, False):
        polars_frame: polars.DataFrame = frame_of(to_polars, several, is_flat=is_flat)
        pandas_frame: pandas.DataFrame = frame_of(to_pandas, several, is_flat=is_flat)
        assert [*pandas_frame.columns] == polars_frame.columns
        if polars_frame.columns:
            assert len(pandas_frame) == polars_frame.height == len(several)
    for name in pandas_frame.columns:
        assert [None if _is_missing(each) else each for each in pandas_frame[name]] == [
            _typed(record.get(name), str(pandas_frame[name].dtype)) for record in several
        ]


def _is_missing(value: Any) -> bool:
    return value is None or value is pandas.NA


def _typed(value: Any, dtype: str) -> Any:
    if value is None or dtype != "string" or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
