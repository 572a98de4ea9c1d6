"""The differences between two versions as they are sent: with labels, and values in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fieldgate.assets.expression_text import expression_text
from fieldgate.assets.form_schemas import DiffCount, FieldChange, FormChange
from fieldgate.assets.form_texts import (
    FIELD_LABELS,
    LabelFinder,
    clip,
    row_name,
    text_in,
    type_name,
)
from fieldgate.assets.version_diff import ChangedField, ContentChange
from fieldgate.assets.workbook_sheets import TRANSLATED_KEYS
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_TEXT_CHARS = 2_000  # of a value in words

_EXPRESSION_FIELDS = frozenset(
    {
        "relevant",
        "constraint",
        "calculation",
        "choice_filter",
        "required",
        "read_only",
        "repeat_count",
        "trigger",
    }
)
_YES, _NO = Message("yes"), Message("no")


def count_changes(changes: Sequence[ContentChange]) -> list[DiffCount]:
    """The number of changes of each kind, in the order they first appear."""
    counts = Counter((each.part, each.change) for each in changes)
    return [DiffCount(part, change, count) for (part, change), count in counts.items()]


class ChangeSerializer:
    """Makes records of changes. Labels of what was removed come from the old version, all others from the new one."""

    def __init__(self, old: LabelFinder, new: LabelFinder, language: Language) -> None:
        self._old = old
        self._new = new
        self._language = language

    def record(self, change: ContentChange) -> FormChange:
        row, labels = (change.old, self._old) if change.new is None else (change.new, self._new)
        is_moved = (
            change.old is not None
            and change.new is not None
            and change.change in ("moved", "renamed")
        )
        group = change.old_group if change.new is None else change.new_group
        return FormChange(
            part=change.part,
            change=change.change,
            name=change.name,
            old_name=change.old_name,
            label=_row_label(change, row, labels),
            type_label=type_name(str(row["type"]), self._language)
            if row and row.get("type")
            else "",
            list_name=str(row.get("list_name")) if row and change.part == "choice" else None,
            group=self._group(group, labels),
            old_group=self._group(change.old_group, self._old) if is_moved else None,
            fields=[self._field(field, change) for field in change.fields],
        )

    def _field(self, field: ChangedField, change: ContentChange) -> FieldChange:
        label = FIELD_LABELS.get(field.field)
        return FieldChange(
            field=field.field,
            field_label=field.field if label is None else translate(label, self._language),
            language=field.language,
            old=field.old,
            new=field.new,
            old_text=self._words(field.field, field.old, self._old, change.old_name or change.name),
            new_text=self._words(field.field, field.new, self._new, change.name),
        )

    def _words(self, field: str, value: Any, labels: LabelFinder, name: str) -> str:
        if value is None:
            return translate(_NO, self._language) if field in ("required", "_or_other") else ""
        if value is True:
            return translate(_YES, self._language)
        if isinstance(value, list):
            return clip(", ".join(str(each).removeprefix("hxl:") for each in value), MAX_TEXT_CHARS)
        text = str(value)
        if field == "type":
            return type_name(text, self._language)
        if field in _EXPRESSION_FIELDS:
            return clip(expression_text(text, labels, self._language, name), MAX_TEXT_CHARS)
        if field == "default":
            return labels.choice(name, text) or clip(text, MAX_TEXT_CHARS)
        return clip(labels.readable(text) if field in TRANSLATED_KEYS else text, MAX_TEXT_CHARS)

    def _group(self, row: Mapping[str, Any] | None, labels: LabelFinder) -> str | None:
        return None if row is None else labels.question(row_name(row))


def _row_label(change: ContentChange, row: Mapping[str, Any] | None, labels: LabelFinder) -> str:
    if row is None:
        return ""
    if change.part == "other":
        return clip(", ".join(f"{key}: {value}" for key, value in row.items()), MAX_TEXT_CHARS)
    return clip(labels.readable(text_in(row.get("label"), labels.place).text), MAX_TEXT_CHARS)
