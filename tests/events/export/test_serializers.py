"""The registry of formats: list pages, exports, negotiation and OpenAPI all use it."""

from collections.abc import AsyncGenerator

import pytest

from fieldgate.events.export.file_context import FileContext
from fieldgate.events.export.serializers import PAGE_FORMATS, SERIALIZERS, EventSerializer, RowFormat, row_serializer
from fieldgate.events.routes import event_export, event_list
from fieldgate.http.negotiation.formats import Format
from fieldgate.i18n.languages import Language
from fieldgate.reference.reference_data import ReferenceData

CONTEXT = FileContext(language=Language.ENGLISH, reference_data=ReferenceData([], []))
RECORDS = [b'{"id":1}', b'{"id":2}', b'{"id":3}']


async def batches(*lists: list[bytes]) -> AsyncGenerator[list[bytes], None]:
    for records in lists:
        yield records


async def written(serializer: EventSerializer, *lists: list[bytes]) -> bytes:
    return b"".join([chunk async for chunk in serializer.stream(batches(*lists), CONTEXT)])


def test_routes_offer_what_is_registered() -> None:
    assert event_export.response.formats == tuple(SERIALIZERS)
    assert event_list.response.formats == (Format.JSON, Format.HTML, *PAGE_FORMATS)
    assert set(PAGE_FORMATS) < set(SERIALIZERS), "workbooks are for exports only"


@pytest.mark.parametrize("serializer", SERIALIZERS.values(), ids=lambda each: each.format.query_value)
def test_each_is_registered_under_its_format(serializer: EventSerializer) -> None:
    assert SERIALIZERS[serializer.format] is serializer
    assert serializer.format.content_type.decode().startswith(serializer.format.media_type)


async def test_row_format_is_the_same_in_pages_and_files() -> None:
    rows = RowFormat(
        encode_start=lambda records, _: b"start of %d:" % len(records),
        encode_rows=lambda records, _: b";".join(records),
        separator=b";",
        end=b".",
    )
    serializer = row_serializer(Format.NDJSON, rows)
    encode_page = serializer.page_encoder(CONTEXT)
    assert encode_page is not None
    assert encode_page(RECORDS, None, None) == b'start of 3:{"id":1};{"id":2};{"id":3}.'
    assert await written(serializer, RECORDS[:2], RECORDS[2:]) == b'start of 2:{"id":1};{"id":2};{"id":3}.'
    assert await written(serializer) == b"start of 0:."
