"""Events as an Atom feed (RFC 4287), so that people can subscribe to a filter.

The entries are in the order of their last change, newest first, whatever order the request asks for: a reader of feeds
takes the first page only.
"""

import html
import re
from collections.abc import Sequence

from babel.lists import format_list
from babel.numbers import format_decimal

from fieldgate.events.export.file_context import FeedEvent, FileContext, decode_event
from fieldgate.events.plain_text import to_plain_text
from fieldgate.http.negotiation import Format
from fieldgate.i18n.messages import Message, translate

ORDERING = "-updated_at"
END = b"</feed>\n"
AUTHOR = "Fieldgate"
MAX_SUMMARY_CHARS = 4_000
NEVER_UPDATED = "1970-01-01T00:00:00Z"  # of a feed without entries; the element is required

# Characters that XML 1.0 does not allow, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def encode_feed_start(records: Sequence[bytes], context: FileContext) -> bytes:
    """The feed up to its first entry. `records` are the first ones, the newest first."""
    updated = decode_event(records[0]).updated_at if records else NEVER_UPDATED
    targets = (
        ("self", context.self_url, Format.ATOM.media_type),
        ("alternate", context.list_url, Format.HTML.media_type),
        ("next", context.next_page, Format.ATOM.media_type),
        ("previous", context.previous_page, Format.ATOM.media_type),
    )
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{context.language.value}">',
        f"<id>{_escape(context.list_url)}</id>",
        f"<title>{_escape(context.title)}</title>",
        f"<updated>{updated}</updated>",
        f"<author><name>{AUTHOR}</name></author>",
        f"<generator>{AUTHOR}</generator>",
        *[
            f'<link rel="{rel}" type="{kind}" href="{_escape(url)}"/>'
            for rel, url, kind in targets
            if url
        ],
    ]
    return ("\n".join(lines) + "\n").encode()


def encode_entries(records: Sequence[bytes], context: FileContext) -> bytes:
    return "".join([_entry(decode_event(record), context) for record in records]).encode()


def _entry(event: FeedEvent, context: FileContext) -> str:
    url = _escape(context.event_url(event.id))
    terms = [("disaster_type", event.dtype.name, event.dtype.name)] if event.dtype else []
    terms += [
        ("country", country.iso3 or country.name, country.name) for country in event.countries
    ]
    lines = [
        "<entry>",
        f"<id>{url}</id>",
        f'<title type="text">{_escape(event.name)}</title>',
        f"<updated>{event.updated_at}</updated>",
        f"<published>{event.created_at}</published>",
        f'<link rel="alternate" type="text/html" href="{url}"/>',
        *[
            f'<category scheme="{_escape(f"{context.base_url}/api/v2/{list_name}/")}" term="{_escape(term)}"'
            f' label="{_escape(label)}"/>'
            for list_name, term, label in terms
        ],
        f'<summary type="text">{_escape(_summary(event, context))}</summary>',
        "</entry>",
    ]
    return "\n".join(lines) + "\n"


def _summary(event: FeedEvent, context: FileContext) -> str:
    """A line of facts, then the text of the event."""
    locale = context.language.value
    facts = [event.ifrc_severity_level_display]
    if event.dtype:
        facts.append(event.dtype.name)
    if event.countries:
        facts.append(format_list([country.name for country in event.countries], locale=locale))
    if event.num_affected is not None:
        number = format_decimal(event.num_affected, locale=locale)
        facts.append(
            translate(Message("People affected: {number}", number=number), context.language)
        )
    text = to_plain_text(event.summary)
    if len(text) > MAX_SUMMARY_CHARS:
        text = text[:MAX_SUMMARY_CHARS].rstrip() + "…"
    return " · ".join(facts) + ("\n\n" + text if text else "")


def _escape(text: str) -> str:
    """Text for an element or an attribute."""
    return html.escape(_NOT_XML.sub("", text))
