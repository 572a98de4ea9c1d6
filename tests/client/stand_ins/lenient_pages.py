"""Pages as the live systems send them: they never refuse a limit or an offset, and fall back to a default."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

MAX_NUMBER = 2**63 - 1


class PageRules(msgspec.Struct, frozen=True):
    default_limit: int
    max_limit: int | None = None
    offset_name: str = "offset"  # in links
    has_count: bool = True


def number(text: str | None, default: int, lowest: int) -> int:
    """What the live systems make of a limit or an offset: digits of any script, a plus sign and spaces are fine."""
    try:
        value = int((text or "").strip())
    except ValueError:
        return default
    return value if value >= lowest else default


def page_of(records: Sequence[Any], query: dict[str, str], rules: PageRules, address: str) -> dict[str, Any]:
    """One page with its links: absolute, all parameters kept, sorted by name."""
    limit = number(query.get("limit"), rules.default_limit, 1)
    if rules.max_limit is not None:
        limit = min(limit, rules.max_limit)
    offset = number(query.get("start"), -1, 0) if rules.offset_name == "start" else -1  # `start` wins
    if offset < 0:
        offset = number(query.get("offset"), 0, 0)

    def link(position: int) -> str:
        others = {name: value for name, value in query.items() if name not in ("limit", "offset", "start")}
        wanted = {**others, "limit": limit, **({rules.offset_name: position} if position > 0 else {})}
        return f"{address}?{urlencode(sorted(wanted.items()))}"

    page = {
        "count": len(records),
        "next": link(offset + limit) if offset + limit < len(records) else None,
        "previous": link(offset - limit) if offset > 0 else None,
        "results": records[offset : offset + limit],
    }
    return page if rules.has_count else {name: value for name, value in page.items() if name != "count"}
