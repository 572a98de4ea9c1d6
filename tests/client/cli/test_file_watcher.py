"""Noticing that files are saved. Each poll is a look at the files, so that nothing depends on time."""

import os
from pathlib import Path

import pytest
from fieldgate_client.cli.import_forms import FileWatcher


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "form.xlsx"
    file.write_bytes(b"first")
    return file


@pytest.fixture
def watcher(file: Path) -> FileWatcher:
    return FileWatcher([file])


def replace(file: Path, content: bytes) -> None:
    """Save as spreadsheet programs do."""
    temporary = file.with_name("saving.tmp")
    temporary.write_bytes(content)
    temporary.replace(file)


def test_a_save_is_noticed_once_when_it_is_complete(watcher: FileWatcher, file: Path) -> None:
    replace(file, b"second")
    assert watcher.poll() == [], "it may still be written"
    assert watcher.poll() == [file]
    assert watcher.poll() == []


def test_a_file_that_is_being_written(watcher: FileWatcher, file: Path) -> None:
    for content in (b"sec", b"second", b"second version"):
        file.write_bytes(content)
        assert watcher.poll() == []
    assert watcher.poll() == [file]


def test_a_file_that_is_away_or_empty_for_a_moment(watcher: FileWatcher, file: Path) -> None:
    file.unlink()
    assert [watcher.poll() for _ in range(3)] == [[], [], []]
    file.write_bytes(b"")
    assert [watcher.poll() for _ in range(3)] == [[], [], []]
    file.write_bytes(b"second")
    assert [watcher.poll() for _ in range(3)] == [[], [file], []]


def test_saving_the_same_content_is_no_change(watcher: FileWatcher, file: Path) -> None:
    replace(file, b"first")
    os.utime(file, (0, 0))
    assert [watcher.poll() for _ in range(3)] == [[], [], []]
