"""Texts of other people's, cut to where they still tell what is meant."""

from typing import TypeVar

Text = TypeVar("Text", str, None, str | None)


def truncate(text: Text, max_chars: int) -> Text:
    """The text itself, or its beginning with an ellipsis."""
    return text[: max_chars - 1] + "…" if text is not None and len(text) > max_chars else text
