"""Schemas of what is in a form, as people read it: questions, and the differences between two versions."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fieldgate.http.links import Link

MAX_LANGUAGE_CHARS = 200
MAX_CHANGES = 1000  # in one response

QuestionKind = Literal["question", "note", "group", "repeat", "hidden"]
ConditionKind = Literal[
    "relevant",
    "required",
    "constraint",
    "calculation",
    "choice_filter",
    "repeat_count",
    "read_only",
    "default",
]
Part = Literal["question", "choice", "setting", "language", "other"]
Change = Literal["added", "removed", "changed", "moved", "renamed"]


class ConditionRecord(msgspec.Struct, frozen=True):
    kind: Annotated[ConditionKind, Meta(description="Column of the form that has the condition.")]
    label: Annotated[str, Meta(description="What the condition decides, such as `Shown if`.")]
    text: Annotated[str, Meta(description="The condition in words, with labels instead of names.")]
    expression: Annotated[str, Meta(description="The condition as it is in the form.")]


class ChoiceRecord(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(description="Value that is stored.")]
    label: Annotated[str, Meta(description="Text of the choice.")]


class QuestionRecord(msgspec.Struct, frozen=True, kw_only=True):
    row: Annotated[int, Meta(description="Row of `survey` in the content, counted from 1.")]
    number: Annotated[
        int | None,
        Meta(description="Number of the question. Null for groups, notes and hidden rows."),
    ]
    kind: Annotated[
        QuestionKind,
        Meta(
            description="question, note, group, repeat (a group that is filled in several times), or hidden."
        ),
    ]
    type: Annotated[str, Meta(description="Type of the row, as in the form.")]
    type_label: Annotated[str, Meta(description="Type of the row, for people.")]
    name: Annotated[str, Meta(description="Name of the row.")]
    depth: Annotated[int, Meta(description="Number of groups around it.")]
    groups: Annotated[
        list[str],
        Meta(
            description="Labels of the groups around it, the outermost first; at most the 20 innermost."
        ),
    ]
    label: Annotated[
        str, Meta(description="Text of the question, without HTML. Empty if there is none.")
    ]
    hint: Annotated[str, Meta(description="Hint for the interviewer. Empty if there is none.")]
    guidance: Annotated[
        str, Meta(description="Guidance for training and paper forms. Empty if there is none.")
    ]
    is_translated: Annotated[
        bool, Meta(description="false: the label is in another language of the form.")
    ]
    is_required: Annotated[bool, Meta(description="true: an answer is always required.")]
    conditions: Annotated[list[ConditionRecord], Meta(description="Conditions and calculations.")]
    error_messages: Annotated[
        list[str], Meta(description="What an app shows if an answer is refused.")
    ]
    media: Annotated[
        list[str], Meta(description="Names of images, audio and video files that are shown.")
    ]
    choice_list: Annotated[
        str | None, Meta(description="Name of the list of choices, or of the file with them.")
    ]
    choice_count: Annotated[int, Meta(description="Number of choices.")]
    choices: Annotated[list[ChoiceRecord], Meta(description="The first choices, up to 50.")]
    allows_other: Annotated[bool, Meta(description="true: another answer can be typed.")]
    appearance: Annotated[
        str, Meta(description="Appearance, as in the form. Empty if there is none.")
    ]


class QuestionFilters(msgspec.Struct, frozen=True):
    language: Annotated[
        str,
        Meta(
            description="Language of the form: its name or two-letter code. Default: yours if the form has it, "
            "otherwise the form's default language.",
            max_length=MAX_LANGUAGE_CHARS,
        ),
    ] = ""
    version: Annotated[
        str, Meta(description="Identifier of a version. Default: the newest.", max_length=50)
    ] = ""
    list_name: Annotated[
        str,
        Meta(
            description="Only questions with this list of choices.", max_length=MAX_LANGUAGE_CHARS
        ),
    ] = ""


class FieldChange(msgspec.Struct, frozen=True):
    field: Annotated[str, Meta(description="Column of the form, such as `label`.")]
    field_label: Annotated[str, Meta(description="The column for people, such as `Label`.")]
    language: Annotated[
        str | None, Meta(description="Language of the form, for a translated text.")
    ]
    old: Annotated[Any, Meta(description="Value before. Null if there was none.")]
    new: Annotated[Any, Meta(description="Value after. Null if there is none.")]
    old_text: Annotated[str, Meta(description="Value before, in words. Empty if there was none.")]
    new_text: Annotated[str, Meta(description="Value after, in words. Empty if there is none.")]


class FormChange(msgspec.Struct, frozen=True, kw_only=True):
    part: Annotated[
        Part, Meta(description="What changed. `other`: another sheet, whose name is in `name`.")
    ]
    change: Annotated[
        Change,
        Meta(description="How it changed. A row that moved or was renamed can also be changed."),
    ]
    name: Annotated[
        str, Meta(description="Name of the question, choice, setting, language or sheet.")
    ]
    old_name: Annotated[str | None, Meta(description="Name before, if it was renamed.")] = None
    label: Annotated[
        str, Meta(description="Text of the question or choice. Empty if there is none.")
    ] = ""
    type_label: Annotated[str, Meta(description="Type of the question, for people.")] = ""
    list_name: Annotated[str | None, Meta(description="List that a choice belongs to.")] = None
    group: Annotated[str | None, Meta(description="Label of the group that a question is in.")] = (
        None
    )
    old_group: Annotated[
        str | None, Meta(description="Label of the group that it was in, if it moved.")
    ] = None
    fields: Annotated[
        list[FieldChange], Meta(description="What changed in a row that is in both versions.")
    ] = []


class DiffCount(msgspec.Struct, frozen=True):
    part: Annotated[Part, Meta(description="What changed.")]
    change: Annotated[Change, Meta(description="How it changed.")]
    count: Annotated[int, Meta(description="Number of changes.")]


class ComparedVersion(msgspec.Struct, frozen=True):
    url: Annotated[Link, Meta(description="URL of the version.")]
    uid: Annotated[str, Meta(description="Identifier of the version.")]
    number: Annotated[int, Meta(description="Number of the version.")]
    date_created: Annotated[datetime, Meta(description="When the version was created.")]


class DiffRecord(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[ComparedVersion, Meta(description="The version after the changes.")]
    against: Annotated[
        ComparedVersion | None,
        Meta(description="The version before. Null: the first version, compared with nothing."),
    ]
    count: Annotated[int, Meta(description="Number of all changes.")]
    counts: Annotated[list[DiffCount], Meta(description="Number of changes of each kind.")]
    changes: Annotated[
        list[FormChange],
        Meta(description="The changes that were asked for, in the order of the form."),
    ]


class DiffFilters(msgspec.Struct, frozen=True):
    against: Annotated[
        str,
        Meta(
            description="Identifier of the version to compare with. Default: the one before.",
            max_length=50,
        ),
    ] = ""
    language: Annotated[
        str,
        Meta(
            description="Language of the labels, as in the list of questions.",
            max_length=MAX_LANGUAGE_CHARS,
        ),
    ] = ""
    limit: Annotated[int, Meta(description="Maximum number of changes.", ge=1, le=MAX_CHANGES)] = (
        MAX_CHANGES
    )
    offset: Annotated[int, Meta(description="Number of changes to skip.", ge=0, le=2**31)] = 0
