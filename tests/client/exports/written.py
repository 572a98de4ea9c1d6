"""Tables of records, as the exports of a list make them."""

import io
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, BinaryIO, TypeVar

import msgspec
from fieldgate_client.exports.table import Table

DICTS = dict[str, Any]
Frame = TypeVar("Frame")


def table_of(
    records: list[Any], record_type: Any = DICTS, *, page_size: int = 3, **options: Any
) -> Table:
    raw = [msgspec.Raw(msgspec.json.encode(record)) for record in records]
    with ExitStack() as stack:
        table = stack.enter_context(Table(record_type, **options))
        for start in range(0, len(raw), page_size):
            table.write(raw[start : start + page_size])
        stack.pop_all()
    return table


def file_of(write: Callable[[Table, BinaryIO], None], *arguments: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    with table_of(*arguments, **options) as table:
        write(table, file)
    return file.getvalue()


def frame_of(convert: Callable[[Table], Frame], *arguments: Any, **options: Any) -> Frame:
    with table_of(*arguments, **options) as table:
        return convert(table)
