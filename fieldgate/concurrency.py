"""Work for thousands of assignments, done beside the event loop: nobody else waits for it."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

THREAD_THRESHOLD = 300  # assignments that take milliseconds
FILTER_COST = 100  # assignments that take as long as one with large filters

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_in_thread_if(
    count: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """What the work makes; where it is for many, in a thread."""
    if count > THREAD_THRESHOLD:
        return await asyncio.to_thread(work, *args, **kwargs)
    return work(*args, **kwargs)
