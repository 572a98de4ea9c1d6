"""A single request, byte for byte as the load sends it."""

from dataclasses import replace
from http.client import HTTPConnection

from benchmarks.contenders import Contender
from benchmarks.recorded_response import RecordedResponse
from benchmarks.work import Work

TIMEOUT_SECONDS = 30


def send_request(work: Work, contender: Contender) -> RecordedResponse:
    """Send one request of the work, with the same headers as wrk: others could change the response."""
    connection = HTTPConnection("127.0.0.1", contender.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.putrequest(work.method, work.path, skip_accept_encoding=True)
        for name, value in work.headers_for(contender.token, contender.etag).items():
            connection.putheader(name, value)
        if work.body:
            connection.putheader("Content-Length", str(len(work.body)))
        connection.endheaders(work.body or None)
        response = connection.getresponse()
        return RecordedResponse(response.status, response.getheaders(), response.read())
    finally:
        connection.close()


def with_etag(work: Work, contender: Contender) -> Contender:
    """Add the ETag of the contender's response if the work is conditional."""
    if not work.is_conditional:
        return contender
    return replace(contender, etag=send_request(work, replace(contender, etag="")).header("etag"))
