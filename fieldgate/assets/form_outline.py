"""The questions of a form in a readable shape, a page at a time.

outline = FormOutline(content, place=0)
outline.records(range(0, 50), Language.FRENCH)
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import msgspec

from fieldgate.assets.expression_text import expression_text
from fieldgate.assets.form_schemas import (
    ChoiceRecord,
    ConditionKind,
    ConditionRecord,
    QuestionKind,
    QuestionRecord,
)
from fieldgate.assets.form_texts import (
    FIELD_LABELS,
    LabelFinder,
    choice_name,
    clip,
    row_name,
    text_in,
    type_name,
)
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_CHOICES = 50  # of a question; a list can have thousands
MAX_GROUPS = 20  # around a question, in its record
MAX_TEXT_CHARS = 10_000

_Row = Mapping[str, Any]

_REPEATS = frozenset({"begin_repeat", "begin_loop"})
_HIDDEN_TYPES = frozenset(
    {
        "audit", "background-audio", "background-geopoint", "calculate", "csv-external", "deviceid", "email", "end",
        "hidden", "phonenumber", "simserial", "start", "start-geopoint", "subscriberid", "today", "username",
        "xml-external",
    }
)  # fmt: skip
_LIST_COLUMNS = (
    "select_from_list_name", "file", "kobo--score-choices", "kobo--rank-items", "kobo--matrix_list",
)  # fmt: skip
_MEDIA_COLUMNS = ("media::image", "media::big-image", "media::audio", "media::video")
_CONDITION_LABELS: dict[ConditionKind, Message] = {
    kind: Message("Required if") if kind == "required" else FIELD_LABELS[kind]
    for kind in get_args(ConditionKind)
}


class FormItem(msgspec.Struct, frozen=True):
    """A row with its place in the form."""

    place: int
    row: _Row
    number: int | None
    depth: int
    group: "FormItem | None"  # the innermost one

    def groups(self) -> list[_Row]:
        """The innermost groups around it, the outermost of them first."""
        found: list[_Row] = []
        group = self.group
        while group is not None and len(found) < MAX_GROUPS:
            found.append(group.row)
            group = group.group
        return found[::-1]


class FormOutline:
    """A form in one of its languages. Rows that end a group are not part of it."""

    def __init__(self, content: Mapping[str, Any], place: int) -> None:
        self._labels = LabelFinder(content, place)
        self._items = list(form_items(content))

    def __len__(self) -> int:
        return len(self._items)

    def with_list(self, list_name: str) -> "FormOutline":
        """Only the questions with a list of choices."""
        chosen = object.__new__(FormOutline)
        chosen._labels = self._labels
        chosen._items = [item for item in self._items if _list_name(item.row) == list_name]
        return chosen

    def records(self, places: Iterable[int], language: Language) -> list[QuestionRecord]:
        """The rows at these places. Places after the end are left out."""
        return [
            self._record(self._items[place], language)
            for place in places
            if place < len(self._items)
        ]

    def _record(self, item: FormItem, language: Language) -> QuestionRecord:
        row, labels = item.row, self._labels
        type_ = str(row.get("type", ""))
        name = row_name(row)
        label = text_in(row.get("label"), labels.place)
        list_name = _list_name(row)
        choices = labels.choices(list_name) if list_name else []
        return QuestionRecord(
            row=item.place + 1,
            number=item.number,
            kind=row_kind(type_),
            type=type_,
            type_label=type_name(type_, language),
            name=name,
            depth=item.depth,
            groups=[self._group_label(group, language) for group in item.groups()],
            label=self._text(row, "label"),
            hint=self._text(row, "hint"),
            guidance=self._text(row, "guidance_hint"),
            is_translated=label.is_translated,
            is_required=row.get("required") is True,
            conditions=self._conditions(row, name, language),
            error_messages=list(
                filter(
                    None, (self._text(row, f"{key}_message") for key in ("constraint", "required"))
                )
            ),
            media=[
                text for key in _MEDIA_COLUMNS if (text := text_in(row.get(key), labels.place).text)
            ],
            choice_list=list_name,
            choice_count=len(choices),
            choices=[self._choice(choice) for choice in choices[:MAX_CHOICES]],
            allows_other=row.get("_or_other") in (True, "true"),
            appearance=str(row.get("appearance") or ""),
        )

    def _text(self, row: _Row, column: str) -> str:
        return clip(
            self._labels.readable(text_in(row.get(column), self._labels.place).text), MAX_TEXT_CHARS
        )

    def _group_label(self, group: _Row, language: Language) -> str:
        name = row_name(group)
        return self._labels.question(name) if name else type_name(str(group.get("type")), language)

    def _choice(self, choice: _Row) -> ChoiceRecord:
        name = choice_name(choice)
        return ChoiceRecord(name, self._text(choice, "label") or name)

    def _conditions(self, row: _Row, name: str, language: Language) -> list[ConditionRecord]:
        found: list[ConditionRecord] = []
        for kind, label in _CONDITION_LABELS.items():
            value = row.get(kind)
            if isinstance(value, str) and value.strip():
                text = self._default_text(name, value) if kind == "default" else ""
                text = text or expression_text(value, self._labels, language, name)
                found.append(ConditionRecord(kind, translate(label, language), text, value))
        return found

    def _default_text(self, name: str, value: str) -> str:
        """The label of a choice, or a plain text that is no expression."""
        return self._labels.choice(name, value) or (
            "" if "${" in value or "(" in value else clip(value)
        )


def row_kind(question_type: str) -> QuestionKind:
    if question_type in _REPEATS:
        return "repeat"
    if question_type.startswith("begin_"):
        return "group"
    if question_type == "note":
        return "note"
    return "hidden" if question_type.removeprefix("uri:") in _HIDDEN_TYPES else "question"


def form_items(content: Mapping[str, Any]) -> Iterable[FormItem]:
    """The rows of a form, without those that end a group."""
    open_groups: list[FormItem] = []
    number = 0
    for place, row in enumerate(content.get("survey") or ()):
        type_ = str(row.get("type", ""))
        if type_.startswith("end_"):
            del open_groups[-1:]
            continue
        kind = row_kind(type_)
        number += kind == "question"
        group = open_groups[-1] if open_groups else None
        item = FormItem(place, row, number if kind == "question" else None, len(open_groups), group)
        yield item
        if kind in ("group", "repeat"):
            open_groups.append(item)


def _list_name(row: _Row) -> str | None:
    return next((str(row[column]) for column in _LIST_COLUMNS if row.get(column)), None)
