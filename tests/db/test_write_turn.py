"""Processes that write to one SQLite file take turns."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from sqlalchemy import text

from fieldgate.db import Database, WriteTransaction

WRITES = 20
INSERT = text("INSERT INTO rows (writer) VALUES (:writer)")
# Writes all the time, each transaction some milliseconds long.
BUSY_WRITER = """
import sys, time
from sqlalchemy import text
from fieldgate.db import Database

database = Database(sys.argv[1])
insert = text("INSERT INTO rows (writer) VALUES ('other')")

def write(transaction):
    transaction.execute(insert)
    until = time.perf_counter() + 0.02
    while time.perf_counter() < until:
        pass

while True:
    database.write(write, is_alone=True)
    print(flush=True)
"""


@contextmanager
def busy_writer(database_url: str) -> Iterator[None]:
    command = [sys.executable, "-c", BUSY_WRITER, database_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def test_process_that_writes_all_the_time_keeps_nobody_out(tmp_path: Path) -> None:
    """With the lock of SQLite alone, some writes wait for dozens of others."""
    address = f"sqlite:///{tmp_path / 'data.db'}"
    database = Database(address)

    def create(transaction: WriteTransaction) -> None:
        transaction.execute(text("CREATE TABLE rows (id INTEGER PRIMARY KEY, writer TEXT)"))

    def insert(transaction: WriteTransaction) -> None:
        transaction.execute(INSERT, {"writer": "own"})

    database.write(create)
    with busy_writer(address):
        for _ in range(WRITES):
            database.write(insert)
    select = text("SELECT writer FROM rows ORDER BY id")
    order = database.read(lambda transaction: transaction.execute(select).scalars().all())
    database.close()
    assert order.count("own") == WRITES
    waited = [len(list(rows)) for writer, rows in groupby(order) if writer == "other"]
    # The first group was written before the own writes began.
    assert max(waited[1:]) <= 5, waited
