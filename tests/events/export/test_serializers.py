"""The registry of formats: list pages, exports, negotiation and OpenAPI all use it."""

from collections.abc import AsyncGenerator

import pytest

from fieldgate.events.export.serializers import PAGE_ENCODERS, SERIALIZERS, EventSerializer, row_serializer
from fieldgate.events.routes import event_export, event_list
from fieldgate.http.negotiation.formats import Format

RECORDS = [b'{"id":1}', b'{"id":2}', b'{"id":3}']


async def batches(*lists: list[bytes]) -> AsyncGenerator[list[bytes], None]:
    for records in lists:
        yield records


async def written(serializer: EventSerializer, *lists: list[bytes]) -> bytes:
    return b"".join([chunk async for chunk in serializer.stream(batches(*lists))])


def test_routes_offer_what_is_registered() -> None:
    assert event_export.response.formats == tuple(SERIALIZERS)
    assert event_list.response.formats == (Format.JSON, Format.HTML, *PAGE_ENCODERS)
    assert set(PAGE_ENCODERS) < set(SERIALIZERS), "workbooks are for exports only"


@pytest.mark.parametrize("serializer", SERIALIZERS.values(), ids=lambda each: each.file_suffix)
def test_each_is_registered_under_its_format(serializer: EventSerializer) -> None:
    assert SERIALIZERS[serializer.format] is serializer
    assert serializer.content_type.decode().startswith(serializer.format.media_type)


async def test_row_format_has_one_header_in_pages_and_files() -> None:
    serializer = row_serializer(Format.NDJSON, b";".join, header=b"header:")
    assert serializer.encode_page is not None
    assert serializer.encode_page(RECORDS) == b'header:{"id":1};{"id":2};{"id":3}'
    assert await written(serializer, RECORDS[:2], RECORDS[2:]) == b'header:{"id":1};{"id":2}{"id":3}'
    assert await written(serializer) == b"header:"
