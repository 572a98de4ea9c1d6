"""Differences between two versions of a form."""

import copy
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.diff_records import ChangeSerializer
from fieldgate.assets.form_schemas import FormChange
from fieldgate.assets.form_texts import LabelFinder
from fieldgate.assets.version_diff import ContentChange, compare_contents
from fieldgate.i18n.languages import Language

Content = dict[str, Any]


def text(name: str, label: str | None = None, **cells: Any) -> dict[str, Any]:
    return {"type": "text", "name": name, "label": [label or f"Label of {name}"], **cells}


def form(*survey: dict[str, Any], **parts: Any) -> Content:
    return {"survey": list(survey), "choices": [], "settings": {}, "translations": [None], **parts}


def group(name: str, *inside: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "begin_group", "name": name, "label": [name.upper()]},
        *inside,
        {"type": "end_group"},
    ]


def kinds(old: Content, new: Content) -> list[tuple[str, str, str]]:
    return [(each.part, each.change, each.name) for each in compare_contents(old, new)]


def records(old: Content, new: Content, language: Language = Language.ENGLISH) -> list[FormChange]:
    serializer = ChangeSerializer(LabelFinder(old, 0), LabelFinder(new, 0), language)
    return [serializer.record(each) for each in compare_contents(old, new)]


def test_changed_fields() -> None:
    old = form(
        text("a", "Age", relevant="${b} = ''", required=True, **{"$kuid": "x", "$xpath": "a"}),
        text("b"),
    )
    new = form(
        text("a", "Your age", required=False, hint=["Years"], **{"$kuid": "y", "$xpath": "a"}),
        text("b"),
    )
    [change] = records(old, new)
    assert (change.change, change.name, change.label, change.type_label) == (
        "changed",
        "a",
        "Your age",
        "Text",
    )
    assert {(each.field_label, each.old_text, each.new_text) for each in change.fields} == {
        ("Label", "Age", "Your age"),
        ("Hint", "", "Years"),
        ("Shown if", "“Label of b” is not answered", ""),
        ("Required", "yes", "no"),
    }


def test_a_group_moves_with_what_is_inside() -> None:
    old = form(*group("g", text("a"), text("b")), text("c"), text("d"))
    new = form(text("c"), text("d"), *group("g", text("a"), text("b")))
    assert kinds(old, new) == [("question", "moved", "g")]


def test_a_question_that_moved_to_another_group() -> None:
    old = form(*group("g", text("a"), text("b")), *group("h", text("c")))
    new = form(*group("g", text("b")), *group("h", text("c"), text("a", hint=["!"])))
    [change] = records(old, new)
    assert (change.change, change.name, change.old_group, change.group) == ("moved", "a", "G", "H")
    assert [each.field for each in change.fields] == ["hint"]


def test_a_renamed_group_does_not_move_its_questions() -> None:
    old = form(*group("g", text("a", **{"$xpath": "g/a"})))
    new = form(
        {"type": "begin_group", "name": "h", "label": ["G"]},
        text("a", **{"$xpath": "h/a"}),
        {"type": "end_group"},
    )
    [change] = compare_contents(old, new)
    assert (change.change, change.old_name, change.name) == ("renamed", "g", "h")


def test_a_renamed_question() -> None:
    [change] = compare_contents(form(text("a", "Age")), form(text("age", "Age", hint=["x"])))
    assert (change.change, change.old_name, change.name, len(change.fields)) == (
        "renamed",
        "a",
        "age",
        1,
    )
    assert {change for _, change, _ in kinds(form(text("a", "A")), form(text("b", "B")))} == {
        "added",
        "removed",
    }


def test_the_same_name_in_two_groups() -> None:
    def two(first: str, second: str) -> Content:
        rows = (
            text("age", first, **{"$xpath": "g/age"}),
            text("age", second, **{"$xpath": "h/age"}),
        )
        return form(*group("g", rows[0]), *group("h", rows[1]))

    [change] = compare_contents(two("A", "B"), two("A", "C"))
    assert [(each.old, each.new) for each in change.fields] == [("B", "C")]


def test_choices() -> None:
    def choices(*names: str, label: str = "") -> list[dict[str, Any]]:
        return [{"list_name": "l", "name": name, "label": [label or name]} for name in names]

    old, new = form(choices=choices("a", "b", "c")), form(choices=choices("c", "a", "d"))
    assert kinds(old, new) == [
        ("choice", "moved", "c"),
        ("choice", "removed", "b"),
        ("choice", "added", "d"),
    ]
    [change] = records(form(choices=choices("a")), form(choices=choices("a", label="A!")))
    assert (change.list_name, change.label, change.fields[0].new_text) == ("l", "A!", "A!")
    other = [{"list_name": "m", "name": "a", "label": ["a"]}]
    assert sorted(kinds(form(choices=choices("a")), form(choices=other))) == [
        ("choice", "added", "a"),
        ("choice", "removed", "a"),
    ]


def test_settings() -> None:
    old, new = (
        form(settings={"version": "1", "style": "pages"}),
        form(settings={"version": "2", "form_id": "x"}),
    )
    assert sorted(kinds(old, new)) == [
        ("setting", "added", "form_id"),
        ("setting", "changed", "version"),
        ("setting", "removed", "style"),
    ]
    assert {each.fields[0].field_label for each in records(old, new)} == {
        "Form ID",
        "Version",
        "Layout",
    }


def test_languages() -> None:
    old = {
        **form({"type": "text", "name": "a", "label": ["Age", "Âge"]}),
        "translations": ["English (en)", "French (fr)"],
    }
    new = {
        **form({"type": "text", "name": "a", "label": ["L'âge", "Age", "عمر"]}),
        "translations": ["French (fr)", "English (en)", "Arabic (ar)"],
    }
    changes = compare_contents(old, new)
    assert [(each.part, each.change, each.name) for each in changes] == [
        ("language", "added", "Arabic (ar)"),
        ("language", "moved", "French (fr)"),
        ("question", "changed", "a"),
    ]
    [field] = changes[-1].fields
    assert (field.language, field.old, field.new) == ("French (fr)", "Âge", "L'âge")


# Properties

NAMES = st.sampled_from("abcdefgh")
CELLS = st.fixed_dictionaries(
    {},
    optional={
        "label": st.lists(st.none() | st.sampled_from(["x", "y", "z"]), min_size=2, max_size=2),
        "hint": st.lists(st.none() | st.sampled_from(["h", "i"]), min_size=2, max_size=2),
        "relevant": st.sampled_from(["${a} = 1", "${b} > 2"]),
        "required": st.booleans(),
    },
)
QUESTIONS = st.builds(
    lambda name, kind, cells: {"type": kind, "name": name, **cells},
    NAMES,
    st.sampled_from(["text", "integer"]),
    CELLS,
)
GROUPS = st.builds(
    lambda name, inside: group(name, *inside),
    st.sampled_from("xyz"),
    st.lists(QUESTIONS, max_size=4),
)
CHOICES = st.builds(
    lambda lst, name, cells: {"list_name": lst, "name": name, **cells},
    st.sampled_from("lm"),
    NAMES,
    CELLS,
)
CONTENTS = st.builds(
    lambda parts, choices, settings: {
        "survey": [row for part in parts for row in (part if isinstance(part, list) else [part])],
        "choices": choices,
        "settings": settings,
        "translations": ["English (en)", "French (fr)"],
    },
    st.lists(QUESTIONS | GROUPS, max_size=8),
    st.lists(CHOICES, max_size=6),
    st.dictionaries(st.sampled_from(["style", "version"]), st.sampled_from(["1", "2"])),
)


def visible(content: Content, part: str) -> list[dict[str, Any]]:
    rows = content["survey"] if part == "question" else content["choices"]
    return [row for row in rows if not str(row.get("type", "")).startswith("end_")]


def meaning(row: dict[str, Any]) -> Any:
    """What two equal rows have in common: an empty cell and a missing one are the same."""
    cells = {
        (key, place): value
        for key, values in row.items()
        for place, value in enumerate(values if isinstance(values, list) else [values])
    }
    return frozenset(
        (*key, str(value)) for key, value in cells.items() if value not in (None, "", False)
    )


@given(CONTENTS)
def test_a_version_does_not_differ_from_itself(content: Content) -> None:
    other = copy.deepcopy(content)
    for row in (*other["survey"], *other["choices"]):
        row["$kuid"] = "another"
    assert compare_contents(content, other) == []


@given(CONTENTS, CONTENTS)
def test_every_row_is_accounted_for(old: Content, new: Content) -> None:
    """The old rows, without those removed and with the changes made to them, and the added ones are the new rows."""
    changes = compare_contents(old, new)
    for part in ("question", "choice"):
        rows = [dict(row) for row in visible(old, part)]
        by_identity = {id(row): place for place, row in enumerate(visible(old, part))}
        removed: set[int] = set()
        added: list[dict[str, Any]] = []
        for change in (each for each in changes if each.part == part):
            if change.old is None:
                assert change.new is not None
                added.append(dict(change.new))
                continue
            place = by_identity[id(change.old)]
            if change.new is None:
                removed.add(place)
            else:
                apply_change(rows[place], change)
        found = [row for place, row in enumerate(rows) if place not in removed] + added
        assert Counter(map(meaning, found)) == Counter(map(meaning, visible(new, part)))


def apply_change(row: dict[str, Any], change: ContentChange) -> None:
    row["name"] = change.name
    for field in change.fields:
        if field.language is None:
            row[field.field] = field.new
        else:
            place = ["English (en)", "French (fr)"].index(field.language)
            texts = list(row.get(field.field) or [None, None])
            texts[place] = field.new
            row[field.field] = texts


@given(CONTENTS, CONTENTS, st.sampled_from(Language))
def test_records_of_any_change(old: Content, new: Content, language: Language) -> None:
    assert len(records(old, new, language)) == len(compare_contents(old, new))
