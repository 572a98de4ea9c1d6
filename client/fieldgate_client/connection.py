"""HTTP to one server: credentials, retries, rate limits, and a bound on requests at the same time.

connection = Connection("https://field.example", token)
response = await connection.get("/api/v2/event/", {"limit": "1"})

httpx is loaded with the first request, so that importing this package is fast.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import anyio
import msgspec
from msgspec import ValidationError

from fieldgate_client.errors import (
    ConnectionFailed,
    FieldgateError,
    InvalidToken,
    NotFound,
    UnexpectedResponse,
    UnsupportedByServer,
    request_failed,
)
from fieldgate_client.response_body import GZIP, ByteProgress, read_body
from fieldgate_client.retries import (
    MAX_RETRY_AFTER_SECONDS,
    RETRY_STATUSES,
    RetryPolicy,
    parse_rate_limit,
    parse_retry_after,
)
from fieldgate_client.server_url import is_loopback, parse_server_url, resolve_address
from fieldgate_client.version import __version__

if TYPE_CHECKING:
    import httpx

TIMEOUT_SECONDS = 150  # IFRC GO takes up to two minutes for a large page
CONNECT_TIMEOUT_SECONDS = 20
BODY_TIMEOUT_SECONDS = 60 * 60
MAX_CONCURRENT_REQUESTS = 8
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

    def decode(self, kind: type[Parsed]) -> Parsed:
        return msgspec.json.decode(self.body, type=kind, strict=False)


class _Abilities(msgspec.Struct, frozen=True):
    """What Fieldgate answers to OPTIONS: the methods that have a dry run. Others do not have the field."""

    dry_run: list[str] = []


class RetryNotice(msgspec.Struct, frozen=True):
    """Why a request is tried again, and when: for a person who watches a long run."""

    reason: str
    attempt: int  # that failed; 0 if the server asked to wait before the first
    pause: float  # seconds
    attempts: int = 0  # that are made at most; 0 if it does not count as one

    def __str__(self) -> str:
        failed = f" (attempt {self.attempt} of {self.attempts} failed)" if self.attempts else ""
        return f"{self.reason.rstrip('.')}. Trying again in {self.pause:.1f} s{failed}."


class ConnectionOptions(msgspec.Struct, frozen=True):
    timeout: float = TIMEOUT_SECONDS
    body_timeout: float = BODY_TIMEOUT_SECONDS  # of one response, however fast it comes
    list_timeout: float | None = None  # seconds of waiting for all pages of a list
    max_concurrent: int = MAX_CONCURRENT_REQUESTS
    retries: RetryPolicy = RetryPolicy()
    compression: bool | None = None  # None: unless the server is on this machine
    headers: dict[
        str, str
    ] = {}  # of every request; Authorization here is sent instead of the token
    verify: Any = True  # as in httpx: False, or an ssl.SSLContext
    transport: Any = None  # an httpx.AsyncBaseTransport
    on_retry: Callable[[RetryNotice], None] | None = None


class Connection:
    def __init__(
        self,
        url: str,
        token: str = "",
        options: ConnectionOptions | None = None,
        *,
        language: str = "",
    ) -> None:
        self.server = parse_server_url(url)
        self.has_token = bool(token)
        self.language = language  # of requests that name no other
        self._token = _checked_token(token)
        self._options = options or ConnectionOptions()
        self._client: httpx.AsyncClient | None = None
        self._semaphore: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # of client and semaphore
        self._is_fieldgate: bool | None = None
        self._dry_run_paths: set[str] = set()
        self._has_answered = False  # with a body that could be parsed
        self._not_before = 0.0  # loop time before which the server wants no request

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def get(self, path: str, parameters: Parameters = ()) -> HTTPResponse:
        return await self.fetch(path, parameters, _same)

    async def fetch(
        self,
        path: str,
        parameters: Parameters,
        parse: Callable[[HTTPResponse], Parsed],
        *,
        language: str = "",
        accept: str = "application/json",
        on_progress: ByteProgress | None = None,
    ) -> Parsed:
        """GET, and parse the response. If `parse` raises ValueError, the response was damaged on the way.

        If it raises `msgspec.ValidationError`, the response is something else than was expected.
        """
        headers = {"Accept": accept, **({"Accept-Language": language} if language else {})}
        return await self._send(
            "GET", self._url(path, parameters), headers, parse=parse, on_progress=on_progress
        )

    async def fetch_json(
        self, path: str, kind: type[Parsed], parameters: Parameters = ()
    ) -> Parsed:
        """GET a JSON value of this type. Some servers send numbers as text."""
        return await self.fetch(path, parameters, lambda response: response.decode(kind))

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

    async def require_dry_run(self, path: str) -> None:
        """Raise `UnsupportedByServer` unless the server says that it can try a POST to this path without doing it."""
        if path in self._dry_run_paths:
            return
        try:
            headers = {"Accept": "application/json"}
            abilities = await self._send("OPTIONS", self._url(path, ()), headers, parse=_abilities)
        except (NotFound, UnexpectedResponse):
            abilities = _Abilities()
        if "POST" not in abilities.dry_run:
            raise UnsupportedByServer(
                f"{self.server} is not a Fieldgate server that can check without importing (dry_run). Nothing was sent."
            )
        self._dry_run_paths.add(path)

    async def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Parameters = (),
        json: Any = None,
        is_repeatable: bool = False,
    ) -> HTTPResponse:
        """Send a write once: it is not repeated, as the server may have done it, unless doing it twice is the same."""
        headers = {"Accept": "application/json"}
        content: dict[str, Any] = {}
        if json is not None:
            headers["Content-Type"] = "application/json"
            content = {"content": msgspec.json.encode(json)}
        url = self._url(path, parameters)
        return await self._send(
            method, url, headers, body=lambda: content, parse=_same, is_repeatable=is_repeatable
        )

    async def upload(
        self,
        path: str,
        form: Callable[[], Mapping[str, Any]],
        headers: Mapping[str, str],
        parse: Callable[[HTTPResponse], Parsed],
        *,
        is_repeatable: bool,
        parameters: Parameters = (),
    ) -> Parsed:
        """POST a form with a file: `data` and `files` of httpx, made again for each attempt.

        Repeat only what the server recognises as the same.
        """
        headers = {"Accept": "application/json", **headers}
        url = self._url(path, parameters)
        return await self._send(
            "POST", url, headers, body=form, parse=parse, is_repeatable=is_repeatable
        )

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
        body: Callable[[], Mapping[str, Any]] = dict,
        is_repeatable: bool = True,
        on_progress: ByteProgress | None = None,
    ) -> Parsed:
        """Send a request, and retry with growing pauses while the server is busy or unreachable.

        `body` has the arguments of httpx for the body, made again for each attempt.
        """
        import httpx

        failure: FieldgateError
        attempts = self._options.retries.attempts if is_repeatable else 1
        for attempt in range(attempts):
            retry_after = None
            try:
                response = await self._send_once(method, url, headers, body(), on_progress)
            except (httpx.UnsupportedProtocol, httpx.InvalidURL, httpx.LocalProtocolError) as error:
                raise ConnectionFailed(f"{url} cannot be requested: {error}", url=url) from None
            except httpx.RequestError as error:  # includes bodies that cannot be decompressed
                reason = f"{self.server} is unreachable: {str(error) or type(error).__name__}"
                failure = _unreachable(reason, method, url, error, attempts)
            else:
                if 200 <= response.status < 300:
                    try:
                        parsed = parse(response)
                        self._has_answered = True
                        return parsed
                    except (ValueError, RecursionError) as error:
                        reason = f"{url} did not answer JSON of this API: {error}"
                        failure = UnexpectedResponse(
                            reason, status=response.status, request_id=response.request_id, url=url
                        )
                        if self._is_hopeless(response, error):
                            raise failure from None
                else:
                    failure = request_failed(
                        response.status, self._hide_token(response.body), response.headers, url
                    )
                    if response.status not in RETRY_STATUSES:
                        raise failure
                    reason = f"{url} answered {response.status}: {failure.message}"
                    retry_after = parse_retry_after(response.headers.get("retry-after", ""))
                    if retry_after is not None and retry_after > MAX_RETRY_AFTER_SECONDS:
                        reason = f"{reason.rstrip('.')}. It asks to wait {retry_after:.0f} s, which is too long"
            if attempt + 1 == attempts:
                break
            pause = self._options.retries.pause(attempt, retry_after)
            self._note_pause(RetryNotice(reason, attempt + 1, pause, attempts))
            await asyncio.sleep(pause)
        raise failure

    def _is_hopeless(self, response: HTTPResponse, error: Exception) -> bool:
        """Whether a body that cannot be read would not be another one after a pause.

        It is JSON, but not of this kind; or a page of HTML, which is the answer of a wrong address, or of a proxy that
        failed for a moment. A body that was damaged on the way is no JSON.
        """
        is_json = "json" in response.headers.get("content-type", "json")
        return isinstance(error, ValidationError) or (not is_json and not self._has_answered)

    async def _send_once(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any],
        on_progress: ByteProgress | None,
    ) -> HTTPResponse:
        loop = asyncio.get_running_loop()
        client, semaphore = self._opened(loop)
        async with semaphore:
            while (wait := self._not_before - loop.time()) > 0:  # other requests move it
                if wait >= NOTICED_PAUSE_SECONDS:
                    self._note_pause(
                        RetryNotice(f"{self.server} allows no request yet (RateLimit)", 0, wait)
                    )
                await asyncio.sleep(wait)
            request = client.build_request(method, url, headers=headers, **body)
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._send_head(client, request)
                try:
                    if response.next_request is None:
                        content = await read_body(
                            response,
                            self._options.timeout,
                            on_progress,
                            body_timeout=self._options.body_timeout,
                        )
                        break
                    _check_redirect(request, response.next_request)
                    request = response.next_request
                finally:
                    await response.aclose()
            else:
                raise ConnectionFailed(f"{url} redirects more than {MAX_REDIRECTS} times.", url=url)
        answered = HTTPResponse(response.status_code, dict(response.headers), content, url)
        wait_until_reset = parse_rate_limit(answered.headers)
        if wait_until_reset is not None:
            self._not_before = max(self._not_before, loop.time() + wait_until_reset)
        return answered

    def _hide_token(self, body: bytes) -> bytes:
        """Messages end up in logs, and a server could repeat the token."""
        return body.replace(self._token.encode(), b"[hidden]") if self._token else body

    def _note_pause(self, notice: RetryNotice) -> None:
        """Tell the caller, or the reader of the log: by default, warnings are printed to standard error."""
        if self._options.on_retry:
            self._options.on_retry(notice)
        else:
            logging.getLogger("fieldgate_client").warning("%s", notice)

    async def _send_head(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send the request and wait for the head of the response: also one that a server announces for ever."""
        import httpx

        # Sending a body can take long. (`asyncio.wait_for` of Python 3.10 and 3.11 can lose a cancellation.)
        most = self._options.timeout + CONNECT_TIMEOUT_SECONDS if request.method == "GET" else None
        try:
            with anyio.fail_after(most):
                return await client.send(request, stream=True)
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time", request=request) from None

    def _opened(
        self, loop: asyncio.AbstractEventLoop
    ) -> tuple[httpx.AsyncClient, asyncio.Semaphore]:
        """Client and semaphore of this event loop. Those of another one, as of a parent process, cannot be used."""
        if self._loop is not loop or self._semaphore is None:
            self._client, self._not_before = None, 0.0
            self._loop, self._semaphore = loop, asyncio.Semaphore(self._options.max_concurrent)
        return self._client or self._open(), self._semaphore

    def _open(self) -> httpx.AsyncClient:
        import httpx

        options = self._options
        is_compressed = (
            options.compression if options.compression is not None else not is_loopback(self.server)
        )
        headers = {
            "User-Agent": f"fieldgate-client/{__version__}",
            "Accept-Encoding": GZIP if is_compressed else "identity",
        }
        if self.language:
            headers["Accept-Language"] = self.language
        if self._token:
            headers["Authorization"] = f"Token {self._token}"
        self._client = httpx.AsyncClient(
            headers=headers | options.headers,
            timeout=httpx.Timeout(
                options.timeout, connect=min(options.timeout, CONNECT_TIMEOUT_SECONDS)
            ),
            limits=httpx.Limits(
                max_connections=options.max_concurrent,
                max_keepalive_connections=options.max_concurrent,
            ),
            # KoboToolbox remembers the first language in a cookie, which then wins over Accept-Language.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            verify=options.verify,
            transport=options.transport,
        )
        return self._client


def _checked_token(token: str) -> str:
    token = token.strip()
    if not all("!" <= character <= "~" for character in token):
        raise InvalidToken(
            "The token must consist of ASCII letters, digits and punctuation, without spaces."
        )
    return token


def _check_redirect(request: httpx.Request, target: httpx.Request) -> None:
    """Stay on the server: elsewhere the token is not sent, and lists would have public records only.

    Writes are not redirected, as they would become a GET.
    """
    old, new = request.url, target.url
    is_same = (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port)
    is_upgrade = old.host == new.host and (old.scheme, old.port, new.scheme, new.port) == (
        "http",
        None,
        "https",
        None,
    )
    if request.method != "GET" or not (is_same or is_upgrade):
        raise ConnectionFailed(
            f"{old.copy_with(query=None)} redirects to {new.copy_with(query=None)}. "
            "If you trust that address, use it as the URL of the server.",
            url=str(old),
        )


def _same(response: HTTPResponse) -> HTTPResponse:
    return response


def _abilities(response: HTTPResponse) -> _Abilities:
    return response.decode(_Abilities)


def _unreachable(
    reason: str, method: str, url: str, error: Exception, attempts: int
) -> ConnectionFailed:
    import httpx

    if method != "GET" and not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        reason += ". It is not known whether the server received the request"
    return ConnectionFailed(
        f"{reason}, {attempts} times" if attempts > 1 else reason, url=url, attempts=attempts
    )
