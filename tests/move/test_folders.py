"""Move out into a folder, and in again."""

import asyncio
from codecs import BOM_UTF8
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import select

from fieldgate.assets.tables import assets, files
from fieldgate.cli.output import ignore_progress
from fieldgate.db import AsyncDatabase, Database
from fieldgate.move.event_mover import move_events
from fieldgate.move.folder import FolderSource
from fieldgate.move.folder_writer import FolderWriter
from fieldgate.move.people import People
from fieldgate.move.plan import MoveAction
from fieldgate.move.run import move as run_move
from fieldgate.move.source_assets import MAX_ROWS, MoveError
from fieldgate.settings import Settings
from tests.data.events import load_events, stored_event
from tests.data.sql import all_rows
from tests.events.event_service import make_event
from tests.imports.workbooks import xlsx
from tests.move.places import CONTENT, Place, actions, move, places
from tests.move.test_from_fieldgate import furnish


async def write(source: Place, folder: Path, user_id: int | None = None) -> FolderSource:
    await FolderWriter(source.service.database, folder).write(user_id, ignore_progress)
    return FolderSource(folder)


async def workbook(place: Place, uid: str) -> bytes:
    headers = {"Authorization": f"Token {place.tokens['amina']}"}
    return (await place.service.get(f"/api/v2/assets/{uid}.xls", headers=headers)).content


async def test_out_and_in_again(database_url: str, tmp_path: Path) -> None:
    async with places(tmp_path, source_url=database_url) as (source, target):
        uids = await furnish(source)
        await source.request("POST", "teams/", {"name": "WASH"})
        await load_events(source.service, [make_event(1)])
        headers = {"Authorization": f"Token {source.tokens['amina']}"}
        upload = await source.service.client.post(
            "/api/v2/assets/",
            data={"name": "Uploaded"},
            files={"file": ("Höhe.xlsx", xlsx())},
            headers=headers,
        )
        assert upload.status_code == 201, upload.text
        uids["uploaded"] = upload.json()["uid"]
        folder = await write(source, tmp_path / "out")
        results = await move(target, folder)
        assert actions(results) == {MoveAction.CREATE}
        assert [each["name"] for each in (await target.request("GET", "teams/"))["results"]] == [
            "WASH"
        ]
        assert stored_event(target.service, 1) == make_event(1)
        for name, uid in uids.items():
            assert await target.record(uid) == await source.record(uid), name
            if name != "collection":
                assert await workbook(target, uid) == await workbook(source, uid), name
        assert actions(await move(target, FolderSource(tmp_path / "out"))) == {MoveAction.UNCHANGED}
        with pytest.raises(MoveError, match="exists"):
            await write(source, tmp_path / "out")


async def test_teams(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        team = await source.request("POST", "teams/", {"name": "WASH"})
        await source.request("POST", f"teams/{team['uid']}/members/", {"users": ["omar", "lena"]})
        await source.request("POST", "teams/", {"name": "Twice"})
        await source.request("POST", "teams/", {"name": "Twice"})
        uid = await source.create(name="A", asset_type="empty")
        await source.share(uid, "team:WASH", "change_asset")
        await source.share(uid, "lena", "view_asset")
        folder = await write(source, tmp_path / "out")
        people = People(target.service.database, {})
        report = await run_move(
            target.service.database, Settings(), folder, people, ignore_progress, is_dry_run=False
        )
        assert report.notes == ["There are several teams Twice. Rename them before you move."] * 2
        assert [each.reasons for each in report.results] == [[]]
        found = (await target.request("GET", "teams/"))["results"]
        assert [each["name"] for each in found] == ["WASH"]
        members = await target.request("GET", f"teams/{found[0]['uid']}/members/")
        assert {each["user"].rsplit("/", 2)[1] for each in members["results"]} == {
            "amina",
            "omar",
            "lena",
        }

        def named(rows: list[dict[str, object]]) -> list[object]:
            return [
                (row.get("user"), row.get("team__name"), row["permission"], row.get("inherited"))
                for row in rows
            ]

        assert sorted(map(str, named(await target.rows(uid)))) == sorted(
            map(str, named(await source.rows(uid)))
        )
        other = People(target.service.database, {})  # a second run creates nothing again
        again = await run_move(
            target.service.database, Settings(), folder, other, ignore_progress, is_dry_run=False
        )
        assert [each.action for each in again.results] == [MoveAction.UNCHANGED]
        assert len((await target.request("GET", "teams/"))["results"]) == 1


async def test_events(tmp_path: Path) -> None:
    async with places(tmp_path, "amina") as (source, target):
        events = [make_event(number) for number in range(1, 4)]
        await load_events(source.service, events)
        own = make_event(2, name={"en": "Changed here"})
        await load_events(target.service, [own])
        folder = await write(source, tmp_path / "out")
        for is_dry_run in (True, False):
            created, notes = await asyncio.to_thread(
                move_events,
                target.service.database.sync,
                folder.read_events(),
                is_dry_run=is_dry_run,
            )
            assert (created, notes) == (
                2,
                ["Events that are here already, and stay as they are: 1."],
            )
        found = [stored_event(target.service, id_) for id_ in (1, 2, 3)]
        assert found == [events[0], own, events[2]]


def test_events_that_cannot_be_stored(database_url: str) -> None:
    database = Database(database_url)
    first, second = (msgspec.json.encode(make_event(number, slug="same")) for number in (1, 2))
    null = first.replace(b'"id":1,', b'"id":3,').replace(b"same", b"a\\u0000b")
    for is_dry_run in (True, False):
        created, notes = move_events(database, [first, second, null], is_dry_run=is_dry_run)
        assert created == 1
        assert notes == [
            "Events that are here already, and stay as they are: 1.",
            "Events that are not valid here: 1.",
        ]
    database.close()


async def test_one_user(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        await source.create(name="A", asset_type="empty")
        uid = await source.create(name="B", asset_type="empty", by="omar")
        await load_events(source.service, [make_event(1)])
        folder = await write(source, tmp_path / "out", source.ids["omar"])
        assert set(await move(target, folder)) == {uid}
        assert list(folder.read_events()) == []
        [asset] = all_rows(target.service, select(assets.c.owner_id))
        assert asset.owner_id == target.ids["omar"]


async def test_a_workbook_that_could_not_be_uploaded_is_left_out(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = [await source.create(name=name, content=CONTENT) for name in "ABC"]
        folder = await write(source, tmp_path / "out")
        files = [tmp_path / "out" / "forms" / f"{uid}.xlsx" for uid in uids]
        files[1].write_bytes(b"<html>")
        files[2].write_bytes(files[0].read_bytes() + b" " * 1_000_000)
        settings = Settings(max_upload=1_000_000)
        people = People(target.service.database, {})
        report = await run_move(
            target.service.database, settings, folder, people, ignore_progress, is_dry_run=False
        )
        assert [(each.action, len(each.reasons)) for each in report.results] == [
            (MoveAction.CREATE, 0),
            (MoveAction.CREATE, 1),
            (MoveAction.CREATE, 1),
        ]
        assert "not a workbook" in report.results[1].reasons[0]
        assert "too large" in report.results[2].reasons[0]
        kept = [
            await workbook(target, uid) == file.read_bytes()
            for uid, file in zip(uids, files, strict=True)
        ]
        assert kept == [True, False, False]


async def test_names_that_are_too_long_are_cut(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        team = await source.request("POST", "teams/", {"name": "WASH"})
        uids = {
            name: await source.create(name=name, content=CONTENT) for name in ("Survey", "Owned")
        }
        await source.share(uids["Survey"], "team:WASH", "change_asset")
        await write(source, tmp_path / "out")
        for file in (tmp_path / "out").rglob("*"):
            if file.suffix in (".csv", ".ndjson"):
                lines = file.read_text().replace("WASH", "W" * 101).splitlines(keepends=True)
                for position, line in enumerate(lines):
                    if uids["Survey"] in line:
                        lines[position] = line.replace(
                            '"name":"Title of the form"', f'"name":"{"S" * 256}"'
                        )
                    elif uids["Owned"] in line:
                        lines[position] = line.replace(
                            '"owner__username":"amina"', f'"owner__username":"{"o" * 9999}"'
                        )
                file.write_text("".join(lines))
        folder, people = FolderSource(tmp_path / "out"), People(target.service.database, {})
        report = await run_move(
            target.service.database, Settings(), folder, people, ignore_progress, is_dry_run=False
        )
        assert report.notes == [
            f"The name of the team {'W' * 100} is longer there. It was cut to 100 characters."
        ]
        results = {each.source_uid: each for each in report.results}
        moved, refused = results[uids["Survey"]], results[uids["Owned"]]
        assert (moved.name, moved.reasons) == (
            "S" * 255,
            ["Its name is longer there. It was cut to 255 characters."],
        )
        assert (refused.action, refused.owner) == (MoveAction.SKIP, "o" * 150)
        [found] = (await target.request("GET", "teams/"))["results"]
        assert (found["name"], found["uid"] == team["uid"]) == ("W" * 100, False)
        assert any(row.get("team__name") == "W" * 100 for row in await target.rows(uids["Survey"]))
        [stored] = all_rows(target.service, select(files.c.name))
        assert stored.name == "S" * 250 + ".xlsx"
        again = FolderSource(tmp_path / "out")
        people = People(target.service.database, {})
        report = await run_move(
            target.service.database, Settings(), again, people, ignore_progress, is_dry_run=False
        )
        assert report.results[-1].action is MoveAction.SKIP
        assert {each.action for each in report.results} == {MoveAction.UNCHANGED, MoveAction.SKIP}


async def test_workbooks_count_for_the_quota(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uid = await source.create(name="A", content=CONTENT)
        folder = await write(source, tmp_path / "out")
        file = tmp_path / "out" / "forms" / f"{uid}.xlsx"
        file.write_bytes(file.read_bytes() + b" " * 1_000_000)
        settings = Settings(max_storage_per_user=1_000_000)
        people = People(target.service.database, {})
        report = await run_move(
            target.service.database, settings, folder, people, ignore_progress, is_dry_run=False
        )
        assert [each.action for each in report.results] == [MoveAction.SKIP]
        assert "There is no room left" in report.results[0].reasons[0]


async def test_tables_that_a_spreadsheet_saved(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uids = [await source.create(name=name, asset_type="empty") for name in "ABC"]
        for uid in uids:
            await source.share(uid, "omar", "view_asset")
        await source.request("POST", "teams/", {"name": "WASH"})
        folder = tmp_path / "out"
        await write(source, folder)
        tables = [folder / "assignments" / f"{uid}.csv" for uid in uids]
        for table in (tables[0], folder / "teams.csv"):
            table.write_bytes(BOM_UTF8 + table.read_bytes())
        tables[1].write_bytes(tables[1].read_bytes().replace(b",", b";"))
        tables[2].write_bytes(tables[2].read_bytes().replace(b"omar", b"om\0ar"))
        results = await move(target, FolderSource(folder))
        assert results[uids[0]].assignments == 1
        assert "must have the columns user,permission," in results[uids[1]].reasons[0]
        assert "has null characters" in results[uids[2]].reasons[0]
        assert [each["name"] for each in (await target.request("GET", "teams/"))["results"]] == [
            "WASH"
        ]


async def test_a_table_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uid = await source.create(name="A", asset_type="empty")
        folder = await write(source, tmp_path / "out")
        with (tmp_path / "out" / "assignments" / f"{uid}.csv").open("ab") as table:
            table.write(b"x,y\r\n" * 400_000)
        [listed] = await folder.list_assets()
        assert len(await folder.read_rows(listed, uid)) == MAX_ROWS + 1
        results = await move(target, folder)
        assert results[uid].reasons == ["It cannot be read: It has more than 200000 assignments."]


async def test_names_that_a_database_cannot_have(database: AsyncDatabase) -> None:
    assert await People(database, {}).find_owner("a\0b") is None


@pytest.mark.parametrize("name", ["index.json", "assets.ndjson"])
async def test_nested_json_is_refused(tmp_path: Path, name: str) -> None:
    async with places(tmp_path) as (source, target):
        await source.create(name="A", asset_type="empty")
        file = tmp_path / "out" / name
        await write(source, tmp_path / "out")
        file.write_bytes(b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"," + file.read_bytes()[1:])
        with pytest.raises(MoveError, match="recursion"):
            await move(target, FolderSource(tmp_path / "out"))


async def test_a_hostile_folder_does_no_harm(tmp_path: Path) -> None:
    async with places(tmp_path) as (source, target):
        uid = await source.create(name="A", asset_type="empty")
        other = await source.create(name="B", asset_type="empty")
        secret = tmp_path / "secret"
        secret.write_bytes(b"user,permission\r\nomar,view_asset\r\n")
        folder = tmp_path / "out"
        await write(source, folder)
        table = folder / "assignments" / f"{uid}.csv"
        table.unlink()
        table.symlink_to(secret)
        results = await move(target, FolderSource(folder))
        assert (results[uid].action, results[other].action) == (MoveAction.SKIP, MoveAction.CREATE)
        assert "symbolic link" in results[uid].reasons[0]
        record = (folder / "assets.ndjson").read_bytes()
        (folder / "assets.ndjson").write_bytes(
            record.replace(uid.encode(), b"../../" + uid[6:].encode())
        )
        with pytest.raises(MoveError, match="not valid"):
            await move(target, FolderSource(folder))
        (folder / "index.json").unlink()
        with pytest.raises(MoveError, match="no complete folder"):
            FolderSource(folder)
