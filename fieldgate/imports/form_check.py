"""A dry run of an import: the same sandbox, limits and result, of which nothing is stored."""

import logging
from typing import Any

from fieldgate.assets.sharing.store import AssignmentStore
from fieldgate.db import new_uid
from fieldgate.errors import ServiceUnavailable
from fieldgate.i18n.languages import Language
from fieldgate.identity import User
from fieldgate.imports.leases import Job
from fieldgate.imports.messages import localize_messages
from fieldgate.imports.results import (
    SANDBOX_ERRORS,
    ResultWriter,
    failure_messages,
    fitting_excerpts,
)
from fieldgate.imports.sandbox import runner
from fieldgate.imports.sandbox.request_sandbox import (
    SERVER_BUSY,
    TIMEOUT_RETRY_SECONDS,
    RequestSandbox,
)
from fieldgate.imports.schemas import ImportPreview
from fieldgate.imports.upload import ImportOptions, NewImport
from fieldgate.imports.xlsform import Form, FormRejected, Library
from fieldgate.overload import run_in_thread

log = logging.getLogger(__name__)


class FormCheck:
    def __init__(
        self, sandbox: RequestSandbox, results: ResultWriter, sharing: AssignmentStore
    ) -> None:
        self._sandbox = sandbox
        self._results = results
        self._sharing = sharing

    async def check(self, user: User, new_import: NewImport, language: Language) -> ImportPreview:
        """Return how the import would end. A user has one check at a time in this process."""
        async with self._sandbox.slot(
            user.quota_id, is_long=True
        ):  # a small file can take long, too
            job = await self._make_job(user, new_import)
            try:
                parsed = await self._parse(job)
                messages, excerpts = await self._results.preview(job, parsed), parsed.excerpts
            except FormRejected as rejection:
                messages, excerpts = failure_messages(rejection), rejection.excerpts
        return ImportPreview(
            dry_run=True,
            status="error" if "error" in messages else "complete",
            messages=localize_messages(language, messages),
            sheets=fitting_excerpts(excerpts),
        )

    async def _make_job(self, user: User, new_import: NewImport) -> Job:
        """The job of a worker for the same file. It has no row."""
        destination = new_import.destination_uid
        options: dict[str, Any] = {
            name: getattr(new_import, name) for name in ImportOptions.__struct_fields__
        }
        return Job(
            **options,
            id=0,
            uid="",
            user_id=user.id,
            attempts=1,
            busy_tries=0,
            file_id=0,
            filename=new_import.filename,
            username=user.username,
            user_uid=user.uid,
            data=await run_in_thread(lambda: new_import.data),
            destination_name=None
            if destination is None
            else await self._sharing.get_asset_name(destination),
            lease="",
            new_asset_uid=new_uid("a"),
        )

    async def _parse(self, job: Job) -> Form | Library:
        try:
            return await self._sandbox.run(
                lambda limits, on_start: runner.parse_in_sandbox(
                    job.data, job.title, limits, job.asset_uid, on_start
                )
            )
        except runner.SandboxFailure as failure:
            level = (
                logging.ERROR if failure.reason is runner.FailureReason.FAULT else logging.WARNING
            )
            log.log(level, "a file could not be checked: %s %s", failure, failure.details)
            if failure.reason is runner.FailureReason.BUSY:
                raise ServiceUnavailable(SERVER_BUSY, TIMEOUT_RETRY_SECONDS) from None
            raise SANDBOX_ERRORS[failure.reason] from None
