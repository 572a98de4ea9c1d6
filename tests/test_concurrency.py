"""Where work runs: on the event loop if it is small, in a thread if it is large."""

import threading

import pytest

from fieldgate.assets.work_cost import THREAD_THRESHOLD, run_by_cost
from fieldgate.concurrency import run_in_thread_if


def _thread_and_arguments(*args: int, **kwargs: int) -> tuple[bool, tuple[int, ...], dict[str, int]]:
    return threading.current_thread() is threading.main_thread(), args, kwargs


async def test_small_work_runs_on_the_event_loop() -> None:
    assert await run_in_thread_if(False, _thread_and_arguments, 1, b=2) == (True, (1,), {"b": 2})


async def test_large_work_runs_in_a_thread() -> None:
    assert await run_in_thread_if(True, _thread_and_arguments, 1, b=2) == (False, (1,), {"b": 2})


@pytest.mark.parametrize("is_large", [False, True])
async def test_errors_reach_the_caller(is_large: bool) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await run_in_thread_if(is_large, int, "x")


@pytest.mark.parametrize(("cost", "on_loop"), [(THREAD_THRESHOLD, True), (THREAD_THRESHOLD + 1, False)])
async def test_cost_of_assignments_decides(cost: int, on_loop: bool) -> None:
    assert (await run_by_cost(cost, _thread_and_arguments))[0] == on_loop
