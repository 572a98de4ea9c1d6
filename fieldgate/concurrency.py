"""Work for thousands of assignments, done beside the event loop: nobody else waits for it."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

MANY = 300  # assignments that take milliseconds
WITH_FILTERS = 100  # assignments that take as long as one with large filters

Given = ParamSpec("Given")
Made = TypeVar("Made")


async def aside(count: int, work: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made:
    """What the work makes; where it is for many, in a thread."""
    if count > MANY:
        return await asyncio.to_thread(work, *given, **named)
    return work(*given, **named)
