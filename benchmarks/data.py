"""The data of the measured servers.

One record of each kind is created through the interface of Fieldgate. Its rows are then copied in the database,
whatever columns they have, so that checkouts with different tables can be compared.
"""

import io
import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from benchmarks.requests import (
    ASSIGNMENTS,
    IMPORTS,
    PERMISSIONS,
    Request,
    get_json,
    post_json,
    send,
)
from benchmarks.servers import Server, output_of, run_fieldgate

CALLER, OWNER = "caller", "owner"  # the owner shares forms with the caller
SHARED_FORM, BULK_FORM = "aSharedWithOneUserEach", "aSharedWithManyAtOnce1"
BOUNDARY = "4f1c9a7be2d04c55b0a6a4c1c1a9f3d7"


@dataclass(frozen=True)
class Sizes:
    """How many records there are, and how many users a bulk request has."""

    events: int = 10_000
    imports: int = 1000
    assets: int = 10_000
    members: int = 2000
    bulk: int = 1000


QUICK_SIZES = Sizes(events=1000, imports=100, assets=100, members=100, bulk=50)


def create_data(program: Path, data: Path, core: int, sizes: Sizes) -> dict[str, str]:
    """Create events, users, imports and shared forms. Returns the tokens of the users."""
    output_of([program, "events", "demo", sizes.events, "--data", data])
    tokens = {}
    for user in (CALLER, OWNER):
        command = [program, "user", "create", user, "--password-stdin", "--data", data]
        output_of(command, stdin=secrets.token_urlsafe())
        tokens[user] = output_of([program, "token", "create", user, "--data", data])
    with run_fieldgate(
        "preparation", program, data, core, tokens, has_import_worker=True
    ) as server:
        _import_and_share(server)
    with closing(sqlite3.connect(data / "fieldgate.db")) as connection, connection:
        _copy_records(connection, sizes)
    return tokens


def multipart_form() -> bytes:
    """A POST body with a form of ten questions in two languages."""
    book = Workbook()
    book.active.title = "survey"
    book.active.append(
        ["type", "name", "label::English (en)", "label::French (fr)", "constraint", "required"]
    )
    for number in range(10):
        book.active.append(
            [
                "integer",
                f"q{number}",
                f"Question {number}",
                f"Question no {number}",
                ". >= 0",
                "yes",
            ]
        )
    file = io.BytesIO()
    book.save(file)
    head = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="form.xlsx"\r\n\r\n'
    )
    return head.encode() + file.getvalue() + f"\r\n--{BOUNDARY}--\r\n".encode()


def import_request(caller: str) -> Request:
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    return Request(
        path=IMPORTS, method="POST", content_type=content_type, body=multipart_form(), caller=caller
    )


def assignment(user: str, permission: str) -> dict[str, str]:
    return {"user": f"/api/v2/users/{user}/", "permission": f"{PERMISSIONS}{permission}/"}


def _import_and_share(server: Server) -> None:
    """Import a form of the owner, and let the caller see it."""
    uid = json.loads(send(import_request(OWNER), server).body)["uid"]
    record = get_json(server, f"{IMPORTS}{uid}/", OWNER)
    while record["status"] not in ("complete", "error"):
        time.sleep(0.1)
        record = get_json(server, f"{IMPORTS}{uid}/", OWNER)
    asset = record["messages"]["created"][0]["uid"]
    send(post_json(ASSIGNMENTS.format(asset), assignment(CALLER, "view_asset"), OWNER), server)


def _copy_records(connection: sqlite3.Connection, sizes: Sizes) -> None:
    [caller] = connection.execute("SELECT id FROM users WHERE username = ?", [CALLER]).fetchone()
    members = [f"member{number}" for number in range(sizes.members)]
    _copy(
        connection,
        "users",
        [{"uid": _new_uid("u"), "username": name, "username_key": name} for name in members],
    )
    uids = [_new_uid("i") for _ in range(sizes.imports)]
    _copy(connection, "imports", [{"uid": uid, "user_id": caller} for uid in uids])
    uids = [SHARED_FORM, BULK_FORM, *(_new_uid("a") for _ in range(sizes.assets - 1))]
    assets = _copy(connection, "assets", [{"uid": uid} for uid in uids])
    _copy(
        connection,
        "asset_versions",
        [{"uid": _new_uid("v"), "asset_id": asset} for asset in assets],
    )
    # The caller must not see the forms that are shared while the list is measured.
    _copy(
        connection,
        "assignments",
        [{"uid": _new_uid("p"), "asset_id": asset} for asset in assets[2:]],
    )


def _copy(
    connection: sqlite3.Connection, table: str, changes: list[Mapping[str, Any]]
) -> list[int]:
    """Copy the last row of a table with these changes. Returns the ids of the copies."""
    cursor = connection.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT 1")
    columns = [column for column, *_ in cursor.description]
    row = dict(zip(columns, cursor.fetchone(), strict=True))
    places = ", ".join(f":{column}" for column in columns)
    counted = [column for column in columns if column in ("id", "created_at", "modified_at")]
    rows = [
        {**row, **{column: row[column] + number for column in counted}, **change}
        for number, change in enumerate(changes, start=1)
    ]
    connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)
    return [each["id"] for each in rows]


def _new_uid(prefix: str) -> str:
    return prefix + secrets.token_hex(11)[:21]


def read_list(server: Server, path: str, caller: str = "") -> list[Any]:
    """All records of a list."""
    records: list[Any] = []
    page = {"next": path}
    while page["next"]:
        page = get_json(server, page["next"][page["next"].index("/api/") :], caller)
        records += page["results"]
    return records


def write_peer_files(ours: Server, folder: Path, sizes: Sizes, events: list[Any]) -> None:
    """Write the records of Fieldgate to files for the peer, one in a line."""
    folder.mkdir()
    permissions = read_list(ours, PERMISSIONS)
    for permission in permissions:
        for relation in ("implied", "contradictory"):
            permission[relation] = [
                link.rstrip("/").rpartition("/")[2] for link in permission[relation]
            ]
    _write_lines(folder / "permissions", [permissions])
    members = [f"member{number}" for number in range(sizes.members)]
    users = {"callers": [CALLER, OWNER], "members": members, "owner": OWNER, "asset": SHARED_FORM}
    _write_lines(folder / "users", [users])
    imports = read_list(ours, f"{IMPORTS}?limit=1000", CALLER)
    _write_lines(folder / "imports", ([CALLER, record] for record in imports))
    _write_lines(folder / "events", events)


def _write_lines(file: Path, records: Iterable[Any]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
