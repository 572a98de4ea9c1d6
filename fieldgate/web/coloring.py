"""JSON as HTML that people read: indented, coloured by kind, links that work."""

from typing import Any

import msgspec
from markupsafe import Markup, escape

INDENT = "    "


def colored(body: bytes) -> Markup:
    """The JSON of an answer as markup. Everything in it is escaped; only http addresses become links."""
    return _value(msgspec.json.decode(body), "")


def _value(value: Any, margin: str) -> Markup:
    if isinstance(value, dict):
        members = [
            Markup('<b class="key">{}</b>: {}').format(_quoted(key), _value(each, margin + INDENT))
            for key, each in value.items()
        ]
        return _block("{", "}", members, margin)
    if isinstance(value, list):
        return _block("[", "]", [_value(each, margin + INDENT) for each in value], margin)
    if isinstance(value, str):
        return _text(value)
    kind = "constant" if value is None or isinstance(value, bool) else "number"
    return Markup('<span class="{}">{}</span>').format(kind, msgspec.json.encode(value).decode())


def _block(opening: str, closing: str, members: list[Markup], margin: str) -> Markup:
    if not members:
        return escape(opening + closing)
    inner = Markup(",\n").join(escape(margin + INDENT) + member for member in members)
    return Markup("{}\n{}\n{}{}").format(opening, inner, margin, closing)


def _text(value: str) -> Markup:
    shown = Markup('<span class="string">{}</span>').format(_quoted(value))
    if value.startswith(("http://", "https://")):
        return Markup('<a href="{}">{}</a>').format(value, shown)
    return shown


def _quoted(text: str) -> Markup:
    return escape(msgspec.json.encode(text).decode())
