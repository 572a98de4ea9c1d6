"""Move in from a server like KoboToolbox, and from hostile ones."""

import asyncio
import gzip
import resource
from pathlib import Path
from typing import Any

import pytest
from fieldgate_client.connection import ConnectionOptions

from fieldgate.move.asset_mover import MAX_REASON_CHARS, MAX_REASONS
from fieldgate.move.plan import MoveAction
from fieldgate.move.server_source import ServerSource
from fieldgate.move.source_assets import MoveError
from tests.client.fieldgate_service import QUICK_RETRIES
from tests.client.stand_ins.kobo import TOKEN, uid_of
from tests.client.stand_ins.loopback_server import LoopbackServer, Reply, json_reply
from tests.conftest import nightly_only
from tests.move.kobo_stand_in import KoboServer, counted, project
from tests.move.places import actions, move, places

PEOPLE = [f"user{number}" for number in range(10)]


def source_of(kobo: KoboServer) -> ServerSource:
    return ServerSource(kobo.server.base_url, {"": TOKEN}, ConnectionOptions(retries=QUICK_RETRIES))


@pytest.mark.parametrize("count", [20, *nightly_only(500)])
async def test_everything_arrives(tmp_path: Path, count: int) -> None:
    kobo = project(count, PEOPLE, fails=True)
    async with places(tmp_path, "amina", *PEOPLE) as (_, target):
        with kobo.server:
            planned = await move(target, source_of(kobo), is_dry_run=True)
            results = await move(target, source_of(kobo))
            again = await move(target, source_of(kobo))
        assert {uid: each.action for uid, each in planned.items()} == {
            uid: each.action for uid, each in results.items()
        }
        assert set(results) == set(kobo.assets)
        broken = results.pop(uid_of(1))
        assert broken.action is MoveAction.SKIP
        assert broken.reasons[0].startswith("survey, row 1, column calculation: ")
        assert actions(results) == {MoveAction.CREATE}
        assert actions(again) == {MoveAction.UNCHANGED, MoveAction.SKIP}
        for uid in results:
            rows = await target.request("GET", f"assets/{uid}/permission-assignments/")
            assert counted(rows).keys() == kobo.held(uid), uid
            record = await target.request("GET", f"assets/{uid}/")
            expected = kobo.assets[uid]
            assert record["name"] == expected["name"]
            assert record["tag_string"] == expected["tag_string"]
            assert record["deployment__active"] == expected["deployment__active"]
            parent = (
                expected["parent"] and expected["parent"].partition("/api/")[2].partition("?")[0]
            )
            assert (record["parent"] or "").partition("/api/")[2] == (parent or "")
        direct = await target.request("GET", f"assets/{uid_of(4)}/permission-assignments/")
        assert not any(row.get("inherited") for row in direct)


async def test_what_is_inherited_and_direct_there_is_so_here(tmp_path: Path) -> None:
    kobo = project(20, PEOPLE)
    async with places(tmp_path, "amina", *PEOPLE) as (_, target):
        with kobo.server:
            await move(target, source_of(kobo))
        inside = next(
            uid
            for uid, each in kobo.assets.items()
            if each["parent"] and ("user0", "view_asset", None) in kobo.rows[uid]
        )
        rows = await target.request("GET", f"assets/{inside}/permission-assignments/")
        of_user0 = [row.get("inherited", False) for row in rows if row["user"].endswith("/user0/")]
        of_user1 = [row.get("inherited", False) for row in rows if row["user"].endswith("/user1/")]
        assert sorted(of_user0) == [False, True]
        assert of_user1 == [True, True]


async def test_older_deployments_submissions_and_media_are_reported(tmp_path: Path) -> None:
    kobo = KoboServer()
    older = kobo.add(
        1, has_deployment=True, deployed_version_id="v1", version_id="v2", deployment__active=True
    )
    same = kobo.add(
        2, has_deployment=True, deployed_version_id="v1", version_id="v2", deployment__active=True
    )
    kobo.assets[older] |= {"deployment__submission_count": 7, "version_count": 3, "files": [{}]}
    hashes = {
        "version__content_hash": "h",
        "deployed_versions": {"results": [{"uid": "v1", "content_hash": "h"}]},
    }
    kobo.assets[same] |= hashes
    async with places(tmp_path, "amina") as (_, target):
        with kobo.server:
            results = await move(target, source_of(kobo))
        assert results[older].reasons == [
            "Stays there: submissions 7, media files 1, earlier versions 2.",
            "An older version is deployed there. Here the newest is a draft.",
        ]
        deployed = [
            (await target.request("GET", f"assets/{uid}/"))["has_deployment"]
            for uid in (older, same)
        ]
        assert deployed == [False, True]


async def test_a_hostile_server_does_no_harm(tmp_path: Path) -> None:
    kobo = KoboServer()
    evil = LoopbackServer(lambda _: json_reply({}))
    with evil, kobo.server:
        first, second = kobo.add(1, "collection"), kobo.add(2, "collection")
        for uid, parent in ((first, second), (second, first)):  # a circle
            kobo.assets[uid]["parent"] = f"{evil.base_url}/api/v2/assets/{parent}/"
        named = kobo.add(
            3, name="\x1b[31mRed\x00 \u0007=1+1", settings={"a\x00": ["b\x00\x1b"], "c": 1}
        )
        for key in ("url", "parent", "xform_link", "versions", "data"):
            kobo.assets[named][key] = f"{evil.base_url}/api/v2/assets/{uid_of(3)}/"
        kobo.rows[named] = [
            ("../../me", "view_asset", None),
            ("omar", "no\x00thing", None),
            ("omar", "delete_asset", None),
        ]
        kobo.assets[named]["owner"] = evil.base_url
        deep, moved_away, odd = (
            kobo.add(4),
            kobo.add(5),
            kobo.add(6, settings=[], tag_string=None, name=None),
        )
        kobo.replies[f"assets/{deep}"] = Reply(
            200, b'{"asset_type":"survey","settings":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        )
        kobo.replies[f"assets/{moved_away}"] = Reply(
            302, headers=(("Location", f"{evil.base_url}/api/v2/assets/x/"),)
        )
        bad_type = kobo.add(7, "text")
        kobo.assets["../../../me"] = {**kobo.assets[odd], "uid": "../../../me"}
        self_made = kobo.add(8, owner__username="somebody")
        source = source_of(kobo)
        async with places(tmp_path, "amina", "omar") as (_, target):
            with pytest.raises(MoveError, match="redirects"):
                await move(target, source)
            del kobo.replies[f"assets/{moved_away}"]
            results = await move(target, source := source_of(kobo))
            assert {uid for uid, each in results.items() if each.action is MoveAction.SKIP} == {
                deep,
                bad_type,
            }
            record = await target.request("GET", f"assets/{named}/")
            assert (record["name"], record["settings"]["c"]) == ("[31mRed   =1+1", 1)
            assert not any(ord(each) < 32 for each in str(record["settings"]))
            assert counted(record["permissions"]) == {}
            assert [
                (await target.request("GET", f"assets/{uid}/"))["parent"] for uid in (first, second)
            ] == [
                None,
                None,
            ]
            refused = " ".join(source.refused)
            assert "'../../../me'" in refused
            assert "Belong to somebody, and are moved with that account: 1." in refused
            assert self_made not in results
            assert TOKEN not in repr(results)
    assert not evil.requests
    assert {request.method for request in kobo.server.requests} == {"GET"}
    assert {request.path for request in kobo.server.requests if ".." in request.target} == set()


async def test_an_asset_that_the_server_cannot_show_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    kobo = KoboServer()
    uids = [kobo.add(number) for number in range(3)]
    async with places(tmp_path, "amina") as (_, target):
        with kobo.server:
            for uid, status in ((uids[0], 500), (uids[1], 400)):
                kobo.replies[f"assets/{uid}"] = Reply(status, b"<html>", content_type="text/html")
            results = await move(target, source_of(kobo))
            kobo.replies[f"assets/{uids[0]}"] = json_reply({"detail": "Busy."}, 503)
            with pytest.raises(
                MoveError, match=r"Busy. \(status 503\)\. Run the command again later"
            ):
                await move(target, source_of(kobo))
    assert [results[uid].action for uid in uids] == [
        MoveAction.SKIP,
        MoveAction.SKIP,
        MoveAction.CREATE,
    ]
    assert results[uids[0]].reasons == [
        "It cannot be read: The server answered: Internal Server Error."
    ]


async def test_assets_of_others_count_for_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fieldgate.move.server_source.MAX_ASSETS", 2)
    kobo = KoboServer()
    for number in range(3):
        kobo.add(number, owner__username="somebody")
    with kobo.server:
        source = source_of(kobo)
        with pytest.raises(MoveError, match="lists more than 2 assets"):
            await source.list_assets()
        await source.close()


async def test_two_runs_at_once_double_nothing(tmp_path: Path) -> None:
    kobo = KoboServer()
    uids = {kobo.add(number) for number in range(5)}
    async with places(tmp_path, "amina") as (_, target):
        with kobo.server:
            runs = await asyncio.gather(*(move(target, source_of(kobo)) for _ in range(2)))
        created = [
            uid
            for results in runs
            for uid, each in results.items()
            if each.action is MoveAction.CREATE
        ]
        assert sorted(created) == sorted(uids)
        reasons = {
            reason for results in runs for each in results.values() for reason in each.reasons
        }
        assert reasons <= {"It was changed here at this moment. Run the command again."}
        assert await target.counts() == (5, 5, 0)


async def test_only_collections_have_assets_in_them(tmp_path: Path) -> None:
    """Two forms say that each is in the other one."""
    kobo = KoboServer()
    uids = [kobo.add(1), kobo.add(2)]
    for uid, parent in zip(uids, reversed(uids), strict=True):
        kobo.assets[uid]["parent"] = f"/api/v2/assets/{parent}/"
    async with places(tmp_path, "amina") as (_, target):
        with kobo.server:
            assert actions(await move(target, source_of(kobo))) == {MoveAction.CREATE}
            results = await move(target, source_of(kobo))
        assert actions(results) == {MoveAction.UNCHANGED}
        assert "Its collection is not here" in results[uids[0]].reasons[0]
        assert [(await target.request("GET", f"assets/{uid}/"))["parent"] for uid in uids] == [
            None,
            None,
        ]


async def test_values_that_are_too_deep_or_too_long(tmp_path: Path) -> None:
    kobo = KoboServer()
    value: Any = "\0"
    for _ in range(400):
        value = [value]
    deep_filters, deep_settings = kobo.add(1), kobo.add(2, settings={"sector": value})
    kobo.rows[deep_filters] = [("omar", "partial_submissions", [{"a": value}])]
    long = kobo.add(3, name="n" * 100_000)
    kobo.rows[long] = [("omar", "p" * 100_000, None), ("u" * 100_000, "view_asset", None)]
    async with places(tmp_path, "amina", "omar") as (_, target):
        with kobo.server:
            results = await move(target, source_of(kobo))
        assert results[deep_filters].reasons == [
            "It cannot be read: The filters of an assignment are nested too deeply."
        ]
        assert results[deep_settings].reasons == [
            "Its settings are too large or no object, and stay there."
        ]
        assert (await target.request("GET", f"assets/{deep_settings}/"))["settings"]["sector"] == {}
        assert results[long].action is MoveAction.CREATE
        *unassigned, shortened = results[long].reasons
        assert [len(each) for each in unassigned] == [MAX_REASON_CHARS] * 2
        assert shortened == "Its name is longer there. It was cut to 255 characters."
        assert len(results[long].name) == 255
        assert (await target.request("GET", f"assets/{long}/"))["name"] == "n" * 255


async def test_a_form_of_somebody_else_here_is_never_changed(tmp_path: Path) -> None:
    """A server, or a folder that claims to be one, says that a form that was moved belongs to another user."""
    kobo = KoboServer()
    uid = kobo.add(1, name="Household")
    async with places(tmp_path, "amina", "omar") as (_, target):
        with kobo.server:
            assert actions(await move(target, source_of(kobo))) == {MoveAction.CREATE}
            before = await target.request("GET", f"assets/{uid}/")
            kobo.username = "omar"
            kobo.assets[uid] |= {"owner__username": "omar", "name": "Taken over"}
            kobo.rows[uid] = [("omar", "manage_asset", None)]
            for is_dry_run in (True, False):
                found = (await move(target, source_of(kobo), is_dry_run=is_dry_run))[uid]
                assert found.action is MoveAction.KEEP
                assert found.reasons == ["It does not belong to omar here. Transfer it here first."]
        assert await target.request("GET", f"assets/{uid}/") == before


async def test_another_address_of_the_same_server_makes_no_copies(tmp_path: Path) -> None:
    first, second = KoboServer(), KoboServer()
    uids = [[kobo.add(1), kobo.add(2)] for kobo in (first, second)]
    assert uids[0] == uids[1]
    async with places(tmp_path, "amina") as (_, target):
        with first.server, second.server:
            assert actions(await move(target, source_of(first))) == {MoveAction.CREATE}
            results = await move(target, source_of(second))
            assert actions(results) == {MoveAction.KEEP}
            assert first.server.base_url in results[uids[0][0]].reasons[0]
        assert (await target.request("GET", "assets/"))["count"] == 2


async def test_assignments_that_are_not_possible_are_found_before_the_transaction(
    tmp_path: Path,
) -> None:
    kobo = KoboServer()
    uid = kobo.add(1)
    kobo.rows[uid] = [
        *(("omar", f"nope{number}", None) for number in range(3_000)),
        ("omar", "view_asset", None),
    ]
    async with places(tmp_path, "amina", "omar") as (_, target):
        with kobo.server:
            found = (await move(target, source_of(kobo)))[uid]
        assert (found.action, found.assignments, len(found.reasons)) == (
            MoveAction.CREATE,
            1,
            MAX_REASONS,
        )


@pytest.mark.nightly
async def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    kobo = KoboServer()
    bomb, other = kobo.add(1), kobo.add(2)
    packed = gzip.compress(b"[" + b" " * (1 << 30), 9)
    kobo.replies[f"assets/{bomb}"] = Reply(200, packed, (("Content-Encoding", "gzip"),))
    async with places(tmp_path, "amina") as (_, target):
        with kobo.server:
            results = await move(target, source_of(kobo))
        assert [results[bomb].action, results[other].action] == [MoveAction.SKIP, MoveAction.CREATE]
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 3 << 20  # KiB


@pytest.mark.parametrize(
    "answer",
    [
        Reply(200, b"<html>", content_type="text/html"),
        json_reply([]),
        json_reply({"results": 1}),
        json_reply({}, 404),
    ],
)
async def test_another_kind_of_server_is_refused(tmp_path: Path, answer: Any) -> None:
    other = LoopbackServer(lambda _: answer)
    async with places(tmp_path, "amina") as (_, target):
        with other, pytest.raises(MoveError):
            source = ServerSource(
                other.base_url, {"": TOKEN}, ConnectionOptions(retries=QUICK_RETRIES)
            )
            await move(target, source)
