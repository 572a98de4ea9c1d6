"""The floor: the least our server can do, which is to answer a constant.

The rig records what Fieldgate answered and names the file in the environment. What is between the floor and
Fieldgate is what our own code costs; nothing we write can be faster than the floor.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.answer import RecordedResponse

# Headers that the server writes by itself, and would write twice.
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
    """Answer every request alike. Granian also asks for a lifespan, which a constant does not have."""
    if scope["type"] == "http":
        await send(_START)
        await send(_BODY)
