"""The ASGI application: routing, start-up and shutdown."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from fieldgate.http.endpoint import AppContext, Endpoint
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request.request_parsing import JSON_SUFFIX
from fieldgate.http.router import Router

UNKNOWN_PATH = "(unknown)"  # the path label of all unknown paths in metrics


class Application:
    """The ASGI application. `lifespan` holds resources open while the service runs."""

    def __init__(
        self,
        operations: Sequence[Operation],
        app_context: AppContext,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        by_path: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            by_path[operation.route.path].append(operation)
        endpoints = {path: Endpoint(path, group, app_context) for path, group in by_path.items()}
        # A parameter at the end of a path matches the suffix itself.
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
        """The ASGI lifespan protocol."""
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
