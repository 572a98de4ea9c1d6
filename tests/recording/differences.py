"""Compare two recordings: each kind of difference once, with how many requests have it and one of them."""

import difflib
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

MAX_CHARS = 160
Recording = dict[str, Any]  # an exchange, by the name of the request


class Kind(NamedTuple):
    """What is equal among differences that are reported once."""

    method: str
    template: str
    place: str
    old: str
    new: str


def read_recording(file: Path) -> Recording:
    with gzip.open(file, "rt") as lines:
        return {exchange["name"]: exchange for exchange in map(json.loads, lines)}


def compare(old: Recording, new: Recording) -> dict[Kind, list[str]]:
    """Return the requests of each kind of difference."""
    kinds: dict[Kind, list[str]] = {}
    known: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for name in {**old, **new}:
        if name not in old or name not in new:
            exchange = old.get(name) or new[name]
            changes = [
                ("request", "sent", "not sent") if name in old else ("request", "not sent", "sent")
            ]
        else:
            exchange = old[name]
            changes = []
            for place in ("status", "headers", "body"):
                before, after = (json.dumps(recording[name][place]) for recording in (old, new))
                if before == after:
                    continue
                if (before, after) not in known:
                    changed = values_that_differ(place, old[name][place], new[name][place])
                    known[before, after] = list(dict.fromkeys(changed))
                changes += known[before, after]
        for place, before, after in changes:
            kind = Kind(exchange["method"], exchange["template"], place, before, after)
            kinds.setdefault(kind, []).append(name)
    return kinds


def values_that_differ(place: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield place, old and new value of each difference. Positions in lists are left out of the place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if key not in old or key not in new:
                yield (
                    f"{place}.{key}",
                    _short(old.get(key, "(no key)")),
                    _short(new.get(key, "(no key)")),
                )
            elif old[key] != new[key] or json.dumps(old[key]) != json.dumps(new[key]):
                yield from values_that_differ(f"{place}.{key}", old[key], new[key])
        if set(old) == set(new) and list(old) != list(new) and place != "headers":
            yield f"{place}: order of keys", _short(list(old)), _short(list(new))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _items_that_differ(f"{place}[]", old, new)
    elif old != new:
        yield place, _short(old), _short(new)


def _items_that_differ(
    place: str, old: list[Any], new: list[Any]
) -> Iterator[tuple[str, str, str]]:
    before = [json.dumps(item) for item in old]
    after = [json.dumps(item) for item in new]
    if sorted(before) == sorted(after):
        yield f"{place}: order", _short(old), _short(new)
        return
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, before, after, False
    ).get_opcodes():
        if tag == "equal":
            continue
        if end - start == new_end - new_start:
            for one, other in zip(old[start:end], new[new_start:new_end], strict=True):
                yield from values_that_differ(place, one, other)
        else:
            yield place, _short(old[start:end]), _short(new[new_start:new_end])


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "…"


def report(kinds: dict[Kind, list[str]]) -> str:
    if not kinds:
        return "no difference\n"
    lines = [f"{len(kinds)} kinds of difference"]
    for kind, names in sorted(kinds.items(), key=lambda item: -len(item[1])):
        lines += [
            f"\n{kind.method} {kind.template}: {kind.place}, in {len(names)} requests",
            f"  old: {kind.old}",
            f"  new: {kind.new}",
            f"  for example {names[0]}",
        ]
    return "\n".join(lines) + "\n"
