"""Guessed passwords: a flood of guesses neither locks a user out nor keeps anybody from logging in."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from fieldgate.accounts.authentication import MAX_WAITING_PER_ADDRESS
from fieldgate.accounts.login_throttle import PAIR_POLICY, USER_POLICY
from tests.processes import TIMEOUT_SECONDS, ServerProcess

LOGIN = "/get_auth_token"
GUESSES = 500


def session(address: str) -> aiohttp.ClientSession:
    """A client with an address of its own: all of 127.0.0.0/8 are this machine."""
    connector = aiohttp.TCPConnector(limit=0, local_addr=(address, 0))
    return aiohttp.ClientSession(
        connector=connector, timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    )


async def log_in(
    client: aiohttp.ClientSession, server: ServerProcess, username: str, password: str
) -> int:
    fields = {"username": username, "password": password}
    async with client.post(server.base_url + LOGIN, json=fields) as response:
        await response.read()
        return response.status


async def flood(
    server: ServerProcess, username: str, addresses: int, logins: list[tuple[str, str]]
) -> "Flood":
    """Guess from some addresses. Log in from others meanwhile, once the guesses have begun."""
    guessers = [session(f"127.0.0.{10 + number}") for number in range(addresses)]
    answered = asyncio.Event()
    seen = Counter[str]()

    async def guess(number: int) -> None:
        try:
            seen[
                str(await log_in(guessers[number % addresses], server, username, f"wrong {number}"))
            ] += 1
        except aiohttp.ClientError as error:
            seen[type(error).__name__] += 1
        answered.set()

    seconds, statuses = 0.0, []
    async with asyncio.TaskGroup() as tasks:
        for number in range(GUESSES):
            tasks.create_task(guess(number))
        await answered.wait()
        for address, password in logins:
            async with session(address) as client:
                started = time.monotonic()
                while (status := await log_in(client, server, "demo", password)) == 503:
                    # It waited for its turn for as long as it may: try again, as a client does.
                    assert time.monotonic() < started + TIMEOUT_SECONDS
                statuses.append(status)
                seconds = max(seconds, time.monotonic() - started)
    for client in guessers:
        await client.close()
    return Flood(dict(seen), statuses, seconds)


class Flood:
    def __init__(self, guesses: dict[str, int], logins: list[int], seconds: float) -> None:
        self.guesses = guesses
        self.logins = logins
        self.seconds = seconds  # of the slowest login


@pytest.mark.parametrize("addresses", [1, pytest.param(50, marks=pytest.mark.nightly)])
async def test_login_during_guesses(addresses: int, tmp_path: Path) -> None:
    """A correct password from elsewhere is accepted while others guess the password of the same user."""
    with ServerProcess(tmp_path, "--demo", "--no-worker") as server:
        password = server.printed_value("password")
        found = await flood(
            server, "demo", addresses, [("127.0.0.200", password), ("127.0.1.1", password)]
        )
    assert found.logins == [200, 200]
    assert {status for status in found.guesses if status.isdigit()} <= {"400", "429", "503"}
    assert sum(found.guesses.values()) == GUESSES
    checked = (
        MAX_WAITING_PER_ADDRESS + 2
        if addresses == 1
        else USER_POLICY.free_failures + PAIR_POLICY.free_failures
    )
    assert 0 < found.guesses["400"] <= checked
