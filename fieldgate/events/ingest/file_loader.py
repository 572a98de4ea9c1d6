"""Records of events from files: pages as the interface gives them, arrays, lines of JSON, and tables; gzipped or not.

Lines and tables are read one by one, whatever their number; a page or an array is one piece, and read as one.
"""

import csv
import gzip
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from fieldgate.events.ingest.bulk_write import (
    BATCH_SIZE,
    BulkWriteResult,
    FailureCallback,
    PendingRecord,
    WriteFailure,
    write_records,
)
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import Id
from fieldgate.events.record_shapes import COLUMNS
from fieldgate.events.store import EventStore
from fieldgate.http.response.csv_safe import unescape_formula
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore

STANDARD_INPUT = "-"
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
MAX_CELL_CHARS = 16 * 1024 * 1024  # characters
# What a table holds of other records is not enough to make them: those an event has stay as they are.
IGNORED_COLUMNS = ("appeals.id", "field_reports.id")


class InvalidFile(Exception):
    """A file that holds no records of events."""


class FileRecord(NamedTuple):
    """A record as it was found: where, and what it is, or why it cannot be read."""

    location: str
    record: dict[str, Any] | None
    reason: str = ""


def read_records(path: str) -> Iterator[FileRecord]:
    """The records of a file, `-` for standard input, as they are found."""
    shown = "standard input" if path == STANDARD_INPUT else path
    try:
        with _open_file(path) as file:
            for place, (record, reason) in enumerate(_parse_records(file), start=1):
                yield FileRecord(f"{shown}, record {place}{_id_suffix(record)}", record, reason)
    except InvalidFile as error:
        raise InvalidFile(f"{shown}: {error}") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidFile(f"{shown} cannot be read: {reason}.") from None


async def load(
    store: EventStore,
    reference: ReferenceStore,
    file_records: Iterable[FileRecord],
    language: Language,
    on_failure: FailureCallback,
) -> BulkWriteResult:
    """Write all records that are events, a thousand at a time. What a record does not carry stays as it was."""
    directory = await reference.current()
    total = BulkWriteResult()
    waiting: dict[int, PendingRecord] = {}

    async def flush() -> None:
        if waiting:
            total.add(await write_records(store, list(waiting.values()), on_failure))
            waiting.clear()

    for where, record, reason in file_records:
        number = None if record is None else _record_id(record)
        if record is None or number is None:
            total.failed += 1
            on_failure(
                WriteFailure(where, "", reason)
                if record is None
                else WriteFailure(where, "id", "A whole number is needed.")
            )
            continue
        if number in waiting or len(waiting) >= BATCH_SIZE:  # told twice, the second builds on the first
            await flush()
        waiting[number] = PendingRecord(
            number,
            where,
            lambda before, record=record: parse_event(record, directory, language, before),  # type: ignore[misc]
        )
    await flush()
    return total


@contextmanager
def _open_file(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzipped, whatever it is called."""
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else Path(path).open("rb") as opened:
        file = cast(io.BufferedReader, opened)
        is_packed = file.peek(2)[:2] == GZIP_MAGIC
        yield io.BufferedReader(gzip.GzipFile(fileobj=file)) if is_packed else file


def _parse_records(file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    first = _first_line(file)
    start = first.lstrip()[:1]
    if not start:
        return
    if start == b"[":
        yield from _extract_records(_decode_json(first + file.read()))
    elif start == b"{" and (first.rstrip().endswith(b"}") or _is_json(first)):
        for line in _nonblank_lines(first, file):
            try:
                found = msgspec.json.decode(line)
            except (ValueError, RecursionError):
                yield None, "This line is not valid JSON."
                continue
            yield from _extract_records(found)
    elif start == b"{":
        yield from _extract_records(_decode_json(first + file.read()))
    else:
        yield from _parse_table(first, file)


def _first_line(file: IO[bytes]) -> bytes:
    line = file.readline().removeprefix(UTF8_BOM)
    while line and not line.strip():
        line = file.readline()
    return line


def _nonblank_lines(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
    yield first
    for line in file:
        if line.strip():
            yield line


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return False
    return True


def _decode_json(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"This is not valid JSON: {error}.") from None


def _extract_records(value: Any) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """The records in a piece of JSON: a page, an array, or one record."""
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    for each in value if isinstance(value, list) else [value]:
        yield (each, "") if isinstance(each, dict) else (None, "This is no record, but a bare value.")


def _parse_table(first: bytes, file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    head = first.decode()
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    csv.field_size_limit(MAX_CELL_CHARS)
    separator = ";" if head.count(";") > head.count(",") else ","  # Excel's, where the comma is in numbers
    names = next(csv.reader([head], delimiter=separator))
    if "id" not in names or "name" not in names:
        raise InvalidFile(f"This is neither JSON nor a table of events, whose columns are: {', '.join(COLUMNS)}.")
    for cells in csv.reader(lines, delimiter=separator):
        if len(cells) > len(names):
            yield None, "There are more cells than columns."
        elif cells:
            yield _record_from_row(dict(zip(names, cells, strict=False))), ""
    lines.detach()


def _record_from_row(row: dict[str, str]) -> dict[str, Any]:
    """A row as a record: joined cells apart, empty ones null."""
    record: dict[str, Any] = {
        name: unescape_formula(cell) or None for name, cell in row.items() if name not in IGNORED_COLUMNS
    }
    if "dtype.id" in row:
        record["dtype"] = record["dtype.id"]
    if "countries.id" in row:
        record["countries"] = [part.strip() for part in row["countries.id"].split(",") if part.strip()]
    return record


def _record_id(record: dict[str, Any]) -> int | None:
    try:
        return msgspec.convert(record.get("id"), Id, strict=False)
    except msgspec.ValidationError:
        return None


def _id_suffix(record: dict[str, Any] | None) -> str:
    number = None if record is None else _record_id(record)
    return "" if number is None else f" (event {number})"
