"""Single requests, byte for byte as the load sends them, and the comparison of their responses."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any

import click
import msgspec

from benchmarks.servers import Server

EVENTS = "/api/v2/event/"
PERMISSIONS = "/api/v2/permissions/"
IMPORTS = "/api/v2/imports/"
ASSETS = "/api/v2/assets/"
ASSIGNMENTS = f"{ASSETS}{{}}/permission-assignments/"
TIMEOUT_SECONDS = 300
COMPARED_LINES = 4  # of the requests that vary
MAX_DIFFERENCE = (
    0.2  # of the bytes of a response: ports and ids differ, and an older baseline lacks newer keys
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that is repeated. `lines` are paths, or bodies of a POST, each for one request."""

    path: str = ""
    method: str = "GET"
    accept: str = "application/json"
    content_type: str = ""
    body: bytes = b""
    caller: str = ""
    lines: Sequence[str] = ()
    connections: int = 32  # fewer for slow responses

    def headers(self, server: Server) -> dict[str, str]:
        headers = {"Accept": self.accept}
        if self.content_type:
            headers["Content-Type"] = self.content_type
        if self.caller and server.tokens:
            headers["Authorization"] = f"Token {server.tokens[self.caller]}"
        return headers

    def example(self, line: int = 0) -> "Request":
        """One of the requests."""
        if not self.lines:
            return self
        if self.method == "GET":
            return replace(self, path=self.lines[line])
        return replace(self, body=self.lines[line].encode())


class Response(msgspec.Struct, frozen=True, array_like=True):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def send(request: Request, server: Server) -> Response:
    """Send one request. Its response must be right."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_SECONDS)
    try:
        connection.putrequest(request.method, request.path, skip_accept_encoding=True)
        for name, value in request.headers(server).items():
            connection.putheader(name, value)
        if request.body:
            connection.putheader("Content-Length", str(len(request.body)))
        connection.endheaders(request.body or None)
        answer = connection.getresponse()
        response = Response(answer.status, answer.getheaders(), answer.read())
    finally:
        connection.close()
    if response.status not in (200, 201):
        text = response.body[:500].decode(errors="replace")
        raise click.ClickException(
            f"{server.name}: {request.path} returned {response.status}: {text}"
        )
    return response


def get_json(server: Server, path: str, caller: str = "") -> Any:
    return json.loads(send(Request(path=path, caller=caller), server).body)


def post_json(path: str, content: Any, caller: str) -> Request:
    body = json.dumps(content).encode()
    return Request(
        path=path, method="POST", content_type="application/json", body=body, caller=caller
    )


def check_responses(request: Request, ours: Server, others: Iterable[Server]) -> Response:
    """Check that other servers send as many records, and about as many bytes. Returns our response."""
    for line in range(0, len(request.lines), max(1, len(request.lines) // COMPARED_LINES)) or [0]:
        example = request.example(line)
        response = send(example, ours)
        for other in others:
            their = send(example, other)
            is_similar = abs(len(their.body) - len(response.body)) <= MAX_DIFFERENCE * len(
                response.body
            )
            if (
                their.status != response.status
                or _counts(their) != _counts(response)
                or not is_similar
            ):
                raise click.ClickException(
                    f"Fieldgate and {other.name} send different responses to {example.path}"
                )
    return response


def _counts(response: Response) -> tuple[int, ...]:
    """The numbers of records of a list and of its page."""
    if not response.body.startswith((b"{", b"[")):
        return (response.body.count(b"\n"),)  # of CSV
    content = json.loads(response.body)
    return (content["count"], len(content["results"])) if "results" in content else (1,)
