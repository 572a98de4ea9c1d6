"""The text of JSON columns. That of a large form has megabytes, and `json` takes ten times as long as `msgspec`."""

import json
from typing import Any

import msgspec


def encode_json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair
        return json.dumps(value)


def decode_json(text: str | bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # what `json` has written: half a surrogate pair, NaN
        return json.loads(text)


# For `create_engine`.
JSON_OPTIONS: dict[str, Any] = {"json_serializer": encode_json, "json_deserializer": decode_json}
