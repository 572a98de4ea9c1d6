"""`/api/v2/imports/{uid}/annotated.xlsx`: the imported file with its problems marked, to correct it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from fieldgate.assets.workbook_downloads import MEDIA_TYPES, XLSX_SUFFIX
from fieldgate.errors import NotFound
from fieldgate.http.operations import Routes
from fieldgate.http.response.attachment import attachment, stream_file
from fieldgate.http.response.responses import Response
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.identity import Caller, Scope, User
from fieldgate.imports.messages import localize_messages
from fieldgate.imports.routes import TAG, import_not_found
from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.request_sandbox import RequestSandbox, problem_of
from fieldgate.imports.schemas import PATH
from fieldgate.imports.sheet_excerpts import IssueComment, IssueKind
from fieldgate.imports.store import ImportStore
from fieldgate.imports.upload import strip_extension
from fieldgate.imports.xlsform import FormRejected

TOO_SLOW = Message("The file takes too long to mark. Use the list of problems instead.")
CANNOT_BE_MARKED = Message(
    "The file cannot be marked: it is too large, or damaged. Use the list of problems instead."
)
MORE_ISSUES = "more"  # the code of the number of those that are not listed

routes = Routes(tag=TAG, scope=Scope.READ)


def issue_comments(messages: Mapping[str, Any], language: Language) -> list[IssueComment]:
    """The comments to write into the workbook, from messages that are translated to this language."""
    labelled: tuple[
        tuple[IssueKind, Callable[[str], Message], Iterable[Mapping[str, Any]]], ...
    ] = (
        (
            "problem",
            lambda text: Message("Problem: {message}", message=text),
            messages.get("problems", ()),
        ),
        (
            "warning",
            lambda text: Message("Warning: {message}", message=text),
            messages.get("warnings", ()),
        ),
    )
    return [
        IssueComment(
            kind,
            translate(label(issue["message"]), language),
            issue["sheet"],
            issue["row"],
            issue["column"],
        )
        for kind, label, issues in labelled
        for issue in issues
        if issue["code"] != MORE_ISSUES
    ]


NOTHING_TO_MARK = Message("This import has no problems or warnings to mark.")

MARKED = "-marked"  # at the end of the file name, so that people can tell it from their own file


@routes.raw(
    PATH + "{uid}/annotated.xlsx",
    title=Message("File with its problems marked"),
    description=Message(
        "A copy of the imported file as an Excel workbook. Each cell with a problem or a warning has a colour and a "
        "comment that says what to do. All cells are text."
    ),
    media_type=MEDIA_TYPES[XLSX_SUFFIX],
    schema={"type": "string", "format": "binary"},
)
async def import_annotated_workbook(
    uid: str, caller: Caller, language: Language, store: ImportStore, sandbox: RequestSandbox
) -> Response:
    row = None if caller.id is None else await store.get_for_user(caller.id, uid)
    if row is None or not isinstance(caller, User):
        raise import_not_found(uid)
    comments = issue_comments(
        localize_messages(language, msgspec.json.decode(row.messages)), language
    )
    if not comments:
        raise NotFound(NOTHING_TO_MARK)
    try:
        async with sandbox.slot(caller.quota_id):
            data = await store.get_file_for_user(
                caller.id, uid
            )  # as late as this, so that few are in memory
            if data is None:  # deleted meanwhile
                raise import_not_found(uid)
            marked = await sandbox.run(partial(runner.annotate_in_sandbox, data, comments))
    except FormRejected as rejection:
        raise NotFound(rejection.error) from None
    except runner.SandboxFailure as failure:
        problem = problem_of(failure, "a workbook could not be marked", TOO_SLOW)
        raise problem or NotFound(CANNOT_BE_MARKED) from None
    disposition = attachment(strip_extension(row.filename) + MARKED, XLSX_SUFFIX, fallback=uid)
    return stream_file(marked, MEDIA_TYPES[XLSX_SUFFIX], disposition)
