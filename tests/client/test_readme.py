"""The examples of the client's README and of the recipes work as they are shown, with a real Fieldgate."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import fieldgate_client
import pytest
from fieldgate_client import Client, FieldgateError
from fieldgate_client.cli.exit_codes import ExitCode, describe_error

from tests.client.cli.conftest import fill_database
from tests.client.document_blocks import (
    Block,
    PythonSession,
    Reader,
    python_environment,
    read_blocks,
)
from tests.processes import ServerProcess

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "client" / "README.md"
RECIPES = ROOT / "docs" / "recipes.md"
ADDRESS = "http://127.0.0.1:8000"  # of the server in the documents
EVENTS = 600
FORM = "type,name,label\ntext,head,Who is the head of the household?\ninteger,members,How many people live here?\n"


class DemoServer(NamedTuple):
    base_url: str
    token: str
    python: PythonSession

    def reader(self, folder: Path, *, form: str = "", is_logged_in: bool = False) -> Reader:
        substitutions = {
            ADDRESS: self.base_url,
            "https://field.example": self.base_url,
            "fgt_...": self.token,
        }
        if form:
            substitutions["FORM=a..."] = f"FORM={form}"
        environment = {
            **python_environment(),
            "HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        if is_logged_in:
            environment |= {"FIELDGATE_URL": self.base_url, "FIELDGATE_TOKEN": self.token}
        return Reader(folder, self.python, substitutions, environment)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """What `make serve` starts, with fewer events and two more users."""
    data = tmp_path_factory.mktemp("demo")
    asyncio.run(fill_database(data, EVENTS, "amina", "omar"))
    with ServerProcess(data, "--demo") as process:
        python = PythonSession()
        yield DemoServer(process.base_url, process.printed_value("token"), python)
        python.close()


def _is_installation(block: Block) -> bool:
    return "pip install" in block.text


@pytest.mark.nightly
def test_examples_of_the_readme(server: DemoServer, tmp_path: Path) -> None:
    blocks = [block for block in read_blocks(README) if not _is_installation(block)]
    reader = server.reader(tmp_path)
    reader.run(blocks)
    expected = [
        block.place
        for block in blocks
        if block.language in ("python", "sh") or block.note == "output"
    ]
    assert reader.ran == expected
    assert len(expected) > 20
    assert_is_image(tmp_path / "floods.png")
    for name in (
        "floods.csv",
        "floods.xlsx",
        "floods.parquet",
        "floods.ndjson",
        "floods.geojson",
        "small.csv",
        "names.xlsx",
    ):
        assert (tmp_path / name).stat().st_size > 1000, name


@pytest.mark.nightly
def test_recipes(server: DemoServer, tmp_path: Path) -> None:
    (tmp_path / "visit.csv").write_text(FORM)
    with Client(server.base_url, server.token) as client:
        form = client.import_form(tmp_path / "visit.csv")[0]
        reader = server.reader(tmp_path, form=form.uid, is_logged_in=True)
        reader.run(read_blocks(RECIPES))
        assert_is_image(tmp_path / "floods-per-month.png")
        for user, permission in (("amina", "view_submissions"), ("omar", "change_asset")):
            assert client.explain(form, user, permission).allowed
    with Client(server.base_url) as anonymous:
        assert len((tmp_path / "events.ndjson").read_text().splitlines()) == len(anonymous.events())
    assert len(reader.ran) >= 13


@pytest.mark.nightly
def test_the_line_for_cron(server: DemoServer, tmp_path: Path) -> None:
    (block,) = (block for block in read_blocks(RECIPES) if block.language == "crontab")
    reader = server.reader(tmp_path)
    found = re.fullmatch(r"(\d+) (\d+) \* \* \* (.+)\n", reader.typed(block))
    assert found
    assert (int(found[1]) < 60, int(found[2]) < 24) == (True, True)
    assert "%" not in found[3]  # a line break for cron
    (tmp_path / "venv").symlink_to(Path(sys.executable).parent.parent)
    done = subprocess.run(
        ["/bin/sh", "-c", found[3]],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},  # what cron gives to a command
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "africa.ndjson").stat().st_size > 1000


def test_every_exception_is_in_the_readme_with_its_exit_code() -> None:
    rows = re.findall(r"^\| (`.*|–) \| (\d+) \| .+ \|$", README.read_text(), re.MULTILINE)
    documented = {name: int(code) for names, code in rows for name in re.findall(r"`(\w+)`", names)}
    public = {name: getattr(fieldgate_client, name) for name in fieldgate_client.__all__}
    exceptions = {
        name: kind
        for name, kind in public.items()
        if isinstance(kind, type) and issubclass(kind, FieldgateError)
    }
    assert documented.keys() - {"KeyboardInterrupt"} == exceptions.keys()
    for name, kind in exceptions.items():
        error = kind.__new__(kind)
        FieldgateError.__init__(error, "text", status=400)
        vars(error).update(problems=[])
        assert describe_error(error)[0] == documented[name], name
    assert {int(code) for _, code in rows} == set(ExitCode)


def assert_is_image(path: Path) -> None:
    """A PNG with something on it: not all pixels are the same."""
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.shape[0] > 100
    assert len({tuple(each) for each in pixels.reshape(-1, pixels.shape[2])[::97]}) > 2
