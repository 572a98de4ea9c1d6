"""Imports for lists: written to the database of Fieldgate, and to a file for the peer."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import insert, select

from fieldgate.accounts.tables import users
from fieldgate.assets.tables import files
from fieldgate.db import Database, new_uid
from fieldgate.imports.tables import imports

IMPORT_COUNT = 1000  # gives 951 different pages, more than are cached
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def add_imports(address: str, user: str, file: Path | None = None, *, count: int = IMPORT_COUNT) -> None:
    """Add finished imports of the user, and write their records to the file for the peer."""
    records = [_record(number, user) for number in range(count)]
    asyncio.run(_insert(address, user, records))
    if file is not None:
        file.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def _record(number: int, user: str) -> dict[str, Any]:
    """An import as in lists, without its URL."""
    columns = ["type", "name", "label::English (en)", "label::French (fr)", "relevant", "constraint", "required"]
    summary = {
        "geo": number % 3 == 0,
        "labels": [f"Question {each}" for each in range(10)],
        "columns": columns,
        "languages": ["English (en)", "French (fr)"],
        "row_count": 10 + number,
        "default_translation": "English (en)",
    }
    made = {"uid": new_uid("a"), "kind": "asset", "summary": summary, "owner__username": user}
    return {
        "uid": new_uid("i"),
        "status": "complete",
        "messages": {"updated": [], "created": [made]},
        "date_created": _FIRST + timedelta(minutes=number),
        "filename": f"household-{number}.xlsx",
        "destination": None,
        "library": False,
        "desired_type": None,
    }


async def _insert(address: str, user: str, records: list[dict[str, Any]]) -> None:
    database = Database(address)
    try:
        async with database.transaction() as connection:
            user_id = (await connection.execute(select(users.c.id).where(users.c.username == user))).scalar_one()
            kept = insert(files).values(name="form.xlsx", data=b"").returning(files.c.id)
            file_id = (await connection.execute(kept)).scalar_one()
            common = {"user_id": user_id, "file_id": file_id, "name": "form", "is_library": False, "desired_type": "",
                      "attempts": 1}  # fmt: skip
            rows = []
            for record in records:
                created_at = record["date_created"]
                given = ("date_created", "destination", "library", "desired_type")
                rest = {name: value for name, value in record.items() if name not in given}
                rows.append({**common, **rest, "created_at": created_at, "finished_at": created_at})
            await connection.execute(insert(imports), rows)
    finally:
        await database.close()
