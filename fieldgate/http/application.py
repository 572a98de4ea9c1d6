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
            if by_path[path][0].response.kind is not ResponseKind.RAW and not path.rstrip("/").endswith("}")
        }
        declared = {**endpoints, **suffixed}
        aliased = {
            alias + path.removeprefix(prefix): endpoint
            for alias, prefix in other_paths.aliases.items()
            for path, endpoint in declared.items()
            if path.startswith((prefix + "/", prefix + JSON_SUFFIX))
        }
        self._router = Router({**declared, **{path: aliased[path] for path in aliased if path not in declared}})
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
        """Call an operation for a page. Implements `fieldgate.http.internal_api.Dispatcher`."""
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
    return {**scope, "path": scope["path"][extra:], "raw_path": raw_path[extra:]} if extra > 0 else scope


Target = TypeVar("Target")

RESOURCE_INDEX = 2  # of the segment that names the resource

# A literal segment, or else the name of a parameter and its suffix.
Segment = tuple[str, str, str]


class Router(Generic[Target]):
    """Maps paths to targets, with and without the trailing slash."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._exact: dict[str, Target] = {}
        patterns: list[tuple[list[Segment], Target]] = []
        for path, target in targets.items():
            if "{" in path:
                patterns.append(([_parse_segment(segment) for segment in path.strip("/").split("/")], target))
            else:
                self._exact |= {path.rstrip("/") or "/": target, path.rstrip("/") + "/": target}
        patterns.sort(key=lambda pattern: [(not literal, not suffix) for literal, _, suffix in pattern[0]])
        groups = {(len(segments), _resource(segments)) for segments, _ in patterns}
        self._patterns = {
            (count, resource): [
                (segments, target)
                for segments, target in patterns
                if len(segments) == count and _resource(segments) in ("", resource)
            ]
            for count, resource in groups | {(count, "") for count, _ in groups}
        }

    def match(self, path: str) -> tuple[Target, dict[str, str]] | None:
        """The target of a path and the values of its parameters, or None."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        if not path.startswith("/"):
            return None
        segments = path[1:].removesuffix("/").split("/")
        count = len(segments)
        resource = segments[RESOURCE_INDEX] if count > RESOURCE_INDEX else ""
        for pattern, target in self._patterns.get((count, resource)) or self._patterns.get((count, "")) or ():
            values = _match_segments(pattern, segments)
            if values is not None:
                return target, values
        return None


def _resource(segments: list[Segment]) -> str:
    """The literal segment that names the resource; "" if there is a parameter or nothing."""
    return segments[RESOURCE_INDEX][0] if len(segments) > RESOURCE_INDEX else ""


def _parse_segment(segment: str) -> Segment:
    if not segment.startswith("{"):
        return segment, "", ""
    name, _, suffix = segment[1:].partition("}")
    return "", name, suffix


def _match_segments(pattern: list[Segment], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for (literal, name, suffix), segment in zip(pattern, segments, strict=True):
        if literal:
            if literal != segment:
                return None
        elif not segment:
            return None
        elif not suffix:
            values[name] = segment
        elif segment.endswith(suffix) and segment != suffix:
            values[name] = segment[: -len(suffix)]
        else:
            return None
    return values
