"""The floor: the bare server, which sends one recorded response of Fieldgate to every request."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.requests import Response

_RESPONSE = msgspec.json.decode(Path(os.environ["FLOOR_RESPONSE"]).read_bytes(), type=Response)
_START = {
    "type": "http.response.start",
    "status": _RESPONSE.status,
    "headers": [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in _RESPONSE.headers
        if name.lower() not in {"date", "server"}  # the server adds them
    ],
}
_BODY = {"type": "http.response.body", "body": _RESPONSE.body}


async def application(
    scope: Mapping[str, Any],
    _receive: Callable[[], Awaitable[Mapping[str, Any]]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
) -> None:
    """Send the recorded response. Lifespan events are ignored."""
    if scope["type"] == "http":
        await send(_START)
        await send(_BODY)
