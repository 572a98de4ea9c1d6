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
from fieldgate.i18n.messages import Message
from fieldgate.imports.fetch.public_addresses import Address, Resolve, refused

CONNECT_PATIENCE = 5.0  # seconds for one address, so that the next gets its turn
MOST_REDIRECTS = 5

_PORTS = {"http": 80, "https": 443}
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "fieldgate"}
_NOWHERE = httpx.URL("")
_LONGEST_SHOWN = 100  # characters of a host in a message


class Following:
    """Follows addresses on listed hosts to their files."""

    def __init__(
        self,
        hosts: Sequence[str],
        resolve: Resolve,
        may_connect: Callable[[Address], bool],
        trust: ssl.SSLContext | None,
    ) -> None:
        self._hosts = hosts
        self._resolve = resolve
        self._may_connect = may_connect
        self._trust = trust

    async def follow(self, url: httpx.URL, limit: int) -> UploadedFile:
        """The file an address leads to."""
        for _ in range(MOST_REDIRECTS + 1):
            async with self._opened(url) as response:
                if not response.has_redirect_location:
                    return UploadedFile(_file_name(response, url), await _content(response, url, limit))
                url = self._redirected(url, response.headers["location"])
        raise refused(Message("The address leads on to too many others. Enter the last of them."))

    def _redirected(self, url: httpx.URL, location: str) -> httpx.URL:
        following = self.checked(location, url)
        if url.scheme == "https" and following.scheme == "http":
            raise refused(
                Message("{host} leads on to an address without https. Send the file itself.", host=_shown(url))
            )
        return following

    def checked(self, text: str, base: httpx.URL = _NOWHERE) -> httpx.URL:
        """An address as it will be asked, if it is one and on a listed host."""
        try:
            url = base.join(text.strip())
        except (httpx.InvalidURL, ValueError):  # the latter from the standard library
            url = _NOWHERE
        if url.scheme not in _PORTS or not url.raw_host or url.userinfo:
            raise refused(
                Message(
                    "Enter an address such as https://forms.example.org/household.xlsx, without user name and password."
                )
            )
        if not any(_covers(entry, url) for entry in self._hosts):
            raise refused(
                Message(
                    "Files are not fetched from {host}, only from: {hosts}. Send the file itself.",
                    host=_shown(url),
                    hosts=", ".join(self._hosts),
                )
            )
        return url.copy_with(host=_name(url))

    @asynccontextmanager
    async def _opened(self, url: httpx.URL) -> AsyncIterator[httpx.Response]:
        addresses = await self._addresses(url)
        trust = await self._trusted()
        try:
            # The transport alone: it knows no redirects, cookies or proxies.
            async with httpx.AsyncHTTPTransport(verify=trust, trust_env=False) as transport:
                response = await _answer(transport, url, addresses)
                try:
                    yield response
                finally:
                    await response.aclose()
        except httpx.HTTPError:
            raise _not_fetched(url) from None

    async def _addresses(self, url: httpx.URL) -> Sequence[Address]:
        try:
            addresses = await self._resolve(_name(url), _port(url))
        except (OSError, UnicodeError):  # the latter for a name that no network can hold
            raise _not_fetched(url) from None
        if not all(map(self._may_connect, addresses)):
            raise refused(
                Message("{host} is not on the open internet. Send the file itself.", host=_shown(url)),
            )
        return addresses

    async def _trusted(self) -> ssl.SSLContext:
        """The authorities of the world, read when first needed; it takes a tenth of a second."""
        if self._trust is None:
            self._trust = await asyncio.to_thread(httpx.create_ssl_context)
        return self._trust


async def _answer(transport: httpx.AsyncHTTPTransport, url: httpx.URL, addresses: Sequence[Address]) -> httpx.Response:
    """What the first address that can be reached answers; the name is asked for, and vouched for by TLS."""
    failure: httpx.HTTPError = httpx.ConnectError("no address")
    for address in addresses:
        request = httpx.Request(
            "GET",
            url.copy_with(host=str(address)),
            headers={**_HEADERS, "Host": url.netloc.decode("ascii")},
            extensions={"sni_hostname": _name(url), "timeout": {"connect": CONNECT_PATIENCE}},
        )
        try:
            return await transport.handle_async_request(request)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            failure = error
    raise failure


async def _content(response: httpx.Response, url: httpx.URL, limit: int) -> bytes:
    if response.status_code != httpx.codes.OK:
        raise refused(
            Message(
                "{host} answered with status {status}. Check that the address opens without logging in, "
                "or send the file itself.",
                host=_shown(url),
                status=response.status_code,
            )
        )
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        # Unpacked it could be of any size, and we asked for it as it is.
        raise refused(
            Message("{host} sends the file packed, unlike asked. Send the file itself.", host=_shown(url)),
        )
    too_large = PayloadTooLarge(Message("The file is too large; at most {limit} bytes are taken here.", limit=limit))
    if int(response.headers.get("content-length", 0)) > limit:
        raise too_large
    data = bytearray()
    async for chunk in response.aiter_raw():
        data += chunk
        if len(data) > limit:
            raise too_large
    return bytes(data)


def _file_name(response: httpx.Response, url: httpx.URL) -> str:
    head = Head()
    head["Content-Disposition"] = response.headers.get("content-disposition", "")
    return base_name(head.get_filename() or url.path)


def _covers(entry: str, url: httpx.URL) -> bool:
    """Whether an entry of the list means this host, on its port or, if it names none, on the usual one."""
    listed, _, port = entry.partition(":")
    name = _name(url)
    is_named = name == listed.removeprefix(".") or (listed.startswith(".") and name.endswith(listed))
    return is_named and _port(url) == int(port or _PORTS[url.scheme])


def _name(url: httpx.URL) -> str:
    return url.raw_host.decode("ascii").removesuffix(".")


def _port(url: httpx.URL) -> int:
    return _PORTS[url.scheme] if url.port is None else url.port


def _shown(url: httpx.URL) -> str:
    return _name(url)[:_LONGEST_SHOWN]


def _not_fetched(url: httpx.URL) -> ValidationError:
    return refused(
        Message(
            "The file could not be fetched from {host}. Check the address, or send the file itself.", host=_shown(url)
        )
    )
