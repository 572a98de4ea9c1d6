"""Slots for checks that requests wait for."""

import pytest

from fieldgate import overload
from fieldgate.errors import ServiceUnavailable
from fieldgate.imports.sandbox.request_sandbox import LARGE_BYTES, RequestSandbox
from fieldgate.imports.sandbox.runner import SandboxLimits


async def test_large_forms_leave_a_slot_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload, "WAIT_SECONDS", 0.01)
    sandbox = RequestSandbox(SandboxLimits(1, 1))
    async with sandbox.slot(1, LARGE_BYTES + 1):
        with pytest.raises(ServiceUnavailable):
            async with sandbox.slot(2, LARGE_BYTES + 1):
                pass
        async with sandbox.slot(3, LARGE_BYTES):
            pass
    async with sandbox.slot(2, LARGE_BYTES + 1):
        pass
