"""Files from elsewhere: from listed hosts on the open internet, within limits, and from nowhere else."""

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
from fieldgate.imports.fetch.safe_download import MAX_REDIRECTS
from fieldgate.imports.fetch.url_fetcher import MAX_CONCURRENT_FETCHES, URLFetcher
from fieldgate.metrics.access_log import logging_config
from tests.imports.fake_host import FakeHost, ok_response, redirect_response, serve_fake_host, status_response

BOOK = b"PK\x03\x04 a workbook"
MIB = 1024 * 1024
MOST_PATIENCE = 30.0  # seconds

NOT_PUBLIC = [
    "0.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "203.0.113.5", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::10.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:224.0.0.1",
    "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:a00:1::1",
    "2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1", "ff02::1",
    "ff0e::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]


@pytest.fixture
async def elsewhere() -> AsyncIterator[FakeHost]:
    async with serve_fake_host() as started:
        started.responses["/household.xlsx"] = ok_response(BOOK)
        yield started


async def refusal(fetcher: URLFetcher, url: str, limit: int = MIB) -> str:
    with pytest.raises(ValidationError) as raised:
        await fetcher.fetch(url, limit)
    assert list(raised.value.fields) == ["url"]
    return translate(raised.value.fields["url"][0], Language.ENGLISH)


@pytest.mark.parametrize("text", NOT_PUBLIC)
async def test_addresses_that_are_never_connected_to(text: str, elsewhere: FakeHost) -> None:
    assert not is_public(ip_address(text))
    fetcher = elsewhere.fetcher({"forms.example.org": (text,)}, may_connect=is_public)
    assert "forms.example.org is not on the public internet." in await refusal(fetcher, elsewhere.url())


@pytest.mark.parametrize("text", PUBLIC)
def test_addresses_on_the_open_internet(text: str) -> None:
    assert is_public(ip_address(text))


async def test_a_file_with_its_name(elsewhere: FakeHost) -> None:
    fetched = await elsewhere.fetcher().fetch(elsewhere.url(), len(BOOK))
    assert (fetched.data, fetched.name) == (BOOK, "household.xlsx")
    assert elsewhere.headers["host"] == f"forms.example.org:{elsewhere.port}"
    assert elsewhere.headers["accept-encoding"] == "identity"
    assert not {"cookie", "authorization"} & set(elsewhere.headers)


@pytest.mark.parametrize(
    ("path", "asked", "header", "name"),
    [
        ("/a/My form.xlsx", "/a/My%20form.xlsx", "", "My form.xlsx"),
        ("/a/é.csv?x=1&y=a%2Fb#top", "/a/%C3%A9.csv?x=1&y=a%2Fb", "", "é.csv"),
        ("/a%2Fb.xlsx", "/a%2Fb.xlsx", "", "b.xlsx"),
        ("/", "/", "", ""),
        ("/d", "/d", 'Content-Disposition: attachment; filename="visit.xlsx"', "visit.xlsx"),
        ("/d", "/d", "Content-Disposition: attachment; filename*=UTF-8''%C3%A9t%C3%A9.ods", "été.ods"),
        ("/d", "/d", 'Content-Disposition: attachment; filename="../../etc/x.xls"', "x.xls"),
        ("/d", "/d", "Content-Disposition: inline", "d"),
        ("/d", "/d", "Content-Disposition: ;;=", "d"),
    ],
)
async def test_names_of_files(elsewhere: FakeHost, path: str, asked: str, header: str, name: str) -> None:
    elsewhere.responses[asked] = ok_response(BOOK, *([header] if header else []))
    assert (await elsewhere.fetcher().fetch(elsewhere.url(path), MIB)).name == name


@pytest.mark.parametrize(
    ("hosts", "url"),
    [
        (("forms.example.org:{port}",), "http://forms.example.org:{port}/household.xlsx"),
        (("forms.example.org:{port}",), "  HTTP://Forms.EXAMPLE.org.:{port}/household.xlsx  "),
        (("other.example", ".example.org:{port}"), "http://forms.example.org:{port}/household.xlsx"),
        ((".forms.example.org:{port}",), "http://forms.example.org:{port}/household.xlsx"),
        (("xn--mnchen-3ya.example:{port}",), "http://München.example:{port}/household.xlsx"),
        (("xn--mnchen-3ya.example:{port}",), "http://xn--mnchen-3ya.example:{port}/household.xlsx"),
        ((".xn--mnchen-3ya.example:{port}",), "http://a。münchen。example:{port}/household.xlsx"),
    ],
)
async def test_hosts_that_are_listed(elsewhere: FakeHost, hosts: Sequence[str], url: str) -> None:
    names = ("forms.example.org", "xn--mnchen-3ya.example", "a.xn--mnchen-3ya.example")
    listed = [entry.format(port=elsewhere.port) for entry in hosts]
    fetcher = elsewhere.fetcher(dict.fromkeys(names, ("127.0.0.1",)), hosts=listed)
    assert (await fetcher.fetch(url.format(port=elsewhere.port), MIB)).data == BOOK


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/x.xlsx",
        "https://evil-forms.example.org/x.xlsx",
        "https://forms.example.org.evil.example/x.xlsx",
        "https://forms.example.org../x.xlsx",
        "https://forms%2eexample.org/x.xlsx",
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
async def test_hosts_that_are_not_listed(elsewhere: FakeHost, url: str) -> None:
    fetcher = elsewhere.fetcher(hosts=("forms.example.org", ".camps.example:8443"))
    said = await refusal(fetcher, url)
    assert "only from: forms.example.org, .camps.example:8443. Send the file itself." in said
    assert elsewhere.resolved_names == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "[::1]"])
async def test_names_for_this_machine_lead_nowhere_even_if_listed(elsewhere: FakeHost, host: str) -> None:
    listed = f"{host}:{elsewhere.port}" if ":" not in host else "::1"
    said = await refusal(URLFetcher([listed]), elsewhere.url(host=host))
    assert "is not on the public internet." in said or "are not fetched from" in said
    assert elsewhere.requested_paths == []


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
async def test_what_is_no_address_to_fetch_from(elsewhere: FakeHost, url: str) -> None:
    said = await refusal(elsewhere.fetcher(hosts=("forms.example.org", "other.example")), url)
    assert said.startswith("Enter an address such as https://")
    assert elsewhere.resolved_names == []


async def test_one_address_inside_is_enough_to_refuse(elsewhere: FakeHost) -> None:
    both = elsewhere.fetcher({"forms.example.org": ("8.8.8.8", "10.0.0.1")}, may_connect=is_public)
    assert "is not on the public internet." in await refusal(both, elsewhere.url())
    assert elsewhere.requested_paths == []


async def test_the_connection_goes_to_the_address_that_was_checked(elsewhere: FakeHost) -> None:
    answers = iter(["127.0.0.1", "127.0.0.2"])
    checked: list[IPAddress] = []

    async def changing(name: str, port: int) -> Sequence[IPAddress]:
        return [ip_address(next(answers))]

    def watch(address: IPAddress) -> bool:
        checked.append(address)
        return True

    fetcher = elsewhere.fetcher(resolve=changing, may_connect=watch)
    assert (await fetcher.fetch(elsewhere.url(), MIB)).data == BOOK
    assert checked == [ip_address("127.0.0.1")]


async def test_the_next_address_is_tried(elsewhere: FakeHost) -> None:
    fetcher = elsewhere.fetcher({"forms.example.org": ("127.0.0.2", "127.0.0.1")})
    assert (await fetcher.fetch(elsewhere.url(), MIB)).data == BOOK
    nobody = elsewhere.fetcher({"forms.example.org": ("127.0.0.2", "127.0.0.3")})
    assert "could not be fetched from forms.example.org" in await refusal(nobody, elsewhere.url())


async def test_redirects_are_followed(elsewhere: FakeHost) -> None:
    fetcher = elsewhere.fetcher({"forms.example.org": ("127.0.0.1",), "files.example.org": ("127.0.0.1",)})
    elsewhere.responses |= {
        "/latest": redirect_response("../v2/form?x=1", 301),
        "/v2/form?x=1": redirect_response(elsewhere.url("/stored.xlsx", "files.example.org"), 307),
        "/stored.xlsx": ok_response(BOOK),
    }
    fetched = await fetcher.fetch(elsewhere.url("/latest"), MIB)
    assert (fetched.data, fetched.name) == (BOOK, "stored.xlsx")
    assert elsewhere.headers["host"] == f"files.example.org:{elsewhere.port}"
    assert elsewhere.resolved_names == ["forms.example.org", "forms.example.org", "files.example.org"]


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://inside.example.org:{port}/secret", "inside.example.org is not on the public internet."),
        ("http://169.254.169.254/latest/meta-data/", "not fetched from 169.254.169.254"),
        ("http://127.0.0.1:{port}/secret", "not fetched from 127.0.0.1"),
        ("//other.example/x.xlsx", "not fetched from other.example"),
        ("http://forms.example.org:22/", "not fetched from forms.example.org, only from: .example.org:{port}."),
        ("http://amina:secret@forms.example.org:{port}/", "Enter an address such as"),
        ("file:///etc/passwd", "Enter an address such as"),
        ("http://forms.example.org:port/", "Enter an address such as"),
        ("http://xn--a/x.xlsx", "not fetched from xn--a"),
        ("http://gone.example.org:{port}/", "could not be fetched from gone.example.org"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_address(elsewhere: FakeHost, location: str, said: str) -> None:
    elsewhere.responses |= {
        "/": redirect_response(location.format(port=elsewhere.port)),
        "/secret": ok_response(b"secret"),
    }
    fetcher = elsewhere.fetcher({"forms.example.org": ("127.0.0.1",), "inside.example.org": ("10.0.0.1",)})
    assert said.format(port=elsewhere.port) in await refusal(fetcher, elsewhere.url("/"))
    assert elsewhere.requested_paths == ["/"]


async def test_redirects_end(elsewhere: FakeHost) -> None:
    elsewhere.responses["/loop"] = redirect_response("/loop")
    assert "redirects too many times" in await refusal(elsewhere.fetcher(), elsewhere.url("/loop"))
    assert len(elsewhere.requested_paths) == MAX_REDIRECTS + 1


@pytest.mark.parametrize("code", [204, 206, 304, 302, 401, 403, 404, 500])
async def test_any_answer_but_200_is_told(elsewhere: FakeHost, code: int) -> None:
    elsewhere.responses["/x"] = status_response(code)
    said = await refusal(elsewhere.fetcher(), elsewhere.url("/x"))
    assert said.startswith(f"forms.example.org answered with status {code}.")


@pytest.mark.parametrize(
    "answer",
    [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", b"HTTP/1.1 200 OK\r\nX: ",
     b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000],
)  # fmt: skip
async def test_answers_that_are_no_answer(elsewhere: FakeHost, answer: bytes) -> None:
    elsewhere.responses["/x"] = answer
    assert "could not be fetched" in await refusal(elsewhere.fetcher(), elsewhere.url("/x"))


async def test_names_that_are_not_known(elsewhere: FakeHost) -> None:
    assert "could not be fetched" in await refusal(elsewhere.fetcher({}), elsewhere.url())
    assert "could not be fetched" in await refusal(elsewhere.fetcher({"forms.example.org": ()}), elsewhere.url())
    too_long = f"https://{'x' * 64}.example.org/x.xlsx"
    assert "could not be fetched" in await refusal(URLFetcher([".example.org"]), too_long)


async def test_too_large_by_its_own_word_or_while_it_arrives(elsewhere: FakeHost) -> None:
    broken_off = asyncio.Event()

    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                writer.write(b"400\r\n" + b"x" * 0x400 + b"\r\n")
                await writer.drain()
        except ConnectionError:
            broken_off.set()

    elsewhere.responses |= {"/endless": endless, "/declared": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"}
    for path in ("/endless", "/declared", "/household.xlsx"):
        with pytest.raises(PayloadTooLarge):
            await elsewhere.fetcher().fetch(elsewhere.url(path), len(BOOK) - 1)
    await asyncio.wait_for(broken_off.wait(), 10)


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, identity", "x-unknown"])
async def test_a_packed_file_is_not_unpacked(elsewhere: FakeHost, coding: str) -> None:
    elsewhere.responses["/bomb"] = ok_response(gzip.compress(bytes(10 * MIB)), f"Content-Encoding: {coding}")
    assert "sends the file compressed" in await refusal(elsewhere.fetcher(), elsewhere.url("/bomb"))
    elsewhere.responses["/plain"] = ok_response(BOOK, "Content-Encoding: Identity")
    assert (await elsewhere.fetcher().fetch(elsewhere.url("/plain"), MIB)).data == BOOK


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["head", "body"])
async def test_a_slow_drip_ends_in_time(elsewhere: FakeHost, start: bytes) -> None:
    broken_off = asyncio.Event()

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            broken_off.set()

    elsewhere.responses["/slow"] = drip
    patience = 0.2
    while not elsewhere.requested_paths:  # a machine with much to do takes longer to get there at all
        assert patience < MOST_PATIENCE, "it was never asked"
        said = await refusal(elsewhere.fetcher(timeout=patience), elsewhere.url("/slow"))
        assert said.startswith("The file did not arrive within")
        patience *= 2
    await asyncio.wait_for(broken_off.wait(), 10)


async def test_a_name_that_takes_for_ever_ends_in_time() -> None:
    async def never(name: str, port: int) -> Sequence[IPAddress]:
        await asyncio.Event().wait()
        return []

    said = await refusal(URLFetcher(["forms.example.org"], resolve=never, timeout=0.01), "https://forms.example.org/")
    assert said.startswith("The file did not arrive within")


async def test_only_so_many_at_once(elsewhere: FakeHost) -> None:
    released = asyncio.Event()
    waiting = asyncio.Semaphore(0)

    async def held(writer: asyncio.StreamWriter) -> None:
        waiting.release()
        await released.wait()
        writer.write(ok_response(BOOK))

    elsewhere.responses["/held"] = held
    fetcher = elsewhere.fetcher()
    under_way = [asyncio.create_task(fetcher.fetch(elsewhere.url("/held"), MIB)) for _ in range(MAX_CONCURRENT_FETCHES)]
    for _ in under_way:
        await asyncio.wait_for(waiting.acquire(), 10)
    with pytest.raises(ServiceUnavailable):
        await fetcher.fetch(elsewhere.url(), MIB)
    released.set()
    assert {fetched.data for fetched in await asyncio.gather(*under_way)} == {BOOK}
    assert (await fetcher.fetch(elsewhere.url(), MIB)).data == BOOK


async def test_the_environment_names_no_proxy(elsewhere: FakeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await elsewhere.fetcher().fetch(elsewhere.url(), MIB)).data == BOOK


async def test_neither_queries_nor_headers_are_logged(elsewhere: FakeHost, caplog: pytest.LogCaptureFixture) -> None:
    elsewhere.responses["/x?key=secret"] = ok_response(BOOK, "Set-Cookie: secret")
    with caplog.at_level(logging.DEBUG):
        await elsewhere.fetcher().fetch(elsewhere.url("/x?key=secret"), MIB)
    telling = [record for record in caplog.records if "secret" in record.getMessage()]
    assert telling
    quiet = logging_config("debug")["loggers"]
    for record in telling:
        assert record.levelno < getattr(logging, quiet[record.name.split(".")[0]]["level"])


async def test_tls_is_for_the_name_and_not_for_the_address() -> None:
    authority = trustme.CA()
    theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("forms.example.org", "127.0.0.1").configure_cert(theirs)
    authority.configure_trust(ours)
    said: list[str | None] = []
    theirs.sni_callback = lambda _socket, name, _context: said.append(name)
    names = dict.fromkeys(("forms.example.org", "other.example.org"), ("127.0.0.1",))
    async with serve_fake_host(theirs) as elsewhere:
        elsewhere.responses |= {
            "/household.xlsx": ok_response(BOOK),
            "/down": redirect_response(elsewhere.url(scheme="http")),
        }
        fetcher = elsewhere.fetcher(names, ssl_context=ours)
        assert (await fetcher.fetch(elsewhere.url(scheme="https"), MIB)).data == BOOK
        assert "could not be fetched" in await refusal(fetcher, elsewhere.url(host="other.example.org", scheme="https"))
        assert said == ["forms.example.org", "other.example.org"]
        assert "redirects to an address without https" in await refusal(fetcher, elsewhere.url("/down", scheme="https"))
        # The certificates of the world know nothing of this authority.
        assert "could not be fetched" in await refusal(elsewhere.fetcher(names), elsewhere.url(scheme="https"))
