"""Values from a file are in quotation marks of the reader's language, and cannot disturb the text around them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fieldgate.imports
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate
from fieldgate.imports.messages import localize_messages, serialize_message
from fieldgate.imports.quoted_values import QUOTED, quote_values

MISSING = Message(
    "There is no list {list} in sheet {sheet}. Add it there, or correct its name here.",
    list="missing",
    sheet="choices",
)
QUOTES = {
    Language.ENGLISH: "“{}”",
    Language.FRENCH: "«\u202f{}\u202f»",
    Language.ARABIC: "«{}»",
    Language.SPANISH: "«{}»",
}
# Placeholders of hosts, products, lists, positions, parts of words, and sentences.
UNQUOTED = {
    "choices", "hint", "host", "hosts", "kind", "languages", "message", "names", "position", "product", "quoted",
    "reason", "sheets", "values",
}  # fmt: skip
FIRST_ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"


def shown(message: Message, language: Language) -> str:
    """As the API shows a stored message."""
    error: str = localize_messages(language, {"error": serialize_message(message)})["error"]
    return error


@pytest.mark.parametrize("language", Language)
def test_marks_of_every_language(language: Language) -> None:
    text = shown(MISSING, language).replace(FIRST_ISOLATE, "").replace(END_OF_ISOLATE, "")
    assert QUOTES[language].format("missing") in text
    assert QUOTES[language].format("choices") in text


@pytest.mark.parametrize(
    ("language", "value", "isolated"),
    [
        (Language.ENGLISH, "town", False),
        (Language.ENGLISH, "مدينة", True),
        (Language.ENGLISH, "town مدينة", True),
        (Language.FRENCH, "éé", False),
        (Language.ARABIC, "town", True),
        (Language.ARABIC, "مدينة", False),
        (Language.ARABIC, "17", False),
    ],
)
def test_text_of_the_other_direction_is_isolated(
    language: Language, value: str, *, isolated: bool
) -> None:
    inside = f"{FIRST_ISOLATE}{value}{END_OF_ISOLATE}" if isolated else value
    assert QUOTES[language].format(inside) in shown(Message("{name} …", name=value), language)


@given(value=st.text(), language=st.sampled_from(Language))
def test_a_value_cannot_end_its_isolation(value: str, language: Language) -> None:
    text = translate(quote_values(Message("{name}", name=value), language), language)
    before, after = QUOTES[language].split("{}")
    assert text.startswith(before)
    assert text.endswith(after)
    inside = text[len(before) : len(text) - len(after)]
    bare = inside.removeprefix(FIRST_ISOLATE).removesuffix(END_OF_ISOLATE)
    assert (len(inside) - len(bare)) in (0, 2)
    assert not set(bare) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert bare == "".join(
        each
        for each in value
        if each not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    )


def _message_texts() -> Iterator[tuple[str, ast.Call]]:
    for path in Path(fieldgate.imports.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in (
                "Message",
                "PluralMessage",
            ):
                continue
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), node


def test_every_placeholder_is_quoted_or_not_on_purpose() -> None:
    """A new placeholder of a text must be added to one of the sets. Those of numbers and messages are in none."""
    used = {
        keyword.arg
        for text, call in _message_texts()
        for keyword in call.keywords
        if keyword.arg is not None and f"{{{keyword.arg}}}" in text
    }
    numbers_and_messages = {
        "characters", "columns", "error", "first", "problem", "row", "rows", "second", "size", "status", "uid",
        "count",
    }  # fmt: skip
    assert used - numbers_and_messages == QUOTED | UNQUOTED
    assert not QUOTED & UNQUOTED


def test_quoted_placeholders_are_words_of_their_own() -> None:
    """`list#{name}` would become list#“name”."""
    for text, call in _message_texts():
        quoted = QUOTED & {keyword.arg for keyword in call.keywords}
        for literal, name, _, _ in Formatter().parse(text):
            assert name not in quoted or literal == "" or literal[-1] in " (", text
