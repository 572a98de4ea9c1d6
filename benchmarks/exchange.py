"""One request and its answer, byte for byte as the load will send and get them."""

from dataclasses import replace
from http.client import HTTPConnection

from benchmarks.answer import Answer
from benchmarks.contenders import Contender
from benchmarks.work import Work

PATIENCE = 30  # seconds


def ask(work: Work, contender: Contender) -> Answer:
    """Do the work once. Only the headers wrk sends are sent: another one could change the answer."""
    connection = HTTPConnection("127.0.0.1", contender.port, timeout=PATIENCE)
    try:
        connection.putrequest(work.method, work.path, skip_accept_encoding=True)
        for name, value in work.headers_for(contender.token, contender.etag).items():
            connection.putheader(name, value)
        if work.body:
            connection.putheader("Content-Length", str(len(work.body)))
        connection.endheaders(work.body or None)
        response = connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())
    finally:
        connection.close()


def knowing(work: Work, contender: Contender) -> Contender:
    """The contender, with the validator of its answer where the work is to ask with it."""
    if not work.is_known:
        return contender
    return replace(contender, etag=ask(work, replace(contender, etag="")).header("etag"))
