"""Client of another server with this API. It retries when the server is busy or unreachable.

async with RemoteServer("https://goadmin.ifrc.org", token) as remote:
    page = await remote.get_page("event/", Language.FRENCH, limit=500, offset=0)
"""

import asyncio
import random
from collections.abc import Awaitable, Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, TypeVar

import httpx
import msgspec

from fieldgate import __version__
from fieldgate.i18n.languages import Language

API_ROOT = "/api/v2/"
MAX_ATTEMPTS = 8
INITIAL_BACKOFF_SECONDS = 0.5  # before the second attempt, doubled for each further one
MAX_BACKOFF_SECONDS = 60
MAX_RETRY_AFTER_SECONDS = 10 * 60
TIMEOUT_SECONDS = 150  # the live system takes up to two minutes for large pages
MAX_CONCURRENT_REQUESTS = 8
RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
NOT_FOUND_STATUSES = (404, 410)
MAX_SOURCE_CHARS = 500  # stored with every event

Answer = TypeVar("Answer")


class RemoteError(Exception):
    """The remote server cannot be used. The text is shown to the user."""


class RemoteNotFound(RemoteError):
    """The remote server answered 404 or 410."""


class RemotePage(msgspec.Struct, frozen=True):
    count: int
    results: list[dict[str, Any]]
    unknown_parameters: tuple[str, ...]  # query parameters the server reported as ignored; only Fieldgate does
    timestamp: datetime  # of the server's clock


class RemoteServer:
    def __init__(self, base_url: str, token: str = "", transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.source = _source_name(base_url)
        self.has_token = bool(token)
        self.status = f"waiting for {self.source}"  # for a person who watches a long run
        headers = {"User-Agent": f"fieldgate/{__version__}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Token {token}"
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        try:
            self._client = httpx.AsyncClient(
                base_url=_without_api_root(base_url) + API_ROOT,
                headers=headers,
                timeout=TIMEOUT_SECONDS,
                follow_redirects=True,
                transport=transport,
            )
        except httpx.InvalidURL as error:
            raise RemoteError(f"{base_url} is not a valid URL: {error}.") from None

    async def __aenter__(self) -> "RemoteServer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def get_page(self, path: str, language: Language, **parameters: Any) -> RemotePage:
        """Fetch one page of a list."""
        response = await self._get(path, language, parameters)
        envelope = self._parse_object(response)
        count, results = envelope.get("count"), envelope.get("results")
        if not isinstance(count, int) or not isinstance(results, list):
            raise RemoteError(f"{response.url} did not return a list of this API.")
        ignored = response.headers.get("Fieldgate-Ignored", "")
        return RemotePage(
            count,
            [each for each in results if isinstance(each, dict)],
            tuple(name.strip() for name in ignored.split(",") if name.strip()),
            _parse_http_date(response.headers.get("Date", "")) or datetime.now(UTC),
        )

    async def get_record(self, path: str, language: Language) -> dict[str, Any]:
        """Fetch one record. Raises `RemoteNotFound` if it does not exist."""
        return self._parse_object(await self._get(path, language, {}))

    def _parse_object(self, response: httpx.Response) -> dict[str, Any]:
        try:
            decoded = msgspec.json.decode(response.content)
        except (ValueError, RecursionError):
            decoded = None
        if not isinstance(decoded, dict):
            raise RemoteError(f"{response.url} did not return JSON of this API.")
        return decoded

    async def _get(self, path: str, language: Language, parameters: dict[str, Any]) -> httpx.Response:
        """Send the request, and retry with growing delays while the server is busy or unreachable."""
        problem = ""
        for attempt in range(MAX_ATTEMPTS):
            retry_after = None
            try:
                async with self._semaphore:
                    response = await self._client.get(
                        path, params=parameters, headers={"Accept-Language": language.value}
                    )
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise RemoteError(f"{self.source} is not a valid URL: {error}") from None
            except httpx.TransportError as error:
                self.status = problem = f"{self.source} is unreachable: {error or type(error).__name__}"
            else:
                if response.status_code == httpx.codes.OK:
                    self.status = ""
                    return response
                self.status = problem = f"{response.url} answered {response.status_code}"
                if response.status_code in NOT_FOUND_STATUSES:
                    raise RemoteNotFound(f"{problem}.")
                if response.status_code not in RETRY_STATUSES:
                    raise RemoteError(f"{problem}: {response.text[:200]}")
                retry_after = _parse_retry_after(response.headers.get("Retry-After", ""))
            if attempt + 1 < MAX_ATTEMPTS:
                await asyncio.sleep(_retry_delay(attempt, retry_after))
        raise RemoteError(
            f"{problem}, {MAX_ATTEMPTS} times. Run the command again later: it continues where it stopped."
        )


async def gather_or_cancel(requests: Iterable[Awaitable[Answer]]) -> list[Answer]:
    """Wait for all requests. If one fails, the others are cancelled: none outlives the client."""
    tasks = [asyncio.ensure_future(request) for request in requests]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _without_api_root(base_url: str) -> str:
    return base_url.rstrip("/").removesuffix(API_ROOT.rstrip("/")).rstrip("/")


def _source_name(base_url: str) -> str:
    """The URL of the server as it is stored: without credentials, and equal for equal hosts."""
    text = _without_api_root(base_url)
    if len(text) > MAX_SOURCE_CHARS:
        raise RemoteError(f"The URL of the server must not be longer than {MAX_SOURCE_CHARS} characters.")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return text
    # httpx writes the host in lower case and leaves out default ports.
    return str(url.copy_with(username=None, password=None)).rstrip("/") if url.host else text


def _retry_delay(attempt: int, retry_after: float | None) -> float:
    if retry_after is not None:
        return min(retry_after, MAX_RETRY_AFTER_SECONDS)
    return min(INITIAL_BACKOFF_SECONDS * 2.0**attempt, MAX_BACKOFF_SECONDS) * random.uniform(0.5, 1)  # noqa: S311 -- jitter


def _parse_retry_after(text: str) -> float | None:
    """Seconds to wait: the header is a number of seconds or a date."""
    if text.strip().isdigit():
        return float(text)
    date = _parse_http_date(text)
    return None if date is None else max(0.0, (date - datetime.now(UTC)).total_seconds())


def _parse_http_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError):
        return None
