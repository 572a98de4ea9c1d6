"""Columns that callers choose, and columns that come first."""

import csv
import io
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet
import pytest
from fieldgate_client import UnknownName

from tests.client.exports.test_export import RECORDS, names_in
from tests.client.record_server import EVENTS, RecordServer

CHOSEN = ["disaster_start_date", "countries", "unknown_to_the_client.kept", "id", "glide"]
CHOSEN_COLUMNS = [
    "disaster_start_date", "countries.id", "countries.name", "countries.iso3",
    "unknown_to_the_client.kept", "id", "glide",
]  # fmt: skip
OTHER_LIST = "/api/v2/other/"


def columns_in(path: Path) -> list[str]:
    if path.suffix == ".csv":
        return next(csv.reader(io.StringIO(path.read_text(), newline="")))
    if path.suffix == ".xlsx":
        return [cell.value for cell in openpyxl.load_workbook(path).active[1]]
    names: list[str] = pyarrow.parquet.read_schema(path).names
    return names


@pytest.mark.parametrize("format_", ["csv", "xlsx", "parquet"])
async def test_columns_of_files(format_: str, tmp_path: Path) -> None:
    server = RecordServer({EVENTS: RECORDS}, max_limit=10)
    path = tmp_path / f"events.{format_}"
    with server.client() as client:
        assert getattr(client.events(), f"to_{format_}")(path, columns=CHOSEN) == 25
        assert columns_in(path) == CHOSEN_COLUMNS
        assert getattr(client.events(), f"to_{format_}")(path) == 25
        assert columns_in(path)[:3] == ["id", "name", "dtype.name"]
        assert getattr(client.list("event/"), f"to_{format_}")(path) == 25
        assert columns_in(path)[:3] == ["id", "name", "dtype.id"], (
            "dicts have the order of the server"
        )
    async with server.async_client() as async_client:
        assert await getattr(async_client.events(), f"to_{format_}")(path, columns=(*CHOSEN,)) == 25
        assert columns_in(path) == CHOSEN_COLUMNS
        before = path.read_bytes()
        with pytest.raises(UnknownName, match="no column Name_"):
            await getattr(async_client.events(), f"to_{format_}")(path, columns=["id", "Name_"])
    assert path.read_bytes() == before
    assert names_in(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("columns", "error"), [("name", TypeError), ([1], TypeError), ([], ValueError)]
)
def test_wrong_arguments_cost_no_request(
    columns: Any, error: type[Exception], tmp_path: Path
) -> None:
    server = RecordServer({EVENTS: RECORDS})
    with server.client() as client, pytest.raises(error, match="columns"):
        client.events().to_csv(tmp_path / "x.csv", columns=columns)
    assert server.requests == []
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_known_may_be_chosen(tmp_path: Path) -> None:
    """A job that runs every night must not fail on a day without records."""
    path = tmp_path / "x.csv"
    with RecordServer({OTHER_LIST: [], EVENTS: []}).client() as client:
        client.list(OTHER_LIST).to_csv(path, columns=["b", "a.x"])
        assert path.read_text() == "b,a.x\n"
        client.events().to_csv(path, columns=["name", "appeals.code"])
        assert path.read_text() == "name,appeals.code\n"
        with pytest.raises(UnknownName):
            client.events().to_csv(path, columns=["name", "appeals.cod"])
    with RecordServer({OTHER_LIST: [{"id": 1, "a": None, "b": {"x": 1}}]}).client() as client:
        client.list(OTHER_LIST).to_csv(path, columns=["a.x", "id"])
        assert path.read_text() == "a.x,id\n,1\n"
        with pytest.raises(UnknownName):
            client.list(OTHER_LIST).to_csv(path, columns=["b.y"])
    with RecordServer({EVENTS: [{"id": 1, "dtype": None}]}).client() as client:
        client.events().to_csv(path, columns=["dtype.name", "id"])
        assert path.read_text() == "dtype.name,id\n,1\n"
        with pytest.raises(UnknownName):
            client.events().to_csv(path, columns=["dtype.nmae"])
