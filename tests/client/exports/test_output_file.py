"""Files that appear when they are complete."""

import os
import stat
from pathlib import Path

import pytest
from fieldgate_client.exports.output_file import OutputFile


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("before")
    path.chmod(0o600)
    output = OutputFile(str(path))
    output.file.write(b"after")
    assert path.read_text() == "before"
    modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == {0o600}, "nobody else can read it meanwhile"
    output.commit()
    output.discard()
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "as the file that it replaced"
    assert [*tmp_path.iterdir()] == [path]


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    output = OutputFile(tmp_path / "link")
    output.file.write(b"text")
    output.commit()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "text"


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    output = OutputFile(pipe)
    output.file.write(b"text")
    output.commit()
    assert os.read(reader, 10) == b"text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no such folder") as failed:
        OutputFile(tmp_path / "no" / "file.csv")
    assert failed.value.filename == str(tmp_path / "no")
