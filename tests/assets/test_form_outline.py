"""The questions of a form in a readable shape."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.form_outline import FormOutline
from fieldgate.assets.form_texts import TYPE_NAMES, type_name
from fieldgate.i18n.languages import Language
from fieldgate.imports.xlsform.question_types import (
    FILE_SELECT_TYPES,
    KOBO_CONTAINERS,
    KOBO_TYPES,
    LIST_TYPES,
    STANDARD_CONTAINERS,
    STANDARD_TYPES,
)

CONTENT: dict[str, Any] = {
    "survey": [
        {"type": "start", "name": "start"},
        {"type": "begin_group", "name": "home", "label": ["Home", "Maison"], "relevant": "${n} > 0"},
        {"type": "begin_repeat", "name": "rooms", "label": ["Rooms", None]},
        {"type": "select_one", "select_from_list_name": "roof", "_or_other": True, "name": "roof", "required": True,
         "label": ["<b>Roof</b> of ${n} **rooms**", None], "hint": ["Look up", "Regardez"], "default": "tin",
         "constraint_message": ["No", "Non"], "media::image": ["roof.png", None], "appearance": "minimal"},
        {"type": "end_repeat"},
        {"type": "note", "label": ["Thanks", "Merci"], "$autoname": "Thanks"},
        {"type": "end_group"},
        {"type": "integer", "name": "n", "label": ["Number", "Nombre"], "required": "${roof} = 'tin'"},
    ],
    "choices": [{"list_name": "roof", "name": "tin", "label": ["Tin", "Tôle"]},
                {"list_name": "roof", "name": "tin", "label": ["Again", None]},
                {"list_name": "wall", "name": "mud", "label": ["Mud", None]}],
    "translations": ["English (en)", "French (fr)"],
}  # fmt: skip


def test_outline() -> None:
    found = FormOutline(CONTENT, 0).records(range(100), Language.ENGLISH)
    assert [(each.row, each.number, each.kind, each.depth, each.groups) for each in found] == [
        (1, None, "hidden", 0, []),
        (2, None, "group", 0, []),
        (3, None, "repeat", 1, ["Home"]),
        (4, 1, "question", 2, ["Home", "Rooms"]),
        (6, None, "note", 1, ["Home"]),
        (8, 2, "question", 0, []),
    ]
    roof = found[3]
    assert (roof.label, roof.hint, roof.type_label) == (
        "Roof of [Number] rooms",
        "Look up",
        "One choice",
    )
    assert (roof.is_required, roof.allows_other, roof.media, roof.appearance) == (
        True,
        True,
        ["roof.png"],
        "minimal",
    )
    assert [(each.name, each.label) for each in roof.choices] == [("tin", "Tin")]
    assert (roof.choice_list, roof.choice_count, roof.error_messages) == ("roof", 1, ["No"])
    assert [(each.kind, each.label, each.text) for each in roof.conditions] == [
        ("default", "Default answer", "Tin")
    ]
    [required] = found[5].conditions
    assert (required.label, required.text, required.expression) == (
        "Required if",
        "“Roof of [n] rooms” = “Tin”",
        "${roof} = 'tin'",
    )


def test_every_type_has_a_name_in_every_language() -> None:
    containers = {f"begin_{name}" for name in STANDARD_CONTAINERS | KOBO_CONTAINERS}
    for name in STANDARD_TYPES | LIST_TYPES | FILE_SELECT_TYPES | KOBO_TYPES | containers:
        assert type_name(name, Language.ENGLISH) != name or name in ("", "note"), name
    assert type_name("unheard-of", Language.FRENCH) == "unheard-of"
    assert not {name for name in TYPE_NAMES if type_name(name, Language.ARABIC).isascii()}


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["text", "note", "begin_group", "end_group", "begin_repeat", "end_repeat", "start"]
            )
        },
        optional={
            "name": st.text(max_size=5),
            "label": st.lists(st.none() | st.text(max_size=20), max_size=3)
            | st.text(max_size=5)
            | st.none(),
            "relevant": st.text(max_size=20),
            "required": st.booleans() | st.text(max_size=5),
        },
    ),
    max_size=30,
)


@given(ROWS, st.integers(1, 7), st.sampled_from(Language))
def test_pages_of_any_form_are_the_form(
    rows: list[dict[str, Any]], size: int, language: Language
) -> None:
    outline = FormOutline({"survey": rows}, 0)
    everything = outline.records(range(len(outline)), language)
    paged = [
        each
        for start in range(0, len(outline), size)
        for each in outline.records(range(start, start + size), language)
    ]
    assert paged == everything
    assert len(everything) == sum(not row["type"].startswith("end_") for row in rows)
    assert all(each.depth >= 0 for each in everything)
