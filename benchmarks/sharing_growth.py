"""How the costs of asset lists grow with the assets of a user, and those of assignments with the users of an asset."""

import secrets
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.growth_plots import MIN_REQUESTS, Line, Plot, measure_interleaved
from benchmarks.page_client import PageClient
from benchmarks.processes import PROGRAM, free_port, output_of, run_server
from benchmarks.sharing_data import VIEW_PERMISSION, add_assets, add_members, share_asset
from benchmarks.walks import ASSETS, ASSIGNMENTS

ASSET_COUNTS = (100, 1000, 10_000, 100_000)  # shared with one user
USER_COUNTS = (10, 100, 1000, 10_000)  # assigned to one asset
PAGE_SIZE = 50
MAX_WRITES = 50  # for each point: a write and a request after it take longer
OWNER = "owner"

Measure = Callable[[int], float]  # seconds of the n-th request


class Reader(NamedTuple):
    """A user and the uid of an asset that the user can see."""

    client: PageClient
    asset: str


def sharing_plots(core: int, requests: int, *, is_quick: bool) -> list[Plot]:
    """Costs of lists of assets, and of assignments."""
    asset_counts, user_counts = (ASSET_COUNTS[:2], USER_COUNTS[:2]) if is_quick else (ASSET_COUNTS, USER_COUNTS)
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as name:
        data = Path(name)
        tokens = {user: _create_user(data, user) for user in (OWNER, *map(_reader_name, asset_counts))}
        shared = {count: add_assets(data, OWNER, count, visible_to=_reader_name(count)) for count in asset_counts}
        members = add_members(data, max(user_counts))
        assigned = {count: add_assets(data, OWNER, 1) for count in user_counts}
        for count, uid in assigned.items():
            share_asset(data, uid, count)
        port = free_port()
        command = [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port), "--data", name, "--no-worker"]
        with run_server(command, port=port, core=core, environment={}):
            owner = PageClient(port, tokens[OWNER])
            readers = {
                count: Reader(PageClient(port, tokens[_reader_name(count)]), uid) for count, uid in shared.items()
            }
            return [_by_assets(readers, owner, requests), _by_users(assigned, owner, members, requests)]


def _reader_name(count: int) -> str:
    return f"reader{count}"


def _create_user(data: Path, name: str) -> str:
    """Create a user and return a token."""
    folder = ("--data", str(data))
    output_of([PROGRAM, "user", "create", name, "--password-stdin", *folder], stdin=secrets.token_urlsafe())
    return output_of([PROGRAM, "token", "create", name, *folder])


def _by_assets(readers: dict[int, Reader], owner: PageClient, requests: int) -> Plot:
    """A page of 50 by the number of assets that are shared with the caller."""

    def cold(count: int) -> Callable[[int], str]:
        pages = count - PAGE_SIZE + 1
        return lambda number: f"{ASSETS}?limit={PAGE_SIZE}&offset={number * 7919 % pages}&fresh={number}"

    def after_write(count: int) -> Measure:
        reader = readers[count]

        def measure(number: int) -> float:
            owner.send("PATCH", f"{ASSETS}{reader.asset}/", msgspec.json.encode({"name": f"Renamed {number}"}))
            reader.client.get(f"{ASSETS}?limit={PAGE_SIZE}")
            return reader.client.last_seconds

        return measure

    lines = [
        Line(
            "another page each time",
            measure_interleaved({count: (readers[count].client, cold(count)) for count in readers}, requests),
        ),
        Line(
            "one page, warm",
            measure_interleaved({count: (readers[count].client, _path(ASSETS)) for count in readers}, requests),
        ),
        Line("after each write", _measure_each({count: after_write(count) for count in readers}, requests)),
    ]
    return Plot("assets", "A page of 50 assets", "assets shared with the caller", "milliseconds", lines)


def _by_users(assigned: dict[int, str], owner: PageClient, members: Sequence[str], requests: int) -> Plot:
    """Work on the assignments of an asset by the number of users who have one."""

    def cold_list(uid: str) -> Callable[[int], str]:
        return lambda number: f"{ASSIGNMENTS.format(uid=uid)}?fresh={number}"

    def explain(uid: str) -> Callable[[int], str]:
        question = f"user={members[0]}&permission={VIEW_PERMISSION}"
        return lambda number: f"{ASSIGNMENTS.format(uid=uid)}explain/?{question}&fresh={number}"

    def assign(uid: str) -> Measure:
        def measure(number: int) -> float:
            # Permissions in turn, so that each request writes.
            name = members[number // 2 % len(members)]
            permission = ("change_asset", "add_submissions")[number % 2]
            body = {"user": f"/api/v2/users/{name}/", "permission": f"/api/v2/permissions/{permission}/"}
            owner.send("POST", ASSIGNMENTS.format(uid=uid), msgspec.json.encode(body))
            return owner.last_seconds

        return measure

    lines = [
        Line(name, measure_interleaved({count: (owner, of(uid)) for count, uid in assigned.items()}, requests))
        for name, of in {"all assignments, cold": cold_list, "explain": explain}.items()
    ]
    lines.append(Line("POST one", _measure_each({count: assign(uid) for count, uid in assigned.items()}, requests)))
    title = "Assignments of one asset"
    return Plot("assignments", title, "users with an assignment", "milliseconds", lines)


def _path(path: str) -> Callable[[int], str]:
    return lambda _: path


def _measure_each(kinds: dict[int, Measure], requests: int) -> list[tuple[float, float]]:
    """Median milliseconds of each kind, measured in turn."""
    taken: dict[int, list[float]] = {each: [] for each in kinds}
    for number in range(max(MIN_REQUESTS, min(requests, MAX_WRITES))):
        for each, measure in kinds.items():
            taken[each].append(measure(number) * 1000)
    return [(float(each), statistics.median(figures)) for each, figures in taken.items()]
