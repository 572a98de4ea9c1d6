"""Check form content that a client sends, in the same sandbox and with the same limits as the file of an import."""

from functools import partial
from typing import Any

import msgspec

from fieldgate.assets.form_checker import CheckedContent, ContentToCheck
from fieldgate.assets.tables import FORM_TYPES, effective_type
from fieldgate.assets.write_schemas import FormIssue
from fieldgate.errors import PayloadTooLarge, Problem
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.identity import User
from fieldgate.imports.messages import localize_messages, serialize_issues, serialize_message
from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.request_sandbox import LARGE_BYTES, RequestSandbox, problem_of
from fieldgate.imports.upload import check_is_workbook
from fieldgate.imports.xlsform import EncodedContent, Form, FormRejected, Issue

TOO_SLOW = Message(
    "The form takes too long to check. Nothing was stored. Try again later; if it happens again, make the form smaller."
)
LIBRARY_NOT_REQUESTED = Message(
    "A library sheet cannot become a form. Send the file to POST /api/v2/imports/ with library=true."
)
REJECTIONS = {
    runner.FailureReason.MEMORY: FormRejected(
        "too_large",
        Message("The form takes too much memory to check. Make it smaller or split it."),
    ),
    runner.FailureReason.CRASH: FormRejected(
        "reader_crashed",
        Message("The form could not be checked. Undo your last changes and try again."),
    ),
}


class ContentRejected(Problem):
    """The content has problems: 400 with all of them."""

    status = 400

    def __init__(self, rejection: FormRejected) -> None:
        super().__init__(rejection.error)
        problems = rejection.problems or [Issue(rejection.error_type, rejection.error)]
        self._stored: dict[str, Any] = {
            "error": serialize_message(rejection.error),
            "problems": serialize_issues(problems),
        }
        if rejection.warnings:
            self._stored["warnings"] = serialize_issues(rejection.warnings)

    def body(self, language: Language) -> dict[str, object]:
        localized = localize_messages(language, self._stored)
        return {"content": [localized.pop("error")], **localized}


class SandboxContentChecker:
    """Implements `ContentChecker`."""

    def __init__(self, sandbox: RequestSandbox, max_bytes: int) -> None:
        self._sandbox = sandbox
        self._max_bytes = max_bytes

    async def check(self, user: User, content: ContentToCheck) -> CheckedContent:
        if len(content.data) > self._max_bytes:
            raise PayloadTooLarge(
                PluralMessage(
                    "The content is too large; at most {count} byte is allowed.",
                    "The content is too large; at most {count} bytes are allowed.",
                    self._max_bytes,
                )
            )
        if content.is_workbook:
            check_is_workbook(content.data, "file")
        try:
            async with self._sandbox.slot(user.quota_id, is_long=len(content.data) > LARGE_BYTES):
                form = await self._parse(content)
        except FormRejected as rejection:
            raise ContentRejected(rejection) from None
        except runner.SandboxFailure as failure:
            problem = problem_of(failure, "form content could not be checked", TOO_SLOW)
            raise problem or ContentRejected(REJECTIONS[failure.reason]) from None
        return CheckedContent(
            asset_type=effective_type(content.asset_type, form.row_count),
            title=form.title,
            content=form.content,
            summary=form.summary,
            xform=form.xform or None,
            warnings=serialize_issues(form.warnings) or None,
        )

    def localize_warnings(
        self, warnings: list[dict[str, Any]], language: Language
    ) -> list[FormIssue]:
        return msgspec.convert(
            localize_messages(language, {"warnings": warnings})["warnings"], list[FormIssue]
        )

    async def _parse(self, content: ContentToCheck) -> Form:
        if content.is_workbook:
            return await self._parse_workbook(content)
        is_library = content.asset_type not in FORM_TYPES
        encoded = EncodedContent(
            content.data, content.name, is_library, content.allows_empty, content.asset_uid
        )
        return await self._sandbox.run(partial(runner.parse_content_in_sandbox, encoded))

    async def _parse_workbook(self, content: ContentToCheck) -> Form:
        data, name, uid = content.data, content.name, content.asset_uid
        parsed = await self._sandbox.run(
            lambda limits, on_start: runner.parse_in_sandbox(data, name, limits, uid, on_start)
        )
        if not isinstance(parsed, Form):
            raise FormRejected("library_not_asked", LIBRARY_NOT_REQUESTED)
        return parsed
