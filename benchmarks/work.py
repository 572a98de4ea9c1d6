"""What the contenders are asked to do. To measure something else, add a `Work` to `WORKS`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.event_data import Listed
from benchmarks.walks import EVENTS, Walk, filtered_pages, pages, single_events

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Work:
    """One request, repeated for as long as a round lasts.

    A `script` (Lua, for wrk) may vary the request from one time to the next; the path, method and body given here
    are then the example by which the answers are compared before and after the load. A `walk` makes the paths of
    work that asks for another one each time; the first of them is the example, and some others are compared too.
    """

    name: str
    path: str = ""
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    body: bytes = b""
    signed_in: bool = False
    script: Path | None = None
    walk: Walk | None = None
    paths: Sequence[str] = ()
    connections: int = 32  # fewer where an answer takes long: a round then leaves less unanswered
    least_seconds: int = 1  # of a round: what takes long needs long ones

    def headers_for(self, token: str) -> dict[str, str]:
        """All headers of the request, signed with the contender's own token if the work asks for it."""
        signature = {"Authorization": f"Token {token}"} if self.signed_in else {}
        return {**self.headers, **signature}

    def over(self, events: Sequence[Listed]) -> "Work":
        """The same work, with the paths its walk takes over these events."""
        if self.walk is None:
            return self
        paths = self.walk(events)
        return replace(self, path=paths[0], paths=paths, script=HERE / "walk.lua")

    def at(self, path: str) -> "Work":
        """The same work, once, at another path."""
        return replace(self, path=path)


WORKS = (
    Work(name="permission list", path="/api/v2/permissions/"),
    Work(name="permission detail", path="/api/v2/permissions/manage_asset/"),
    Work(name="permission list, with a token", path="/api/v2/permissions/", signed_in=True),
    # No answer kept from an earlier request can help here.
    Work(
        name="permission list, every URL new",
        path="/api/v2/permissions/?fresh=0",
        script=HERE / "fresh_urls.lua",
    ),
    Work(name="50 events, warm", path=EVENTS),
    Work(name="50 events, cold", walk=pages(50), connections=8),
    Work(name="50 events of some regions and countries, cold", walk=filtered_pages(50), connections=8),
    Work(name="1000 events, cold", walk=pages(1000), connections=2, least_seconds=4),
    Work(name="one event, cold", walk=single_events),
    Work(name="50 events as CSV, cold", walk=pages(50, "format=csv&"), headers={"Accept": "text/csv"}, connections=8),
)
