"""From an address to the file there, never through an address inside the network.

The name is resolved here, every address of it is checked, and the connection goes to an address that was checked, so
that the name cannot lead elsewhere a moment later. Redirects are followed one by one, each checked the same way.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from email.message import Message as Head

import httpx

from fieldgate.errors import PayloadTooLarge, ValidationError
from fieldgate.http.request.body_parsing import UploadedFile, base_name
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.fetch.public_addresses import IPAddress, Resolver, url_error

CONNECT_TIMEOUT_SECONDS = 5.0  # seconds for one address, so that the next gets its turn
MAX_REDIRECTS = 5

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "fieldgate"}
_EMPTY_URL = httpx.URL("")
_MAX_HOST_CHARS = 100  # characters of a host in a message


class SafeDownloader:
    """Follows addresses on listed hosts to their files."""

    def __init__(
        self,
        hosts: Sequence[str],
        resolve: Resolver,
        may_connect: Callable[[IPAddress], bool],
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        self._hosts = hosts
        self._resolve = resolve
        self._may_connect = may_connect
        self._ssl_context = ssl_context

    async def download(self, url: httpx.URL, max_bytes: int) -> UploadedFile:
        """The file an address leads to."""
        for _ in range(MAX_REDIRECTS + 1):
            async with self._open(url) as response:
                if not response.has_redirect_location:
                    return UploadedFile(_file_name(response, url), await _read_content(response, url, max_bytes))
                url = self._redirect_url(url, response.headers["location"])
        raise url_error(Message("The address leads on to too many others. Enter the last of them."))

    def _redirect_url(self, url: httpx.URL, location: str) -> httpx.URL:
        following = self.validate_url(location, url)
        if url.scheme == "https" and following.scheme == "http":
            raise url_error(
                Message("{host} leads on to an address without https. Send the file itself.", host=_display_host(url))
            )
        return following

    def validate_url(self, text: str, base: httpx.URL = _EMPTY_URL) -> httpx.URL:
        """An address as it will be asked, if it is one and on a listed host."""
        try:
            url = base.join(text.strip())
        except (httpx.InvalidURL, ValueError):  # the latter from the standard library
            url = _EMPTY_URL
        if url.scheme not in _DEFAULT_PORTS or not url.raw_host or url.userinfo:
            raise url_error(
                Message(
                    "Enter an address such as https://forms.example.org/household.xlsx, without user name and password."
                )
            )
        if not any(_host_matches(entry, url) for entry in self._hosts):
            raise url_error(
                Message(
                    "Files are not fetched from {host}, only from: {hosts}. Send the file itself.",
                    host=_display_host(url),
                    hosts=", ".join(self._hosts),
                )
            )
        return url.copy_with(host=_hostname(url))

    @asynccontextmanager
    async def _open(self, url: httpx.URL) -> AsyncIterator[httpx.Response]:
        addresses = await self._resolve_addresses(url)
        trust = await self._load_ssl_context()
        try:
            # The transport alone: it knows no redirects, cookies or proxies.
            async with httpx.AsyncHTTPTransport(verify=trust, trust_env=False) as transport:
                response = await _send_request(transport, url, addresses)
                try:
                    yield response
                finally:
                    await response.aclose()
        except httpx.HTTPError:
            raise _fetch_error(url) from None

    async def _resolve_addresses(self, url: httpx.URL) -> Sequence[IPAddress]:
        try:
            addresses = await self._resolve(_hostname(url), _port(url))
        except (OSError, UnicodeError):  # the latter for a name that no network can hold
            raise _fetch_error(url) from None
        if not all(map(self._may_connect, addresses)):
            raise url_error(
                Message("{host} is not on the open internet. Send the file itself.", host=_display_host(url)),
            )
        return addresses

    async def _load_ssl_context(self) -> ssl.SSLContext:
        """The authorities of the world, read when first needed; it takes a tenth of a second."""
        if self._ssl_context is None:
            self._ssl_context = await asyncio.to_thread(httpx.create_ssl_context)
        return self._ssl_context


async def _send_request(
    transport: httpx.AsyncHTTPTransport, url: httpx.URL, addresses: Sequence[IPAddress]
) -> httpx.Response:
    """What the first address that can be reached answers; the name is asked for, and vouched for by TLS."""
    failure: httpx.HTTPError = httpx.ConnectError("no address")
    for address in addresses:
        request = httpx.Request(
            "GET",
            url.copy_with(host=str(address)),
            headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": _hostname(url), "timeout": {"connect": CONNECT_TIMEOUT_SECONDS}},
        )
        try:
            return await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = error
    raise failure


async def _read_content(response: httpx.Response, url: httpx.URL, max_bytes: int) -> bytes:
    if response.status_code != httpx.codes.OK:
        raise url_error(
            Message(
                "{host} answered with status {status}. Check that the address opens without logging in, "
                "or send the file itself.",
                host=_display_host(url),
                status=response.status_code,
            )
        )
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        # Unpacked it could be of any size, and we asked for it as it is.
        raise url_error(
            Message("{host} sends the file packed, unlike asked. Send the file itself.", host=_display_host(url)),
        )
    too_large = PayloadTooLarge(
        PluralMessage(
            "The file is too large; at most {count} byte is taken here.",
            "The file is too large; at most {count} bytes are taken here.",
            max_bytes,
        )
    )
    if int(response.headers.get("content-length", 0)) > max_bytes:
        raise too_large
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > max_bytes:
            raise too_large
    return bytes(data)


def _file_name(response: httpx.Response, url: httpx.URL) -> str:
    head = Head()
    head["Content-Disposition"] = response.headers.get("content-disposition", "")
    return base_name(head.get_filename() or url.path)


def _host_matches(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of the list means this host, on its port or, if it names none, on the usual one."""
    listed, _, port = entry.partition(":")
    name = _hostname(url)
    is_named = name == listed.removeprefix(".") or (listed.startswith(".") and name.endswith(listed))
    return is_named and _port(url) == int(port or _DEFAULT_PORTS[url.scheme])


def _hostname(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii").removesuffix(".")


def _port(url: httpx.URL) -> int:
    return _DEFAULT_PORTS[url.scheme] if url.port is None else url.port


def _display_host(url: httpx.URL) -> str:
    return _hostname(url)[:_MAX_HOST_CHARS]


def _fetch_error(url: httpx.URL) -> ValidationError:
    return url_error(
        Message(
            "The file could not be fetched from {host}. Check the address, or send the file itself.",
            host=_display_host(url),
        )
    )
