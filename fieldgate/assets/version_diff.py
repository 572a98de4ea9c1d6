"""The differences between two versions of a form.

changes = compare_contents(old, new)

Rows have no stable ids, as an import gives them new ones. They are matched by their path, then by their name, then by
type and label, which finds renamed rows. Of rows that changed their order, as few as possible are said to have moved;
rows inside a group that moved are not.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fieldgate.assets.form_outline import form_items
from fieldgate.assets.form_schemas import Change, Part
from fieldgate.assets.form_texts import choice_name, form_languages, row_name
from fieldgate.assets.workbook_sheets import LOCKING, PLAIN_SHEETS, TRANSLATED_KEYS

_Row = Mapping[str, Any]
_Content = Mapping[str, Any]

_IDENTITY_KEYS = frozenset(
    {"name", "list_name", "$kuid", "$autoname", "$autovalue", "$xpath", "$given_name"}
)


class ChangedField(msgspec.Struct, frozen=True):
    """A value that changed. `language` is one of a translated text, by the name of it in the new version."""

    field: str
    old: Any
    new: Any
    language: str | None = None


class ContentChange(msgspec.Struct, frozen=True, kw_only=True):
    """A difference. `old` and `new` are rows; one of them is None if the row was added or removed."""

    part: Part
    change: Change
    name: str
    old_name: str | None = None
    old: _Row | None = None
    new: _Row | None = None
    old_group: _Row | None = None
    new_group: _Row | None = None
    fields: list[ChangedField] = []


class _Node(msgspec.Struct, frozen=True, eq=False):
    """A row of a form, with its group or, for a choice, none."""

    place: int
    row: _Row
    name: str
    path: Hashable
    group: "_Node | None" = None
    list_name: str | None = None


class LanguagePair(msgspec.Struct, frozen=True):
    """A language that both versions have, by its places."""

    name: str | None
    old: int
    new: int


def compare_contents(old: _Content, new: _Content) -> list[ContentChange]:
    """All differences: languages and settings, then questions and choices in the order of the new version."""
    pairs = pair_languages(form_languages(old), form_languages(new))
    return [
        *_language_changes(form_languages(old), form_languages(new), pairs),
        *_setting_changes(_settings(old), _settings(new)),
        *_row_changes("question", _questions(old), _questions(new), pairs),
        *_row_changes("choice", _choices(old), _choices(new), pairs),
        *_sheet_changes(old, new),
    ]


# Languages and settings


def pair_languages(old: Sequence[str | None], new: Sequence[str | None]) -> list[LanguagePair]:
    """The languages of both versions. A language that got its name, or lost it, is the same."""
    pairs = [
        LanguagePair(name, old.index(name), place) for place, name in enumerate(new) if name in old
    ]
    for place, (before, after) in enumerate(zip(old, new, strict=False)):
        is_alone = before not in new and after not in old
        if is_alone and (before is None or after is None):
            pairs.append(LanguagePair(after, place, place))
    return sorted(pairs, key=lambda pair: pair.new)


def _language_changes(
    old: Sequence[str | None], new: Sequence[str | None], pairs: Sequence[LanguagePair]
) -> Iterator[ContentChange]:
    kept_old, kept_new = {pair.old for pair in pairs}, {pair.new for pair in pairs}
    for pair in pairs:
        if old[pair.old] != new[pair.new]:
            yield ContentChange(
                part="language",
                change="renamed",
                name=new[pair.new] or "",
                old_name=old[pair.old] or "",
            )
    for place, name in enumerate(new):
        if place not in kept_new:
            yield ContentChange(part="language", change="added", name=name or "")
    for place, name in enumerate(old):
        if place not in kept_old:
            yield ContentChange(part="language", change="removed", name=name or "")
    if [pair.old for pair in pairs] != sorted(pair.old for pair in pairs):
        order = ChangedField(
            "translations", [name or "" for name in old], [name or "" for name in new]
        )
        yield ContentChange(part="language", change="moved", name=new[0] or "", fields=[order])


def _settings(content: _Content) -> _Row:
    settings = content.get("settings")
    return settings if isinstance(settings, dict) else {}


def _setting_changes(old: _Row, new: _Row) -> Iterator[ContentChange]:
    for key in dict.fromkeys((*new, *old)):
        before, after = _value(old.get(key)), _value(new.get(key))
        if before != after:
            change: Change = (
                "added" if before is None else "removed" if after is None else "changed"
            )
            yield ContentChange(
                part="setting", change=change, name=key, fields=[ChangedField(key, before, after)]
            )


# Questions and choices


def _questions(content: _Content) -> list[_Node]:
    found: dict[int, _Node] = {}
    for item in form_items(content):
        name, group = row_name(item.row), None if item.group is None else found[item.group.place]
        found[item.place] = _Node(item.place, item.row, name, item.row.get("$xpath") or name, group)
    return list(found.values())


def _choices(content: _Content) -> list[_Node]:
    found: list[_Node] = []
    for place, row in enumerate(content.get("choices") or ()):
        name, list_name = choice_name(row), str(row.get("list_name") or "")
        found.append(_Node(place, row, name, (list_name, name), list_name=list_name))
    return found


def _row_changes(
    part: Part, old: Sequence[_Node], new: Sequence[_Node], pairs: Sequence[LanguagePair]
) -> Iterator[ContentChange]:
    before = _match(old, new)  # the old row of each new row, by place
    moved = _moved(new, before)
    kept = {node.place for node in before.values()}
    removed = _by_neighbour([node for node in old if node.place not in kept], old, before)
    yield from (_removal(part, node) for node in removed.get(-1, ()))
    for node in new:
        origin = before.get(node.place)
        if origin is None:
            yield ContentChange(
                part=part, change="added", name=node.name, new=node.row, new_group=_group_row(node)
            )
        elif change := _row_change(part, origin, node, pairs, is_moved=node.place in moved):
            yield change
        yield from (_removal(part, each) for each in removed.get(node.place, ()))


def _row_change(
    part: Part, old: _Node, new: _Node, pairs: Sequence[LanguagePair], *, is_moved: bool
) -> ContentChange | None:
    fields = list(changed_fields(old.row, new.row, pairs))
    is_renamed = old.name != new.name
    if not (fields or is_moved or is_renamed):
        return None
    return ContentChange(
        part=part,
        change="renamed" if is_renamed else "moved" if is_moved else "changed",
        name=new.name,
        old_name=old.name if is_renamed else None,
        old=old.row,
        new=new.row,
        old_group=_group_row(old),
        new_group=_group_row(new),
        fields=fields,
    )


def _removal(part: Part, node: _Node) -> ContentChange:
    return ContentChange(
        part=part, change="removed", name=node.name, old=node.row, old_group=_group_row(node)
    )


def _group_row(node: _Node) -> _Row | None:
    return None if node.group is None else node.group.row


def _by_neighbour(
    removed: Sequence[_Node], old: Sequence[_Node], before: Mapping[int, _Node]
) -> dict[int, list[_Node]]:
    """Removed rows by the place of the new row that they are shown after; -1 for the beginning."""
    new_places = {node.place: place for place, node in before.items()}
    gone = {node.place for node in removed}
    found: dict[int, list[_Node]] = defaultdict(list)
    last = -1
    for node in old:
        if node.place in gone:
            found[last].append(node)
        else:
            last = new_places[node.place]
    return found


def _match(old: Sequence[_Node], new: Sequence[_Node]) -> dict[int, _Node]:
    """The old row of each new row that is not new, by the place of the new row."""
    found: dict[int, _Node] = {}
    keys: tuple[Callable[[_Node], Hashable], ...] = (
        lambda node: node.path,
        lambda node: (node.list_name, node.name) if node.name else None,
        _signature,
    )
    for key in keys:
        waiting: dict[Hashable, list[_Node]] = defaultdict(list)
        taken = {node.place for node in found.values()}
        for node in reversed(old):
            if node.place not in taken:
                waiting[key(node)].append(node)
        for node in new:
            if (
                node.place not in found
                and key(node) is not None
                and (same := waiting.get(key(node)))
            ):
                found[node.place] = same.pop()
    return found


def _signature(node: _Node) -> Hashable:
    """What a renamed row still has: its type and label. None if it has no label."""
    label = node.row.get("label")
    texts = tuple(text for text in label if text) if isinstance(label, list) else (label,)
    if not any(texts):
        return None
    return (node.list_name, node.row.get("type"), node.row.get("select_from_list_name"), *texts[:1])


def _moved(new: Sequence[_Node], before: Mapping[int, _Node]) -> set[int]:
    """The places of new rows that are in another group, or in another order in their group."""
    moved: set[int] = set()
    siblings: dict[Hashable, list[_Node]] = defaultdict(list)
    for node in new:
        origin = before.get(node.place)
        if origin is None:
            continue
        old_group = None if node.group is None else before.get(node.group.place)
        is_same_group = (
            origin.group is None
            if node.group is None
            else old_group is not None and origin.group is old_group
        )
        if is_same_group:
            siblings[(node.list_name, None if node.group is None else node.group.place)].append(
                node
            )
        else:
            moved.add(node.place)
    for nodes in siblings.values():
        kept = longest_increasing([before[node.place].place for node in nodes])
        moved.update(node.place for place, node in enumerate(nodes) if place not in kept)
    return moved


def longest_increasing(numbers: Sequence[int]) -> set[int]:
    """The places of the members of a longest increasing subsequence of different numbers."""
    tails: list[int] = []  # the smallest last number of a subsequence of each length
    ends: list[int] = []  # its place
    previous: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tails, number)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [place]
        previous.append(ends[length - 1] if length else -1)
    kept: set[int] = set()
    place = ends[-1] if ends else -1
    while place >= 0:
        kept.add(place)
        place = previous[place]
    return kept


def changed_fields(old: _Row, new: _Row, pairs: Sequence[LanguagePair]) -> Iterator[ChangedField]:
    """The values that changed, by column and language. Texts of a new or removed language are not listed."""
    for key in dict.fromkeys((*new, *old)):
        if key in _IDENTITY_KEYS:
            continue
        before, after = old.get(key), new.get(key)
        if key in TRANSLATED_KEYS:
            for pair in pairs:
                texts = _text(before, pair.old), _text(after, pair.new)
                if texts[0] != texts[1]:
                    yield ChangedField(key, *texts, language=pair.name)
        elif _value(before) != _value(after):
            yield ChangedField(key, _value(before), _value(after))


def _text(value: Any, place: int) -> Any:
    if isinstance(value, list):
        return (value[place] if place < len(value) else None) or None
    return (value or None) if place == 0 else None


def _value(value: Any) -> Any:
    """A value. What a missing column means is None."""
    return None if value is False or value in ("", [], {}) else value


# Other sheets


def _sheet_changes(old: _Content, new: _Content) -> Iterator[ContentChange]:
    """Rows of the other sheets that were added or removed. They have no names to match them by."""
    for sheet in (*PLAIN_SHEETS, LOCKING):
        before, after = _encoded_rows(old, sheet), _encoded_rows(new, sheet)
        added, removed = Counter(after) - Counter(before), Counter(before) - Counter(after)
        for row in added.elements():
            yield ContentChange(
                part="other", change="added", name=sheet, new=msgspec.json.decode(row)
            )
        for row in removed.elements():
            yield ContentChange(
                part="other", change="removed", name=sheet, old=msgspec.json.decode(row)
            )
        if before != after and not added and not removed:
            yield ContentChange(part="other", change="moved", name=sheet)


def _encoded_rows(content: _Content, sheet: str) -> list[bytes]:
    return [msgspec.json.encode(row, order="sorted") for row in content.get(sheet) or ()]
