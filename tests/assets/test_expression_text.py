"""Conditions of forms in words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.expression_text import MAX_EXPRESSION_CHARS, MAX_TEXT_CHARS, expression_text
from fieldgate.assets.form_texts import LabelFinder
from fieldgate.i18n.languages import Language

CONTENT: dict[str, Any] = {
    "survey": [
        {"type": "integer", "name": "age", "label": ["How old are you?", "Quel âge avez-vous ?"]},
        {
            "type": "select_multiple",
            "select_from_list_name": "food",
            "name": "food",
            "label": ["What do you eat?", None],
        },
        {
            "type": "select_one",
            "select_from_list_name": "yn",
            "name": "ill",
            "label": ["Ill?", "Malade ?"],
        },
        {"type": "begin_repeat", "name": "people", "label": ["People", None]},
    ],
    "choices": [
        {"list_name": "food", "name": "rice", "label": ["Rice", "Riz"]},
        {"list_name": "yn", "name": "1", "label": ["Yes", "Oui"]},
    ],
    "translations": ["English (en)", "French (fr)"],
}
ENGLISH, FRENCH = LabelFinder(CONTENT, 0), LabelFinder(CONTENT, 1)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("${age} >= 18", "“How old are you?” ≥ 18"),
        ("selected(${food}, 'rice')", "“What do you eat?” includes “Rice”"),
        ("not(selected(${food},'rice'))", "“What do you eat?” does not include “Rice”"),
        ("${ill} = '1'", "“Ill?” = “Yes”"),
        ("${age} = 1", "“How old are you?” = 1"),
        ("${age} != ''", "“How old are you?” is answered"),
        ('${age} = ""', "“How old are you?” is not answered"),
        (". > 0 and . <= 120", "the answer > 0 and the answer ≤ 120"),
        (". = 'rice'", "the answer = “Rice”"),
        ("regex(., '^[0-9]+$')", "the answer matches the pattern “^[0-9]+$”"),
        ("count-selected(.) <= 3", "number of choices in the answer ≤ 3"),
        ("string-length(${age}) > 2 or (${age} div 2 = 1)",
         "number of characters in “How old are you?” > 2 or (“How old are you?” ÷ 2 = 1)"),
        ("count(${people}) > 2", "number of “People” > 2"),
        ("if(${age} > 5, 'a b', concat(${age}, '-'))",
         "if(“How old are you?” > 5, “a b”, concat(“How old are you?”, “-”))"),
        ("instance('list')/root/item[name = ${age}]/label",
         "instance(“list”)/root/item [name = “How old are you?”]/label"),
        ("${unknown} = 3", "“unknown” = 3"),
        ("jr:choice-name(${ill}, '${ill}')", "jr:choice-name(“Ill?”, “${ill}”)"),
        ("'not closed", "' not closed"),
        ("", ""),
    ],
)  # fmt: skip
def test_english(expression: str, text: str) -> None:
    assert expression_text(expression, ENGLISH, Language.ENGLISH, "food") == text


def test_other_languages() -> None:
    expression = "${age} > 5 and selected(${food}, 'rice')"
    french = expression_text(expression, FRENCH, Language.FRENCH)
    labels = ("Quel âge avez-vous ?", "What do you eat?", "Riz")
    assert french == "{} > 5 et {} comprend {}".format(
        *(f"«\u202f{label}\u202f»" for label in labels)
    )
    arabic = expression_text(expression, FRENCH, Language.ARABIC)
    assert "\u2068Quel âge avez-vous ?\u2069" in arabic
    assert " and " not in arabic


def test_a_long_expression_stays_as_it_is() -> None:
    expression = "${age} + " * MAX_EXPRESSION_CHARS
    assert expression_text(expression, ENGLISH, Language.ENGLISH) == expression


PARTS = st.sampled_from(
    [
        "${age}",
        "${food}",
        "selected(",
        "not(",
        ")",
        "(",
        ",",
        "'rice'",
        "''",
        "=",
        "!=",
        "and",
        "or",
        ".",
        "..",
        "/",
        "1",
        " ",
    ]
)


@given(st.lists(PARTS, max_size=30).map("".join) | st.text(max_size=100), st.sampled_from(Language))
def test_any_expression(expression: str, language: Language) -> None:
    text = expression_text(expression, ENGLISH, language, "age")
    assert len(text) <= MAX_TEXT_CHARS
    assert "${age}" not in text or "'${age}" in expression or '"${age}' in expression
