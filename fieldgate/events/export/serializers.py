"""The formats events can be written in, for list pages and for exports.

To add a format: add a member to `Format` if it is new, then one entry to `SERIALIZERS`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from fieldgate.events.csv_rows import COLUMNS, HASHTAG_ROW
from fieldgate.events.documents import RecordShape
from fieldgate.events.export import atom, geojson
from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.xlsx import write_xlsx
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
    encode_page: RecordEncoder | None = None  # encodes a list page; None if the format is for exports only
    is_flat: bool = False  # nested values are joined in any case: `tableau=true` changes nothing
    ordering: str = ""  # the only order of the format, if it has one
    shape: RecordShape = RecordShape.RECORD  # what it writes: JSON records, or rows of CSV

    def page_encoder(self, context: FileContext) -> PageEncoder | None:
        """What encodes a list page once the URLs of the pages around it are known."""
        if (encode := self.encode_page) is None:
            return None
        return lambda records, next_page, previous_page: encode(
            records, msgspec.structs.replace(context, next_page=next_page, previous_page=previous_page)
        )


class RowFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format that is a start, independent rows and an end."""

    encode_rows: RecordEncoder
    encode_start: RecordEncoder = lambda _, __: b""  # gets the first records
    separator: bytes = b""  # between batches of rows
    end: bytes = b""

    def encode(self, records: Sequence[bytes], context: FileContext) -> bytes:
        """Encode all records as a complete file."""
        return self.encode_start(records, context) + self.encode_rows(records, context) + self.end

    async def stream(self, batches: RecordBatches, context: FileContext) -> Chunks:
        # The start comes with the first batch: an error before that still has its own status code.
        is_first = True
        async for records in batches:
            yield await run_in_thread(self._encode_batch, records, context, is_first)
            is_first = False
        yield (self.encode_start([], context) if is_first else b"") + self.end

    def _encode_batch(self, records: Sequence[bytes], context: FileContext, is_first: bool) -> bytes:
        before = self.encode_start(records, context) if is_first else self.separator
        return before + self.encode_rows(records, context)


def row_serializer(
    format_: Format,
    rows: RowFormat,
    *,
    encode_page: RecordEncoder | None = None,
    is_flat: bool = False,
    ordering: str = "",
    shape: RecordShape = RecordShape.RECORD,
) -> EventSerializer:
    """Make the serializer of a row format. `encode_page` is for formats whose pages differ from their exports."""
    return EventSerializer(format_, rows.stream, encode_page or rows.encode, is_flat, ordering, shape)


_CSV_HEADER, _CSV_HASHTAGS = encode_csv([COLUMNS]), encode_csv([HASHTAG_ROW])


def _encode_csv_start(_: Sequence[bytes], context: FileContext) -> bytes:
    header = _CSV_HEADER + _CSV_HASHTAGS if context.with_hashtags else _CSV_HEADER
    return BYTE_ORDER_MARK + header if context.with_bom else header


CSV = row_serializer(
    Format.CSV,
    RowFormat(encode_start=_encode_csv_start, encode_rows=lambda rows, _: b"".join(rows)),
    is_flat=True,
    shape=RecordShape.ROW,
)
NDJSON = row_serializer(
    Format.NDJSON, RowFormat(encode_rows=lambda records, _: b"".join([each + b"\n" for each in records]))
)
XLSX = EventSerializer(Format.XLSX, write_xlsx, is_flat=True, shape=RecordShape.ROW)
GEOJSON = row_serializer(
    Format.GEOJSON,
    RowFormat(
        encode_start=lambda _, __: geojson.BEGIN,
        encode_rows=geojson.encode_features,
        separator=geojson.SEPARATOR,
        end=geojson.END,
    ),
    encode_page=geojson.encode_geojson_page,
    is_flat=True,
)
ATOM = row_serializer(
    Format.ATOM,
    RowFormat(encode_start=atom.encode_feed_start, encode_rows=atom.encode_entries, end=atom.END),
    is_flat=True,
    ordering=atom.ORDERING,
)

# Negotiation and OpenAPI list the formats in this order; the first is the default of exports.
SERIALIZERS = {each.format: each for each in (CSV, NDJSON, XLSX, GEOJSON, ATOM)}
PAGE_FORMATS = tuple(each.format for each in SERIALIZERS.values() if each.encode_page is not None)
# The schemas of formats that are JSON.
FORMAT_TYPES = {Format.GEOJSON: geojson.EventFeatureCollection}
