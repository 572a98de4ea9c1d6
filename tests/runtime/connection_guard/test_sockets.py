"""Breaking off one connection."""

import socket

import pytest

from fieldgate.runtime.connection_guard import reset_connection


def test_a_connection_is_reset_and_others_are_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with (
            socket.create_connection(("127.0.0.1", port)) as first,
            socket.create_connection(("127.0.0.1", port)) as other,
        ):
            accepted = [server.accept()[0], server.accept()[0]]
            address, number = first.getsockname()
            assert reset_connection(port, (address, str(number)))
            assert not reset_connection(port, ("192.0.2.1", str(number)))
            for connection in accepted:
                connection.close()  # as the HTTP server does
            with pytest.raises(ConnectionResetError):
                first.recv(1)
            assert other.recv(1) == b""
