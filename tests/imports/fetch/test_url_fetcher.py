"""Fetching files: only from listed public hosts, within limits."""

import asyncio
import gzip
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from ipaddress import ip_address

import pytest
import trustme

from fieldgate.errors import PayloadTooLarge, ServiceUnavailable, ValidationError
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import translate
from fieldgate.imports.fetch.public_addresses import IPAddress, is_public
from fieldgate.imports.fetch.ssrf_guard import MAX_REDIRECTS
from fieldgate.imports.fetch.url_fetcher import (
    MAX_CONCURRENT_FETCHES,
    MAX_FETCHES_PER_USER,
    URLFetcher,
)
from fieldgate.metrics.access_log import logging_config
from tests.imports.fake_host import (
    FakeHost,
    ok_response,
    redirect_response,
    serve_fake_host,
    status_response,
)

BOOK = b"PK\x03\x04 a workbook"
MIB = 1024 * 1024
USER = 7
MAX_TIMEOUT_SECONDS = 30.0

NOT_PUBLIC = [
    "0.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "203.0.113.5", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::10.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:224.0.0.1",
    "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:20::1", "2001:db8::1",
    "2002:a00:1::1", "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%1",
    "fec0::1", "ff02::1", "ff0e::1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8",
    "93.184.215.14",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]


@pytest.fixture
async def fake_host() -> AsyncIterator[FakeHost]:
    async with serve_fake_host() as started:
        started.responses["/household.xlsx"] = ok_response(BOOK)
        yield started


async def error_message(fetcher: URLFetcher, url: str, limit: int = MIB) -> str:
    with pytest.raises(ValidationError) as error:
        await fetcher.fetch(url, limit, USER)
    assert list(error.value.fields) == ["url"]
    return translate(error.value.fields["url"][0], Language.ENGLISH)


@pytest.mark.parametrize("text", NOT_PUBLIC)
async def test_non_public_addresses(text: str, fake_host: FakeHost) -> None:
    assert not is_public(ip_address(text))
    fetcher = fake_host.fetcher({"forms.example.org": (text,)}, may_connect=is_public)
    assert "forms.example.org is not on the public internet." in await error_message(
        fetcher, fake_host.url()
    )


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses(text: str) -> None:
    assert is_public(ip_address(text))


async def test_fetched_file_and_request_headers(fake_host: FakeHost) -> None:
    fetched = await fake_host.fetcher().fetch(fake_host.url(), len(BOOK), USER)
    assert (fetched.data, fetched.name) == (BOOK, "household.xlsx")
    assert fake_host.headers["host"] == f"forms.example.org:{fake_host.port}"
    assert fake_host.headers["accept-encoding"] == "identity"
    assert not {"cookie", "authorization"} & set(fake_host.headers)


@pytest.mark.parametrize(
    ("path", "requested", "header", "name"),
    [
        ("/a/My form.xlsx", "/a/My%20form.xlsx", "", "My form.xlsx"),
        ("/a/é.csv?x=1&y=a%2Fb#top", "/a/%C3%A9.csv?x=1&y=a%2Fb", "", "é.csv"),
        ("/a%2Fb.xlsx", "/a%2Fb.xlsx", "", "b.xlsx"),
        ("/", "/", "", ""),
        ("/d", "/d", 'Content-Disposition: attachment; filename="visit.xlsx"', "visit.xlsx"),
        (
            "/d",
            "/d",
            "Content-Disposition: attachment; filename*=UTF-8''%C3%A9t%C3%A9.ods",
            "été.ods",
        ),
        ("/d", "/d", 'Content-Disposition: attachment; filename="../../etc/x.xls"', "x.xls"),
        ("/d", "/d", "Content-Disposition: inline", "d"),
        ("/d", "/d", "Content-Disposition: ;;=", "d"),
    ],
)
async def test_file_names(
    fake_host: FakeHost, path: str, requested: str, header: str, name: str
) -> None:
    fake_host.responses[requested] = ok_response(BOOK, *([header] if header else []))
    assert (await fake_host.fetcher().fetch(fake_host.url(path), MIB, USER)).name == name


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        (("forms.example.org:{port}",), "http://forms.example.org:{port}/household.xlsx"),
        (("forms.example.org:{port}",), "  HTTP://Forms.EXAMPLE.org.:{port}/household.xlsx  "),
        (
            ("other.example", ".example.org:{port}"),
            "http://forms.example.org:{port}/household.xlsx",
        ),
        ((".forms.example.org:{port}",), "http://forms.example.org:{port}/household.xlsx"),
        (("xn--mnchen-3ya.example:{port}",), "http://München.example:{port}/household.xlsx"),
        (("xn--mnchen-3ya.example:{port}",), "http://xn--mnchen-3ya.example:{port}/household.xlsx"),
        ((".xn--mnchen-3ya.example:{port}",), "http://a。münchen。example:{port}/household.xlsx"),
    ],
)
async def test_listed_hosts(fake_host: FakeHost, hosts: Sequence[str], url: str) -> None:
    names = ("forms.example.org", "xn--mnchen-3ya.example", "a.xn--mnchen-3ya.example")
    listed = [entry.format(port=fake_host.port) for entry in hosts]
    fetcher = fake_host.fetcher(dict.fromkeys(names, ("127.0.0.1",)), hosts=listed)
    assert (await fetcher.fetch(url.format(port=fake_host.port), MIB, USER)).data == BOOK


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/x.xlsx",
        "https://evil-forms.example.org/x.xlsx",
        "https://forms.example.org.evil.example/x.xlsx",
        "https://forms.example.org../x.xlsx",
        "https://forms%2eexample.org/x.xlsx",
        "http://evil.test\\.camps.example:8443/x.xlsx",
        "https://forms.example.org:8443/x.xlsx",
        "https://forms.example.org:80/x.xlsx",
        "http://forms.example.org:443/x.xlsx",
        "http://forms.example.org:0/x.xlsx",
        "http://forms.example.org:99999/x.xlsx",
        "http://fоrms.example.org/x.xlsx",  # with a Cyrillic letter
        "http://xn--a.example/x.xlsx",
        "http://camps.example:80/x.xlsx",
        "http://localhost/x.xlsx",
        "http://127.0.0.1/x.xlsx",
        "http://127.1/x.xlsx",
        "http://2130706433/x.xlsx",
        "http://0x7f000001/x.xlsx",
        "http://0x7f.0.0.1/x.xlsx",
        "http://[::1]/x.xlsx",
        "http://[::ffff:10.0.0.1]/x.xlsx",
        "http://8.8.8.8/x.xlsx",
    ],
)
async def test_unlisted_hosts(fake_host: FakeHost, url: str) -> None:
    fetcher = fake_host.fetcher(hosts=("forms.example.org", ".camps.example:8443"))
    message = await error_message(fetcher, url)
    assert "only from: forms.example.org, .camps.example:8443. Send the file itself." in message
    assert fake_host.resolved_names == []


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "[::1]"]
)
async def test_listed_names_of_this_machine_are_refused(fake_host: FakeHost, host: str) -> None:
    listed = f"{host}:{fake_host.port}" if ":" not in host else "::1"
    message = await error_message(URLFetcher([listed]), fake_host.url(host=host))
    assert "is not on the public internet." in message or "are not fetched from" in message
    assert fake_host.requested_paths == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://forms.example.org/x.xlsx",
        "file:///etc/passwd",
        "gopher://forms.example.org/x",
        "data:text/csv,a",
        "forms.example.org/x.xlsx",
        "//forms.example.org/x.xlsx",
        "https:/forms.example.org/x.xlsx",
        "https://",
        "https://:443/x.xlsx",
        "https://amina@forms.example.org/x.xlsx",
        "https://amina:secret@forms.example.org/x.xlsx",
        "https://forms.example.org@other.example/x.xlsx",
        "https://other.example\\@forms.example.org/x.xlsx",
        "https://forms.example.org:port/x.xlsx",
        "https://forms.example.org/a\r\nHost: other",
        "https://0177.0.0.1/x.xlsx",
        "https://１２７.0.0.1/x.xlsx",
        "https://[::1/x.xlsx",
        "https://forms.example.org/" + "x" * 70_000,
    ],
)
async def test_invalid_urls(fake_host: FakeHost, url: str) -> None:
    message = await error_message(
        fake_host.fetcher(hosts=("forms.example.org", "other.example")), url
    )
    assert message.startswith("Enter an address such as https://")
    assert fake_host.resolved_names == []


async def test_one_private_address_refuses_the_host(fake_host: FakeHost) -> None:
    both = fake_host.fetcher({"forms.example.org": ("8.8.8.8", "10.0.0.1")}, may_connect=is_public)
    assert "is not on the public internet." in await error_message(both, fake_host.url())
    assert fake_host.requested_paths == []


async def test_connection_uses_the_checked_address(fake_host: FakeHost) -> None:
    addresses = iter(["127.0.0.1", "127.0.0.2"])
    checked: list[IPAddress] = []

    async def changing(name: str, port: int) -> Sequence[IPAddress]:
        return [ip_address(next(addresses))]

    def watch(address: IPAddress) -> bool:
        checked.append(address)
        return True

    fetcher = fake_host.fetcher(resolve=changing, may_connect=watch)
    assert (await fetcher.fetch(fake_host.url(), MIB, USER)).data == BOOK
    assert checked == [ip_address("127.0.0.1")]


async def test_next_address_is_tried(fake_host: FakeHost) -> None:
    fetcher = fake_host.fetcher({"forms.example.org": ("127.0.0.2", "127.0.0.1")})
    assert (await fetcher.fetch(fake_host.url(), MIB, USER)).data == BOOK
    nobody = fake_host.fetcher({"forms.example.org": ("127.0.0.2", "127.0.0.3")})
    assert "could not be fetched from forms.example.org" in await error_message(
        nobody, fake_host.url()
    )


async def test_redirects_are_followed(fake_host: FakeHost) -> None:
    fetcher = fake_host.fetcher(
        {"forms.example.org": ("127.0.0.1",), "files.example.org": ("127.0.0.1",)}
    )
    fake_host.responses |= {
        "/latest": redirect_response("../v2/form?x=1", 301),
        "/v2/form?x=1": redirect_response(fake_host.url("/stored.xlsx", "files.example.org"), 307),
        "/stored.xlsx": ok_response(BOOK),
    }
    fetched = await fetcher.fetch(fake_host.url("/latest"), MIB, USER)
    assert (fetched.data, fetched.name) == (BOOK, "stored.xlsx")
    assert fake_host.headers["host"] == f"files.example.org:{fake_host.port}"
    assert fake_host.resolved_names == [
        "forms.example.org",
        "forms.example.org",
        "files.example.org",
    ]


@pytest.mark.parametrize(
    ("location", "message"),
    [
        (
            "http://inside.example.org:{port}/secret",
            "inside.example.org is not on the public internet.",
        ),
        ("http://169.254.169.254/latest/meta-data/", "not fetched from 169.254.169.254"),
        ("http://127.0.0.1:{port}/secret", "not fetched from 127.0.0.1"),
        ("//other.example/x.xlsx", "not fetched from other.example"),
        (
            "http://forms.example.org:22/",
            "not fetched from forms.example.org, only from: .example.org:{port}.",
        ),
        ("http://amina:secret@forms.example.org:{port}/", "Enter an address such as"),
        ("file:///etc/passwd", "Enter an address such as"),
        ("http://forms.example.org:port/", "Enter an address such as"),
        ("http://xn--a/x.xlsx", "not fetched from xn--a"),
        ("http://gone.example.org:{port}/", "could not be fetched from gone.example.org"),
    ],
)
async def test_redirect_targets_are_checked(
    fake_host: FakeHost, location: str, message: str
) -> None:
    fake_host.responses |= {
        "/": redirect_response(location.format(port=fake_host.port)),
        "/secret": ok_response(b"secret"),
    }
    fetcher = fake_host.fetcher(
        {"forms.example.org": ("127.0.0.1",), "inside.example.org": ("10.0.0.1",)}
    )
    assert message.format(port=fake_host.port) in await error_message(fetcher, fake_host.url("/"))
    assert fake_host.requested_paths == ["/"]


async def test_number_of_redirects_is_limited(fake_host: FakeHost) -> None:
    fake_host.responses["/loop"] = redirect_response("/loop")
    assert "redirects too many times" in await error_message(
        fake_host.fetcher(), fake_host.url("/loop")
    )
    assert len(fake_host.requested_paths) == MAX_REDIRECTS + 1


@pytest.mark.parametrize("code", [204, 206, 304, 302, 401, 403, 404, 500])
async def test_status_other_than_200(fake_host: FakeHost, code: int) -> None:
    fake_host.responses["/x"] = status_response(code)
    message = await error_message(fake_host.fetcher(), fake_host.url("/x"))
    assert message.startswith(f"forms.example.org answered with status {code}.")


@pytest.mark.parametrize(
    "response",
    [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nX: ",
     b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000],
)  # fmt: skip
async def test_malformed_responses(fake_host: FakeHost, response: bytes) -> None:
    fake_host.responses["/x"] = response
    assert "could not be fetched" in await error_message(fake_host.fetcher(), fake_host.url("/x"))


async def test_unknown_host_names(fake_host: FakeHost) -> None:
    assert "could not be fetched" in await error_message(fake_host.fetcher({}), fake_host.url())
    assert "could not be fetched" in await error_message(
        fake_host.fetcher({"forms.example.org": ()}), fake_host.url()
    )
    too_long = f"https://{'x' * 64}.example.org/x.xlsx"
    assert "could not be fetched" in await error_message(URLFetcher([".example.org"]), too_long)


async def test_oversized_file_by_header_or_content(fake_host: FakeHost) -> None:
    disconnected = asyncio.Event()

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"400\r\n" + b"x" * 0x400 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            disconnected.set()

    fake_host.responses |= {
        "/endless": endless,
        "/declared": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
    }
    for path in ("/endless", "/declared", "/household.xlsx"):
        with pytest.raises(PayloadTooLarge):
            await fake_host.fetcher().fetch(fake_host.url(path), len(BOOK) - 1, USER)
    await asyncio.wait_for(disconnected.wait(), 10)


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity", "x-unknown"])
async def test_compressed_response_is_refused(fake_host: FakeHost, coding: str) -> None:
    fake_host.responses["/bomb"] = ok_response(
        gzip.compress(bytes(10 * MIB)), f"Content-Encoding: {coding}"
    )
    assert "sends the file compressed" in await error_message(
        fake_host.fetcher(), fake_host.url("/bomb")
    )
    fake_host.responses["/plain"] = ok_response(BOOK, "Content-Encoding: Identity")
    assert (await fake_host.fetcher().fetch(fake_host.url("/plain"), MIB, USER)).data == BOOK


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"]
)
async def test_slow_response_times_out(fake_host: FakeHost, start: bytes) -> None:
    disconnected = asyncio.Event()

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            disconnected.set()

    fake_host.responses["/slow"] = drip
    timeout = 0.2
    while not fake_host.requested_paths:  # a busy machine may need longer to connect
        assert timeout < MAX_TIMEOUT_SECONDS, "it was never asked"
        message = await error_message(fake_host.fetcher(timeout=timeout), fake_host.url("/slow"))
        assert message.startswith("The file did not arrive within")
        timeout *= 2
    await asyncio.wait_for(disconnected.wait(), 10)


async def test_concurrent_fetches_are_limited(fake_host: FakeHost) -> None:
    released = asyncio.Event()
    waiting = asyncio.Semaphore(0)

    async def held(writer: asyncio.StreamWriter) -> None:
        waiting.release()
        await released.wait()
        writer.write(ok_response(BOOK))

    fake_host.responses["/held"] = held
    fetcher = fake_host.fetcher()
    under_way = []
    for number in range(MAX_CONCURRENT_FETCHES):
        user = number // MAX_FETCHES_PER_USER
        under_way.append(asyncio.create_task(fetcher.fetch(fake_host.url("/held"), MIB, user)))
        await asyncio.wait_for(waiting.acquire(), 10)
        if number == MAX_FETCHES_PER_USER - 1:
            with pytest.raises(ServiceUnavailable):
                await fetcher.fetch(fake_host.url(), MIB, user)
    with pytest.raises(ServiceUnavailable):
        await fetcher.fetch(fake_host.url(), MIB, USER)
    released.set()
    assert {fetched.data for fetched in await asyncio.gather(*under_way)} == {BOOK}
    assert (await fetcher.fetch(fake_host.url(), MIB, USER)).data == BOOK


async def test_proxy_variables_are_ignored(
    fake_host: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await fake_host.fetcher().fetch(fake_host.url(), MIB, USER)).data == BOOK


async def test_queries_and_headers_are_not_logged(
    fake_host: FakeHost, caplog: pytest.LogCaptureFixture
) -> None:
    fake_host.responses["/x?key=secret"] = ok_response(BOOK, "Set-Cookie: secret")
    with caplog.at_level(logging.DEBUG):
        await fake_host.fetcher().fetch(fake_host.url("/x?key=secret"), MIB, USER)
    records = [record for record in caplog.records if "secret" in record.getMessage()]
    assert records
    loggers = logging_config("debug")["loggers"]
    for record in records:
        assert record.levelno < getattr(logging, loggers[record.name.split(".")[0]]["level"])


async def test_tls_verifies_the_host_name() -> None:
    authority = trustme.CA()
    theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("forms.example.org", "127.0.0.1").configure_cert(theirs)
    authority.configure_trust(ours)
    message: list[str | None] = []
    theirs.sni_callback = lambda _socket, name, _context: message.append(name)
    names = dict.fromkeys(("forms.example.org", "other.example.org"), ("127.0.0.1",))
    async with serve_fake_host(theirs) as fake_host:
        fake_host.responses |= {
            "/household.xlsx": ok_response(BOOK),
            "/down": redirect_response(fake_host.url(scheme="http")),
        }
        fetcher = fake_host.fetcher(names, ssl_context=ours)
        assert (await fetcher.fetch(fake_host.url(scheme="https"), MIB, USER)).data == BOOK
        assert "could not be fetched" in await error_message(
            fetcher, fake_host.url(host="other.example.org", scheme="https")
        )
        assert message == ["forms.example.org", "other.example.org"]
        assert "redirects to an address without https" in await error_message(
            fetcher, fake_host.url("/down", scheme="https")
        )
        # The system CA certificates do not include this authority.
        assert "could not be fetched" in await error_message(
            fake_host.fetcher(names), fake_host.url(scheme="https")
        )
