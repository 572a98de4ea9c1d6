"""Values of filters, as query parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from enum import Enum
from typing import Any

from fieldgate_client.errors import InvalidRequest

FilterValue = Any  # str, int, float, bool, date, datetime, None, or several of these


def encode_filters(filters: Mapping[str, FilterValue]) -> list[tuple[str, str]]:
    """Query parameters. None leaves a filter out; several values are joined by commas.

    An empty list is refused: servers take an empty value as no filter, and would return everything.
    """
    encoded = [(name, encode_value(value)) for name, value in filters.items() if value is not None]
    for name, text in encoded:
        if not text and not isinstance(filters[name], str):
            raise empty_filter(name)
    return encoded


def empty_filter(name: str) -> InvalidRequest:
    return InvalidRequest(f"The filter {name} has no values. Give at least one, or None for no filter.")


def encode_value(value: FilterValue) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, date):
        return f"{value.isoformat()}T00:00:00Z"  # IFRC GO refuses a date without a time
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(encode_value(each) for each in value)
    return str(value)


def format_timestamp(value: datetime) -> str:
    """In UTC, as `+` in a URL would be a space. A time without a zone is taken as UTC."""
    value = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
    return value.isoformat().replace("+00:00", "Z")
