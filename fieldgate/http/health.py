"""Health checks, metrics and the index of endpoints."""

import asyncio
import re
from collections.abc import Iterable
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from fieldgate import __version__
from fieldgate.errors import Forbidden, ServiceUnavailable
from fieldgate.http.injection import HandlerContext
from fieldgate.http.links import Link
from fieldgate.http.operations import Operation, ResponseKind, Routes
from fieldgate.http.response.responses import NO_STORE, Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope
from fieldgate.metrics.requests import RequestMetrics
from fieldgate.overload import SharedCall
from fieldgate.runtime.client_networks import is_in_networks
from fieldgate.settings import LOOPBACK, Network, Settings

METRICS_CHECK_SECONDS = 3  # Prometheus waits for ten
TAG = "Service"
INDEX_PATH = "/api/v2/"
routes = Routes(tag=TAG, scope=Scope.NONE, no_store=True, rate_cost=0)


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    status: str
    version: Annotated[
        str, Meta(description="Only for superusers, and for clients on the same machine.")
    ] = ""


class NotReadyReport(msgspec.Struct, frozen=True):
    detail: Annotated[str, Meta(description="The reason, in the caller's language.")]
    reason: Annotated[
        str, Meta(description="The reason as a word for programs, such as `read_only`.")
    ]


class UnreadyReason(Protocol):
    """Why this process cannot handle requests."""

    code: str
    message: Message
    retry_seconds: int


class NotReady(ServiceUnavailable):
    """The 503 of `/readyz`."""

    def __init__(self, reason: UnreadyReason) -> None:
        super().__init__(reason.message, reason.retry_seconds)
        self.code = reason.code

    def body(self, language: Language) -> dict[str, object]:
        return {**super().body(language), "reason": self.code}


class ReadinessCheck(Protocol):
    """Whether this process can handle requests: None, or the reason why it cannot."""

    async def unready_reason(self) -> UnreadyReason | None: ...


class Readiness:
    """What `/readyz` reports: the result of checks, in their order."""

    def __init__(self, *checks: ReadinessCheck) -> None:
        self._checks = checks
        # There is no rate limit, so a flood must not become a flood of queries.
        self._unready_reason = SharedCall(self._find_reason)

    async def _find_reason(self) -> UnreadyReason | None:
        for check in self._checks:
            if reason := await check.unready_reason():
                return reason
        return None

    async def check(self) -> None:
        """Raise `NotReady` if this process cannot handle requests."""
        reason = await self._unready_reason()
        if reason is not None:
            raise NotReady(reason)

    async def is_ready(self) -> bool:
        """For metrics: a check that takes too long counts as not ready."""
        try:
            async with asyncio.timeout(METRICS_CHECK_SECONDS):
                return await self._unready_reason() is None
        except TimeoutError:
            return False


@routes.raw(
    "/healthz",
    title=Message("Alive"),
    description=Message(
        "Reports that the process is running. For a supervisor; any Host header is accepted."
    ),
    response=Health,
    checks_host=False,
)
async def healthz(context: HandlerContext, settings: Settings) -> Response:
    return _json_response(_health("alive", context, settings))


@routes.raw(
    "/readyz",
    title=Message("Ready"),
    description=Message(
        "Reports that the service is ready: the database can be read and written and has the right schema. If not, "
        "the response has the reason. For a load balancer; any Host header is accepted."
    ),
    response=Health,
    checks_host=False,
    error_types={503: NotReadyReport},
)
async def readyz(context: HandlerContext, settings: Settings, readiness: Readiness) -> Response:
    await readiness.check()
    return _json_response(_health("ready", context, settings))


def _health(status: str, context: HandlerContext, settings: Settings) -> Health:
    """Who looks for a version with a known weakness does not learn it here."""
    is_told = context.caller.sees_everything or _comes_from(LOOPBACK, context, settings)
    return Health(status, __version__ if is_told else "")


def _comes_from(networks: tuple[Network, ...], context: HandlerContext, settings: Settings) -> bool:
    """Whether the client is in a network. Behind an untrusted proxy on this machine, every client seems to be local."""
    client = context.client
    is_relayed = b"x-forwarded-for" in context.headers or b"forwarded" in context.headers
    is_untrusted = is_relayed and not is_in_networks(client.peer, settings.trusted_proxies)
    return not is_untrusted and is_in_networks(client.address, networks)


@routes.raw(
    "/metrics",
    title=Message("Metrics"),
    description=Message(
        "Request counts and durations in Prometheus' text format, for the addresses that the operator allows."
    ),
    media_type="text/plain",
    error_statuses=(403,),
)
async def metrics(
    context: HandlerContext,
    settings: Settings,
    request_metrics: RequestMetrics,
    readiness: Readiness,
) -> Response:
    if not _comes_from(settings.metrics_from, context, settings):
        raise Forbidden(
            Message("Metrics are not available to this address; see FIELDGATE_METRICS_FROM.")
        )
    content_type = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
    return Response(
        200,
        [content_type, NO_STORE],
        request_metrics.to_prometheus(is_ready=await readiness.is_ready()),
    )


def index_operation(operations: Iterable[Operation]) -> Operation:
    """The operation that lists the endpoints below `/api/v2/` by name."""
    endpoints = {
        re.sub(r"[^a-z0-9_]+", "-", operation.route.path.removeprefix(INDEX_PATH).strip("/")): Link(
            operation.route.path
        )
        for operation in sorted(operations, key=lambda each: each.route.path)
        if operation.response.kind is ResponseKind.LIST
        and operation.route.path.startswith(INDEX_PATH)
        and "{" not in operation.route.path
    }

    @Routes(tag=TAG, scope=Scope.NONE).get(
        INDEX_PATH,
        response=dict[str, Link],
        title=Message("Endpoints"),
        description=Message("The lists of this service with their URLs."),
        depends_on=(),
    )
    async def endpoint_index() -> dict[str, Link]:
        return endpoints

    return endpoint_index


def _json_response(record: object) -> Response:
    return Response(
        200, [(b"content-type", b"application/json"), NO_STORE], msgspec.json.encode(record)
    )
