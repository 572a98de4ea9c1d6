"""Filters of partial_submissions: equality and limits."""

from typing import Any

from tests.assets.sharing.sharing_team import BATCH_PATH, USERNAMES, SharingTeam, last_segment
from tests.conftest import BASE_URL

PARTIAL = "partial_submissions"
TOO_MANY = (
    "These are too many filters: at most 1000 are taken for one assignment, with those that they imply for other "
    "permissions."
)
TOO_LARGE = (
    "These filters are too large: at most 64 KiB of JSON are taken for one assignment, with those that they imply for "
    "other permissions."
)


def partial(*filters: Any, verb: str = "view") -> list[dict[str, Any]]:
    return [{"url": f"{verb}_submissions", "filters": list(filters)}]


def grant_body(name: str, *filters: Any, verb: str = "view") -> dict[str, Any]:
    return {
        "user": name,
        "permission": PARTIAL,
        "partial_permissions": partial(*filters, verb=verb),
    }


async def test_escaped_null_in_filter(team: SharingTeam) -> None:
    uid = await team.create_asset()
    created = await team.request_assignments(
        uid, "owner", "POST", json=grant_body("bob", {"q": "\\u0000"})
    )
    assert created.json()["partial_permissions"][0]["filters"] == [{"q": "\\u0000"}]
    wrong = await team.request_assignments(
        uid, "owner", "POST", json=grant_body("bob", {"q": ["\\u0000", {"\0": 1}]})
    )
    assert wrong.json() == {"partial_permissions.0.filters": ["Null characters are not allowed."]}


async def test_filter_order_is_ignored(team: SharingTeam) -> None:
    uid = await team.create_asset()
    one, other = {"a": {"x": 1, "y": [1, 2]}, "b": 2}, {"c": True}
    names = ("ann", "bob", "viewer")
    first = [grant_body(name, one, other, verb="change") for name in names]
    turned = {"b": 2, "a": {"y": [1, 2], "x": 1}}
    split = [
        grant_body(name, given, verb="change")
        for name in reversed(names)
        for given in (other, turned, one)
    ]
    assert await team.status(uid, "owner", "POST", "bulk/", json=first) == 200
    before = await team.snapshot(uid)
    assert len([row for row in before[0] if "partial_permissions" in row]) == 3
    for again in (first, split, [*first, *split]):
        dry = await team.request_assignments(uid, "owner", "POST", "bulk/?dry_run=true", json=again)
        assert (dry.json()["counts"], dry.json()["effects"]) == ({}, [])
        assert await team.status(uid, "owner", "POST", "bulk/", json=again) == 200
        assert await team.snapshot(uid) == before
    swapped = [
        grant_body(name, {"a": {"x": 1, "y": [2, 1]}, "b": 2}, other, verb="change")
        for name in names
    ]
    dry = await team.request_assignments(uid, "owner", "POST", "bulk/?dry_run=true", json=swapped)
    assert dry.json()["counts"] == {"filtered": 3}, "the order in a list is part of the query"


CAPS: list[tuple[list[dict[str, Any]], str, str]] = [
    (partial(*({"n": index} for index in range(1_001))), "partial_permissions.0.filters", TOO_MANY),
    (
        partial(*({"n": index} for index in range(400)), verb="change"),
        "partial_permissions",
        TOO_MANY,
    ),
    (partial({}) * 1_001, "partial_permissions", TOO_MANY),
    (partial({"q": "x" * 65_536}), "partial_permissions.0.filters", TOO_LARGE),
    (partial({"q": "x" * 30_000}, verb="change"), "partial_permissions", TOO_LARGE),
]


async def test_filter_limits(team: SharingTeam) -> None:
    uid = await team.create_asset()
    for sent, field, reported in CAPS:
        body = {"user": "bob", "permission": PARTIAL, "partial_permissions": sent}
        both = [{"user": "ann", "permission": "view_asset"}, body]
        bulk = await team.request_assignments(uid, "owner", "POST", "bulk/", json=both)
        assert (bulk.status_code, bulk.json()) == (400, {f"1.{field}": [reported]})
        many = {
            "assets": [uid],
            "users": ["bob"],
            "permissions": [PARTIAL],
            "partial_permissions": sent,
        }
        answer = await team.request("owner", "POST", f"{BATCH_PATH}add/", json=many)
        assert (answer.status_code, answer.json()) == (400, {field: [reported]})


async def test_history_has_filters_and_source(team: SharingTeam) -> None:
    uid, copy = await team.create_asset(), await team.create_asset()
    for value in (1, True):
        await team.grant(uid, "bob", PARTIAL, partial_permissions=partial({"q": value}))
    await team.request_assignments(copy, "owner", "PATCH", "clone/", json={"clone_from": uid})
    found = {}
    for asset in (uid, copy):
        found[asset] = [
            (
                row["effect"],
                [each["filters"] for each in row["partial_permissions"]],
                row.get("source"),
            )
            for row in await team.history(asset)
            if "partial_permissions" in row
        ]
        rest = [row for row in await team.history(asset) if "partial_permissions" not in row]
        assert {last_segment(row["permission"]) for row in rest} == {"view_asset"}
        assert {row.get("source") for row in rest} == {found[asset][0][2]}
    assert found[uid] == [("filtered", [[{"q": True}]], None), ("granted", [[{"q": 1}]], None)]
    assert found[copy] == [("granted", [[{"q": True}]], f"{BASE_URL}/api/v2/assets/{uid}/")]
    assert found[uid][0][1][0][0]["q"] is True


async def test_total_filter_size_is_limited(team: SharingTeam) -> None:
    uids = [await team.create_asset() for _ in range(75)]
    large = partial({"q": "x" * 65_000})
    names = [name for name in USERNAMES if name != "owner"]
    many = {"assets": uids, "users": names, "permissions": [PARTIAL], "partial_permissions": large}
    reported = (
        "These filters are too large for so many assignments at once: the limit is 64 MiB in total."
    )
    for query in ("?dry_run=true", ""):
        answer = await team.request("owner", "POST", f"{BATCH_PATH}add/{query}", json=many)
        assert (answer.status_code, answer.json()) == (400, {"partial_permissions": [reported]})
    assert (await team.snapshot(uids[0]))[1] == 0
    fewer = await team.request(
        "owner", "POST", f"{BATCH_PATH}add/", json={**many, "assets": uids[:2]}
    )
    assert (fewer.status_code, fewer.json()["counts"]) == (200, {"granted": 28})
