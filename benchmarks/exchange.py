"""One request and its answer, byte for byte as the load will send and get them."""

from dataclasses import replace
from http.client import HTTPConnection

from benchmarks.answer import RecordedResponse
from benchmarks.contenders import Contender
from benchmarks.work import Work

TIMEOUT_SECONDS = 30  # seconds


def send_request(work: Work, contender: Contender) -> RecordedResponse:
    """Do the work once. Only the headers wrk sends are sent: another one could change the answer."""
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
    """The contender, with the validator of its answer where the work is to ask with it."""
    if not work.is_conditional:
        return contender
    return replace(contender, etag=send_request(work, replace(contender, etag="")).header("etag"))
