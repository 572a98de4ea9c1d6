"""Read and close the TCP connections of this process (Linux).

A scan must be cheap with thousands of connections and must not wait for Python's lock once per connection: system calls
of the standard library release it, and a busy event loop gives it back after milliseconds only. So the C library is
called without releasing it.
"""

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

FD_FOLDER = Path("/proc/self/fd")
SO_COOKIE = 57  # a number of the socket that is never used again; the numbers of descriptors are
# struct tcp_info: unacked; bytes_acked, bytes_received; notsent_bytes; bytes_sent, bytes_retrans (Linux 4.19)
_TCP_INFO = struct.Struct("=24xI92xQQ8xI52xQQ")
_NO_ADDRESS = struct.pack("=H14x", socket.AF_UNSPEC)  # connecting to it resets a connection
_IPV4 = struct.Struct("!2xH4s")
_IPV6 = struct.Struct("!2xH4x16s")


class ByteCounts(NamedTuple):
    """What the kernel counts for a connection, in bytes."""

    received: int
    sent: int
    acknowledged: int
    has_pending: bool


class SocketReader:
    """Reads sockets by the numbers of their descriptors. Not for use by several threads."""

    def __init__(self) -> None:
        library = ctypes.PyDLL(None)
        self._getsockopt, self._getsockname, self._getpeername = (
            library.getsockopt, library.getsockname, library.getpeername,
        )  # fmt: skip
        self._connect = library.connect
        self._getdents = getattr(ctypes.CDLL(None), "getdents64", None)  # not in every C library
        self._names = ctypes.create_string_buffer(64 * 1024)
        self._info = ctypes.create_string_buffer(_TCP_INFO.size)
        self._number = ctypes.c_uint64()
        self._number_pointer = ctypes.byref(self._number)
        self._address = ctypes.create_string_buffer(128)
        self._length = ctypes.c_uint32()
        self._length_pointer = ctypes.byref(self._length)

    def descriptors(self) -> list[int]:
        """All open descriptors of this process."""
        if self._getdents is None:
            return [int(entry.name) for entry in FD_FOLDER.iterdir()]
        return list(self._read_descriptors(self._getdents))

    def _read_descriptors(self, getdents: "ctypes._NamedFuncPointer") -> Iterator[int]:
        folder = os.open(FD_FOLDER, os.O_RDONLY | os.O_DIRECTORY)
        try:
            while (size := getdents(folder, self._names, len(self._names))) > 0:
                data = self._names.raw[:size]
                position = 0
                while position < size:  # struct linux_dirent64: inode, offset, length of the entry, type, name
                    length = data[position + 16] | data[position + 17] << 8
                    name = data[position + 19 : position + length].partition(b"\0")[0]
                    if name.isdigit():
                        yield int(name)
                    position += length
        finally:
            os.close(folder)

    def cookie(self, descriptor: int) -> int:
        """The number of the socket; 0 if there is none."""
        self._length.value = 8
        failed = self._getsockopt(descriptor, socket.SOL_SOCKET, SO_COOKIE, self._number_pointer, self._length_pointer)
        return 0 if failed else self._number.value

    def transfer(self, descriptor: int) -> ByteCounts | None:
        """What was transferred; None if this is not a connection, or if the kernel does not count."""
        self._length.value = _TCP_INFO.size
        if self._getsockopt(
            descriptor, socket.IPPROTO_TCP, socket.TCP_INFO, self._info, self._length_pointer
        ) or self._length.value < _TCP_INFO.size:  # fmt: skip
            return None
        unacked, acknowledged, received, notsent, sent, sent_again = _TCP_INFO.unpack(self._info)
        return ByteCounts(received, sent - sent_again, acknowledged, bool(unacked or notsent))

    def local_port(self, descriptor: int) -> int:
        """The port on this side; 0 if this is not a TCP connection."""
        found = self._read_address(self._getsockname, descriptor)
        return found[1] if found else 0

    def peer(self, descriptor: int) -> tuple[str, int] | None:
        """Address and port of the other side; None if it is not connected."""
        return self._read_address(self._getpeername, descriptor)

    def _read_address(self, function: "ctypes._NamedFuncPointer", descriptor: int) -> tuple[str, int] | None:
        self._length.value = len(self._address)
        if function(descriptor, self._address, self._length_pointer):
            return None
        family = int.from_bytes(self._address.raw[:2], sys.byteorder)
        if family not in (socket.AF_INET, socket.AF_INET6):
            return None
        layout = _IPV4 if family == socket.AF_INET else _IPV6
        port, packed = layout.unpack_from(self._address)
        return socket.inet_ntop(family, packed), port

    def limit_send_buffer(self, descriptor: int, size: int) -> None:
        """If this is a listening socket, let the system keep this much at most for each new connection, doubled."""
        try:
            listener = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            return
        with closing(listener):
            if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)

    def close(self, descriptor: int, cookie: int, *, is_reset: bool = False) -> bool:
        """Break off a connection, if the descriptor still belongs to it; return whether it did.

        The HTTP server notices and closes its descriptor. What was not sent yet is discarded. A client that waits for
        more sees the end of the response, or a reset if that is asked for.
        """
        try:
            copy = os.dup(descriptor)  # from here on it cannot become another connection
        except OSError:
            return False
        if self.cookie(copy) != cookie:
            os.close(copy)
            return False
        with closing(socket.socket(fileno=copy)) as connection:
            if is_reset:
                return bool(self._connect(copy, _NO_ADDRESS, len(_NO_ADDRESS)) == 0)
            try:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # closed by the other side in the meantime
                return False
        return True


def reset_connection(port: int, client: tuple[str, str]) -> bool:
    """Break off the connection of a client (address, port) to a port of this process; return whether it was found.

    Looks at all descriptors, so it is for rare cases.
    """
    if sys.platform != "linux":
        return False
    reader = SocketReader()
    for descriptor in reader.descriptors():
        cookie = reader.cookie(descriptor)
        if cookie and reader.local_port(descriptor) == port:
            peer = reader.peer(descriptor)
            if peer is not None and (peer[0], str(peer[1])) == client:
                return reader.close(descriptor, cookie, is_reset=True)
    return False


def count_descriptors() -> int:
    """The number of open descriptors, at the cost of one system call; 0 if the kernel does not tell (before 6.2)."""
    return FD_FOLDER.stat().st_size
