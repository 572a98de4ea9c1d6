"""JSON as HTML: indented, with colours and links."""

from html import escape
from typing import Any

import msgspec
from markupsafe import Markup

INDENT = "    "
MAX_INDENT_DEPTH = 50  # deeper levels are on one line


def render_json(record: Any) -> Markup:
    """Return a record as markup. All text is escaped; only http and https URLs become links."""
    pieces: list[str] = []
    _render_value(record, "\n", pieces)
    return Markup("".join(pieces))  # noqa: S704  (every piece is a constant or escaped)


def truncate_json(record: Any, max_chars: int) -> Any:
    """Return the beginning of a record, of about `max_chars` characters: lists and texts are cut short."""
    return _truncate(record, max_chars)[0]


def _truncate(value: Any, budget: int) -> tuple[Any, int]:
    """Return the beginning of a value, and the rest of the budget."""
    if isinstance(value, str):
        return value[:budget], max(0, budget - len(value) - 2)
    if not isinstance(value, dict | list):
        return value, max(0, budget - 4)
    members = []
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if budget <= 0:
            break
        start, budget = _truncate(each, max(1, budget - len(str(key))))
        members.append((key, start))
    return (dict(members) if isinstance(value, dict) else [start for _, start in members]), budget


def _render_value(value: Any, newline: str, pieces: list[str]) -> None:
    """Append the markup of a value to `pieces`, which are joined once: a page can have a thousand records."""
    if len(newline) > MAX_INDENT_DEPTH * len(INDENT):
        pieces.append(escape(msgspec.json.encode(value).decode()))
    elif isinstance(value, dict):
        _render_block(
            "{",
            "}",
            [(f'<b class="key">{_quote(key)}</b>: ', each) for key, each in value.items()],
            newline,
            pieces,
        )
    elif isinstance(value, list):
        _render_block("[", "]", [("", each) for each in value], newline, pieces)
    elif isinstance(value, str):
        text = f'<span class="string">{_quote(value)}</span>'
        is_link = value.startswith(("http://", "https://"))
        pieces.append(f'<a href="{escape(value)}">{text}</a>' if is_link else text)
    else:
        kind = "constant" if value is None or isinstance(value, bool) else "number"
        pieces.append(f'<span class="{kind}">{msgspec.json.encode(value).decode()}</span>')


def _render_block(
    opening: str, closing: str, members: list[tuple[str, Any]], newline: str, pieces: list[str]
) -> None:
    pieces.append(opening)
    inner = newline + INDENT
    for number, (label, value) in enumerate(members):
        pieces += ("," if number else "", inner, label)
        _render_value(value, inner, pieces)
    pieces.append(newline + closing if members else closing)


def _quote(text: str) -> str:
    return escape(msgspec.json.encode(text).decode())
