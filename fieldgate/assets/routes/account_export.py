"""`/api/v2/account/export/`: all about the caller as a ZIP.

It has the profile, tokens without secrets, forms as workbooks, assignments, teams and the log. It is written to a
temporary file and sent from there. Memory holds one batch of rows, or one form.
"""

import tempfile
import zipfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import IO, Any

import msgspec
from sqlalchemy import JSON, Boolean, ColumnElement, Select, case, literal, select

from fieldgate.accounts.routes import TAG
from fieldgate.accounts.schemas import ACCOUNT_PATH
from fieldgate.accounts.store import IssuedBy
from fieldgate.accounts.tables import (
    TEAM_PREFIX,
    identities,
    team_members,
    teams,
    tokens,
    users,
    with_teams_of,
)
from fieldgate.assets.routes.form_files import FormFiles
from fieldgate.assets.tables import COLLECTION, assets, assignments, has_not_ended, is_live
from fieldgate.assets.workbook_downloads import XLS_SUFFIX
from fieldgate.db import AsyncDatabase, Snapshot, Timestamp, now, snapshot
from fieldgate.db.log import USERS, LogEntry, LogObject, count_in_log, log
from fieldgate.db.snapshot import Rows
from fieldgate.errors import NotFound
from fieldgate.http.operations import Routes
from fieldgate.http.response.attachment import attachment, dated_name, file_headers, safe_name
from fieldgate.http.response.responses import CHUNK_BYTES, Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.overload import Exports, run_in_thread

MAX_BYTES_IN_MEMORY = 1024 * 1024  # then the file is on disk
ZIP_MEDIA_TYPE = "application/zip"
routes = Routes(tag=TAG, scope=Scope.ALL)  # it has forms, permissions and the log


class AccountExporter:
    def __init__(self, database: AsyncDatabase, files: FormFiles, exports: Exports) -> None:
        self._database = database
        self._files = files
        self._exports = exports

    def stream(self, user: User) -> AsyncGenerator[bytes, None]:
        """Yield the file in chunks. A slot is taken until the last one was sent."""
        return self._exports.stream(self._chunks(user), user.quota_id)

    async def _chunks(self, user: User) -> AsyncGenerator[bytes, None]:
        """After an empty chunk another export may work, and the client may have left."""
        with tempfile.SpooledTemporaryFile(MAX_BYTES_IN_MEMORY) as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for form in await self._write_tables(archive, user):
                    yield b""
                    await self._write_form(archive, user, form)
            file.seek(0)
            while chunk := await run_in_thread(file.read, CHUNK_BYTES):
                yield chunk

    async def _write_tables(self, archive: zipfile.ZipFile, user: User) -> Rows:
        """Write all but the forms. Return what identifies those."""
        async with snapshot(self._database) as state:
            for name, query in _queries(user.id).items():
                await _write_rows(archive, name, state, query)
            return await state.rows(
                select(assets.c.id, assets.c.uid, assets.c.name, assets.c.asset_type)
                .where(
                    assets.c.owner_id == user.id,
                    assets.c.deleted_at.is_(None),
                    assets.c.asset_type != COLLECTION,
                )
                .order_by(assets.c.id)
            )

    async def _write_form(self, archive: zipfile.ZipFile, user: User, form: Sequence[Any]) -> None:
        asset_id, uid, name, asset_type = form
        path = " ".join(filter(None, ("forms/" + safe_name(name), uid)))  # the uid makes it unique
        try:
            workbook = await self._files.load_newest(
                asset_id, asset_type, XLS_SUFFIX, user.quota_id
            )
        except NotFound:  # it does not fit into a workbook
            content = await self._files.load_content(asset_id)
            await run_in_thread(archive.writestr, f"{path}.json", msgspec.json.encode(content))
            return
        if workbook is not None:  # deleted meanwhile
            await run_in_thread(archive.writestr, path + workbook.suffix, workbook.data)


def _queries(user_id: int) -> Mapping[str, Select[Any]]:
    """What is in each file. Secrets are not among the columns."""
    holders, owners = users.alias(), users.alias()
    details = (
        assets.c.uid.label("asset"),
        assets.c.name.label("asset_name"),
        owners.c.username.label("owner"),
        _hide_team(user_id, holders.c.id, holders.c.username, holders.c.uid).label("user"),
        assignments.c.permission,
        assignments.c.is_denied,
        assignments.c.filters,
        assignments.c.created_at,
        assignments.c.expires_at,
    )
    all_assignments = (
        select(*details)
        .join_from(assignments, assets, assets.c.id == assignments.c.asset_id)
        .join(owners, owners.c.id == assets.c.owner_id)
        .join(holders, holders.c.id == assignments.c.user_id)
        .where(is_live(), has_not_ended())
        .order_by(assignments.c.id)
    )
    token_columns = (
        tokens.c.name,
        tokens.c.prefix,
        tokens.c.issued_by,
        tokens.c.created_at,
        tokens.c.last_used_at,
        tokens.c.expires_at,
        tokens.c.revoked_at,
    )
    all_tokens = select(*token_columns).where(tokens.c.user_id == user_id).order_by(tokens.c.id)
    is_session = tokens.c.issued_by == IssuedBy.SESSION.value
    not_exported = ("id", "owner_id", "username_key", "search_text", "password_hash", "is_demo")
    profile = [column for column in users.c if column.name not in not_exported]
    not_logged = ("id", "user_id", "subject_id", "owner_id", "effect_count", "minute_key")
    subject = _hide_team(user_id, log.c.subject_id, log.c.subject_name, log.c.subject_uid).label(
        "subject_name"
    )
    logged = [
        subject if each is log.c.subject_name else each
        for each in log.c
        if each.name not in not_logged
    ]
    own_entries = select(*logged).where(log.c.user_id == user_id).order_by(log.c.id)
    denials = assignments.alias()
    denied = select(denials.c.asset_id).where(
        denials.c.user_id == user_id, denials.c.permission == "view_asset", denials.c.is_denied
    )
    is_denied = assignments.c.asset_id.in_(denied)
    memberships = (
        select(
            users.c.uid,
            teams.c.name,
            teams.c.description,
            team_members.c.role,
            team_members.c.joined_at,
        )
        .join_from(team_members, teams, teams.c.id == team_members.c.team_id)
        .join(users, users.c.id == teams.c.id)
        .where(team_members.c.user_id == user_id)
    )
    own_identities = select(
        identities.c.issuer,
        identities.c.subject,
        identities.c.created_at,
        identities.c.last_login_at,
    )
    return {
        "profile.json": select(*profile).where(users.c.id == user_id),
        "tokens.json": all_tokens.where(~is_session),
        "sessions.json": all_tokens.where(is_session),
        "single-sign-on.json": own_identities.where(identities.c.user_id == user_id).order_by(
            identities.c.id
        ),
        # A denial would show the name of a form that the user cannot see.
        "assignments-received.json": all_assignments.where(
            assignments.c.user_id.in_(with_teams_of(user_id)),
            assignments.c.is_denied.is_(False),
            ~is_denied,
        ),
        "assignments-given.json": all_assignments.where(assets.c.owner_id == user_id),
        "teams.json": memberships.order_by(teams.c.id),
        "log.json": own_entries,
    }


def _hide_team(user_id: int, holder_id: Any, name: Any, uid: Any) -> ColumnElement[str]:
    """The name of a user or team. A team that the user is not in is named by its uid."""
    is_known = holder_id.in_(
        select(team_members.c.team_id).where(team_members.c.user_id == user_id)
    )
    return case((name.startswith(TEAM_PREFIX) & ~is_known, literal(TEAM_PREFIX) + uid), else_=name)


async def _write_rows(
    archive: zipfile.ZipFile, name: str, state: Snapshot, query: Select[Any]
) -> None:
    """Write a JSON array of the rows."""
    with archive.open(name, "w", force_zip64=True) as entry:
        before = b"["
        async for batch in state.batches(query):
            await run_in_thread(_write_batch, entry, before, query, batch)
            before = b","
        entry.write(b"[]\n" if before == b"[" else b"\n]\n")


def _write_batch(
    entry: IO[bytes], before: bytes, query: Select[Any], batch: Sequence[Sequence[Any]]
) -> None:
    columns = list(query.selected_columns)
    for row in batch:
        record = {
            column.name: _decode(column.type, value)
            for column, value in zip(columns, row, strict=True)
        }
        entry.write(before + b"\n" + msgspec.json.encode(record))
        before = b","


def _decode(kind: Any, value: Any) -> Any:
    """A value as the drivers return it: JSON is text, times are numbers."""
    if value is None:
        return None
    if isinstance(kind, Timestamp):
        return Timestamp.unpack(value)
    if isinstance(kind, JSON):
        return msgspec.Raw(value.encode())
    return bool(value) if isinstance(kind, Boolean) else value


@routes.raw(
    ACCOUNT_PATH + "export/",
    title=Message("All about the own account"),
    description=Message(
        "A ZIP file with the caller's profile, tokens without their secrets, sessions, own forms as workbooks, "
        "permission assignments and entries of the log."
    ),
    media_type=ZIP_MEDIA_TYPE,
    schema={"type": "string", "format": "binary"},
    no_store=True,
    rate_cost=20,
)
async def account_export(
    user: User, exporter: AccountExporter, database: AsyncDatabase
) -> Response:
    entry = LogEntry(log_type=USERS, action="export", object=LogObject("user", user.uid))
    await count_in_log(database, user, entry)
    name = dated_name(["fieldgate", user.username], now().date())
    headers = file_headers(ZIP_MEDIA_TYPE.encode(), attachment(name, ".zip", "fieldgate"))
    return Response(200, headers, stream=exporter.stream(user))
