"""Long computations run in a thread, so that the event loop can serve other requests meanwhile."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_in_thread_if(
    is_large: bool, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
) -> Result:
    """Run a function in a thread if the input is large, otherwise at once.

    Small inputs take less time than the switch to a thread and back.
    """
    if is_large:
        return await asyncio.to_thread(work, *args, **kwargs)
    return work(*args, **kwargs)
