"""Conditions of a form in words: `${age} >= 18 and selected(${food}, 'rice')` becomes
“How old are you?” ≥ 18 and “What do you eat?” includes “Rice”.

Common phrases are replaced, one after the other; everything else stays as it is. Nothing is evaluated.
"""

import re
import unicodedata
from collections.abc import Sequence

from fieldgate.assets.form_texts import LabelFinder, clip
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_EXPRESSION_CHARS = 2_000  # a longer one is not put into words
MAX_TEXT_CHARS = 4_000

_QUESTION = r"(?P<question>\$\{[^{}]*\}|\.)"
_TEXT = r"""(?P<text>"[^"]*"|'[^']*')"""
_NUMBER = r"(?P<number>\d+(?:\.\d+)?)"


def _pattern(pattern: str) -> re.Pattern[str]:
    """A pattern in which each space stands for any number of them."""
    return re.compile(pattern.replace(" ", r"\s*"), re.DOTALL)


_TOKEN = _pattern(
    rf" (?:(?P<reference>\$\{{[^{{}}]*\}})|{_TEXT}|{_NUMBER}"
    r"|(?P<name>[^\W\d][\w-]*(?:\.[\w-]+)*(?::[^\W\d][\w-]*)?)|(?P<operator><=|>=|!=|//|\.\.|::|\S))"
)
_OPERATORS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_WORDS: dict[str, Message | str] = {
    "and": Message("and"),
    "or": Message("or"),
    "not": Message("not"),
    "div": "÷",
}
_PHRASES = (
    (
        _pattern(rf"not \( selected \( {_QUESTION} , {_TEXT} \) \)"),
        Message("{question} does not include {value}"),
    ),
    (_pattern(rf"selected \( {_QUESTION} , {_TEXT} \)"), Message("{question} includes {value}")),
    (
        _pattern(rf"regex \( {_QUESTION} , {_TEXT} \)"),
        Message("{question} matches the pattern {value}"),
    ),
    (_pattern(rf"count-selected \( {_QUESTION} \)"), Message("number of choices in {question}")),
    (_pattern(rf"string-length \( {_QUESTION} \)"), Message("number of characters in {question}")),
    (_pattern(rf"count \( {_QUESTION} \)"), Message("number of {question}")),
    (_pattern(rf"sum \( {_QUESTION} \)"), Message("sum of {question}")),
    (_pattern(r"today \( \)"), Message("today")),
    (_pattern(r"now \( \)"), Message("now")),
    (_pattern(r"true \( \)"), Message("yes")),
    (_pattern(r"false \( \)"), Message("no")),
)
_COMPARISON = _pattern(rf"{_QUESTION} (?P<operator><=|>=|!=|=|<|>) (?:{_TEXT}|{_NUMBER})")
_ANSWERED = Message("{question} is answered")
_UNANSWERED = Message("{question} is not answered")
_THIS_ANSWER = Message("the answer")
_BRACKET, _SLASH = _pattern(r" \("), _pattern(r" /(?!/)")


def expression_text(
    expression: str, labels: LabelFinder, language: Language, own_name: str = ""
) -> str:
    """An expression in words. `own_name` is the name of its question, which `.` stands for."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        return expression
    return clip(_ExpressionWriter(expression, labels, language, own_name).write(), MAX_TEXT_CHARS)


class _ExpressionWriter:
    def __init__(
        self, expression: str, labels: LabelFinder, language: Language, own_name: str
    ) -> None:
        self._expression = expression.strip()
        self._labels = labels
        self._language = language
        self._own_name = own_name
        self._place = 0
        self._is_after_slash = False

    def write(self) -> str:
        parts: list[str] = []
        while token := _TOKEN.match(self._expression, self._place):
            self._place = token.start(token.lastgroup or 0)
            phrase = self._phrase()
            parts.append(self._single(token) if phrase is None else phrase)
            self._is_after_slash = phrase is None and token["operator"] == "/"
        return _join(parts)

    def _phrase(self) -> str | None:
        """The phrase that begins here, if there is one."""
        for pattern, message in _PHRASES:
            if found := pattern.match(self._expression, self._place):
                self._place = found.end()
                values = found.groupdict()
                name, shown = (
                    self._question(values["question"]) if "question" in values else ("", "")
                )
                value = self._value(name, values["text"][1:-1]) if "text" in values else ""
                return self._say(message, question=shown, value=value)
        return self._comparison()

    def _comparison(self) -> str | None:
        """A question compared with a text or a number. A choice is shown by its label."""
        found = _COMPARISON.match(self._expression, self._place)
        if found is None or (found["question"] == "." and self._is_after_slash):
            return None
        name, shown = self._question(found["question"])
        operator, text = found["operator"], found["number"] or found["text"][1:-1]
        if found["number"] and self._labels.choice(name, text) is None:
            return None
        self._place = found.end()
        if not text and operator in ("=", "!="):
            return self._say(_UNANSWERED if operator == "=" else _ANSWERED, question=shown)
        return f"{shown} {_OPERATORS.get(operator, operator)} {self._value(name, text)}"

    def _single(self, token: re.Match[str]) -> str:
        self._place = token.end()
        text = token[token.lastgroup or 0]
        if token["reference"]:
            return self._question(text)[1]
        if token["text"]:
            return self._quote(text[1:-1])
        if token["name"] and text in _WORDS:
            word = _WORDS[text]
            return word if isinstance(word, str) else self._say(word)
        if token["name"] and (bracket := _BRACKET.match(self._expression, self._place)):
            self._place = bracket.end()
            return f"{text}("
        if (
            text == "."
            and not self._is_after_slash
            and not _SLASH.match(self._expression, self._place)
        ):
            return self._say(_THIS_ANSWER)
        return _OPERATORS.get(text, text)

    def _question(self, text: str) -> tuple[str, str]:
        """The name and the label of a question: a reference, or `.` for the own one."""
        if text == ".":
            return self._own_name, self._say(_THIS_ANSWER)
        name = text[2:-1].strip()
        return name, self._quote(self._labels.question(name))

    def _value(self, question: str, text: str) -> str:
        label = self._labels.choice(question, text)
        return self._quote(text if label is None else label)

    def _say(self, message: Message, **values: str) -> str:
        return translate(Message(message.text, **values), self._language)

    def _quote(self, text: str) -> str:
        return self._say(Message("“{quoted}”"), quoted=isolate(text, self._language))


def isolate(text: str, language: Language) -> str:
    """Mark a text of the other direction as separate, so that it does not change the order of the words around it."""
    directions = (unicodedata.bidirectional(character) for character in text)
    first = next((each for each in directions if each in ("L", "R", "AL")), None)
    is_rtl = first in ("R", "AL")
    if first is None or is_rtl == (language.direction == "rtl"):
        return text
    return f"\u2068{text}\u2069"


def _join(parts: Sequence[str]) -> str:
    """Words with spaces between them, except around brackets, commas and paths."""
    text = ""
    for part in parts:
        is_tight = (
            not text
            or part in (")", ",", "]", "/", "::")
            or text.endswith(("(", "[", "/", "::", "@"))
        )
        text += part if is_tight else f" {part}"
    return text
