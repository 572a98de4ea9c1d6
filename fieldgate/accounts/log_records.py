"""Entries of the log as records with the keys of KoboToolbox, and as rows of CSV and lines of JSON."""

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta
from sqlalchemy import Row

from fieldgate.accounts.log_store import LogStore, check_history_search, check_log_search
from fieldgate.accounts.schemas import user_path
from fieldgate.accounts.tables import TEAM_PREFIX
from fieldgate.db.log import ACCESS, LogObject
from fieldgate.http.links import Link, encode, resolve_links
from fieldgate.http.negotiation import Format
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.http.response.csv_safe import encode_csv
from fieldgate.http.search_grammar import MAX_SEARCH_CHARS
from fieldgate.identity import CREDENTIAL_KINDS, User
from fieldgate.pagination import ListResult

FORMATS = (Format.JSON, Format.HTML, Format.CSV, Format.NDJSON)
_SEARCH = (
    "Terms field:value, combined with AND, OR, NOT and parentheses. Fields: action, username, user_uid, log_type, "
    "model_name, metadata__asset_uid, date_created with __gt, __gte, __lt or __lte"
)


class HistoryQuery(msgspec.Struct, frozen=True):
    q: Annotated[
        str,
        Meta(
            description=f"{_SEARCH}.",
            max_length=MAX_SEARCH_CHARS,
            extra={"check": check_history_search},
        ),
    ] = ""


class LogQuery(msgspec.Struct, frozen=True):
    q: Annotated[
        str,
        Meta(
            description=f"{_SEARCH}, metadata__ip_address.",
            max_length=MAX_SEARCH_CHARS,
            extra={"check": check_log_search},
        ),
    ] = ""


class HistoryLogRecord(msgspec.Struct, frozen=True, kw_only=True):
    user: Annotated[
        Link | None,
        Meta(description="Who did it; null if nobody was logged in or the account is gone."),
    ]
    user_uid: Annotated[
        str, Meta(description="Uid of the user, which stays when the account is gone.")
    ]
    username: Annotated[
        str, Meta(description="Name of the user; of a failed login, the one that was tried.")
    ]
    action: Annotated[
        str, Meta(description="What was done, in the words of KoboToolbox where it has one.")
    ]
    metadata: Annotated[
        dict[str, Any], Meta(description="On what, from where, and what was changed.")
    ]
    date_created: Annotated[str, Meta(description="When, in UTC: 2026-11-15T08:30:00Z.")]


class AuditLogRecord(HistoryLogRecord, frozen=True, kw_only=True):
    app_label: Annotated[str, Meta(description="Always fieldgate.")] = "fieldgate"
    model_name: Annotated[
        str,
        Meta(
            description="Kind of the object: asset, user, team, token, session, event, log or review."
        ),
    ]
    log_type: Annotated[
        str, Meta(description="access, project-history, user-management or event-management.")
    ]


class AccessLogRecord(HistoryLogRecord, frozen=True, kw_only=True):
    count: Annotated[int, Meta(description="How often within this minute.")]


class ActionList(msgspec.Struct, frozen=True):
    actions: Annotated[list[str], Meta(description="Actions that are in the history, sorted.")]


Record = TypeVar("Record", bound=HistoryLogRecord)


def history_fields(
    entry: Row[Any], *, with_origin: bool = True, known_teams: Collection[int] | None = None
) -> dict[str, Any]:
    """`with_origin`: with address, program and credential, which only superusers and the user may see.

    `known_teams` are the ids of those teams whose names the caller may know; None: of all.
    """
    has_user = entry.user_id is not None and entry.username
    return {
        "user": Link(user_path(entry.username)) if has_user else None,
        "user_uid": entry.user_uid,
        "username": entry.username,
        "action": entry.action,
        "metadata": _metadata(entry, with_origin=with_origin) | _what(entry, known_teams),
        "date_created": f"{entry.made_at:%Y-%m-%dT%H:%M:%SZ}",
    }


def _metadata(entry: Row[Any], *, with_origin: bool) -> dict[str, Any]:
    origin = {
        "ip_address": entry.ip_address,
        "source": entry.source,
        "credential": entry.credential,
        "request_id": entry.request_id,
    }
    found: dict[str, Any] = {name: value if with_origin else None for name, value in origin.items()}
    if entry.credential in CREDENTIAL_KINDS:
        found["credential"] = entry.credential
    if entry.model_name == "asset":
        subtype = "permission" if "effects" in entry.details else "project"
        asset = {
            "asset_uid": entry.object_uid,
            "asset_name": entry.object_name,
            "log_subtype": subtype,
        }
        found |= {**asset, "project_owner": entry.project_owner or ""}
    if entry.log_type == ACCESS:
        found["auth_type"] = found["credential"]
        if entry.user_id is None:
            found["attempted_username"] = entry.username
    elif entry.model_name != "asset":
        found |= {"uid": entry.object_uid, "name": entry.object_name}
    if entry.times > 1:
        found["count"] = entry.times
    return found


def _what(entry: Row[Any], known_teams: Collection[int] | None) -> dict[str, Any]:
    """What an action was about."""
    details = dict(entry.details)
    if "effects" not in details:
        about = {"changed_user": entry.subject_name} if entry.subject_uid else {}
        return {**about, **details}
    before, after = set(details.pop("before")), set(details.pop("after"))
    details.pop("effects")
    name = entry.subject_name
    if (
        known_teams is not None
        and name.startswith(TEAM_PREFIX)
        and entry.subject_id not in known_teams
    ):
        name = TEAM_PREFIX + entry.subject_uid
    changed = {"username": name, "added": sorted(after - before), "removed": sorted(before - after)}
    return {"permissions": changed, **details}


async def encode_list(
    count: int,
    records: Sequence[Record],
    request: ParsedRequest,
    user: User,
    store: LogStore,
    exported: LogObject,
) -> ListResult[Record]:
    """A page of records in the format of the request. A file is an export, and logged as one of `exported`."""
    encoders: dict[Format, Callable[[Sequence[Any]], bytes]] = {
        Format.CSV: lambda _: _encode_csv(records),
        Format.NDJSON: lambda _: b"".join(
            resolve_links(encode(each), request.base_url.url.encode(), b"") + b"\n"
            for each in records
        ),
    }
    write = encoders.get(request.format)
    if write is None:
        return ListResult(count, records)
    await store.count_export(user, exported)
    return ListResult(count, records, encode_page=lambda given, _, __: write(given))


_CSV_METADATA = (
    "ip_address",
    "source",
    "credential",
    "request_id",
    "asset_uid",
    "asset_name",
    "project_owner",
)


def _encode_csv(records: Sequence[HistoryLogRecord]) -> bytes:
    columns = ("date_created", "username", "user_uid", "action", "log_type", "model_name", "count")
    rows: list[Sequence[Any]] = [(*columns, *_CSV_METADATA, "details")]
    for record in records:
        rest = {name: value for name, value in record.metadata.items() if name not in _CSV_METADATA}
        own = (getattr(record, name, None) for name in columns)
        rows.append(
            (
                *own,
                *map(record.metadata.get, _CSV_METADATA),
                msgspec.json.encode(rest).decode() if rest else "",
            )
        )
    return encode_csv(rows)
