"""Which endpoint a path belongs to.

Most paths are found whole in a dictionary. Of those with names in braces, only the few with as many segments are
compared; a word is no value of braces where a path has that very word.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Generic, TypeVar

Target = TypeVar("Target")


class Router(Generic[Target]):
    """Paths and what they lead to; with and without the last slash is the same."""

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
        """The target of a path and the values of its braces, or None."""
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
