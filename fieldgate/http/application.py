"""The operations as one ASGI application: routing, start and stop."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from fieldgate.http.endpoint import Endpoint, Site
from fieldgate.http.operations import Operation, Shape
from fieldgate.http.request.request_parsing import JSON_SUFFIX
from fieldgate.http.router import Routes

UNKNOWN_PATH = "(unknown)"  # what measurements call every path that leads nowhere


class Application:
    """Answers HTTP over ASGI. `lifespan` holds open what the service needs while it runs."""

    def __init__(
        self,
        operations: Sequence[Operation],
        site: Site,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        by_path: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            by_path[operation.path].append(operation)
        endpoints = {path: Endpoint(path, together, site) for path, together in by_path.items()}
        # A name in braces carries the suffix itself.
        suffixed = {
            path.rstrip("/") + JSON_SUFFIX: endpoint
            for path, endpoint in endpoints.items()
            if by_path[path][0].shape is not Shape.READY and not path.rstrip("/").endswith("}")
        }
        self._routes = Routes({**endpoints, **suffixed})
        self._nowhere = Endpoint(UNKNOWN_PATH, [], site)
        self.site = site
        self.lifespan = lifespan

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            endpoint, values = self._routes.find(scope["path"]) or (self._nowhere, {})
            await endpoint(scope, values, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)

    async def _live(self, receive: Any, send: Any) -> None:
        """Start when the server says so, stop when it says so, and tell it that both were done."""
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
