"""Processes that are killed while they write a copy of a list: the next run makes it complete."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.event_stand_in import EventStandIn, by_id, read_records

DOWNLOAD = """
import sys
from fieldgate_client import Client
with Client(sys.argv[1], page_size=20, concurrency=2) as client:
    print(client.events().to_ndjson(sys.argv[2], resume=True))
"""
# For each number n that it reads, a process that ends, without any cleaning up, at the n-th time that it opens, renames
# or removes one of the files. Forked, as loading the libraries takes longer than an update.
UPDATES = """
import os, sys
import httpx, fieldgate_client.incremental
from fieldgate_client import Client

def update(steps):
    def count(event, arguments):
        nonlocal steps
        if event in ("open", "os.rename", "os.remove", "os.truncate", "os.chmod") and "events.ndjson" in str(arguments):
            steps -= 1
            if steps == 0:
                os._exit(9)
    sys.addaudithook(count)
    with Client(sys.argv[1], page_size=50) as client:
        client.events().update(sys.argv[2])

for line in sys.stdin:
    pid = os.fork()
    if not pid:
        update(int(line))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@contextmanager
def serve(server: EventStandIn) -> Iterator[str]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lock:
                answer = server.answer(httpx.Request("GET", f"http://127.0.0.1{self.path}"))
            self.send_response_only(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_download(tmp_path: Path, seed: int) -> None:
    server, path, chance = EventStandIn(), tmp_path / "events.ndjson", random.Random(seed)
    for id_ in range(1, 301):
        server.clock += timedelta(days=1)
        server.put(id_, rank=id_ * 7 % 50, text="é\n" * chance.randrange(2000))
    with serve(server) as address:
        for _ in range(2):
            process = run(DOWNLOAD, address, path)
            last = len(server.requests) + chance.randint(4, 14)
            server.on_request = lambda number, last=last, pid=process.pid: (  # type: ignore[misc]
                os.kill(pid, signal.SIGKILL) if number == last else None
            )
            process.communicate()
            assert process.returncode == -signal.SIGKILL
            assert not path.exists()
            server.on_request = lambda _: None
            server.put(chance.randint(1, 300), text="changed")
            server.delete(chance.randint(1, 300))
        output, _ = run(DOWNLOAD, address, path).communicate()
    assert int(output) == len(server.records)
    assert by_id(read_records(path)) == by_id([*server.records.values()])
    assert [each.name for each in tmp_path.iterdir()] == ["events.ndjson"]


def test_an_update_that_is_killed_at_any_step(tmp_path: Path) -> None:
    server, path = EventStandIn(), tmp_path / "events.ndjson"
    for id_ in range(1, 101):
        server.clock += timedelta(days=1)
        server.put(id_)
    with serve(server) as address, run(UPDATES, address, path) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def update(steps: int) -> int:
            print(steps, file=process.stdin, flush=True)
            return int(process.stdout.readline())  # type: ignore[union-attr]

        assert update(0) == 0
        steps, exit_code = 0, 9
        while exit_code == 9:
            server.clock += timedelta(days=1)
            server.put(steps + 1)
            server.delete(100 - steps)
            server.put(200 + steps)
            before = by_id(read_records(path))
            steps += 1
            exit_code = update(steps)
            assert by_id(read_records(path)) in (before, server.records), "the old records or the new ones"
        assert exit_code == 0
        assert by_id(read_records(path)) == server.records
        assert steps > 8, "there were that many steps"
        process.stdin.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["events.ndjson", "events.ndjson.state"]
