"""JSON as HTML that people read: indented, coloured by kind, links that work."""

from html import escape
from typing import Any

import msgspec
from markupsafe import Markup

INDENT = "    "
MAX_INDENT_DEPTH = 50  # levels that are indented; what is deeper stands on one line


def render_json(record: Any) -> Markup:
    """The JSON of an answer as markup. Everything in it is escaped; only http addresses become links."""
    pieces: list[str] = []
    _render_value(record, "\n", pieces)
    return Markup("".join(pieces))  # noqa: S704  (every piece below is ours or escaped)


def truncate_json(record: Any, max_chars: int) -> Any:
    """What the first so many characters of an answer hold, roughly: of every list and text what comes first."""
    value, _ = _truncate(record, max_chars)
    return value


def _truncate(value: Any, budget: int) -> tuple[Any, int]:
    """The beginning of a value, and what room it leaves."""
    if isinstance(value, str):
        return value[:budget], max(0, budget - len(value) - 2)
    if not isinstance(value, dict | list):
        return value, max(0, budget - 4)
    begun = []
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if budget <= 0:
            break
        first, budget = _truncate(each, max(1, budget - len(str(key))))
        begun.append((key, first))
    return (dict(begun) if isinstance(value, dict) else [first for _, first in begun]), budget


def _render_value(value: Any, newline: str, pieces: list[str]) -> None:
    """Add the markup of a value. Plain text is joined once at the end: pages can hold a thousand records."""
    if len(newline) > MAX_INDENT_DEPTH * len(INDENT):
        pieces.append(escape(msgspec.json.encode(value).decode()))
    elif isinstance(value, dict):
        _render_block(
            "{", "}", [(f'<b class="key">{_quote(key)}</b>: ', each) for key, each in value.items()], newline, pieces
        )
    elif isinstance(value, list):
        _render_block("[", "]", [("", each) for each in value], newline, pieces)
    elif isinstance(value, str):
        shown = f'<span class="string">{_quote(value)}</span>'
        is_link = value.startswith(("http://", "https://"))
        pieces.append(f'<a href="{escape(value)}">{shown}</a>' if is_link else shown)
    else:
        kind = "constant" if value is None or isinstance(value, bool) else "number"
        pieces.append(f'<span class="{kind}">{msgspec.json.encode(value).decode()}</span>')


def _render_block(opening: str, closing: str, members: list[tuple[str, Any]], newline: str, pieces: list[str]) -> None:
    pieces.append(opening)
    inner = newline + INDENT
    for number, (label, value) in enumerate(members):
        pieces += ("," if number else "", inner, label)
        _render_value(value, inner, pieces)
    pieces.append(newline + closing if members else closing)


def _quote(text: str) -> str:
    return escape(msgspec.json.encode(text).decode())
