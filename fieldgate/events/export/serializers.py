"""The formats events can be written in, for list pages and for exports.

To add a format: add a member to `Format` if it is new, then one entry to `SERIALIZERS`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from fieldgate.events.export import atom, geojson
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.xlsx import write_xlsx
from fieldgate.events.reader import CSV_ROW, LIST, Shape
from fieldgate.events.rows import COLUMNS
from fieldgate.http.negotiation import Format
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.overload import run_in_thread
from fieldgate.pagination import PageEncoder

BYTE_ORDER_MARK = "\ufeff".encode()

RecordBatches = AsyncGenerator[list[bytes], None]
Chunks = AsyncGenerator[bytes, None]
RecordEncoder = Callable[[Sequence[bytes], FileContext], bytes]


class EventSerializer(msgspec.Struct, frozen=True):
    """Writes events in one format."""

    format: Format
    stream: Callable[[RecordBatches, FileContext], Chunks]  # writes an export
    encode_page: RecordEncoder | None = (
        None  # encodes a list page; None if the format is for exports only
    )
    is_flat: bool = False  # nested values are joined in any case: `tableau=true` changes nothing
    ordering: str = ""  # the only order of the format, if it has one
    shape: Shape = LIST  # what it gets: JSON records, or rows of CSV

    def page_encoder(self, context: FileContext) -> PageEncoder | None:
        """What encodes a list page once the URLs of the pages around it are known."""
        if (encode := self.encode_page) is None:
            return None
        return lambda records, next_page, previous_page: encode(
            records,
            msgspec.structs.replace(context, next_page=next_page, previous_page=previous_page),
        )


def row_serializer(
    format_: Format,
    encode_rows: RecordEncoder,
    *,
    encode_start: RecordEncoder = lambda _, __: b"",  # gets the first records
    separator: bytes = b"",  # between batches of rows
    end: bytes = b"",
    encode_page: RecordEncoder | None = None,
    **options: Any,
) -> EventSerializer:
    """Make the serializer of a format that is a start, independent rows and an end.

    `encode_page` is for formats whose pages differ from their exports.
    """

    def encode(records: Sequence[bytes], context: FileContext) -> bytes:
        return encode_start(records, context) + encode_rows(records, context) + end

    def encode_batch(records: Sequence[bytes], context: FileContext, is_first: bool) -> bytes:
        before = encode_start(records, context) if is_first else separator
        return before + encode_rows(records, context)

    async def stream(batches: RecordBatches, context: FileContext) -> Chunks:
        # The start comes with the first batch: an error before that still has its own status code.
        is_first = True
        async for records in batches:
            yield await run_in_thread(encode_batch, records, context, is_first)
            is_first = False
        yield (encode_start([], context) if is_first else b"") + end

    return EventSerializer(format_, stream, encode_page or encode, **options)


_CSV_HEADER = encode_csv([COLUMNS])


def _encode_csv_start(_: Sequence[bytes], context: FileContext) -> bytes:
    return BYTE_ORDER_MARK + _CSV_HEADER if context.with_bom else _CSV_HEADER


CSV = row_serializer(
    Format.CSV,
    lambda rows, _: b"".join(rows),
    encode_start=_encode_csv_start,
    is_flat=True,
    shape=CSV_ROW,
)
NDJSON = row_serializer(
    Format.NDJSON, lambda records, _: b"".join([each + b"\n" for each in records])
)
XLSX = EventSerializer(Format.XLSX, write_xlsx, is_flat=True, shape=CSV_ROW)
GEOJSON = row_serializer(
    Format.GEOJSON,
    geojson.encode_features,
    encode_start=lambda _, __: geojson.BEGIN,
    separator=geojson.SEPARATOR,
    end=geojson.END,
    encode_page=geojson.encode_geojson_page,
    is_flat=True,
)
ATOM = row_serializer(
    Format.ATOM,
    atom.encode_entries,
    encode_start=atom.encode_feed_start,
    end=atom.END,
    is_flat=True,
    ordering=atom.ORDERING,
)

# Negotiation and OpenAPI list the formats in this order; the first is the default of exports.
SERIALIZERS = {each.format: each for each in (CSV, NDJSON, XLSX, GEOJSON, ATOM)}
PAGE_FORMATS = tuple(each.format for each in SERIALIZERS.values() if each.encode_page is not None)
# The schemas of formats that are JSON.
FORMAT_TYPES = {Format.GEOJSON: geojson.EventFeatureCollection}
