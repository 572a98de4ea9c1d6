"""Messages of imports: their size is limited, and those of earlier releases are translated."""

import json
from string import Formatter
from typing import Any

import pytest

from fieldgate.i18n.languages import TRANSLATED_LANGUAGES, Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.former_messages import REWORDED, TEXTS_WITH_OTHER_VALUES
from fieldgate.imports.messages import (
    MAX_STORED_BYTES,
    MAX_STORED_ISSUES,
    MAX_VALUE_CHARS,
    localize_messages,
    serialize_issues,
)
from fieldgate.imports.quoted_values import QUOTED
from fieldgate.imports.xlsform import Issue

LONG = "é" * 30_000


def test_values_are_truncated() -> None:
    message = Message(
        "{type} is not a question type. Did you mean {guess}?", type=LONG, guess=Message("{name} …", name=LONG)
    )
    problem = Issue("unknown_type", message, LONG, 2, LONG)
    [stored] = serialize_issues([problem])
    assert len(json.dumps(stored)) < 6 * 5 * MAX_VALUE_CHARS
    localized = localize_messages(Language.FRENCH, {"problems": [stored]})["problems"][0]
    assert localized["message"].startswith("«\u202fééé")
    assert "…\u202f» n'est pas un type de question" in localized["message"]
    assert (localized["row"], len(localized["sheet"]), len(localized["column"])) == (
        2,
        MAX_VALUE_CHARS,
        MAX_VALUE_CHARS,
    )


def test_first_issues_are_stored_and_the_rest_counted() -> None:
    few = [Issue("code", Message("Short."), "survey", row) for row in range(3)]
    assert [problem["row"] for problem in serialize_issues(few)] == [0, 1, 2]
    for count, message in ((MAX_STORED_ISSUES + 7, Message("Short.")), (400, Message("{name}", name=LONG))):
        many = [Issue("code", message, "survey", row) for row in range(count)]
        *kept, last = serialize_issues(many)
        assert [problem["row"] for problem in kept] == list(range(len(kept)))
        assert (last["code"], last["message"]["values"]) == ("more", {"count": count - len(kept)})
        assert len(json.dumps(kept, ensure_ascii=False).encode()) < 1.1 * MAX_STORED_BYTES


def test_plural_is_stored_with_both_forms() -> None:
    message = PluralMessage(
        "{count} question is named {name}. Rename it, so that it is clear which is meant.",
        "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
        2,
        name=LONG,
    )
    [stored] = serialize_issues([Issue("ambiguous_reference", message, "survey", 2)])
    assert stored["message"]["values"]["count"] == 2
    localized = localize_messages(Language.ARABIC, {"problems": [stored]})["problems"][0]["message"]
    assert localized.startswith("هناك سؤالان باسم «\u2068ééé")


WITH_OTHER_VALUES = [
    (
        "Groups are nested too deeply here. Keep within {count} levels.",
        {"count": 3},
        "Groups are nested too deeply here. Keep within 3 levels.",
        "المجموعات هنا متداخلة أكثر مما ينبغي. لا تتجاوز 3 مستويات.",
    ),
    (
        "Name a list of choices after {type}, as in {type} yes_no.",
        {"type": "select_one"},
        "Name a list of choices after “select_one”, as in “select_one yes_no”.",
        "اذكر اسم قائمة خيارات بعد «\u2068select_one\u2069»، مثل «\u2068select_one yes_no\u2069».",
    ),
    *(
        (
            text,
            {"name": "tree"},
            "There are several lists of entities. Name one of them, as in “list#tree”.",
            "توجد عدة قوائم كيانات. اذكر إحداها، مثل «\u2068list#tree\u2069».",
        )
        for text in (
            "Say which list is meant, as in list#{name}.",
            "There are several lists of entities. Name one of them, as in list#{name}.",
        )
    ),
    (
        "Sheet {sheet} is too large. Keep it within {rows} rows, {columns} columns and {characters} characters a cell.",
        {"sheet": "survey", "rows": 11, "columns": 100, "characters": 3},
        "Sheet “survey” is too large. Keep it within 11 rows, 100 columns and 3 characters per cell.",
        "الورقة «\u2068survey\u2069» كبيرة جدًا. أبقها ضمن 11 صفًا و100 عمود و3 أحرف لكل خلية.",
    ),
    (
        "The file could not be read in {attempts} attempts. Simplify it, or ask whoever runs this service.",
        {"attempts": 3},
        "The file could not be read in 3 attempts. Simplify it, or contact the operator of this service.",
        "تعذّرت قراءة الملف في 3 محاولات. بسّطه أو اسأل من يدير هذه الخدمة.",
    ),
    (
        "The library has more than {count} blocks and questions. Split the file.",
        {"count": 1000},
        "The library has more than 1000 blocks and questions. Split the file.",
        "تضم المكتبة أكثر من 1000 من المجموعات والأسئلة. قسّم الملف.",
    ),
    (
        "The workbook has more than {count} sheets. Remove those that are not part of the form.",
        {"count": 50},
        "The workbook has more than 50 sheets. Remove those that are not part of the form.",
        "في المصنف أكثر من 50 ورقة. احذف ما ليس جزءًا من النموذج.",
    ),
    (
        "The form was not imported. Problems to correct: {count}.",
        {"count": 2},
        "The form was not imported. It has 2 problems.",
        "لم يُستورد النموذج. فيه مشكلتان.",
    ),
    (
        "There are {count} more, which are not listed here.",
        {"count": 1},
        "There is 1 more, which is not listed here.",
        "هناك واحدة أخرى غير مدرجة هنا.",
    ),
    (
        "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
        {"count": 11, "name": "age"},
        "11 questions are named “age”. Rename them, so that it is clear which is meant.",
        "هناك 11 سؤالًا باسم «\u2068age\u2069». غيّر أسماءها ليتضح المقصود منها.",
    ),
]


@pytest.mark.parametrize(("text", "values", "english", "arabic"), WITH_OTHER_VALUES)
def test_messages_stored_with_other_values_are_translated(
    text: str, values: dict[str, Any], english: str, arabic: str
) -> None:
    stored = {"error": {"text": text, "values": values}}
    assert localize_messages(Language.ENGLISH, stored)["error"] == english
    assert localize_messages(Language.ARABIC, stored)["error"] == arabic


def test_every_text_with_other_values_is_tested() -> None:
    assert {text for text, *_ in WITH_OTHER_VALUES} == TEXTS_WITH_OTHER_VALUES


def _placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("former", REWORDED)
@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_reworded_messages_are_translated(former: str, language: Language) -> None:
    values = {name: f"<{name}>" for name in _placeholders(former)}
    stored = {"error": {"text": former, "values": values}}
    english = localize_messages(Language.ENGLISH, stored)["error"]
    localized = localize_messages(language, stored)["error"]
    shown = {name: f"“{value}”" if name in QUOTED else value for name, value in values.items()}
    assert english == REWORDED[former].format(**shown)
    assert localized != english
    assert all(value in localized for value in values.values())


def test_reworded_texts_are_current_ones() -> None:
    """A text that is reworded again needs its former entries changed, too."""
    assert not REWORDED.keys() & set(REWORDED.values())
    assert not TEXTS_WITH_OTHER_VALUES & set(REWORDED.values())


def test_former_message_inside_a_message_is_translated() -> None:
    inner = {"text": "Give all of {names}, or none.", "values": {"names": "a, b"}}
    stored = {"error": {"text": "pyxform warns: {reason}", "values": {"reason": inner}}}
    assert localize_messages(Language.ENGLISH, stored)["error"] == (
        "pyxform warns: Enter all of a, b, or none of them."
    )
