"""Shorten text from files and requests, so that messages stay short."""

from typing import TypeVar

Text = TypeVar("Text", str, None, str | None)


def truncate(text: Text, max_chars: int) -> Text:
    """Return the text, cut and ended with an ellipsis if it is longer than `max_chars`."""
    return text[: max_chars - 1] + "…" if text is not None and len(text) > max_chars else text
