"""Which entries of the log every operation that writes makes. An operation without a row fails the test."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
from sqlalchemy import Row, select, text

from fieldgate.app import operations
from fieldgate.db import now
from fieldgate.db.log import ACCESS, EVENTS, PROJECT, USERS, log
from fieldgate.http.request.authentication import SESSION_COOKIE
from tests.access.matrix import CALLS, PRIVATE, PUBLIC, SHARING, Call, MatrixContext, calls_of
from tests.conftest import StartService
from tests.data.accounts import PASSWORD, create_session
from tests.data.sql import read_sql, write_sql

SECRET = re.compile(r"fg[ti]_\w{20,}")
Entry = tuple[str, str, str]  # type, action, and what kind of object
SHARED: Entry = (PROJECT, "share-form-publicly", "asset")
UNSHARED: Entry = (PROJECT, "unshare-form-publicly", "asset")
CHANGED: Entry = (PROJECT, "modify-user-permissions", "asset")
NEW_TOKEN: Entry = (USERS, "create", "token")
NO_TOKEN: Entry = (USERS, "remove", "token")
NO_SESSION: Entry = (USERS, "remove", "session")
DOWNLOAD: Entry = (PROJECT, "export", "asset")

# By operation: the kind of call in `CALLS` ("" for the first one), and the entries that it makes.
ENTRIES: dict[str, tuple[str, list[Entry]]] = {
    # Workers write the entries, with the result.
    "import_creation": ("", []),
    "import_answer": ("", []),
    "asset_creation": ("", [(PROJECT, "create", "asset")]),
    "asset_deletion": ("", [(PROJECT, "in-trash", "asset")]),
    "asset_undeletion": ("", [(PROJECT, "put-back", "asset")]),
    "asset_change": ("", [(PROJECT, "update-name", "asset")]),
    "version_restoration": ("", [(PROJECT, "update-content", "asset")]),
    "deployment_creation": ("", [(PROJECT, "deploy", "asset")]),
    "deployment_change": ("", [(PROJECT, "archive", "asset")]),
    "asset_bulk_action": ("", [(PROJECT, "archive", "asset")]),
    "assignment_creation": ("", [SHARED]),
    "assignment_deletion": (f"the viewer's assignment, on {PRIVATE}", [CHANGED]),
    "assignment_replacement": ("", [SHARED, *[CHANGED] * 3]),
    "user_permissions_replacement": ("", [SHARED]),
    "assignment_clearing": (f"the public, on {PUBLIC}", [UNSHARED]),
    "assignment_cloning": (
        "from an asset, to the caller's asset",
        [(PROJECT, "clone-permissions", "asset")] * 5,
    ),
    "assignment_table_upload": ("", [SHARED]),
    "many_added": ("", [SHARED]),
    "many_removed": (PUBLIC, [UNSHARED]),
    "user_creation": ("", [(USERS, "create", "user"), (USERS, "create-link", "user")]),
    "user_change": ("", [(USERS, "disable", "user")]),
    "user_invitation": ("", [(USERS, "create-link", "user")]),
    "user_token_deletion": ("", [NO_TOKEN]),
    "user_session_deletion": ("", [NO_SESSION]),
    "user_transfer": ("", [CHANGED, (PROJECT, "transfer", "asset")]),
    "ownership_invite_creation": ("", [(PROJECT, "transfer-invite", "asset")]),
    "ownership_invite_answer": ("", [(PROJECT, "transfer", "asset")]),
    "ownership_invite_deletion": ("", [(PROJECT, "transfer-cancel", "asset")]),
    "me_deletion": ("", [(USERS, "delete", "user")]),
    "user_deletion": ("", [(USERS, "admin-delete", "user")]),
    "team_creation": ("", [(USERS, "create", "team")]),
    "team_change": ("", [(USERS, "update", "team")]),
    "team_deletion": ("", [(USERS, "delete", "team")]),
    "member_addition": ("", [(USERS, "add-member", "team")]),
    "member_change": ("", [(USERS, "update-member", "team")]),
    "member_removal": ("", [(USERS, "remove-member", "team")]),
    "service_account_creation": ("", [(USERS, "create", "user")]),
    "service_account_change": ("", [(USERS, "disable", "user")]),
    "service_account_token_creation": ("", [NEW_TOKEN]),
    "service_account_token_deletion": ("", [NO_TOKEN]),
    "event_replacement": ("", [(EVENTS, "create", "event")]),
    "event_deletion": ("", [(EVENTS, "delete", "event")]),
    "token_reading": ("", [NEW_TOKEN]),
    "token_creation": ("", [NEW_TOKEN]),
    "token_deletion": ("", [NO_TOKEN] * 3),  # with those of the operations before
    "get_auth_token": ("", [(ACCESS, "auth", "user"), NEW_TOKEN]),
    "account_token_creation": ("", [NEW_TOKEN]),
    "account_token_deletion": ("", [NO_TOKEN]),
    "account_session_deletion": ("", [NO_SESSION]),
    "account_password_change": ("", [(USERS, "change-password", "user")]),
    "account_identity_deletion": ("", [(USERS, "unlink-login", "user")]),
    "login": ("", [(ACCESS, "auth", "user")]),
    "logout": ("", [NO_SESSION]),
    "invitation_use": ("", [(USERS, "use-link", "user")]),
    # Downloads write only to the log.
    "asset_workbook_xlsx": ("", [DOWNLOAD]),
    "asset_workbook_xls": ("", [DOWNLOAD]),
    "asset_xform_xml": ("", [DOWNLOAD]),
    "named_workbook_xlsx": ("", [DOWNLOAD]),
    "named_workbook_xls": ("", [DOWNLOAD]),
    "named_xform_xml": ("", [DOWNLOAD]),
    "asset_xform": ("", [DOWNLOAD]),
    "version_file": ("", [DOWNLOAD]),
    "assignment_table": ("", [DOWNLOAD]),
    "event_export": ("", [(EVENTS, "export", "event")]),
    # Lists of the log and of assignments, as files.
    "audit_log_list": ("", [(USERS, "export", "log")]),
    "access_log_list": ("", [(USERS, "export", "log")]),
    "own_access_log_list": ("", [(USERS, "export", "log")]),
    "project_history_list": ("", [(USERS, "export", "log")]),
    "asset_history": ("", [DOWNLOAD]),
    "assignment_review": ("", [(USERS, "export", "review")]),
}


async def _transfer(context: MatrixContext, caller: str) -> httpx.Response:
    source, target = await context.world.create_user(), await context.world.create_user()
    await context.world.create_asset(source)
    body = {"to": target.username}
    return await context.request(
        caller, "POST", f"/api/v2/users/{source.username}/transfer/", json=body
    )


async def _end_sessions_of_user(context: MatrixContext, caller: str) -> httpx.Response:
    user = await context.world.create_user()
    create_session(context.service, user.id)
    return await context.request(caller, "DELETE", f"/api/v2/users/{user.username}/sessions/")


async def _end_sessions(context: MatrixContext, caller: str) -> httpx.Response:
    create_session(context.service, context.callers[caller].id)
    return await context.request(caller, "DELETE", "/api/v2/account/sessions/")


async def _log_out(context: MatrixContext, caller: str) -> httpx.Response:
    session = create_session(context.service, context.callers[caller].id)
    headers = {"Cookie": f"{SESSION_COOKIE.decode()}={session}"}
    page = (await context.service.get("/account/", headers=headers)).text
    found = re.search(r'name="csrf_token" value="([^"]+)"', page)
    assert found is not None
    return await context.service.request(
        "POST", "/logout/", data={"csrf_token": found[1]}, headers=headers
    )


async def _use_link(context: MatrixContext, caller: str) -> httpx.Response:
    username, _ = await context.service.create_user()
    path = f"/api/v2/users/{username}/invitation/"
    link = (await context.request_with_password(caller, "POST", path)).json()["url"]
    body = {"password": "battery staple", "repeated": "battery staple"}
    return await context.service.request("POST", link, data=body)


def _download(path: str, file_format: str) -> Call:
    async def download(context: MatrixContext, caller: str) -> httpx.Response:
        uid = (await context.world.create_asset(context.owner)).uid
        as_page = await context.request(caller, "GET", path.format(uid=uid))
        assert not await logged(context, as_page), "as JSON it is no export"
        return await context.request(
            caller, "GET", path.format(uid=uid), params={"format": file_format}
        )

    return download


# Calls of the matrix that change nothing are replaced.
OTHER_CALLS = {
    "audit_log_list": _download("/api/v2/audit-logs/", "csv"),
    "access_log_list": _download("/api/v2/access-logs/", "ndjson"),
    "own_access_log_list": _download("/api/v2/access-logs/me/", "csv"),
    "project_history_list": _download("/api/v2/project-history-logs/", "ndjson"),
    "asset_history": _download("/api/v2/assets/{uid}/history/", "csv"),
    "assignment_review": _download("/api/v2/permission-assignments/", "xlsx"),
    "user_transfer": _transfer,
    "user_session_deletion": _end_sessions_of_user,
    "account_session_deletion": _end_sessions,
    "logout": _log_out,
    "invitation_use": _use_link,
}


# Other users than a superuser.
CALLERS = {
    "import_answer": "owner",
    "ownership_invite_creation": "owner",
    "ownership_invite_answer": "viewer",
    "ownership_invite_deletion": "owner",
}


@pytest.fixture
async def context(start: StartService, database_url: str) -> AsyncIterator[MatrixContext]:
    async with start(database_url=database_url) as service:
        context = MatrixContext(service)
        await context.set_up()
        yield context


async def logged(context: MatrixContext, answer: httpx.Response) -> Sequence[Row[Any]]:
    """The entries of one request. The next one is not counted in a row of the same minute."""
    query = select(log).where(log.c.request_id == answer.headers["x-request-id"]).order_by(log.c.id)
    with write_sql(context.service) as connection:
        connection.execute(log.update().values(minute_key=None))
        return connection.execute(query).all()


def test_every_operation_that_writes_has_a_row() -> None:
    writes = {
        each.name
        for each in operations()
        if each.writes or each.route.method not in ("GET", "HEAD")
    }
    assert writes <= ENTRIES.keys() <= CALLS.keys()


async def test_every_operation_that_writes_is_logged(context: MatrixContext) -> None:
    found = {}
    for name, (kind, _) in ENTRIES.items():
        calls = calls_of(name)
        call = OTHER_CALLS.get(name) or calls[kind or next(iter(calls))]
        kind_of_caller = CALLERS.get(name, "superuser")
        caller = context.callers[kind_of_caller]
        answer = await call(context, kind_of_caller)
        assert answer.status_code < 400, (name, answer.text)
        entries = await logged(context, answer)
        found[name] = [(row.log_type, row.action, row.model_name) for row in entries]
        for row in entries:
            assert row.ip_address == "127.0.0.1"
            assert row.source.startswith("python-httpx")
            assert row.made_at is not None
            is_another = name in ("invitation_use", "me_deletion")
            assert (row.username, row.user_id) == (caller.username, caller.id) or is_another
            assert row.credential in ("password", "session", "link") or row.credential.startswith(
                "fgt_"
            )
            assert PASSWORD not in str(row)
            assert not any(secret in str(row) for secret in SECRET.findall(answer.text))
    assert found == {name: entries for name, (_, entries) in ENTRIES.items()}
    headers = {**context.callers["superuser"].headers, "Accept": "text/html"}
    page = (await context.service.get("/api/v2/audit-logs/?limit=1000", headers=headers)).text
    assert page.count('<th scope="row">') > len(ENTRIES)
    assert "did this:" not in page, "every action has a sentence of its own"


async def test_head_of_a_download_is_none(context: MatrixContext) -> None:
    form = (await context.world.create_asset(context.owner)).path
    for path in (
        f"{form[:-1]}.xlsx",
        f"{form}xform/",
        f"{form}{SHARING}csv/",
        "/api/v2/event/export/",
    ):
        for method, count in (("HEAD", 0), ("GET", 1)):
            answer = await context.request("owner", method, path)
            assert answer.status_code == 200, path
            assert len(await logged(context, answer)) == count, (method, path)


async def test_change_of_content_name_and_settings(context: MatrixContext) -> None:
    """Each has an entry, without the content and the values of settings."""
    asset = (await context.request("owner", "POST", "/api/v2/assets/", json={"name": "Old"})).json()
    body = {"name": "New", "settings": {"description": "secret words"}}
    entries = await logged(
        context, await context.request("owner", "PATCH", asset["url"], json=body)
    )
    assert [(row.action, row.details) for row in entries] == [
        ("update-name", {"name": {"old": "Old", "new": "New"}}),
        ("update-settings", {"settings": ["description"]}),
    ]
    assert not await logged(
        context, await context.request("owner", "PATCH", asset["url"], json=body)
    )


async def test_change_of_tags(context: MatrixContext) -> None:
    asset = (
        await context.request("owner", "POST", "/api/v2/assets/", json={"tag_string": "a,b"})
    ).json()
    body = {"tag_string": "b,c"}
    entries = await logged(
        context, await context.request("owner", "PATCH", asset["url"], json=body)
    )
    assert [(row.action, row.details) for row in entries] == [
        ("update-tags", {"tags": {"added": ["c"], "removed": ["a"]}})
    ]
    assert not await logged(
        context, await context.request("owner", "PATCH", asset["url"], json=body)
    )


async def test_change_of_a_user(context: MatrixContext) -> None:
    """Rights have old and new values. New names of people are not in the log, which outlives the account."""
    username, _ = await context.service.create_user()
    body = {"first_name": "Zoë", "is_ifrc": True, "is_superuser": False}
    path = f"/api/v2/users/{username}/"
    [entry] = await logged(
        context, await context.request_with_password("superuser", "PATCH", path, json=body)
    )
    assert (entry.action, entry.subject_name, entry.object_name) == ("update", username, "")
    assert entry.object_uid == entry.subject_uid != ""
    assert entry.details == {
        "fields": ["first_name", "is_ifrc"],
        "is_ifrc": {"old": False, "new": True},
    }


async def test_failed_login_has_the_name_that_was_tried(context: MatrixContext) -> None:
    """Not that of nobody: it may be a password. Requests with wrong Basic credentials or tokens are not logins."""
    username = context.callers["viewer"].username
    for path, tried, kept in (
        ("/login/", "MyS3cret", ""),
        ("/get_auth_token", username.upper(), username),
    ):
        answer = await context.service.request(
            "POST", path, data={"username": tried, "password": "secret"}
        )
        assert answer.status_code in (400, 401)
        [entry] = await logged(context, answer)
        assert (entry.log_type, entry.action, entry.username) == (ACCESS, "auth-failed", kept)
        assert (entry.user_id, entry.user_uid, entry.credential) == (None, "", "password")
        assert "secret" not in str(entry)
    for headers in ({"Authorization": "Token x"}, {"Authorization": "Basic bm86bm8="}):
        answer = await context.service.request("GET", "/api/v2/account/", headers=headers)
        assert not await logged(context, answer)


async def test_downloads_of_a_minute_are_counted(
    context: MatrixContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = now()
    monkeypatch.setattr(
        "fieldgate.db.log.now", lambda: moment
    )  # no new minute begins during the test
    asset = context.shared_asset(PUBLIC)
    for caller in ("viewer", "viewer", "anonymous", "anonymous", "viewer"):
        assert (await context.request(caller, "GET", f"{asset.path}xform/")).status_code == 200
    with read_sql(context.service) as connection:
        query = (
            select(log)
            .where(log.c.object_uid == asset.uid, log.c.action == "export")
            .order_by(log.c.times)
        )
        anonymous, viewer = connection.execute(query).all()
    assert (anonymous.user_id, anonymous.username, anonymous.ip_address, anonymous.times) == (
        None,
        "",
        "127.0.0.1",
        2,
    )
    assert (viewer.username, viewer.times) == (context.callers["viewer"].username, 3)


async def test_log_that_cannot_be_written(start: StartService) -> None:
    """A download goes on. A change is not made."""
    async with start() as service:
        context = MatrixContext(service)
        await context.set_up()
        asset = context.shared_asset(PRIVATE)
        with write_sql(service) as connection:
            refuse = "CREATE TRIGGER refuse BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
            connection.execute(text(refuse))
        assert (await context.request("owner", "GET", f"{asset.path}xform/")).status_code == 200
        name = (await context.request("owner", "GET", asset.path)).json()["name"]
        assert (
            await context.request("owner", "PATCH", asset.path, json={"name": "Other"})
        ).status_code == 500
        assert (await context.request("owner", "GET", asset.path)).json()["name"] == name
