"""One request and its answer, byte for byte as the load will send and get them."""

from http.client import HTTPConnection

import msgspec

from benchmarks.work import Work

PATIENCE = 30  # seconds


class Answer(msgspec.Struct, frozen=True):
    """An answer as it came over the wire."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


def ask(work: Work, port: int, token: str) -> Answer:
    """Do the work once. Only the headers wrk sends are sent: another one could change the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.putrequest(work.method, work.path, skip_accept_encoding=True)
        for name, value in work.headers_for(token).items():
            connection.putheader(name, value)
        if work.body:
            connection.putheader("Content-Length", str(len(work.body)))
        connection.endheaders(work.body or None)
        response = connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())
    finally:
        connection.close()
