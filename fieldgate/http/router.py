"""Find the endpoint of a path.

Paths without parameters are looked up in a dictionary. The others are compared with the patterns of the same number of
segments and the same resource (`assets` in `/api/v2/assets/{uid}/`); a literal segment wins over a parameter, and a
parameter with a suffix (`{uid}.xlsx`) over one without.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

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
