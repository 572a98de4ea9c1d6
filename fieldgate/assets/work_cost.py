"""Work on many assignments runs in a thread. Its cost is counted in assignments."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from fieldgate.overload import run_in_thread_if

THREAD_THRESHOLD = 300  # assignments that take milliseconds
FILTER_COST = 100  # assignments that take as long as one with large filters

Params = ParamSpec("Params")
Result = TypeVar("Result")


async def run_by_cost(cost: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
    """Run a function, in a thread if it is for more than `THREAD_THRESHOLD` assignments."""
    return await run_in_thread_if(cost > THREAD_THRESHOLD, work, *args, **kwargs)
