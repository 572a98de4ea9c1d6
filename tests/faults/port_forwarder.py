"""A loopback port that forwards to another one, can move, and can be cut or stalled: a network that fails."""

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Self

CHUNK_BYTES = 64 * 1024


class PortForwarder:
    """Runs on the event loop of the test, so nothing else may block that loop."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self._is_cut = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.resume()
        self._abort_all()

    def cut(self) -> None:
        """Reset all connections, and every new one until `restore`."""
        self._is_cut = True
        self._abort_all()

    def restore(self) -> None:
        self._is_cut = False

    def stall(self) -> None:
        """Forward nothing until `resume`. Connections stay open, and new ones are accepted."""
        self._passes.clear()

    def resume(self) -> None:
        self._passes.set()

    def move_to(self, port: int) -> None:
        """Forward new connections to another port, and reset those to the old one."""
        self.target_port = port
        self._abort_all()

    def _abort_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            with suppress(OSError):
                upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.target_port)
                self._writers.add(upstream)
                try:
                    copying = (self._copy(reader, upstream), self._copy(upstream_reader, writer))
                    await asyncio.wait(
                        [asyncio.ensure_future(each) for each in copying], return_when=asyncio.FIRST_COMPLETED
                    )
                finally:
                    self._writers.discard(upstream)
                    upstream.transport.abort()
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
