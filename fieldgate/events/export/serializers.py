"""The formats events can be written in, for list pages and for exports.

To add a format: add a member to `Format` if it is new, then one entry to `SERIALIZERS`.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from fieldgate.events.export.xlsx import write_xlsx
from fieldgate.events.record_shapes import COLUMNS, to_rows
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.response.csv_safe import encode_csv

RecordBatches = AsyncGenerator[list[bytes], None]
Chunks = AsyncGenerator[bytes, None]
RecordEncoder = Callable[[Sequence[bytes]], bytes]


class EventSerializer(msgspec.Struct, frozen=True):
    """Writes event records, given as JSON, in one format."""

    format: Format
    stream: Callable[[RecordBatches], Chunks]  # writes an export
    encode_page: RecordEncoder | None = None  # encodes a list page; None if the format is for exports only
    is_flat: bool = False  # nested values are joined in any case: `tableau=true` changes nothing

    @property
    def content_type(self) -> bytes:
        return self.format.content_type

    @property
    def file_suffix(self) -> str:
        return self.format.query_value


def row_serializer(
    format_: Format, encode_rows: RecordEncoder, header: bytes = b"", *, is_flat: bool = False
) -> EventSerializer:
    """Make the serializer of a format that is a header and independent rows."""

    def encode_page(records: Sequence[bytes]) -> bytes:
        return header + encode_rows(records)

    async def stream(batches: RecordBatches) -> Chunks:
        # The header comes with the first batch: an error before that still has its own status code.
        prefix = header
        async for records in batches:
            yield prefix + await asyncio.to_thread(encode_rows, records)
            prefix = b""
        yield prefix

    return EventSerializer(format_, stream, encode_page, is_flat)


def _encode_csv_rows(records: Sequence[bytes]) -> bytes:
    return encode_csv(to_rows(records))


def _encode_ndjson_rows(records: Sequence[bytes]) -> bytes:
    return b"".join([record + b"\n" for record in records])


CSV = row_serializer(Format.CSV, _encode_csv_rows, header=encode_csv([COLUMNS]), is_flat=True)
NDJSON = row_serializer(Format.NDJSON, _encode_ndjson_rows)
XLSX = EventSerializer(Format.XLSX, write_xlsx, is_flat=True)

# Negotiation and OpenAPI list the formats in this order; the first is the default of exports.
SERIALIZERS = {each.format: each for each in (CSV, NDJSON, XLSX)}
PAGE_ENCODERS = {each.format: each.encode_page for each in SERIALIZERS.values() if each.encode_page is not None}
