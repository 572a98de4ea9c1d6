"""The operations as one ASGI application: routing, start and stop."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from fieldgate.http.endpoint import AppContext, Endpoint
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.request_parsing import JSON_SUFFIX
from fieldgate.http.router import Router

UNKNOWN_PATH = "(unknown)"  # what measurements call every path that leads nowhere


class Application:
    """Answers HTTP over ASGI. `lifespan` holds open what the service needs while it runs."""

    def __init__(
        self,
        operations: Sequence[Operation],
        app_context: AppContext,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        by_path: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            by_path[operation.route.path].append(operation)
        endpoints = {path: Endpoint(path, together, app_context) for path, together in by_path.items()}
        # A name in braces carries the suffix itself.
        suffixed = {
            path.rstrip("/") + JSON_SUFFIX: endpoint
            for path, endpoint in endpoints.items()
            if by_path[path][0].response.kind is not ResponseKind.RAW and not path.rstrip("/").endswith("}")
        }
        self._router = Router({**endpoints, **suffixed})
        self._not_found_endpoint = Endpoint(UNKNOWN_PATH, [], app_context)
        self.app_context = app_context
        self.lifespan = lifespan

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            endpoint, values = self._router.match(scope["path"]) or (self._not_found_endpoint, {})
            await endpoint(scope, values, receive, send)
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)

    async def _run_lifespan(self, receive: Any, send: Any) -> None:
        """Start when the server says so, stop when it says so, and tell it that both were done."""
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
