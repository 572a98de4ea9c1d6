"""Messages as they are stored: short enough to be listed by the thousand, whatever a file holds."""

import json
from typing import Any

import pytest

from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, PluralMessage
from fieldgate.imports.former_messages import FORMER_TEXTS
from fieldgate.imports.messages import (
    MAX_STORED_BYTES,
    MAX_STORED_ISSUES,
    MAX_VALUE_CHARS,
    localize_messages,
    serialize_issues,
)
from fieldgate.imports.xlsform import Issue

LONG = "é" * 30_000


def test_what_somebody_wrote_is_clipped() -> None:
    message = Message(
        "{type} is not a question type. Did you mean {guess}?", type=LONG, guess=Message("{name} …", name=LONG)
    )
    problem = Issue("unknown_type", message, LONG, 2, LONG)
    [stored] = serialize_issues([problem])
    assert len(json.dumps(stored)) < 6 * 5 * MAX_VALUE_CHARS
    shown = localize_messages(Language.FRENCH, {"problems": [stored]})["problems"][0]
    assert shown["message"].startswith("ééé")
    assert "… n'est pas un type de question" in shown["message"]
    assert (shown["row"], len(shown["sheet"]), len(shown["column"])) == (2, MAX_VALUE_CHARS, MAX_VALUE_CHARS)


def test_the_first_problems_are_kept_and_the_others_counted() -> None:
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
    shown = localize_messages(Language.ARABIC, {"problems": [stored]})["problems"][0]["message"]
    assert shown.startswith("هناك سؤالان باسم ééé")


FORMER = [
    (
        "Groups are nested too deeply here. Keep within {count} levels.",
        {"count": 3},
        "Groups are nested too deeply here. Keep within 3 levels.",
        "المجموعات هنا متداخلة أكثر مما ينبغي. لا تتجاوز 3 مستويات.",
    ),
    (
        "Sheet {sheet} is too large. Keep it within {rows} rows, {columns} columns and {characters} characters a cell.",
        {"sheet": "survey", "rows": 11, "columns": 100, "characters": 3},
        "Sheet survey is too large. Keep it within 11 rows, 100 columns and 3 characters a cell.",
        "الورقة survey كبيرة جدًا. أبقها ضمن 11 صفًا و100 عمود و3 أحرف لكل خلية.",
    ),
    (
        "The file could not be read in {attempts} attempts. Simplify it, or ask whoever runs this service.",
        {"attempts": 3},
        "The file could not be read in 3 attempts. Simplify it, or ask whoever runs this service.",
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
        "There are {count} more, which are not listed here.",
        {"count": 1},
        "There is 1 more, which is not listed here.",
        "هناك واحدة أخرى غير مدرجة هنا.",
    ),
    (
        "{count} questions are named {name}. Rename them, so that it is clear which is meant.",
        {"count": 11, "name": "age"},
        "11 questions are named age. Rename them, so that it is clear which is meant.",
        "هناك 11 سؤالًا باسم age. غيّر أسماءها ليتضح المقصود منها.",
    ),
]


@pytest.mark.parametrize(("text", "values", "english", "arabic"), FORMER)
def test_rows_from_before_plurals_are_translated(text: str, values: dict[str, Any], english: str, arabic: str) -> None:
    stored = {"error": {"text": text, "values": values}}
    assert localize_messages(Language.ENGLISH, stored)["error"] == english
    assert localize_messages(Language.ARABIC, stored)["error"] == arabic


def test_every_former_text_is_tested() -> None:
    assert {text for text, *_ in FORMER} == FORMER_TEXTS
