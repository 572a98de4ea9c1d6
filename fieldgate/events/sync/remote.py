"""The server that events are pulled from: lists and records of the client library.

    async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
        countries = remote.list_of("country/", Language.FRENCH)

Errors are those of the client library. `problem_text` has a text for the person who runs the command.
"""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Iterable
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

import fieldgate_client
import httpx
from fieldgate_client.connection import Connection, ConnectionOptions, RetryNotice
from fieldgate_client.errors import ConnectionFailed, FieldgateError, InvalidToken, RequestFailed
from fieldgate_client.list_query import ListQuery
from fieldgate_client.retries import RETRY_STATUSES, RetryPolicy
from fieldgate_client.server_url import InvalidURL, without_credentials
from fieldgate_client.walk import WalkOptions

from fieldgate import __version__
from fieldgate.events.model import MAX_ID
from fieldgate.i18n.languages import Language

RETRIES = RetryPolicy()
PAGE_SIZE = 500  # records
USER_AGENT = f"fieldgate/{__version__} fieldgate-client/{fieldgate_client.__version__}"
MAX_SOURCE_CHARS = 500  # stored with every event
MAX_MESSAGE_CHARS = 200
MAX_REASON_CHARS = 1_000  # with the URL
LATER = "Run the command again later: it continues where it stopped."

Record = dict[str, Any]
Answer = TypeVar("Answer")


class RemoteError(Exception):
    """The remote server cannot be used. The text is shown to the user."""


class RemoteServer:
    def __init__(
        self, base_url: str, token: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        url, authorization = _split_credentials(base_url)
        options = ConnectionOptions(
            retries=RETRIES,
            headers={"User-Agent": USER_AGENT, **authorization},
            transport=transport,
            on_retry=self._show_problem,
        )
        try:
            self.connection = Connection(url, token, options)
        except InvalidURL as error:
            text = f"{without_credentials(base_url)} is not a valid URL: {error}"
            raise RemoteError(text) from None
        except InvalidToken as error:
            raise RemoteError(str(error)) from None
        # As it is stored: without credentials, and equal for equal hosts.
        self.source = self.connection.server
        self.has_token = bool(token)
        self.status = f"waiting for {self.source}"  # for a person who watches a long run

    async def __aenter__(self) -> "RemoteServer":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.connection.close()

    def list_of(
        self,
        path: str,
        language: Language = Language.ENGLISH,
        parameters: tuple[tuple[str, str], ...] = (),
        since: datetime | None = None,
    ) -> ListQuery[Record]:
        return ListQuery(
            self.connection,
            path,
            parameters,
            language=language.value,
            options=WalkOptions(PAGE_SIZE, concurrency=1),
            since=since,
        )

    async def fetch_record(self, path: str, language: Language) -> Record:
        """Fetch one record. Raises `NotFound` if it does not exist."""
        record: Record = await self.connection.fetch(
            path, (), lambda response: response.decode(Record), language=language.value
        )
        self.status = ""
        return record

    def _show_problem(self, notice: RetryNotice) -> None:
        self.status = notice.reason


def problem_text(error: FieldgateError) -> str:
    """What happened, for the person who runs the command."""
    if isinstance(error, RequestFailed):
        problem = f"{error.url} answered {error.status}"
        if error.status in RETRY_STATUSES:
            return f"{problem}, {RETRIES.attempts} times. {LATER}"
        return f"{problem}: {error.message[:MAX_MESSAGE_CHARS]}"
    if isinstance(error, ConnectionFailed):
        return f"{error.message}. {LATER}" if error.attempts else error.message
    return error.message[:MAX_REASON_CHARS]


def valid_id(record: Any) -> int | None:
    """The id of a record, if it is one that can be stored. The server may send anything."""
    id_ = record.get("id") if isinstance(record, dict) else None
    return id_ if type(id_) is int and 0 <= id_ <= MAX_ID else None  # not a bool


async def gather_or_cancel(requests: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """Wait for all requests. If one fails, the others are cancelled: none outlives the client."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _split_credentials(base_url: str) -> tuple[str, dict[str, str]]:
    """The URL without user name and password, and the header that has them."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise RemoteError(f"{without_credentials(base_url)} is not a valid URL: {error}.") from None
    text = str(url.copy_with(username=None, password=None)) if url.host else base_url
    if max(len(base_url), len(text)) > MAX_SOURCE_CHARS:
        raise RemoteError(
            f"The URL of the server must not be longer than {MAX_SOURCE_CHARS} characters."
        )
    if not url.userinfo:
        return text, {}
    credentials = b64encode(f"{url.username}:{url.password}".encode()).decode()
    return text, {"Authorization": f"Basic {credentials}"}
