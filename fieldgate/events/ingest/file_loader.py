"""Load event records from files: API pages, JSON arrays, NDJSON and CSV, optionally gzipped.

NDJSON and CSV are read record by record. A page or an array is read into memory.
"""

import csv
import gzip
import io
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import msgspec

from fieldgate.db import Database, WriteTransaction
from fieldgate.events.ingest.bulk_write import (
    BATCH_SIZE,
    FailureCallback,
    PendingRecord,
    WriteFailure,
    write_records,
)
from fieldgate.events.ingest.parsing import parse_event
from fieldgate.events.model import Event, Id, Visibility
from fieldgate.events.rows import COLUMNS
from fieldgate.events.writes import BulkWriteResult
from fieldgate.http.response.csv_safe import unescape_formula
from fieldgate.i18n.languages import Language
from fieldgate.reference.queries import load_reference

STANDARD_INPUT = "-"
GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
WORKBOOK_MAGIC = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .ods are ZIP files; .xls
MAX_CELL_CHARS = 16 * 1024 * 1024
# A table has only the ids of appeals and field reports, so those of the stored event are kept.
IGNORED_COLUMNS = ("appeals.id", "field_reports.id")


class InvalidFile(Exception):
    """The file cannot be read or contains no event records."""


class FileRecord(NamedTuple):
    """A record and its location, or the reason why it cannot be read."""

    location: str
    record: dict[str, Any] | None
    reason: str = ""


def read_records(path: str) -> Iterator[FileRecord]:
    """Yield the records of a file, or of standard input for `-`."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        with _open_file(path) as file:
            for index, (record, reason) in enumerate(_parse_records(file), start=1):
                yield FileRecord(f"{name}, record {index}{_id_suffix(record)}", record, reason)
    except InvalidFile as error:
        raise InvalidFile(f"{name}: {error}") from None
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidFile(f"{name} cannot be read: {reason}.") from None


class LoadOptions(NamedTuple):
    language: Language = Language.ENGLISH  # of texts without a language of their own
    visibility: Visibility | None = None  # of events whose records do not say it
    is_demo: bool = False  # all become demo events; otherwise a file with some is refused


class LoadResult(msgspec.Struct):
    written: BulkWriteResult = msgspec.field(default_factory=BulkWriteResult)
    not_public: set[int] = msgspec.field(
        default_factory=set
    )  # loaded events that only some users can see
    without_visibility: set[int] = msgspec.field(
        default_factory=set
    )  # those of them whose records do not say why


def load(
    database: Database,
    file_records: Iterable[FileRecord],
    options: LoadOptions,
    on_failure: FailureCallback,
) -> LoadResult:
    """Save all valid records in batches. Fields a record does not have keep their stored values."""
    reference_data = database.read(load_reference)
    result = LoadResult()
    total = result.written
    pending: dict[int, PendingRecord] = {}
    is_demo = True if options.is_demo else None
    unspecified: set[int] = set()  # pending records that do not say who can see the event

    def count_not_public(
        _: WriteTransaction, events: Mapping[int, Event], __: Collection[int]
    ) -> None:
        hidden = {id_ for id_, event in events.items() if event.visibility != Visibility.PUBLIC}
        result.not_public.difference_update(events)
        result.not_public.update(hidden)
        result.without_visibility.difference_update(events)
        result.without_visibility.update(hidden & unspecified)

    def flush() -> None:
        if pending:
            records = list(pending.values())
            total.add(write_records(database, records, on_failure, count_not_public, is_demo))
            pending.clear()
            unspecified.clear()

    for location, record, reason in file_records:
        id_ = None if record is None else _record_id(record)
        if record is None or id_ is None:
            total.failed += 1
            on_failure(
                WriteFailure(location, "", reason)
                if record is None
                else WriteFailure(location, "id", "A whole number is needed.")
            )
            continue
        if not is_demo and str(record.get("demo")).casefold() in ("true", "1"):
            raise InvalidFile(
                f"{location} is a demo event, which is invented. To load demo events, use --demo."
            )
        if (
            id_ in pending or len(pending) >= BATCH_SIZE
        ):  # a second record of an event updates the first
            flush()
        if record.get("visibility") is None:
            unspecified.add(id_)
            record = _with_visibility(record, options.visibility)
        pending[id_] = PendingRecord(
            id_,
            location,
            lambda before, record=record: parse_event(  # type: ignore[misc]
                record, reference_data, options.language, before
            ),
        )
    flush()
    return result


def _with_visibility(record: dict[str, Any], visibility: Visibility | None) -> dict[str, Any]:
    """Add the visibility to a record that does not say it. Without one, a stored event keeps its own."""
    others = {name: value for name, value in record.items() if name != "visibility"}
    return others if visibility is None else {**others, "visibility": int(visibility)}


@contextmanager
def _open_file(path: str) -> Iterator[IO[bytes]]:
    """Open a file and decompress it if it is gzipped, whatever its name."""
    with (
        nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else Path(path).open("rb") as opened
    ):
        file = cast(io.BufferedReader, opened)
        is_gzipped = file.peek(2)[:2] == GZIP_MAGIC
        yield io.BufferedReader(gzip.GzipFile(fileobj=file)) if is_gzipped else file


def _parse_records(file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    first = _first_line(file)
    if first.startswith(WORKBOOK_MAGIC):
        raise InvalidFile("Workbooks and ZIP files are not accepted. Use CSV, NDJSON or JSON.")
    start = first.lstrip()[:1]
    if not start:
        return
    if start == b"[":
        yield from _extract_records(_decode_json(first + file.read()))
    elif start == b"{" and first.rstrip().endswith(b"}"):
        for line in _nonblank_lines(first, file):
            try:
                decoded = msgspec.json.decode(line)
            except (ValueError, RecursionError):
                yield None, "This line is not valid JSON."
                continue
            yield from _extract_records(decoded)
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


def _decode_json(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"This is not valid JSON: {error}.") from None


def _extract_records(value: Any) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Yield the records of a page, of an array, or the value itself."""
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    for each in value if isinstance(value, list) else [value]:
        yield (each, "") if isinstance(each, dict) else (None, "This is not a record.")


def _parse_table(first: bytes, file: IO[bytes]) -> Iterator[tuple[dict[str, Any] | None, str]]:
    header = first.decode()
    lines = io.TextIOWrapper(file, encoding="utf-8", newline="")
    csv.field_size_limit(MAX_CELL_CHARS)
    separator = (
        ";" if header.count(";") > header.count(",") else ","
    )  # Excel writes semicolons in locales with decimal commas
    names = next(csv.reader([header], delimiter=separator))
    if "id" not in names or "name" not in names:
        raise InvalidFile(
            f"This is neither JSON nor a CSV table of events. The columns are: {', '.join(COLUMNS)}."
        )
    for index, cells in enumerate(csv.reader(lines, delimiter=separator)):
        if index == 0 and _is_hashtag_row(cells):
            continue
        if len(cells) > len(names):
            yield None, "There are more cells than columns."
        elif cells:
            yield _record_from_row(dict(zip(names, cells, strict=False))), ""
    lines.detach()


def _is_hashtag_row(cells: Sequence[str]) -> bool:
    """Whether this is the row of HXL hashtags that a table can have below its header."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    return bool(filled) and all(cell.startswith("#") for cell in filled)


def _record_from_row(row: dict[str, str]) -> dict[str, Any]:
    """Convert a table row to a record: split joined ids, and replace empty cells by None."""
    record: dict[str, Any] = {
        name: unescape_formula(cell) or None
        for name, cell in row.items()
        if name not in IGNORED_COLUMNS
    }
    if "dtype.id" in row:
        record["dtype"] = record["dtype.id"]
    if "countries.id" in row:
        record["countries"] = [
            part.strip() for part in row["countries.id"].split(",") if part.strip()
        ]
    return record


def _record_id(record: dict[str, Any]) -> int | None:
    try:
        return msgspec.convert(record.get("id"), Id, strict=False)
    except msgspec.ValidationError:
        return None


def _id_suffix(record: dict[str, Any] | None) -> str:
    id_ = None if record is None else _record_id(record)
    return "" if id_ is None else f" (event {id_})"
