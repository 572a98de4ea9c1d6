"""The measured works. To measure something else, add a `Work` to `WORKS`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from benchmarks.event_data import ListedEvent
from benchmarks.forms import BOUNDARY, form, multipart
from benchmarks.sharing_data import LISTED_ASSET, WRITTEN_ASSET
from benchmarks.walks import (
    ASSETS,
    ASSIGNMENTS,
    EVENTS,
    IMPORTS,
    PERMISSIONS,
    Walk,
    asset_pages,
    effects,
    filtered_pages,
    filtered_summaries,
    import_pages,
    pages,
    single_events,
    summaries,
)

HERE = Path(__file__).parent

EFFECTS = f"{PERMISSIONS}validate_submissions/effects/?held=view_asset,partial_submissions&asset_type=survey"

SUMMARY_WORK = "summary of all events, cold"


class Target(msgspec.Struct, frozen=True):
    """Targets of a work; None if there is none."""

    times_the_peer: float | None = None
    share_of_floor: float | None = None


NO_TARGET = Target()


@dataclass(frozen=True, kw_only=True)
class Work:
    """One request, repeated during a round.

    A `script` (Lua, for wrk) may vary the request. The path, method and body given here are then the example whose
    responses are compared before and after the load. A `walk` generates different paths; the first is the example, and
    some others are compared too.
    """

    name: str
    path: str = ""
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Accept": "application/json"})
    body: bytes = b""
    signed_in: bool = False
    is_conditional: bool = False  # sends If-None-Match
    script: Path | None = None
    walk: Walk | None = None
    paths: Sequence[str] = ()
    connections: int = 32  # fewer for slow responses, so that fewer are left at the end of a round
    peer_seconds: int = 1  # minimum length of the peer's rounds, longer for slow responses
    has_peer: bool = True
    ignored_fields: frozenset[str] = (
        frozenset()
    )  # response fields that differ between contenders, such as generated ids
    target: Target = NO_TARGET

    def headers_for(self, token: str, etag: str) -> dict[str, str]:
        """All headers of the request, with the contender's token and ETag if the work needs them."""
        authorization = {"Authorization": f"Token {token}"} if self.signed_in else {}
        condition = {"If-None-Match": etag} if self.is_conditional and etag else {}
        return {**self.headers, **authorization, **condition}

    def with_walk(self, events: Sequence[ListedEvent]) -> "Work":
        """The same work with the paths of its walk over these events."""
        if self.walk is None:
            return self
        paths = self.walk(events)
        return replace(self, path=paths[0], paths=paths, script=HERE / "walk.lua")

    def with_path(self, path: str) -> "Work":
        """The same work at another path."""
        return replace(self, path=path)


WORKS = (
    Work(name="permission list", path=PERMISSIONS, target=Target(7, 0.45)),
    Work(name="permission detail", path=f"{PERMISSIONS}manage_asset/"),
    Work(name="permission list, with a token", path=PERMISSIONS, signed_in=True, target=Target(None, 0.35)),
    # Each head is parsed, but a parameter that does nothing does not change the response.
    Work(
        name="permission list, every URL new",
        path=f"{PERMISSIONS}?fresh=0",
        script=HERE / "fresh_urls.lua",
        target=Target(None, 0.3),
    ),
    Work(name="one 304", path=PERMISSIONS, is_conditional=True, target=Target(8, 0.45)),
    Work(name="effects", path=EFFECTS, has_peer=False, target=Target(None, 0.35)),
    Work(name="effects, always others", walk=effects, has_peer=False, target=Target(None, 0.25)),
    Work(name="50 events, warm", path=EVENTS, target=Target(150, 0.45)),
    Work(name="50 events, cold", walk=pages(50), connections=8, target=Target(60, 0.25)),
    Work(
        name="50 events of some regions and countries, cold",
        walk=filtered_pages(50),
        connections=8,
        target=Target(60, 0.2),
    ),
    Work(name="1000 events, cold", walk=pages(1000), connections=2, peer_seconds=4, target=Target(60, 0.15)),
    Work(name="one event, cold", walk=single_events, target=Target(80, 0.18)),
    Work(
        name="50 events as CSV, cold",
        walk=pages(50, "format=csv&"),
        headers={"Accept": "text/csv"},
        connections=8,
        target=Target(80, 0.12),
    ),
    Work(name=SUMMARY_WORK, walk=summaries, connections=2, has_peer=False),
    Work(name="summary of some regions and countries, cold", walk=filtered_summaries, connections=2, has_peer=False),
    Work(name="imports list, token checked", path=IMPORTS, signed_in=True, target=Target(8, 0.2)),
    Work(
        name="imports list, token checked, cold",
        walk=import_pages(50),
        signed_in=True,
        connections=8,
        target=Target(25, 0.12),
    ),
    Work(name="assets list, 10,000 shared", path=ASSETS, signed_in=True, has_peer=False, target=Target(None, 0.1)),
    Work(name="assets list, 10,000 shared, cold", walk=asset_pages(50), signed_in=True, connections=8, has_peer=False),
    Work(name="50 assignments", path=ASSIGNMENTS.format(uid=LISTED_ASSET), signed_in=True, target=Target(None, 0.2)),
    Work(
        name="POST an assignment",
        path=ASSIGNMENTS.format(uid=WRITTEN_ASSET),
        method="POST",
        headers={"Accept": "application/json", "Content-Type": "application/json"},
        body=b'{"user": "/api/v2/users/assigned0/", "permission": "/api/v2/permissions/view_asset/"}',
        script=HERE / "assignments.lua",
        signed_in=True,
        connections=8,
        ignored_fields=frozenset({"url"}),
        target=Target(4, None),
    ),
    # Must be last, because it leaves imports behind.
    Work(
        name="POST an import",
        path=IMPORTS,
        method="POST",
        headers={"Accept": "application/json", "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
        body=multipart(form(10)),
        signed_in=True,
        ignored_fields=frozenset({"uid", "url"}),
        target=Target(2, None),
    ),
)
