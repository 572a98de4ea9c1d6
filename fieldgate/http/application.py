"""The ASGI application: routing, start-up and shutdown."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar
from urllib.parse import unquote

import msgspec

from fieldgate.http.endpoint import AppContext, Endpoint
from fieldgate.http.internal_api import InternalCall
from fieldgate.http.operations import Operation, ResponseKind
from fieldgate.http.request_parsing import JSON_SUFFIX
from fieldgate.http.response.responses import Response
from fieldgate.i18n.messages import Message

UNKNOWN_PATH = "(unknown)"  # the path label of all unknown paths in metrics


class OtherPaths(msgspec.Struct, frozen=True, kw_only=True):
    """Paths that no operation declares."""

    # Other prefixes of paths: `/assets` for `/api/v2/assets`. A declared path wins over one with such a prefix.
    aliases: Mapping[str, str] = {}
    # Paths that clients of other services ask for, and the message of the 404 response by the group `name`.
    unsupported: re.Pattern[str] = re.compile("(?!)")
    unsupported_messages: Mapping[str, Message] = {}


class Application:
    """The ASGI application. `lifespan` holds resources open while the service runs."""

    def __init__(
        self,
        operations: Sequence[Operation],
        app_context: AppContext,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
        other_paths: OtherPaths,
    ) -> None:
        by_path: dict[str, list[Operation]] = defaultdict(list)
        for operation in operations:
            by_path[operation.route.path].append(operation)
        endpoints = {path: Endpoint(path, group, app_context) for path, group in by_path.items()}
        # A parameter at the end of a path matches the suffix itself.
        suffixed = {
            path.rstrip("/") + JSON_SUFFIX: endpoint
            for path, endpoint in endpoints.items()
            if by_path[path][0].response.kind is not ResponseKind.RAW
            and not path.rstrip("/").endswith("}")
        }
        declared = {**endpoints, **suffixed}
        aliased = {
            alias + path.removeprefix(prefix): endpoint
            for alias, prefix in other_paths.aliases.items()
            for path, endpoint in declared.items()
            if path.startswith((prefix + "/", prefix + JSON_SUFFIX))
        }
        self._router = Router(
            {**declared, **{path: aliased[path] for path in aliased if path not in declared}}
        )
        self._not_found_endpoint = Endpoint(UNKNOWN_PATH, [], app_context)
        self._is_unsupported = other_paths.unsupported.fullmatch
        self._unsupported_endpoints = {
            name: Endpoint(UNKNOWN_PATH, [], app_context, not_found=message)
            for name, message in other_paths.unsupported_messages.items()
        }
        self.app_context = app_context
        self.lifespan = lifespan

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            found = self._router.match(scope["path"])
            if found is None:
                scope = _collapse_leading_slashes(scope)
                found = self._router.match(scope["path"]) or (self._find_missing(scope["path"]), {})
            endpoint, values = found
            await endpoint(scope, values, receive, send)
        elif scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)

    async def call_internally(self, call: InternalCall) -> Response:
        """Call an operation for a page. It is a `fieldgate.http.internal_api.Dispatcher`."""
        path = unquote(call.path)
        endpoint, values = self._router.match(path) or (self._find_missing(path), {})
        return await endpoint.call_internally(call, values)

    def _find_missing(self, path: str) -> Endpoint:
        """The endpoint that answers 404."""
        match = self._is_unsupported(path)
        return self._unsupported_endpoints[match["name"]] if match else self._not_found_endpoint

    async def _run_lifespan(self, receive: Any, send: Any) -> None:
        """The ASGI lifespan protocol."""
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _collapse_leading_slashes(scope: Any) -> Any:
    """The scope with one slash at the start of the path. A page at `//host/` could have links to another host."""
    raw_path: bytes = scope["raw_path"]
    extra = len(raw_path) - len(raw_path.lstrip(b"/")) - 1
    return (
        {**scope, "path": scope["path"][extra:], "raw_path": raw_path[extra:]}
        if extra > 0
        else scope
    )


Target = TypeVar("Target")

_PARAMETER = re.compile(r"\\{(\w+)\\}")  # in an escaped path


class Router(Generic[Target]):
    """Maps paths to targets, with and without the trailing slash. A literal segment wins over a parameter."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._exact: dict[str, Target] = {}
        self._patterns: dict[int, list[tuple[re.Pattern[str], Target]]] = defaultdict(
            list
        )  # by number of slashes
        for path in sorted(targets, key=_precedence):
            bare = path.rstrip("/")
            if "{" in path:
                pattern = re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(bare)))
                self._patterns[bare.count("/")].append((pattern, targets[path]))
            else:
                self._exact |= {bare or "/": targets[path], bare + "/": targets[path]}

    def match(self, path: str) -> tuple[Target, dict[str, str]] | None:
        """The target of a path and the values of its parameters, or None."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        bare = path.removesuffix("/")
        for pattern, target in self._patterns.get(bare.count("/"), ()):
            if found := pattern.fullmatch(bare):
                return target, found.groupdict()
        return None


def _precedence(path: str) -> list[tuple[bool, bool]]:
    """Literal segments first, then parameters with a suffix, such as `{uid}.xls`, then other parameters."""
    return [("{" in segment, segment.endswith("}")) for segment in path.strip("/").split("/")]
