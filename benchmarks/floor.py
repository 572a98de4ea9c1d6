"""The floor: the server with a constant response.

The response is one recorded from Fieldgate; the environment names its file. The difference between the floor and
Fieldgate is the cost of our own code.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.recorded_response import RecordedResponse

# Headers the server adds by itself.
SERVER_HEADERS = {"date", "server"}

_RESPONSE = msgspec.json.decode(Path(os.environ["FLOOR_ANSWER"]).read_bytes(), type=RecordedResponse)
_START = {
    "type": "http.response.start",
    "status": _RESPONSE.status,
    "headers": [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in _RESPONSE.headers
        if name.lower() not in SERVER_HEADERS
    ],
}
_BODY = {"type": "http.response.body", "body": _RESPONSE.body}


async def application(
    scope: Mapping[str, Any],
    _receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Send the recorded response to every request. Lifespan events are ignored."""
    if scope["type"] == "http":
        await send(_START)
        await send(_BODY)
