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

from fieldgate.events.export.serializers import COLUMNS
from fieldgate.events.ingest.bulk_write import AT_ONCE, Failure, Tell, Waiting, Written, write
from fieldgate.events.ingest.parsing import read_event
from fieldgate.events.model import Id
from fieldgate.events.store import EventStore
from fieldgate.http.response.csv_safe import unescape_formula
from fieldgate.i18n.languages import Language
from fieldgate.reference.store import ReferenceStore

STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
LONGEST_CELL = 16 * 1024 * 1024  # characters
# What a table holds of other records is not enough to make them: those an event has stay as they are.
NOT_TAKEN = ("appeals.id", "field_reports.id")


class BadFile(Exception):
    """A file that holds no records of events."""


class Loose(NamedTuple):
    """A record as it was found: where, and what it is, or why it cannot be read."""

    where: str
    record: dict[str, Any] | None
    reason: str = ""


def records(name: str) -> Iterator[Loose]:
    """The records of a file, `-` for standard input, as they are found."""
    shown = "standard input" if name == STANDARD_INPUT else name
    try:
        with _opened(name) as file:
            for place, (record, reason) in enumerate(_records(file), start=1):
                yield Loose(f"{shown}, record {place}{_id_of(record)}", record, reason)
    except BadFile as error:
        raise BadFile(f"{shown}: {error}") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadFile(f"{shown} cannot be read: {reason}.") from None


async def load(
    store: EventStore, reference: ReferenceStore, found: Iterable[Loose], language: Language, tell: Tell
) -> Written:
    """Write all records that are events, a thousand at a time. What a record does not carry stays as it was."""
    directory = await reference.current()
    total = Written()
    waiting: dict[int, Waiting] = {}

    async def flush() -> None:
        if waiting:
            total.add(await write(store, list(waiting.values()), tell))
            waiting.clear()

    for where, record, reason in found:
        number = None if record is None else _number(record)
        if record is None or number is None:
            total.failed += 1
            tell(Failure(where, "", reason) if record is None else Failure(where, "id", "A whole number is needed."))
            continue
        if number in waiting or len(waiting) >= AT_ONCE:  # told twice, the second builds on the first
            await flush()
        waiting[number] = Waiting(
            number,
            where,
            lambda before, record=record: read_event(record, directory, language, before),  # type: ignore[misc]
        )
    await flush()
    return total


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzipped, whatever it is called."""
    with nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else Path(name).open("rb") as opened:
        file = cast(io.BufferedReader, opened)
        is_packed = file.peek(2)[:2] == GZIP
        yield io.BufferedReader(gzip.GzipFile(fileobj=file)) if is_packed else file


def _records(file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    first = _first_line(file)
    start = first.lstrip()[:1]
    if not start:
        return
    if start == b"[":
        yield from _members(_decoded(first + file.read()))
    elif start == b"{" and (first.rstrip().endswith(b"}") or _is_json(first)):
        for line in _lines(first, file):
            try:
                found = msgspec.json.decode(line)
            except (ValueError, RecursionError):
                yield None, "This line is not valid JSON."
                continue
            yield from _members(found)
    elif start == b"{":
        yield from _members(_decoded(first + file.read()))
    else:
        yield from _rows(first, file)


def _first_line(file: IO[bytes]) -> bytes:
    line = file.readline().removeprefix(BOM)
    while line and not line.strip():
        line = file.readline()
    return line


def _lines(first: bytes, file: IO[bytes]) -> Iterator[bytes]:
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


def _decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"This is not valid JSON: {error}.") from None


def _members(found: Any) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """The records in a piece of JSON: a page, an array, or one record."""
    if isinstance(found, dict) and isinstance(found.get("results"), list):
        found = found["results"]
    for each in found if isinstance(found, list) else [found]:
        yield (each, "") if isinstance(each, dict) else (None, "This is no record, but a bare value.")


def _rows(first: bytes, file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    head = first.decode()
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    csv.field_size_limit(LONGEST_CELL)
    separator = ";" if head.count(";") > head.count(",") else ","  # Excel's, where the comma is in numbers
    names = next(csv.reader([head], delimiter=separator))
    if "id" not in names or "name" not in names:
        raise BadFile(f"This is neither JSON nor a table of events, whose columns are: {', '.join(COLUMNS)}.")
    for cells in csv.reader(lines, delimiter=separator):
        if len(cells) > len(names):
            yield None, "There are more cells than columns."
        elif cells:
            yield _from_row(dict(zip(names, cells, strict=False))), ""
    lines.detach()


def _from_row(row: dict[str, str]) -> dict[str, Any]:
    """A row as a record: joined cells apart, empty ones null."""
    record: dict[str, Any] = {
        name: unescape_formula(cell) or None for name, cell in row.items() if name not in NOT_TAKEN
    }
    if "dtype.id" in row:
        record["dtype"] = record["dtype.id"]
    if "countries.id" in row:
        record["countries"] = [part.strip() for part in row["countries.id"].split(",") if part.strip()]
    return record


def _number(record: dict[str, Any]) -> int | None:
    try:
        return msgspec.convert(record.get("id"), Id, strict=False)
    except msgspec.ValidationError:
        return None


def _id_of(record: dict[str, Any] | None) -> str:
    number = None if record is None else _number(record)
    return "" if number is None else f" (event {number})"
