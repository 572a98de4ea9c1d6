"""Forms and collections as they are stored, without the check of an import, so that tests are fast; sharing by HTTP."""

import hashlib
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
from sqlalchemy import Row, func, select
from sqlalchemy.engine import Connection

from fieldgate.assets.store import name_key, tags_key
from fieldgate.assets.tables import assets, files, versions
from fieldgate.db import new_uid, now
from fieldgate.i18n.folding import fold_text
from tests.data.accounts import AnswersRequests
from tests.data.commands import run_command
from tests.data.sql import UsesDatabase, all_rows, first_row, write_sql


def create_asset(
    database: str | UsesDatabase,
    owner_id: int,
    asset_type: str = "survey",
    *,
    name: str = "Visit",
    content: dict[str, Any] | None = None,
    summary: dict[str, Any] | None = None,
    xform: str | None = None,
    collection: str | None = None,
    settings: dict[str, Any] | None = None,
    tags: Sequence[str] = (),
    file: tuple[str, bytes] | None = None,
) -> str:
    """Create an asset with one version and return its uid. `file` is a name and data."""
    uid = new_uid("a")
    content = content or {}
    summary = summary or {}
    with write_sql(database, "assets") as connection:
        parent_id = None if collection is None else _id_of(connection, collection)
        new = assets.insert().values(
            uid=uid,
            owner_id=owner_id,
            parent_id=parent_id,
            asset_type=asset_type,
            name=name,
            name_key=name_key(name),
            search_text=fold_text(name),
            form_id=_form_id(content),
            settings=settings or {},
            tags=list(tags),
            tags_key=tags_key(tags),
            summary=summary,
            created_at=now(),
            modified_at=now(),
            modified_by=owner_id,
        )
        asset_id = connection.execute(new.returning(assets.c.id)).scalar_one()
        _insert_version(connection, asset_id, content, summary, xform, file)
    return uid


def add_version(
    database: str | UsesDatabase,
    uid: str,
    content: dict[str, Any],
    *,
    summary: dict[str, Any] | None = None,
    xform: str | None = None,
    file: tuple[str, bytes] | None = None,
) -> None:
    """Add a version to an asset, as an import into it does."""
    summary = summary or {}
    changes = {"summary": summary, "form_id": _form_id(content), "modified_at": now()}
    with write_sql(database, "assets") as connection:
        asset_id = _id_of(connection, uid)
        _insert_version(connection, asset_id, content, summary, xform, file)
        connection.execute(assets.update().where(assets.c.id == asset_id).values(changes))


def find_asset(database: str | UsesDatabase, uid: str) -> Row[Any] | None:
    """Return the row of an asset, also of one in the trash."""
    return first_row(database, select(assets).where(assets.c.uid == uid))


def stored_bytes(database: str | UsesDatabase, owner_id: int) -> int:
    """Return how many bytes the contents and files of an owner's assets have, with those in the trash."""
    of_owner = versions.c.asset_id.in_(select(assets.c.id).where(assets.c.owner_id == owner_id))
    query = select(versions.c.content, files.c.data).outerjoin_from(versions, files).where(of_owner)
    return sum(
        len(msgspec.json.encode(row.content)) + len(row.data or b"")
        for row in all_rows(database, query)
    )


def age_trash(database: str | UsesDatabase) -> None:
    """Let everything in the trash be there for 31 days."""
    is_deleted = assets.c.deleted_at.is_not(None)
    aged = assets.update().where(is_deleted).values(deleted_at=now() - timedelta(days=31))
    with write_sql(database, "assets") as connection:
        connection.execute(aged)


async def purge_trash(database: str | UsesDatabase) -> int:
    """Delete what is in the trash for 30 days, as an operator does. Return the number of assets."""
    done = await run_command(database, "assets", "purge", "--yes")
    assert done.exit_code == 0, done.output
    deleted = re.search(r"(\d+) deleted for good", done.output)
    return 0 if deleted is None else int(deleted[1])


async def share(
    service: AnswersRequests, owner: dict[str, str], uid: str, username: str, permission: str
) -> None:
    """Grant a permission, as the owner, whose headers are given."""
    answer = await service.request(
        "POST",
        f"/api/v2/assets/{uid}/permission-assignments/",
        json={"user": username, "permission": permission},
        headers=owner,
    )
    assert answer.status_code == 201, answer.text


def _insert_version(
    connection: Connection,
    asset_id: int,
    content: dict[str, Any],
    summary: dict[str, Any],
    xform: str | None,
    file: tuple[str, bytes] | None,
) -> None:
    file_id = None
    if file is not None:
        new_file = files.insert().values(name=file[0], data=file[1])
        file_id = connection.execute(new_file.returning(files.c.id)).scalar_one()
    count = select(func.count()).where(versions.c.asset_id == asset_id)
    new = versions.insert().values(
        uid=new_uid("v"),
        asset_id=asset_id,
        number=connection.execute(count).scalar_one() + 1,
        content_hash=hashlib.sha256(msgspec.json.encode(content)).hexdigest(),
        content=content,
        summary=summary,
        xform=xform,
        file_id=file_id,
        created_at=now(),
    )
    connection.execute(new)


def _id_of(connection: Connection, uid: str) -> int:
    return int(connection.execute(select(assets.c.id).where(assets.c.uid == uid)).scalar_one())


def _form_id(content: dict[str, Any]) -> str | None:
    found = (content.get("settings") or {}).get("id_string")
    return found if isinstance(found, str) else None
