"""Text without HTML tags, for formats that no browser shows.

to_plain_text("<p>Two &amp; three</p><ul><li>four</li></ul>")  # "Two & three\\n• four"

It takes time in proportion to the length, whatever the text: a parser of HTML takes seconds for tags that are nested
thousands of times. The result is text, not safe HTML: escape it like any other text.
"""

import html
import re

_LINE_TAGS = frozenset(
    (
        "br",
        "p",
        "div",
        "ul",
        "ol",
        "tr",
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "blockquote",
        "pre",
        "hr",
        "li",
    )
)
_HIDDEN_TAGS = frozenset(("script", "style"))  # their content is not text
_ITEM_TAG = "li"
_ITEM_MARK = "• "
# Editors insert &nbsp; anywhere. Other spaces are there on purpose, such as the narrow one in French numbers.
_collapse = re.compile("[ \\t\\n\\r\\f\u00a0]+").sub


def to_plain_text(text: str) -> str:
    """The text of HTML: lines instead of paragraphs, entities decoded, no tags and no scripts."""
    if "<" not in text:
        return html.unescape(text) if "&" in text else text
    lines = [
        _collapse(" ", line).strip(" ") for line in html.unescape(_without_tags(text)).split("\0")
    ]
    return "\n".join([line for line in lines if line and line != _ITEM_MARK.strip()])


def _without_tags(text: str) -> str:
    """Remove tags and comments. Those that end a line become null characters."""
    text = text.replace("\0", "")
    lowered = text.lower() if len(text.lower()) == len(text) else text
    pieces = []
    position = 0
    while (start := text.find("<", position)) >= 0:
        pieces.append(text[position:start])
        if text.startswith("<!--", start):
            end = text.find("-->", start)
            position = len(text) if end < 0 else end + 3
            continue
        if not _begins_tag(text, start):
            pieces.append("<")
            position = start + 1
            continue
        end = text.find(">", start)
        if end < 0:  # a tag that never ends
            return "".join(pieces)
        name, is_closing = _tag_name(text[start + 1 : end])
        position = end + 1
        if name in _HIDDEN_TAGS and not is_closing:
            end = lowered.find(f"</{name}", position)
            position = len(text) if end < 0 else end
        elif name in _LINE_TAGS:
            pieces.append("\0" + _ITEM_MARK if name == _ITEM_TAG and not is_closing else "\0")
    pieces.append(text[position:])
    return "".join(pieces)


def _begins_tag(text: str, start: int) -> bool:
    """Whether a `<` begins a tag, by the rule of HTML: a letter or one of `/!?` follows."""
    following = text[start + 1 : start + 2]
    return following in ("/", "!", "?") or (following.isascii() and following.isalpha())


def _tag_name(inside: str) -> tuple[str, bool]:
    """The lower-case name of a tag, and whether it is a closing one."""
    is_closing = inside.startswith("/")
    words = inside[is_closing : is_closing + 20].replace("/", " ").split()
    return words[0].lower() if words else "", is_closing
