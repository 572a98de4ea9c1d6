"""Slots for checks that requests wait for."""

import pytest

from fieldgate import overload
from fieldgate.errors import ServiceUnavailable
from fieldgate.imports.sandbox.request_sandbox import MAX_SANDBOX_PROCESSES, RequestSandbox
from fieldgate.imports.sandbox.runner import SandboxLimits


async def test_long_work_leaves_a_slot_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "WAIT_SECONDS", 0.01)
    sandbox = RequestSandbox(SandboxLimits(1, 1))
    assert MAX_SANDBOX_PROCESSES == 2
    async with sandbox.slot(1, is_long=True):
        with pytest.raises(ServiceUnavailable):
            async with sandbox.slot(2, is_long=True):
                pass
        async with sandbox.slot(3):
            pass
    async with sandbox.slot(2, is_long=True):
        pass
