"""The log for superusers, with the paths of KoboToolbox, and everybody's own logins.

Nobody can change or delete entries: there are no other methods.
"""

from fieldgate.accounts.admin_routes import require_superuser
from fieldgate.accounts.log_records import (
    FORMATS,
    AccessLogRecord,
    AuditLogRecord,
    HistoryLogRecord,
    LogQuery,
    encode_list,
    history_fields,
)
from fieldgate.accounts.log_store import LogStore
from fieldgate.db.log import ACCESS, LOG_TYPES, PROJECT, LogObject, log
from fieldgate.http.operations import Routes
from fieldgate.http.request_parsing import ParsedRequest
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User
from fieldgate.pagination import ListResult, PageRequest

AUDIT_PATH = "/api/v2/audit-logs/"
ACCESS_PATH = "/api/v2/access-logs/"
OWN_ACCESS_PATH = f"{ACCESS_PATH}me/"
PROJECTS_PATH = "/api/v2/project-history-logs/"
routes = Routes(tag="Log", scope=Scope.ADMIN, formats=FORMATS, no_store=True, is_costly=True)


@routes.get_list(
    AUDIT_PATH,
    response=AuditLogRecord,
    title=Message("Log"),
    description=Message("Who did what, newest first: all entries of the log. Only for superusers."),
    error_statuses=(403,),
)
async def audit_log_list(
    page: PageRequest, user: User, query: LogQuery, request: ParsedRequest, store: LogStore
) -> ListResult[AuditLogRecord]:
    require_superuser(user)
    count, rows = await store.page(page, query.q, LOG_TYPES)
    records = [
        AuditLogRecord(**history_fields(row), model_name=row.model_name, log_type=row.log_type)
        for row in rows
    ]
    return await encode_list(count, records, request, user, store, LogObject("log", request.path))


@routes.get_list(
    ACCESS_PATH,
    response=AccessLogRecord,
    title=Message("Logins"),
    description=Message(
        "Logins and failed logins of all users, newest first. Only for superusers."
    ),
    error_statuses=(403,),
)
async def access_log_list(
    page: PageRequest, user: User, query: LogQuery, request: ParsedRequest, store: LogStore
) -> ListResult[AccessLogRecord]:
    require_superuser(user)
    count, rows = await store.page(page, query.q, [ACCESS])
    records = [AccessLogRecord(**history_fields(row), count=row.times) for row in rows]
    return await encode_list(count, records, request, user, store, LogObject("log", request.path))


@routes.get_list(
    OWN_ACCESS_PATH,
    scope=Scope.ACCOUNT,
    response=AccessLogRecord,
    title=Message("My logins"),
    description=Message("The caller's own logins, newest first."),
)
async def own_access_log_list(
    page: PageRequest, user: User, query: LogQuery, request: ParsedRequest, store: LogStore
) -> ListResult[AccessLogRecord]:
    count, rows = await store.page(page, query.q, [ACCESS], log.c.user_id == user.id)
    records = [AccessLogRecord(**history_fields(row), count=row.times) for row in rows]
    return await encode_list(count, records, request, user, store, LogObject("log", request.path))


@routes.get_list(
    PROJECTS_PATH,
    response=HistoryLogRecord,
    title=Message("Changes of forms"),
    description=Message(
        "The history of all forms, newest first, also of those that were deleted. Only for superusers."
    ),
    error_statuses=(403,),
)
async def project_history_list(
    page: PageRequest, user: User, query: LogQuery, request: ParsedRequest, store: LogStore
) -> ListResult[HistoryLogRecord]:
    require_superuser(user)
    count, rows = await store.page(page, query.q, [PROJECT])
    records = [HistoryLogRecord(**history_fields(row)) for row in rows]
    return await encode_list(count, records, request, user, store, LogObject("log", request.path))
