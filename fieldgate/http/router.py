"""Find the endpoint of a path.

Paths without parameters are looked up in a dictionary. The others are compared with the patterns of the same number of
segments; a literal segment wins over a parameter.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Generic, TypeVar

Target = TypeVar("Target")


class Router(Generic[Target]):
    """Maps paths to targets, with and without the trailing slash."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._exact: dict[str, Target] = {}
        self._patterns: dict[int, list[tuple[list[str], Target]]] = defaultdict(list)
        for path, target in targets.items():
            if "{" in path:
                segments = path.strip("/").split("/")
                self._patterns[len(segments)].append((segments, target))
            else:
                self._exact |= {path.rstrip("/") or "/": target, path.rstrip("/") + "/": target}
        for patterns in self._patterns.values():
            patterns.sort(key=lambda pattern: [segment.startswith("{") for segment in pattern[0]])

    def match(self, path: str) -> tuple[Target, dict[str, str]] | None:
        """The target of a path and the values of its parameters, or None."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact, {}
        if not path.startswith("/"):
            return None
        segments = path[1:].removesuffix("/").split("/")
        for pattern, target in self._patterns.get(len(segments), ()):
            values = _match_segments(pattern, segments)
            if values is not None:
                return target, values
        return None


def _match_segments(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    values: dict[str, str] = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            if not segment:
                return None
            values[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return values
