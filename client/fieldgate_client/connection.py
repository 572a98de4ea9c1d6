"""HTTP to one server: credentials, retries, rate limits, and a bound on requests at the same time.

connection = Connection("https://field.example", token)
response = await connection.get("/api/v2/event/", {"limit": "1"})

httpx and asyncio are loaded where they are used first, so that importing this package is fast.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from fieldgate_client import __version__
from fieldgate_client.errors import ConnectionFailed, UnexpectedResponse, request_failed
from fieldgate_client.retries import RETRY_STATUSES, RetryPolicy, parse_rate_limit, parse_retry_after
from fieldgate_client.server_url import is_loopback, parse_server_url, resolve_path

if TYPE_CHECKING:
    from types import TracebackType

    import httpx

TIMEOUT_SECONDS = 150  # IFRC GO takes up to two minutes for a large page
CONNECT_TIMEOUT_SECONDS = 20
MAX_CONCURRENT_REQUESTS = 8
MAX_DAMAGED_ATTEMPTS = 4  # a body that cannot be read is damaged on the way, or no JSON at all
MAX_REMEMBERED_IDS = 64
REQUEST_ID = "x-request-id"
DATA_VERSION = "fieldgate-data-version"  # Fieldgate sends it with every list

Parameters = Sequence[tuple[str, str]] | Mapping[str, str]
Parsed = TypeVar("Parsed")


class HTTPResponse(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]  # names in lower case
    body: bytes
    url: str

    @property
    def request_id(self) -> str:
        return self.headers.get(REQUEST_ID, "")


class RetryNotice(msgspec.Struct, frozen=True):
    """Why a request is tried again, and when: for a person who watches a long run."""

    reason: str
    attempt: int
    pause: float  # seconds


class ConnectionOptions(msgspec.Struct, frozen=True):
    timeout: float = TIMEOUT_SECONDS
    max_concurrent: int = MAX_CONCURRENT_REQUESTS
    retries: RetryPolicy = RetryPolicy()
    compression: bool | None = None  # None: unless the server is on this machine
    verify: Any = True  # as in httpx: False, or an ssl.SSLContext
    transport: Any = None  # an httpx.AsyncBaseTransport
    on_retry: Callable[[RetryNotice], None] | None = None


class Connection:
    def __init__(self, url: str, token: str = "", options: ConnectionOptions | None = None) -> None:
        import asyncio

        self.server = parse_server_url(url)
        self.has_token = bool(token)
        self._token = token
        self._options = options or ConnectionOptions()
        self._client: httpx.AsyncClient | None = None
        self._semaphore = asyncio.Semaphore(self._options.max_concurrent)
        self._is_fieldgate: bool | None = None
        self._sent_ids: deque[str] = deque(maxlen=MAX_REMEMBERED_IDS)
        self._not_before = 0.0  # loop time before which the server wants no request

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def get(self, path: str, parameters: Parameters = (), *, language: str = "") -> HTTPResponse:
        return await self.fetch(path, parameters, lambda response: response, language=language)

    async def fetch(
        self, path: str, parameters: Parameters, parse: Callable[[HTTPResponse], Parsed], *, language: str = ""
    ) -> Parsed:
        """GET, and parse the response. If `parse` raises ValueError, the response was damaged on the way."""
        headers = {"Accept": "application/json", **_language_header(language)}
        return await self._send("GET", self._url(path, parameters), headers, parse=parse)

    async def is_fieldgate(self) -> bool:
        """Whether the server is Fieldgate, which recognises repeated imports and can try changes without doing them."""
        if self._is_fieldgate is None:
            response = await self.get("permissions/", {"limit": "1"})
            self._is_fieldgate = DATA_VERSION in response.headers
        return self._is_fieldgate

    async def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters = (),
        json: Any = None,
        language: str = "",
    ) -> HTTPResponse:
        """Send a write once: it is not repeated, as the server may have done it."""
        headers = {"Accept": "application/json", **_language_header(language)}
        content = None
        if json is not None:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode(json)
        url = self._url(path, parameters)
        return await self._send(method, url, headers, content=content, parse=_same, is_repeatable=False)

    async def upload(
        self, path: str, body: Callable[[], Any], headers: Mapping[str, str], *, is_repeatable: bool
    ) -> HTTPResponse:
        """POST a body, which is made anew for each attempt. Repeat only what the server recognises as the same."""
        return await self._send(
            "POST",
            self._url(path, ()),
            {"Accept": "application/json", **headers},
            make_content=body,
            parse=_same,
            is_repeatable=is_repeatable,
        )

    def _url(self, path: str, parameters: Parameters) -> str:
        pairs = parameters.items() if isinstance(parameters, Mapping) else parameters
        query = urlencode([*pairs], quote_via=quote, safe=",:")
        url = self.server + quote(resolve_path(path, self.server), safe="/%:@!$&'()*+,;=~")
        return f"{url}?{query}" if query else url

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        parse: Callable[[HTTPResponse], Parsed],
        content: bytes | None = None,
        make_content: Callable[[], Any] | None = None,
        is_repeatable: bool = True,
    ) -> Parsed:
        """Send a request, and retry with growing pauses while the server is busy or unreachable."""
        import asyncio

        import httpx

        attempts = self._options.retries.attempts if is_repeatable else 1
        damaged = 0
        for attempt in range(attempts):
            retry_after = None
            is_last = attempt + 1 == attempts
            try:
                request_id = uuid.uuid4().hex
                identified = {REQUEST_ID: request_id, **headers}
                response = await self._send_once(method, url, identified, make_content() if make_content else content)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.TooManyRedirects) as error:
                raise ConnectionFailed(f"{url} cannot be requested: {error}", url=url) from None
            except httpx.RequestError as error:  # includes bodies that cannot be decompressed
                problem = f"{self.server} is unreachable: {str(error) or type(error).__name__}"
                if is_last:
                    raise ConnectionFailed(_after(problem, attempts), url=url) from None
            else:
                if 200 <= response.status < 300:
                    try:
                        self._check_request_id(response, request_id)
                        return parse(response)
                    except ValueError as error:
                        damaged += 1
                        problem = f"{url} did not answer JSON of this API: {error}"
                        if is_last or damaged == MAX_DAMAGED_ATTEMPTS or not _is_json(response):
                            raise UnexpectedResponse(
                                problem, status=response.status, request_id=response.request_id, url=url
                            ) from None
                else:
                    problem = f"{url} answered {response.status}"
                    if is_last or response.status not in RETRY_STATUSES:
                        raise request_failed(response.status, response.body, response.headers, url)
                    retry_after = parse_retry_after(response.headers.get("retry-after", ""))
            pause = self._options.retries.pause(attempt, retry_after)
            if self._options.on_retry:
                self._options.on_retry(RetryNotice(problem, attempt + 1, pause))
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _send_once(self, method: str, url: str, headers: Mapping[str, str], content: Any) -> HTTPResponse:
        import asyncio

        loop = asyncio.get_running_loop()
        client = self._client or self._open()
        async with self._semaphore:
            while (wait := self._not_before - loop.time()) > 0:  # noqa: ASYNC110 -- other requests move it
                await asyncio.sleep(wait)
            response = await client.request(method, url, headers=headers, content=content)
        answered = HTTPResponse(response.status_code, _lower(response.headers), response.content, url)
        wait_until_reset = parse_rate_limit(answered.headers)
        if wait_until_reset is not None:
            self._not_before = max(self._not_before, loop.time() + wait_until_reset)
        return answered

    def _check_request_id(self, response: HTTPResponse, request_id: str) -> None:
        """Refuse the answer to another request of this client, which a faulty proxy can deliver."""
        if response.request_id != request_id and response.request_id in self._sent_ids:
            raise ValueError("it is the answer to another request")
        self._sent_ids.append(request_id)

    def _open(self) -> httpx.AsyncClient:
        import httpx

        from fieldgate_client.certificates import LazyCertificates

        options = self._options
        headers = {"User-Agent": f"fieldgate-client/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Token {self._token}"
        if not (options.compression if options.compression is not None else not is_loopback(self.server)):
            headers["Accept-Encoding"] = "identity"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(options.timeout, connect=min(options.timeout, CONNECT_TIMEOUT_SECONDS)),
            limits=httpx.Limits(
                max_connections=options.max_concurrent, max_keepalive_connections=options.max_concurrent
            ),
            follow_redirects=True,
            verify=LazyCertificates() if options.verify is True else options.verify,
            transport=options.transport,
        )
        return self._client


def _same(response: HTTPResponse) -> HTTPResponse:
    return response


def _language_header(language: str) -> dict[str, str]:
    return {"Accept-Language": language} if language else {}


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _is_json(response: HTTPResponse) -> bool:
    return "json" in response.headers.get("content-type", "json")


def _after(problem: str, attempts: int) -> str:
    return f"{problem} ({attempts} attempts)" if attempts > 1 else problem
