"""Texts of other people's, cut to where they still tell what is meant."""

from typing import TypeVar

Text = TypeVar("Text", str, None, str | None)


def clipped(text: Text, length: int) -> Text:
    """The text itself, or its beginning with an ellipsis."""
    return text[: length - 1] + "…" if text is not None and len(text) > length else text
