"""`/api/v2/account/export/`: all about the caller as one file."""

from fieldgate.accounts.routes import TAG
from fieldgate.accounts.schemas import ACCOUNT_PATH
from fieldgate.assets.routes.account_export import AccountExporter
from fieldgate.db import Database, now
from fieldgate.db.log import USERS, LogEntry, LogObject, count_in_log
from fieldgate.http.operations import Routes
from fieldgate.http.response.attachment import attachment, dated_name
from fieldgate.http.response.responses import API_CSP, NO_STORE, Response
from fieldgate.i18n.messages import Message
from fieldgate.identity import Scope, User

ZIP_MEDIA_TYPE = "application/zip"
routes = Routes(tag=TAG, scope=Scope.ACCOUNT)


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
async def account_export(user: User, exporter: AccountExporter, database: Database) -> Response:
    entry = LogEntry(log_type=USERS, action="export", object=LogObject("user", user.uid))
    await count_in_log(database, user, entry)
    name = dated_name(["fieldgate", user.username], now().date())
    headers = [(b"content-type", ZIP_MEDIA_TYPE.encode()), attachment(name, ".zip", "fieldgate"), API_CSP, NO_STORE]
    return Response(200, headers, stream=exporter.stream(user))
