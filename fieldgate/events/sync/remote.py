"""Another server with this API, for `events sync`: the client library with texts for the person who runs the command.

async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
    page = await remote.get_page("event/", Language.FRENCH, limit=500, offset=0)
"""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TypeVar

import fieldgate_client
import httpx
import msgspec
from fieldgate_client.connection import Connection, ConnectionOptions, HTTPResponse, RetryNotice
from fieldgate_client.errors import (
    ConnectionFailed,
    InvalidToken,
    NotFound,
    RequestFailed,
    UnexpectedResponse,
)
from fieldgate_client.pages import NotAList, parse_page
from fieldgate_client.retries import RETRY_STATUSES, RetryPolicy
from fieldgate_client.server_url import InvalidURL, without_credentials

from fieldgate import __version__
from fieldgate.i18n.languages import Language

RETRIES = RetryPolicy()
USER_AGENT = f"fieldgate/{__version__} fieldgate-client/{fieldgate_client.__version__}"
MAX_SOURCE_CHARS = 500  # stored with every event
MAX_MESSAGE_CHARS = 200
MAX_REASON_CHARS = 1_000  # with the URL
LATER = "Run the command again later: it continues where it stopped."

Answer = TypeVar("Answer")


class RemoteError(Exception):
    """The remote server cannot be used. The text is shown to the user."""


class RemoteNotFound(RemoteError):
    """The remote server answered 404 or 410."""


class RemotePage(msgspec.Struct, frozen=True):
    count: int
    results: list[dict[str, Any]]
    unknown_parameters: tuple[
        str, ...
    ]  # query parameters the server reported as ignored; only Fieldgate does
    timestamp: datetime  # of the server's clock


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
            self._connection = Connection(url, token, options)
        except InvalidURL as error:
            raise RemoteError(
                f"{without_credentials(base_url)} is not a valid URL: {error}"
            ) from None
        except InvalidToken as error:
            raise RemoteError(str(error)) from None
        self.source = (
            self._connection.server
        )  # as it is stored: without credentials, and equal for equal hosts
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
        await self._connection.close()

    async def get_page(self, path: str, language: Language, **parameters: Any) -> RemotePage:
        """Fetch one page of a list."""
        offset, limit = int(parameters.get("offset", 0)), int(parameters.get("limit", 0))

        def parse(response: HTTPResponse) -> RemotePage:
            try:
                page = parse_page(response.body, response.headers, offset, limit)
            except NotAList:
                page = None
            if page is None or page.count is None:
                raise RemoteError(f"{response.url} did not return a list of this API.")
            results = [msgspec.json.decode(record) for record in page.records]
            return RemotePage(
                page.count,
                [each for each in results if isinstance(each, dict)],
                page.ignored_parameters,
                page.timestamp or datetime.now(UTC),
            )

        return await self._fetch(path, language, parameters, parse)

    async def get_record(self, path: str, language: Language) -> dict[str, Any]:
        """Fetch one record. Raises `RemoteNotFound` if it does not exist."""
        return await self._fetch(path, language, {}, _parse_record)

    async def _fetch(
        self,
        path: str,
        language: Language,
        parameters: Mapping[str, Any],
        parse: Callable[[HTTPResponse], Answer],
    ) -> Answer:
        query = {name: str(value) for name, value in parameters.items()}
        try:
            answer = await self._connection.fetch(path, query, parse, language=language.value)
        except NotFound as error:
            raise RemoteNotFound(f"{error.url} answered {error.status}.") from None
        except RequestFailed as error:
            problem = f"{error.url} answered {error.status}"
            if error.status in RETRY_STATUSES:
                raise RemoteError(f"{problem}, {RETRIES.attempts} times. {LATER}") from None
            raise RemoteError(f"{problem}: {error.message[:MAX_MESSAGE_CHARS]}") from None
        except UnexpectedResponse as error:
            raise RemoteError(error.message[:MAX_REASON_CHARS]) from None
        except ConnectionFailed as error:
            raise RemoteError(
                f"{error.message}. {LATER}" if error.attempts else error.message
            ) from None
        self.status = ""
        return answer

    def _show_problem(self, notice: RetryNotice) -> None:
        self.status = notice.reason


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


def _parse_record(response: HTTPResponse) -> dict[str, Any]:
    try:
        return msgspec.json.decode(response.body, type=dict[str, Any])
    except RecursionError as error:
        raise ValueError(str(error)) from None
