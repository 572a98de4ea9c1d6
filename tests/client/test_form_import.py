"""Importing forms into Fieldgate: results, problems as a table, progress, and answers that are lost on the way."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from fieldgate_client import ImportFailed, ImportTimeout, InvalidRequest, forms
from fieldgate_client.forms import MAX_FORM_BYTES, ImportResult
from fieldgate_client.records import Import

from fieldgate.settings import Settings
from tests.client.fieldgate_service import ClientService, import_worker
from tests.conftest import Service, StartService, run_service
from tests.imports.workbooks import xlsx

IMPORTS = "/api/v2/imports/"
BROKEN = (
    ("type", "name", "label"),
    ("text", "name", "Name"),
    ("select_one nolist", "kind", "Kind"),
)
WARNED = (
    ("type", "name", "label"),
    ("begin_group", "one", "One"), ("text", "same", "A"), ("end_group", "", ""),
    ("begin_group", "two", "Two"), ("text", "same", "B"), ("end_group", "", ""),
)  # fmt: skip


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(forms, "LONGEST_PAUSE", 0.02)


@pytest.fixture(scope="module")
async def working_service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    settings = Settings(data=tmp_path_factory.mktemp("imports"), access_log=False)
    async with run_service(settings) as service, import_worker(service):
        yield service


@pytest.fixture
def site(working_service: Service) -> ClientService:
    return ClientService(working_service)


@pytest.fixture
async def idle_site(start: StartService) -> AsyncIterator[ClientService]:
    """Without a worker: imports do not end."""
    async with start() as service:
        yield ClientService(service)


@pytest.fixture
def form(tmp_path: Path) -> Path:
    path = tmp_path / "Household visit.xlsx"
    path.write_bytes(xlsx())
    return path


async def test_a_form_becomes_an_asset_and_then_a_version(site: ClientService, form: Path) -> None:
    async with site.client(await site.user("amina")) as client:
        sent: list[tuple[int, int]] = []
        seen: list[Import] = []
        [asset] = await client.import_form(
            form, on_progress=lambda *part: sent.append(part), on_status=seen.append, timeout=60
        )
        assert (asset.name, asset.asset_type, asset.version_count) == (
            "Household visit",
            "survey",
            1,
        )
        assert asset.owner__username == "amina"
        size = len(await asyncio.to_thread(form.read_bytes))
        assert sent == [(size, size)]
        assert seen[-1].status == "complete"
        assert {each.status for each in seen[:-1]} <= {"processing"}
        for destination in (asset, asset.uid, asset.url):
            result = await client.import_form(form, destination)
            assert [each.uid for each in result] == [asset.uid]
        assert (len(result), result[0].version_count, result.record.status) == (1, 4, "complete")
        assert str(result) == f"{asset.uid} survey Household visit"
        assert len([each async for each in client.imports()]) == 4


async def test_problems_have_their_place(site: ClientService, tmp_path: Path) -> None:
    form = tmp_path / "broken.xlsx"
    form.write_bytes(xlsx(survey=BROKEN))
    async with site.client(await site.user()) as client:
        with pytest.raises(ImportFailed) as failed:
            await client.import_form(form)
    error = failed.value
    [problem] = error.problems
    assert (problem.sheet, problem.row, problem.column) == ("survey", 3, "type")
    assert problem.code
    lines = str(error).splitlines()
    assert lines[1].split() == ["sheet", "row", "column", "problem"]
    assert lines[2].startswith("survey  3    type    ")
    assert "nolist" in lines[2]
    assert (error.record.status, error.status) == ("error", 200)
    assert error.request_id


async def test_warnings_of_a_successful_import(site: ClientService, tmp_path: Path) -> None:
    form = tmp_path / "warned.xlsx"
    form.write_bytes(xlsx(survey=WARNED))
    async with site.client(await site.user()) as client:
        result = await client.import_form(form)
    assert [(each.sheet, each.row) for each in result.warnings] == [("survey", 6)]
    assert str(result).splitlines()[1].split() == ["sheet", "row", "column", "warning"]


@pytest.mark.parametrize("lost", [1, 3])
async def test_a_lost_answer_makes_no_second_import(
    site: ClientService, form: Path, lost: int
) -> None:
    """The server stored the file, and the answer is lost: the repeated request has the same Idempotency-Key."""
    site.lose = lambda request: (
        request.method == "POST" and len(site.requests("POST", IMPORTS)) <= lost
    )
    async with site.client(await site.user()) as client:
        [asset] = await client.import_form(form)
        assert [each.uid async for each in client.assets()] == [asset.uid]
        assert len([each async for each in client.imports()]) == 1
    posts = site.requests("POST", IMPORTS)
    assert len(posts) == lost + 1
    assert len({each.headers["idempotency-key"] for each in posts}) == 1


async def test_timeout(idle_site: ClientService, form: Path) -> None:
    async with idle_site.client(await idle_site.user()) as client:
        with pytest.raises(ImportTimeout, match=r"still running after 0\.05 seconds") as late:
            await client.import_form(form, timeout=0.05)
        with pytest.raises(ImportTimeout):
            await client.wait_for_import(late.value.uid, timeout=0)
        async with import_worker(idle_site.service):
            result = await client.wait_for_import(late.value.uid)
        assert result[0].name == "Household visit"


def unreadable_files(folder: Path) -> Iterator[tuple[Path, str]]:
    (folder / "empty.xlsx").touch()
    with (folder / "huge.xlsx").open("wb") as huge:
        huge.truncate(MAX_FORM_BYTES + 1)
    yield folder / "missing.xlsx", "cannot be read: No such file"
    yield folder, "is a folder"
    yield folder / "empty.xlsx", "is empty"
    yield folder / "huge.xlsx", "A form can have at most 104857600"
    yield Path("/dev/null"), "is not a file"
    yield folder / "empty.xlsx" / "form.xlsx", "cannot be read: Not a directory"


async def test_unreadable_files_send_nothing(idle_site: ClientService, tmp_path: Path) -> None:
    async with idle_site.client("token") as client:
        for path, message in unreadable_files(tmp_path):
            with pytest.raises(InvalidRequest, match=message) as refused:
                await client.import_form(str(path))
            assert str(path) in refused.value.message
    assert idle_site.transport.requests == []


async def test_names_of_files_cannot_add_fields(idle_site: ClientService, tmp_path: Path) -> None:
    path = tmp_path / 'a"; name="library"\r\n\r\ntrue\r\n.xlsx'
    path.write_bytes(xlsx())
    async with import_worker(idle_site.service), idle_site.client(await idle_site.user()) as client:
        result: ImportResult = await client.import_form(path)
    assert (result[0].asset_type, result.record.library) == ("survey", False)


@pytest.mark.parametrize(
    "messages",
    [
        {"error": "x", "problems": 5},
        {"error": ["not", "text"], "problems": [{"message": "m", "row": "many"}, 3, None, "text"]},
        {"error": None, "detail": "\x1b[2Jgone", "problems": {"a": 1}},
        {"problems": [{"sheet": "survey"}]},
        {},
    ],
)
def test_hostile_results_are_printed(messages: dict[str, object]) -> None:
    error = ImportFailed(Import(uid="i", status="error", messages=messages))
    assert str(error)
    assert "\x1b" not in str(error)
