"""Threads that compute for long have a lower priority than the event loop."""

import os
import sys
import threading

import pytest

from fieldgate.accounts.passwords import Passwords
from fieldgate.runtime.process_limits import LOWER_BY, MAX_NICENESS

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere priorities are per process"
)


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def _niceness_of_new_thread() -> int:
    """Argon2 starts threads of its own."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(_niceness()))
    thread.start()
    thread.join()
    return found[0]


def test_password_checks_have_a_low_priority() -> None:
    before = _niceness()
    passwords = Passwords()
    try:
        lowered = min(before + LOWER_BY, MAX_NICENESS)
        assert passwords._threads.submit(_niceness).result() == lowered
        assert passwords._threads.submit(_niceness_of_new_thread).result() == lowered
    finally:
        passwords.close()
    assert _niceness() == before, "this thread keeps its own"
