"""JSON columns are written compactly, and whatever `json` can store can be stored and read."""

import json
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, cast, select
from sqlalchemy.types import JSON, Text

from fieldgate.db import Database
from fieldgate.db.json_text import decode_json, encode_json

table = Table("json_texts", MetaData(), Column("id", Integer, primary_key=True), Column("value", JSON))


async def test_columns_have_compact_text(database: Database) -> None:
    value = {"label": ["Où ?", None, 1.5]}
    async with database.transaction() as connection:
        await connection.run_sync(table.metadata.create_all)
        await connection.execute(table.insert().values(id=1, value=value))
        stored, found = (await connection.execute(select(cast(table.c.value, Text), table.c.value))).one()
    assert (stored, found) == ('{"label":["Où ?",null,1.5]}', value)


async def test_functions_that_write_store_compact_text(database: Database) -> None:
    await database.write(lambda connection: table.metadata.create_all(connection))
    await database.write(lambda connection: connection.execute(table.insert().values(id=1, value={"a": "é"})))
    async with database.read_transaction() as connection:
        assert (await connection.execute(select(cast(table.c.value, Text)))).scalar_one() == '{"a":"é"}'


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}, 2**70, float("inf"), "\0", {"1": [True]}])
def test_all_that_json_can_store(value: Any) -> None:
    assert decode_json(json.dumps(value)) == value
    if value != float("inf"):
        assert decode_json(encode_json(value)) == value
