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


def test_nothing_happens_without_a_save(watcher: FileWatcher) -> None:
    assert watcher.poll() == watcher.poll() == []


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


def test_two_saves_between_two_polls_are_one(watcher: FileWatcher, file: Path) -> None:
    replace(file, b"second")
    replace(file, b"third")
    assert [watcher.poll() for _ in range(3)] == [[], [file], []]


def test_files_are_independent(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.xlsx", "b.xlsx")]
    for file in files:
        file.write_bytes(b"first")
    watcher = FileWatcher(files)
    replace(files[1], b"second")
    assert watcher.poll() == []
    replace(files[0], b"second")
    assert watcher.poll() == [files[1]]
    assert watcher.poll() == [files[0]]
