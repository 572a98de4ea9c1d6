"""Another server with this interface: asked patiently, in any of the four languages.

async with Far("https://goadmin.ifrc.org", token) as far:
    page = await far.page("event/", Language.FRENCH, limit=500, offset=0)
"""

import asyncio
import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any

import httpx
import msgspec

from fieldgate import __version__
from fieldgate.i18n.languages import Language

API_ROOT = "/api/v2/"
MAX_ATTEMPTS = 8
INITIAL_BACKOFF_SECONDS = 0.5  # seconds before the second attempt; twice as long before each further one
MAX_BACKOFF_SECONDS = 60  # seconds
MAX_RETRY_AFTER_SECONDS = 600  # seconds of a Retry-After
TIMEOUT_SECONDS = 150  # seconds; the live system takes up to two minutes for large pages
MAX_CONCURRENT_REQUESTS = 8  # requests
RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504)


class RemoteError(Exception):
    """The other server cannot be used, in words for the person who asked."""


class RemoteNotFound(RemoteError):
    """There is nothing at an address."""


class RemotePage(msgspec.Struct, frozen=True):
    count: int
    results: list[dict[str, Any]]
    unknown_parameters: tuple[str, ...]  # parameters the server said it does not know; only ours say so
    timestamp: datetime  # by the server's clock


class RemoteServer:
    def __init__(self, base_url: str, token: str = "", transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.source = base_url.rstrip("/").removesuffix(API_ROOT.rstrip("/")).rstrip("/")
        self.has_token = bool(token)
        headers = {"User-Agent": f"fieldgate/{__version__}", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Token {token}"
        self._semaphore = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        try:
            self._client = httpx.AsyncClient(
                base_url=self.source + API_ROOT,
                headers=headers,
                timeout=TIMEOUT_SECONDS,
                follow_redirects=True,
                transport=transport,
            )
        except httpx.InvalidURL as error:
            raise RemoteError(f"{base_url} is no address: {error}.") from None

    async def __aenter__(self) -> "RemoteServer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def get_page(self, path: str, language: Language, **parameters: Any) -> RemotePage:
        """One page of a list."""
        response = await self._get(path, language, parameters)
        found = self._parse_object(response)
        count, results = found.get("count"), found.get("results")
        if not isinstance(count, int) or not isinstance(results, list):
            raise RemoteError(f"{response.url} is no list of this interface.")
        ignored = response.headers.get("Fieldgate-Ignored", "")
        return RemotePage(
            count,
            [each for each in results if isinstance(each, dict)],
            tuple(name.strip() for name in ignored.split(",") if name.strip()),
            _parse_http_date(response.headers.get("Date", "")) or datetime.now(UTC),
        )

    async def get_record(self, path: str, language: Language) -> dict[str, Any]:
        """One record; `Missing` where there is none."""
        return self._parse_object(await self._get(path, language, {}))

    def _parse_object(self, response: httpx.Response) -> dict[str, Any]:
        try:
            found = msgspec.json.decode(response.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RemoteError(f"{response.url} does not answer with JSON of this interface.")
        return found

    async def _get(self, path: str, language: Language, parameters: dict[str, Any]) -> httpx.Response:
        """Ask, and ask again where the server is busy or out of reach, waiting longer each time."""
        trouble = ""
        for attempt in range(MAX_ATTEMPTS):
            asked_to_wait = None
            try:
                async with self._semaphore:
                    response = await self._client.get(
                        path, params=parameters, headers={"Accept-Language": language.value}
                    )
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise RemoteError(f"{self.source} is no address: {error}") from None
            except httpx.TransportError as error:
                trouble = f"{self.source} cannot be reached: {error or type(error).__name__}"
            else:
                if response.status_code == httpx.codes.OK:
                    return response
                trouble = f"{response.url} answered {response.status_code}"
                if response.status_code == httpx.codes.NOT_FOUND:
                    raise RemoteNotFound(f"{trouble}.")
                if response.status_code not in RETRY_STATUSES:
                    raise RemoteError(f"{trouble}: {response.text[:200]}")
                asked_to_wait = _parse_retry_after(response.headers.get("Retry-After", ""))
            if attempt + 1 < MAX_ATTEMPTS:
                await asyncio.sleep(_retry_delay(attempt, asked_to_wait))
        raise RemoteError(f"{trouble}, {MAX_ATTEMPTS} times. Run the command again later: it goes on where it stopped.")


def _retry_delay(attempt: int, retry_after: float | None) -> float:
    if retry_after is not None:
        return min(retry_after, MAX_RETRY_AFTER_SECONDS)
    return min(INITIAL_BACKOFF_SECONDS * 2.0**attempt, MAX_BACKOFF_SECONDS) * random.uniform(0.5, 1)  # noqa: S311 -- to spread load


def _parse_retry_after(text: str) -> float | None:
    """Seconds to wait: they are told as a number, or as a moment."""
    if text.strip().isdigit():
        return float(text)
    moment = _parse_http_date(text)
    return None if moment is None else max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _parse_http_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError):
        return None
