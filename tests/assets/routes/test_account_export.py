"""All about oneself as a ZIP: complete, without secrets, with safe names, in little memory."""

import io
import tracemalloc
import zipfile
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from openpyxl import load_workbook

from fieldgate.assets.routes.account_export import AccountExporter
from fieldgate.assets.tables import assets
from fieldgate.db import now
from fieldgate.db.log import log
from fieldgate.identity import User
from tests.access.permission_world import PermissionWorld
from tests.conftest import Service, StartService
from tests.data.accounts import create_session, create_token, link_identity
from tests.data.assets import create_asset
from tests.data.sql import write_sql
from tests.imports.workbooks import xlsx

PATH = "/api/v2/account/export/"
CONTENT = {"survey": [{"type": "text", "name": "q1", "label": ["Name?"]}], "translations": [None]}


class ExportWorld:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.world = PermissionWorld(service)

    async def set_up(self) -> None:
        self.amina = await self.world.create_user(
            username="amina", first_name="Amina", countries=("KEN",)
        )
        self.bob = await self.world.create_user(username="bob")

    async def create_form(
        self, name: str, content: dict[str, Any], upload: bytes | None = None
    ) -> str:
        file = None if upload is None else ("x.xlsx", upload)
        return create_asset(self.service, self.amina.id, name=name, content=content, file=file)

    async def export(self) -> zipfile.ZipFile:
        answer = await self.service.get(PATH, headers=self.amina.headers)
        assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store"), (
            answer.text
        )
        assert answer.headers["Content-Disposition"].startswith(
            'attachment; filename="fieldgate-amina-'
        )
        return zipfile.ZipFile(io.BytesIO(answer.content))


@pytest.fixture
async def scene(start: StartService, database_url: str) -> AsyncIterator[ExportWorld]:
    async with start(database_url=database_url) as service:
        scene = ExportWorld(service)
        await scene.set_up()
        yield scene


async def test_teams_and_what_comes_through_them(scene: ExportWorld) -> None:
    """Not the names of teams that the user is not in, although a manager gave one of them access."""
    world = scene.world
    own, other, denied = [
        await world.create_asset(each) for each in (scene.amina, scene.bob, scene.bob)
    ]
    mine, hidden = (
        await world.create_team(scene.bob, scene.amina),
        await world.create_team(scene.bob),
    )
    for asset in (other, denied):
        await world.grant(mine, asset, "view_asset")
    await world.revoke(scene.amina, denied, "view_asset")
    await world.grant(scene.bob, own, "manage_asset")
    for by, permission in ((scene.bob, "view_asset"), (scene.amina, "change_asset")):
        body, path = (
            {"team": hidden.uid, "permission": permission},
            f"{own.path}permission-assignments/",
        )
        assert (
            await scene.service.client.post(path, json=body, headers=by.headers)
        ).status_code == 201
    archive = await scene.export()
    [membership] = read(archive, "teams.json")
    assert (membership["uid"], membership["name"], membership["role"]) == (
        mine.uid,
        "Team 0",
        "member",
    )
    received = [
        (each["asset"], each["user"]) for each in read(archive, "assignments-received.json")
    ]
    assert received == [(other.uid, "team:Team 0")]
    assert {each["user"] for each in read(archive, "assignments-given.json")} == {
        "bob",
        f"team:{hidden.uid}",
    }
    [entry] = [each for each in read(archive, "log.json") if each["subject_name"]]
    assert entry["subject_name"] == f"team:{hidden.uid}"
    assert not any(b"Team 1" in archive.read(name) for name in archive.namelist())


def read(archive: zipfile.ZipFile, name: str) -> Any:
    return msgspec.json.decode(archive.read(name))


async def test_everything_is_inside_and_no_secret(scene: ExportWorld) -> None:
    token = create_token(scene.service, scene.amina.id, issued_by="http")
    session = create_session(scene.service, scene.amina.id)
    for user, subject in ((scene.amina, "a1b2"), (scene.bob, "c3d4")):
        link_identity(scene.service, user.id, "https://login.example", subject)
    others = await scene.world.create_asset(scene.bob)
    await scene.world.grant(scene.amina, others, "partial_submissions")
    own = await scene.world.create_asset(scene.amina)
    await scene.world.grant(scene.bob, own, "view_asset")
    archive = await scene.export()
    assert archive.testzip() is None
    [profile] = read(archive, "profile.json")
    assert (profile["username"], profile["first_name"], profile["countries"]) == (
        "amina",
        "Amina",
        ["KEN"],
    )
    assert (profile["is_superuser"], profile["uid"][0], profile["created_at"][:2]) == (
        False,
        "u",
        "20",
    )
    assert not profile.keys() & {"id", "owner_id", "password_hash"}
    assert {each["prefix"] for each in read(archive, "tokens.json")} >= {token[:10]}
    assert [each["prefix"] for each in read(archive, "sessions.json")] == [session[:10]]
    assert [each["subject"] for each in read(archive, "single-sign-on.json")] == ["a1b2"]
    received = {each["permission"]: each for each in read(archive, "assignments-received.json")}
    assert received["partial_submissions"]["filters"] == {
        "view_submissions": [{"_submitted_by": "amina"}]
    }
    assert (received["view_asset"]["owner"], received["view_asset"]["asset"]) == ("bob", others.uid)
    [given] = read(archive, "assignments-given.json")
    assert (given["user"], given["permission"], given["asset"]) == ("bob", "view_asset", own.uid)
    [entry] = [each for each in read(archive, "log.json") if each["action"] == "export"]
    assert (entry["username"], entry["times"]) == ("amina", 1)
    assert not any("bob" in str(each["username"]) for each in read(archive, "log.json"))
    everything = b"".join(archive.read(name) for name in archive.namelist())
    for secret in (
        token,
        session,
        scene.amina.headers["Authorization"].split()[1],
        "argon2",
        "password_hash",
    ):
        assert secret.encode() not in everything
    assert (await scene.service.get(PATH)).status_code == 401


async def test_forms_that_others_hide_are_not_inside(scene: ExportWorld) -> None:
    """A denial is about a form that the user cannot see, and must not learn of. Who made it sees it."""
    collection = await scene.world.create_asset(scene.bob, "collection")
    hidden = await scene.world.create_asset(scene.bob, parent=collection)
    await scene.world.grant(scene.amina, collection, "view_asset")
    await scene.world.revoke(scene.amina, hidden, "view_asset")
    received = read(await scene.export(), "assignments-received.json")
    assert {each["asset"] for each in received} == {collection.uid}
    answer = await scene.service.get(PATH, headers=scene.bob.headers)
    given = read(zipfile.ZipFile(io.BytesIO(answer.content)), "assignments-given.json")
    assert {(each["asset"], each["is_denied"]) for each in given} == {
        (collection.uid, False),
        (hidden.uid, True),
    }


@pytest.mark.parametrize(
    "name", ["Household", "../../etc/passwd", "a/b\\c", "..", "", "CON:\x07‮slx.exe", "ب" * 255]
)
async def test_forms_are_workbooks_with_safe_names(scene: ExportWorld, name: str) -> None:
    upload = xlsx()
    uids = [await scene.create_form(name, CONTENT), await scene.create_form(name, CONTENT, upload)]
    deleted = await scene.create_form(name, CONTENT)
    with write_sql(scene.service) as connection:
        connection.execute(assets.update().where(assets.c.uid == deleted).values(deleted_at=now()))
    archive = await scene.export()
    generated, uploaded = sorted(
        (each for each in archive.namelist() if each.startswith("forms/")),
        key=lambda each: uids[1] in each,
    )
    for path, uid in zip((generated, uploaded), uids, strict=True):
        folder, _, file = path.partition("/")
        assert (folder, file.endswith(f"{uid}.xlsx"), ".." in path) == ("forms", True, False)
        assert not set(file) & set("/\\:\x07‮")
    assert archive.read(uploaded) == upload
    sheet = load_workbook(io.BytesIO(archive.read(generated)))["survey"]
    assert [cell.value for cell in sheet[2]][:2] == ["text", "q1"]


async def test_form_that_fits_into_no_workbook_is_json(scene: ExportWorld) -> None:
    content = {
        "survey": [{"type": "note", "name": "q1", "label": ["x" * 40_000]}],
        "translations": [None],
    }
    uid = await scene.create_form("Long", content)
    assert read(await scene.export(), f"forms/Long {uid}.json") == content


async def test_two_exports_of_a_user_at_a_time(
    scene: ExportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fieldgate.overload.WAIT_SECONDS", 0.0)
    exporter = scene.service.app.app_context.services[AccountExporter]
    assert isinstance(exporter, AccountExporter)
    user = User(id=scene.amina.id, username="amina")
    async with aclosing(exporter.stream(user)) as first, aclosing(exporter.stream(user)) as second:
        await anext(first)
        await anext(second)
        refused = await scene.service.get(PATH, headers=scene.amina.headers)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
        assert (await scene.service.get(PATH, headers=scene.bob.headers)).status_code == 200
    await scene.export()


@pytest.mark.nightly
async def test_memory_does_not_grow_with_the_log(start: StartService) -> None:
    """Thirty thousand entries of a kilobyte take less than a third of their size."""
    async with start() as service:
        scene = ExportWorld(service)
        await scene.set_up()
        user = User(id=scene.amina.id, username="amina")
        entry = {
            "log_type": "project-history",
            "made_at": now(),
            "user_id": user.id,
            "action": "x",
            "model_name": "asset",
            "object_uid": "a",
            "details": {"text": "x" * 1000},
        }
        texts = (
            *("user_uid", "username", "credential", "ip_address", "source", "request_id"),
            *("object_name", "subject_uid", "subject_name"),
        )
        entry |= dict.fromkeys(texts, "") | {"effect_count": 0, "times": 1}
        with write_sql(service) as connection:
            connection.execute(log.insert(), [entry] * 30_000)
        exporter = service.app.app_context.services[AccountExporter]
        assert isinstance(exporter, AccountExporter)
        tracemalloc.start()
        size = sum([len(chunk) async for chunk in exporter.stream(user)])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size > 0
        assert peak < 10_000_000
