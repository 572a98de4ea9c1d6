"""When requests are tried again, and how long the client waits."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fieldgate_client import AsyncClient, Client
from fieldgate_client.connection import ConnectionOptions, RetryNotice
from fieldgate_client.retries import (
    MAX_RETRY_AFTER_SECONDS,
    RetryPolicy,
    parse_rate_limit,
    parse_retry_after,
)

from tests.client.stand_ins.loopback_server import (
    LoopbackServer,
    ReceivedRequest,
    Reply,
    json_reply,
)

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
EMPTY_LIST: dict[str, Any] = {"count": 0, "next": None, "previous": None, "results": []}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("1.5", 1.5),
        ((NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 90),
        ((NOW - timedelta(days=1)).strftime("%a, %d %b %Y %H:%M:%S GMT"), 0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("٣", None),
        ("9" * 40, None),
        ("Fri, 31 Dec 99999999999999999999 23:59:59 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
    ],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"ratelimit": '"default";r=0;t=30'}, 30),
        ({"ratelimit": '"default";r=5;t=30'}, None),
        ({"ratelimit": '"default";r=0;t=999999999999'}, MAX_RETRY_AFTER_SECONDS),
        ({"ratelimit": "nonsense"}, None),
    ],
)
def test_rate_limit(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_rate_limit(headers) == seconds


class Stop(Exception):
    pass


def test_a_server_that_asks_to_wait_for_an_hour() -> None:
    """The pause is bounded, and a person is told at once what happens and why."""
    notices: list[RetryNotice] = []

    def on_retry(notice: RetryNotice) -> None:
        notices.append(notice)
        raise Stop

    reply = json_reply({"detail": "Slow down."}, 500, Retry_After="3600")
    with LoopbackServer(lambda _: reply) as server:
        with (
            Client(server.base_url, options=ConnectionOptions(on_retry=on_retry)) as client,
            pytest.raises(Stop),
        ):
            client.list("event/").first()
        [notice] = notices
        assert notice.pause <= 121
        text = str(notice)
    assert (
        " answered 500: Slow down. It asks to wait 3600 s, which is too long. Trying again in 120"
        in text
    )
    assert text.endswith(" s (attempt 1 of 8 failed).")


@pytest.mark.parametrize("status", [429, 500, 503, 520, 599])
def test_a_busy_server_is_asked_again(status: int) -> None:
    replies: Iterator[Reply] = iter([Reply(status), Reply(status), json_reply(EMPTY_LIST)])
    notices: list[RetryNotice] = []

    def respond(_: ReceivedRequest) -> Reply:
        return next(replies)

    options = ConnectionOptions(retries=RetryPolicy(first_pause=0.001), on_retry=notices.append)
    with LoopbackServer(respond) as server, Client(server.base_url, options=options) as client:
        assert list(client.list("event/").pages()) == []
        assert len(server.requests) == 3
    assert [notice.attempt for notice in notices] == [1, 2]
    assert all(str(status) in notice.reason for notice in notices)


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="attempts must be at least 1"):
        RetryPolicy(attempts=0)
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        Client("http://127.0.0.1:1", concurrency=0)
    with pytest.raises(ValueError, match="page_size must be at least 1"):
        AsyncClient("http://127.0.0.1:1", page_size=0)


def test_the_wish_of_the_server_is_honoured() -> None:
    """`Retry-After` before a request is repeated, `RateLimit` before the next one."""
    limited = json_reply(EMPTY_LIST, RateLimit='"default";r=0;t=1')
    replies = iter([Reply(503, headers=(("Retry-After", "0.3"),)), limited, json_reply(EMPTY_LIST)])
    notices: list[RetryNotice] = []
    options = ConnectionOptions(retries=RetryPolicy(first_pause=0.001), on_retry=notices.append)
    with (
        LoopbackServer(lambda _: next(replies)) as server,
        Client(server.base_url, options=options) as client,
    ):
        assert client.list("event/").first() is None
        assert client.list("event/").first() is None
    assert [notice.attempt for notice in notices[:2]] == [1, 0]
    assert 0.3 <= notices[0].pause < 0.31
    assert 0 < notices[1].pause <= 1
    assert "RateLimit" in notices[1].reason
