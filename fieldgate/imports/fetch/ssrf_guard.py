"""Download a file without giving access to the internal network (server-side request forgery).

The host name is resolved once, all its addresses are checked, and the connection goes to a checked address, so that
the name cannot resolve to another address later (DNS rebinding). Each redirect is checked in the same way.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from email.message import Message as EmailMessage

import httpx

from fieldgate.errors import ValidationError
from fieldgate.http.request.body_parsing import UploadedFile, file_too_large
from fieldgate.http.request.request_body import base_name
from fieldgate.i18n.messages import Message
from fieldgate.imports.fetch.public_addresses import IPAddress, Resolver, url_error

CONNECT_TIMEOUT_SECONDS = 5.0  # per address, so that the next one is tried
MAX_REDIRECTS = 5

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "fieldgate"}
_EMPTY_URL = httpx.URL("")
# Programs do not agree on what other characters mean: some end the name of the host at a backslash.
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_MAX_HOST_CHARS = 100  # in a message
_MAX_DISPOSITION_CHARS = 4000  # `email` takes quadratic time for a quote that is not closed


class SafeDownloader:
    """Downloads files from listed hosts."""

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
        """Return the file at an address, after redirects."""
        for _ in range(MAX_REDIRECTS + 1):
            async with self._open(url) as response:
                if not response.has_redirect_location:
                    return UploadedFile(
                        _file_name(response, url), await _read_content(response, url, max_bytes)
                    )
                url = self._redirect_url(url, response.headers["location"])
        raise url_error(Message("The address redirects too many times. Enter the final address."))

    def _redirect_url(self, url: httpx.URL, location: str) -> httpx.URL:
        target = self.validate_url(location, url)
        if url.scheme == "https" and target.scheme == "http":
            raise url_error(
                Message(
                    "{host} redirects to an address without https. Send the file itself.",
                    host=_display_host(url),
                )
            )
        return target

    def validate_url(self, text: str, base: httpx.URL = _EMPTY_URL) -> httpx.URL:
        """Return the normalized URL. Raise ValidationError if it is invalid or its host is not listed."""
        try:
            url = base.join(text.strip())
        except (httpx.InvalidURL, ValueError):  # ValueError comes from the standard library
            url = _EMPTY_URL
        if url.scheme not in _DEFAULT_PORTS or not url.raw_host or url.userinfo:
            raise url_error(
                Message(
                    "Enter an address such as https://forms.example.org/household.xlsx, without username and password."
                )
            )
        if not _HOST.fullmatch(_hostname(url)) or not any(
            _host_matches(entry, url) for entry in self._hosts
        ):
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
        ssl_context = await self._load_ssl_context()
        try:
            # Only the transport, which does not handle redirects, cookies or proxies.
            async with httpx.AsyncHTTPTransport(verify=ssl_context, trust_env=False) as transport:
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
        except (OSError, UnicodeError):  # UnicodeError: the name is not valid in DNS
            raise _fetch_error(url) from None
        if not all(map(self._may_connect, addresses)):
            raise url_error(
                Message(
                    "{host} is not on the public internet. Send the file itself.",
                    host=_display_host(url),
                ),
            )
        return addresses

    async def _load_ssl_context(self) -> ssl.SSLContext:
        """Load the system CA certificates on first use; it takes 0.1 s."""
        if self._ssl_context is None:
            self._ssl_context = await asyncio.to_thread(httpx.create_ssl_context)
        return self._ssl_context


async def _send_request(
    transport: httpx.AsyncHTTPTransport, url: httpx.URL, addresses: Sequence[IPAddress]
) -> httpx.Response:
    """Send the request to the first reachable address. Host header and TLS check use the name."""
    failure: httpx.HTTPError = httpx.ConnectError("no address")
    for address in addresses:
        request = httpx.Request(
            "GET",
            url.copy_with(host=str(address)),
            headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
            extensions={
                "sni_hostname": _hostname(url),
                "timeout": {"connect": CONNECT_TIMEOUT_SECONDS},
            },
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
        # Decompressed it could be of any size, and the request asked for no compression.
        raise url_error(
            Message(
                "{host} sends the file compressed. Send the file itself.", host=_display_host(url)
            ),
        )
    if int(response.headers.get("content-length", 0)) > max_bytes:
        raise file_too_large(max_bytes)
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > max_bytes:
            raise file_too_large(max_bytes)
    return bytes(data)


def _file_name(response: httpx.Response, url: httpx.URL) -> str:
    header = response.headers.get("content-disposition", "")
    return base_name(content_disposition_filename(header) or url.path)


def content_disposition_filename(header: str) -> str | None:
    """The file name in a header of another server."""
    parsed_header = EmailMessage()
    parsed_header["Content-Disposition"] = header[:_MAX_DISPOSITION_CHARS]
    return parsed_header.get_filename()


def _host_matches(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of the list matches host and port; without a port it matches the default port."""
    host, _, port = entry.partition(":")
    name = _hostname(url)
    name_matches = name == host.removeprefix(".") or (host.startswith(".") and name.endswith(host))
    return name_matches and _port(url) == int(port or _DEFAULT_PORTS[url.scheme])


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
