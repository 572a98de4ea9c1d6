"""Downloading a form, and translating it: download, add a column, upload."""

import io
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fieldgate_client import InvalidRequest, NotFound, forms
from openpyxl import load_workbook

from tests.client.fieldgate_service import ClientService, import_worker
from tests.conftest import StartService
from tests.imports.workbooks import xlsx


@pytest.fixture
async def site(
    start: StartService, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[ClientService]:
    monkeypatch.setattr(forms, "FIRST_PAUSE", 0.01)
    async with start() as service, import_worker(service):
        yield ClientService(service)


async def test_a_form_is_translated(site: ClientService, tmp_path: Path) -> None:
    original, copy = tmp_path / "form.xlsx", tmp_path / "translated.xlsx"
    survey = (("type", "name", "label::English (en)"), ("text", "name", "What is your name?"))
    content = xlsx(survey=survey)
    original.write_bytes(content)
    received: list[tuple[int, int | None]] = []
    async with site.client(await site.user()) as client:
        [asset] = await client.import_form(original)
        assert (
            await client.download_form(asset, copy, on_progress=lambda *part: received.append(part))
            == copy
        )
        assert copy.read_bytes() == content
        assert received[-1] == (len(content), len(content))
        book = load_workbook(io.BytesIO(content))
        for row, text in enumerate(("label::French (fr)", "Quel est votre nom ?"), start=1):
            book["survey"].cell(row, 4, text)
        book.save(copy)
        [translated] = await client.import_form(copy, asset)
        assert (translated.uid, translated.version_count) == (asset.uid, 2)
        assert translated.summary is not None
        assert translated.summary["languages"] == ["English (en)", "French (fr)"]


async def test_a_failed_download_leaves_the_old_file(site: ClientService, tmp_path: Path) -> None:
    target = tmp_path / "form.xlsx"
    target.write_bytes(b"old")
    async with site.client(await site.user()) as client:
        with pytest.raises(NotFound):
            await client.download_form("a" + "2" * 21, target)
        for path, message in (
            (tmp_path, "is a folder"),
            (tmp_path / "none" / "form.xlsx", "There is no folder"),
        ):
            with pytest.raises(InvalidRequest, match=message):
                await client.download_form("a" + "2" * 21, path)
    assert (os.listdir(tmp_path).count("form.xlsx"), target.read_bytes()) == (1, b"old")  # noqa: PTH208
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]  # noqa: PTH208
