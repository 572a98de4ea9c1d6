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
from msgspec import ValidationError

from fieldgate_client import __version__
from fieldgate_client.errors import ConnectionFailed, InvalidToken, NotFound, UnexpectedResponse, request_failed
from fieldgate_client.response_body import GZIP, ByteProgress, read_body
from fieldgate_client.retries import RETRY_STATUSES, RetryPolicy, parse_rate_limit, parse_retry_after
from fieldgate_client.server_url import is_loopback, parse_server_url, resolve_address

if TYPE_CHECKING:
    import asyncio
    from http.cookiejar import CookieJar
    from types import TracebackType

    import httpx

TIMEOUT_SECONDS = 150  # IFRC GO takes up to two minutes for a large page
CONNECT_TIMEOUT_SECONDS = 20
MAX_CONCURRENT_REQUESTS = 8
MAX_DAMAGED_ATTEMPTS = 6  # a body that cannot be read is damaged on the way, or no JSON at all
MAX_WRONG_ATTEMPTS = 2  # JSON, but not of this kind: a truncated body is no JSON
MAX_REMEMBERED_IDS = 1000
MAX_REDIRECTS = 5
NOTICED_PAUSE_SECONDS = 0.5
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
    attempt: int  # that failed; 0 if the server asked to wait before the first
    pause: float  # seconds


class ConnectionOptions(msgspec.Struct, frozen=True):
    timeout: float = TIMEOUT_SECONDS
    max_concurrent: int = MAX_CONCURRENT_REQUESTS
    retries: RetryPolicy = RetryPolicy()
    compression: bool | None = None  # None: unless the server is on this machine
    headers: dict[str, str] = {}  # of every request; Authorization here is sent instead of the token
    verify: Any = True  # as in httpx: False, or an ssl.SSLContext
    transport: Any = None  # an httpx.AsyncBaseTransport
    on_retry: Callable[[RetryNotice], None] | None = None


class Connection:
    def __init__(self, url: str, token: str = "", options: ConnectionOptions | None = None) -> None:
        self.server = parse_server_url(url)
        self.has_token = bool(token)
        self._token = _checked_token(token)
        self._options = options or ConnectionOptions()
        self._client: httpx.AsyncClient | None = None
        self._semaphore: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of client and semaphore
        self._former_client: httpx.AsyncClient | None = None
        self._is_fieldgate: bool | None = None
        self._sent_ids: deque[str] = deque(maxlen=MAX_REMEMBERED_IDS)
        # By the ids of answers: URL and hash of the body. None for an id that different answers have.
        self._answers: dict[str, tuple[str, int] | None] = {}
        self._has_answered = False  # with a body that could be parsed
        self._not_before = 0.0  # loop time before which the server wants no request

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        import asyncio

        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def get(self, path: str, parameters: Parameters = (), *, language: str = "") -> HTTPResponse:
        return await self.fetch(path, parameters, lambda response: response, language=language)

    async def fetch(
        self, path: str, parameters: Parameters, parse: Callable[[HTTPResponse], Parsed], *, language: str = ""
    ) -> Parsed:
        """GET, and parse the response. If `parse` raises ValueError, the response was damaged on the way.

        If it raises `msgspec.ValidationError`, the response is something else than was expected.
        """
        headers = {"Accept": "application/json", **_language_header(language)}
        return await self._send("GET", self._url(path, parameters), headers, parse=parse)

    async def is_fieldgate(self) -> bool:
        """Whether the server is Fieldgate, which recognises repeated imports and can try changes without doing them."""
        if self._is_fieldgate is None:
            try:
                response = await self.get("permissions/", {"limit": "1"})
            except NotFound:  # IFRC GO has no permissions
                self._is_fieldgate = False
            else:
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
        is_repeatable: bool = False,
    ) -> HTTPResponse:
        """Send a write once: it is not repeated, as the server may have done it, unless doing it twice is the same."""
        headers = {"Accept": "application/json", **_language_header(language)}
        content = None
        if json is not None:
            headers["Content-Type"] = "application/json"
            content = msgspec.json.encode(json)
        url = self._url(path, parameters)
        return await self._send(method, url, headers, content=content, parse=_same, is_repeatable=is_repeatable)

    async def upload(
        self,
        path: str,
        body: Callable[[], Any],
        headers: Mapping[str, str],
        parse: Callable[[HTTPResponse], Parsed],
        *,
        is_repeatable: bool,
    ) -> Parsed:
        """POST a body, which is made again for each attempt. Repeat only what the server recognises as the same."""
        headers = {"Accept": "application/json", **headers}
        return await self._send(
            "POST", self._url(path, ()), headers, content=body, parse=parse, is_repeatable=is_repeatable
        )

    async def download(self, path: str, *, on_progress: ByteProgress | None = None) -> HTTPResponse:
        """GET a file into memory."""
        return await self._send("GET", self._url(path, ()), {"Accept": "*/*"}, parse=_same, on_progress=on_progress)

    def _url(self, path: str, parameters: Parameters) -> str:
        pairs = parameters.items() if isinstance(parameters, Mapping) else parameters
        address = resolve_address(path, self.server)
        query = urlencode([*address.query, *pairs], quote_via=quote, safe=",:")
        url = self.server + quote(address.path, safe="/%:@!$&'()*+,;=~")
        return f"{url}?{query}" if query else url

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        parse: Callable[[HTTPResponse], Parsed],
        content: bytes | Callable[[], Any] | None = None,
        is_repeatable: bool = True,
        on_progress: ByteProgress | None = None,
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
                self._sent_ids.append(request_id)
                identified = {REQUEST_ID: request_id, **headers}
                sent = content() if callable(content) else content
                response = await self._send_once(method, url, identified, sent, on_progress)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError) as error:
                raise ConnectionFailed(f"{url} cannot be requested: {error}", url=url) from None
            except httpx.RequestError as error:  # includes bodies that cannot be decompressed
                problem = f"{self.server} is unreachable: {str(error) or type(error).__name__}"
                if is_last:
                    if method != "GET" and not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                        problem += ". It is not known whether the server received the request"
                    raise ConnectionFailed(_after(problem, attempts), url=url, attempts=attempts) from None
            else:
                if 200 <= response.status < 300:
                    try:
                        self._check_request_id(response, request_id)
                        parsed = parse(response)
                        self._has_answered = True
                        return parsed
                    except (ValueError, RecursionError) as error:
                        damaged += 1
                        problem = f"{url} did not answer JSON of this API: {error}"
                        # A page of HTML is the answer of a wrong address, or of a proxy that failed for a moment.
                        is_hopeless = not _is_json(response) and not self._has_answered
                        most = MAX_WRONG_ATTEMPTS if isinstance(error, ValidationError) else MAX_DAMAGED_ATTEMPTS
                        if is_last or damaged == most or is_hopeless:
                            raise UnexpectedResponse(
                                problem, status=response.status, request_id=response.request_id, url=url
                            ) from None
                else:
                    problem = f"{url} answered {response.status}"
                    if is_last or response.status not in RETRY_STATUSES:
                        raise request_failed(response.status, self._hide_token(response.body), response.headers, url)
                    retry_after = parse_retry_after(response.headers.get("retry-after", ""))
            pause = self._options.retries.pause(attempt, retry_after)
            self._note_pause(RetryNotice(problem, attempt + 1, pause))
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _send_once(
        self, method: str, url: str, headers: Mapping[str, str], content: Any, on_progress: ByteProgress | None
    ) -> HTTPResponse:
        import asyncio

        loop = asyncio.get_running_loop()
        client, semaphore = self._opened(loop)
        async with semaphore:
            while (wait := self._not_before - loop.time()) > 0:  # other requests move it
                if wait >= NOTICED_PAUSE_SECONDS:
                    self._note_pause(RetryNotice(f"{self.server} allows no request yet (RateLimit)", 0, wait))
                await asyncio.sleep(wait)
            request = client.build_request(method, url, headers=headers, content=content)
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._send_head(client, request)
                try:
                    if response.next_request is None:
                        body = await read_body(response, self._options.timeout, on_progress)
                        break
                    _check_redirect(request, response.next_request)
                    request = response.next_request
                finally:
                    await response.aclose()
            else:
                raise ConnectionFailed(f"{url} redirects more than {MAX_REDIRECTS} times.", url=url)
        answered = HTTPResponse(response.status_code, _lower(response.headers), body, url)
        wait_until_reset = parse_rate_limit(answered.headers)
        if wait_until_reset is not None:
            self._not_before = max(self._not_before, loop.time() + wait_until_reset)
        return answered

    def _hide_token(self, body: bytes) -> bytes:
        """Messages end up in logs, and a server could repeat the token."""
        return body.replace(self._token.encode(), b"[hidden]") if self._token else body

    def _note_pause(self, notice: RetryNotice) -> None:
        """Tell the caller, or whoever reads the log: by default, warnings are printed to standard error."""
        if self._options.on_retry:
            self._options.on_retry(notice)
        else:
            import logging

            reason = notice.reason.rstrip(".")
            logging.getLogger("fieldgate_client").warning("%s. Trying again in %.1f s.", reason, notice.pause)

    async def _send_head(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send the request and wait for the head of the response: also one that a server announces for ever."""
        import anyio
        import httpx

        # Sending a body can take long. (`asyncio.wait_for` of Python 3.10 and 3.11 can lose a cancellation.)
        most = self._options.timeout + CONNECT_TIMEOUT_SECONDS if request.method == "GET" else None
        try:
            with anyio.fail_after(most):
                return await client.send(request, stream=True)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time", request=request) from None

    def _check_request_id(self, response: HTTPResponse, request_id: str) -> None:
        """Refuse the answer to another request of this client, which a faulty proxy can deliver.

        Some servers send the id of the request back, others one of their own for each answer. Some proxies set the same
        id everywhere, which says nothing then.
        """
        answer_id, answers = response.request_id, self._answers
        found = (response.url, hash(response.body))
        known = answers.get(answer_id, found)
        if not answer_id or known is None:
            return
        is_other_url = known[0] != response.url
        is_repeated = is_other_url and known[1] == found[1]
        if is_repeated or (answer_id != request_id and answer_id in self._sent_ids):
            raise ValueError("it is the answer to another request")
        answers[answer_id] = None if is_other_url else found
        if len(answers) > MAX_REMEMBERED_IDS:
            del answers[next(iter(answers))]

    def _opened(self, loop: asyncio.AbstractEventLoop) -> tuple[httpx.AsyncClient, asyncio.Semaphore]:
        """Client and semaphore of this event loop. Those of another one, as of a parent process, cannot be used."""
        import asyncio

        if self._loop is not loop or self._semaphore is None:
            self._former_client, self._client = self._client, None  # kept: its sockets may be those of the parent
            self._loop, self._semaphore, self._not_before = loop, asyncio.Semaphore(self._options.max_concurrent), 0.0
        return self._client or self._open(), self._semaphore

    def _open(self) -> httpx.AsyncClient:
        import httpx

        from fieldgate_client.certificates import LazyCertificates

        options = self._options
        is_compressed = options.compression if options.compression is not None else not is_loopback(self.server)
        headers = {
            "User-Agent": f"fieldgate-client/{__version__}",
            "Accept-Encoding": GZIP if is_compressed else "identity",
        }
        if self._token:
            headers["Authorization"] = f"Token {self._token}"
        self._client = httpx.AsyncClient(
            headers=headers | options.headers,
            timeout=httpx.Timeout(options.timeout, connect=min(options.timeout, CONNECT_TIMEOUT_SECONDS)),
            limits=httpx.Limits(
                max_connections=options.max_concurrent, max_keepalive_connections=options.max_concurrent
            ),
            cookies=_no_cookies(),
            verify=LazyCertificates() if options.verify is True else options.verify,
            transport=options.transport,
        )
        return self._client


def _checked_token(token: str) -> str:
    token = token.strip()
    if not all("!" <= character <= "~" for character in token):
        raise InvalidToken("The token must consist of ASCII letters, digits and punctuation, without spaces.")
    return token


def _no_cookies() -> CookieJar:
    """KoboToolbox remembers the first language in a cookie, which then wins over Accept-Language."""
    from http.cookiejar import CookieJar, DefaultCookiePolicy

    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


def _check_redirect(request: httpx.Request, target: httpx.Request) -> None:
    """Stay on the server: elsewhere the token is not sent, and lists would have public records only.

    Writes are not redirected, as they would become a GET.
    """
    old, new = request.url, target.url
    is_same = (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port)
    is_upgrade = old.host == new.host and (old.scheme, old.port, new.scheme, new.port) == ("http", None, "https", None)
    if request.method != "GET" or not (is_same or is_upgrade):
        raise ConnectionFailed(
            f"{old.copy_with(query=None)} redirects to {new.copy_with(query=None)}. "
            "If you trust that address, use it as the URL of the server.",
            url=str(old),
        )


def _same(response: HTTPResponse) -> HTTPResponse:
    return response


def _language_header(language: str) -> dict[str, str]:
    return {"Accept-Language": language} if language else {}


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _is_json(response: HTTPResponse) -> bool:
    return "json" in response.headers.get("content-type", "json")


def _after(problem: str, attempts: int) -> str:
    return f"{problem}, {attempts} times" if attempts > 1 else problem
