"""The service about itself: the index of endpoints, health checks, and measurements."""

import re
from collections.abc import Iterable

import msgspec

from fieldgate import __version__
from fieldgate.db import Database, is_out_of_reach, schema
from fieldgate.errors import Forbidden, Unavailable
from fieldgate.http.injection import Client, Exchange
from fieldgate.http.negotiation.formats import Format
from fieldgate.http.operations import Operation, Shape, detail, ready
from fieldgate.http.request.hosts import is_inside
from fieldgate.http.response.links import Link
from fieldgate.http.response.responses import NEVER_STORE, Answer
from fieldgate.i18n.messages import Message
from fieldgate.metrics.requests import Observer
from fieldgate.settings import Settings

TAG = "Service"
INDEX = "/api/v2/"


class Health(msgspec.Struct, frozen=True):
    status: str
    version: str = __version__


class Readiness:
    """Whether this process can answer: the database is there, at the schema this release needs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def is_ready(self) -> bool:
        try:
            return await schema.current(self._database) == schema.NEEDED
        except Exception as error:
            if is_out_of_reach(error):
                return False
            raise


@ready(
    "/healthz",
    title=Message("Alive"),
    about=Message("Says that the process is alive. For a supervisor; answered whatever the Host header says."),
    tag=TAG,
    of=Health,
    example={"status": "alive", "version": __version__},
    formats=(Format.JSON,),
    checks_host=False,
    volatile=True,
)
async def healthz() -> Answer:
    return _json(Health("alive"))


@ready(
    "/readyz",
    title=Message("Ready"),
    about=Message(
        "Says that requests can be answered: the database is reachable and at the right schema. "
        "For a load balancer; answered whatever the Host header says."
    ),
    tag=TAG,
    of=Health,
    example={"status": "ready", "version": __version__},
    formats=(Format.JSON,),
    checks_host=False,
    volatile=True,
)
async def readyz(readiness: Readiness) -> Answer:
    if not await readiness.is_ready():
        raise Unavailable(Message("The database cannot be used yet."))
    return _json(Health("ready"))


@ready(
    "/metrics",
    title=Message("Measurements"),
    about=Message("Counts and times of requests in Prometheus' text format, for the addresses the operator allows."),
    tag=TAG,
    formats=(Format.JSON,),
    media_type="text/plain",
    volatile=True,
    refusals=(403,),
)
async def metrics(exchange: Exchange, client: Client, settings: Settings, observer: Observer) -> Answer:
    # A proxy on this machine that nobody told us to trust must not make the world look like this machine.
    is_relayed = b"x-forwarded-for" in exchange.headers or b"forwarded" in exchange.headers
    by_stranger = is_relayed and not is_inside(client.peer, settings.trusted_proxies)
    if by_stranger or not is_inside(client.address, settings.metrics_from):
        raise Forbidden(Message("Measurements are not for this address; see FIELDGATE_METRICS_FROM."))
    content_type = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
    return Answer(200, [content_type, NEVER_STORE], observer.exposition())


def index_of(operations: Iterable[Operation]) -> Operation:
    """The operation that lists the endpoints below `/api/v2/`: a name and an address for each."""
    endpoints = {
        _label(operation.path): Link(operation.path)
        for operation in sorted(operations, key=lambda each: each.path)
        if operation.shape is Shape.LIST and operation.path.startswith(INDEX) and "{" not in operation.path
    }

    @detail(
        INDEX,
        of=dict[str, Link],
        title=Message("Endpoints"),
        about=Message("The lists of this service, each with its address."),
        tag=TAG,
        changes_with=(),
        example={"permissions": "http://127.0.0.1:8000/api/v2/permissions/"},
    )
    async def endpoint_index() -> dict[str, Link]:
        return endpoints

    return endpoint_index


def _label(path: str) -> str:
    return re.sub(r"[^a-z0-9_]+", "-", path.removeprefix(INDEX).strip("/"))


def _json(record: Health) -> Answer:
    return Answer(200, [(b"content-type", b"application/json"), NEVER_STORE], msgspec.json.encode(record))
