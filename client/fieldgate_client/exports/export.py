"""From the pages of a list to a file or data frame: complete, or an exception and nothing left behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, closing, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Generator

Progress = Callable[[int, "int | None"], None]  # records received, and how many there are if the server says
Result = TypeVar("Result")
Written = TypeVar("Written", covariant=True)


class RecordWriter(Protocol[Written]):
    """`close` follows in any case, and undoes what `finish` did not complete."""

    def write(self, records: list[msgspec.Raw]) -> None: ...
    def finish(self) -> Written: ...
    def close(self) -> None: ...


def export_pages(
    pages: Iterator[list[msgspec.Raw]], writer: RecordWriter[Written], on_page: Callable[[int], None]
) -> tuple[Written, int]:
    """What the writer returns, and the number of records. `on_page` gets the number so far."""
    received = 0
    with closing(writer), closing(_generator(pages)) as source:
        for records in source:
            writer.write(records)
            received += len(records)
            on_page(received)
        return writer.finish(), received


async def export_pages_async(
    pages: AsyncGenerator[list[msgspec.Raw], None], writer: RecordWriter[Written], on_page: Callable[[int], None]
) -> tuple[Written, int]:
    """The same. Writing happens in a thread, so that the event loop goes on."""
    received = 0
    with closing(writer):
        async with aclosing(pages) as source:
            async for records in source:
                await _in_thread(writer.write, records)
                received += len(records)
                on_page(received)
        return await _in_thread(writer.finish), received


async def _in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """Run in a thread, and let it end before a cancellation goes on: the writer must not be closed while it writes."""
    import asyncio

    task = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        task.exception()  # it no longer matters
        raise


def _generator(pages: Iterator[list[msgspec.Raw]]) -> Generator[list[msgspec.Raw], None, None]:
    yield from pages
