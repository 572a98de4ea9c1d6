"""Conditions of a form in words: `${age} >= 18 and selected(${food}, 'rice')` becomes
“How old are you?” ≥ 18 and “What do you eat?” includes “Rice”.

Common phrases are replaced, one after the other; everything else stays as it is. Nothing is evaluated.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

from fieldgate.assets.form_texts import LabelFinder, clip
from fieldgate.i18n.languages import Language
from fieldgate.i18n.messages import Message, translate

MAX_EXPRESSION_CHARS = 2_000  # a longer one is not put into words
MAX_TEXT_CHARS = 4_000

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<reference>\$\{\s*[^{}]*\})
    |(?P<text>"[^"]*"|'[^']*')
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[^\W\d][\w-]*(?:\.[\w-]+)*(?::[^\W\d][\w-]*)?)
    |(?P<operator><=|>=|!=|//|\.\.|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS = {"<=": "≤", ">=": "≥", "!=": "≠"}
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})
_WORDS: dict[str, Message | str] = {"and": Message("and"), "or": Message("or"), "not": Message("not"), "div": "÷"}
_CALLS = {
    "today": Message("today"),
    "now": Message("now"),
    "true": Message("yes"),
    "false": Message("no"),
}
# Functions of one answer.
_MEASURES = {
    "count-selected": Message("number of choices in {question}"),
    "string-length": Message("number of characters in {question}"),
    "count": Message("number of {question}"),
    "sum": Message("sum of {question}"),
}
_INCLUDES = Message("{question} includes {value}")
_EXCLUDES = Message("{question} does not include {value}")
_ANSWERED = Message("{question} is answered")
_UNANSWERED = Message("{question} is not answered")
_MATCHES = Message("{question} matches the pattern {value}")
_THIS_ANSWER = Message("the answer")

_Token = tuple[str, str]  # kind and text
_OPEN, _CLOSE, _COMMA = ("operator", "("), ("operator", ")"), ("operator", ",")
_SELECTED, _NOT, _REGEX = ("name", "selected"), ("name", "not"), ("name", "regex")


def expression_text(expression: str, labels: LabelFinder, language: Language, own_name: str = "") -> str:
    """An expression in words. `own_name` is the name of its question, which `.` stands for."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        return expression
    return clip(_ExpressionWriter(expression, labels, language, own_name).write(), MAX_TEXT_CHARS)


class _ExpressionWriter:
    def __init__(self, expression: str, labels: LabelFinder, language: Language, own_name: str) -> None:
        found = ((match.lastgroup or "", match[0]) for match in _TOKEN.finditer(expression))
        self._tokens = [token for token in found if token[0] != "space"]
        self._labels = labels
        self._language = language
        self._own_name = own_name
        self._place = 0

    def write(self) -> str:
        parts: list[str] = []
        while self._place < len(self._tokens):
            parts.append(self._phrase() or self._single())
        return _join(parts)

    def _phrase(self) -> str | None:
        phrases: Sequence[Callable[[], str | None]] = (
            self._excludes, self._includes, self._pattern, self._measure, self._call, self._comparison,
        )  # fmt: skip
        return next((text for phrase in phrases if (text := phrase()) is not None), None)

    def _single(self) -> str:
        kind, text = self._tokens[self._place]
        self._place += 1
        if kind == "reference":
            return self._quote(self._labels.question(_name(text)))
        if kind == "text":
            return self._quote(text[1:-1])
        if kind == "name" and text in _WORDS:
            word = _WORDS[text]
            return word if isinstance(word, str) else self._say(word)
        if kind == "name" and self._at(self._place) == _OPEN:
            self._place += 1
            return f"{text}("
        if (kind, text) == ("operator", ".") and not self._in_path(self._place - 1):
            return self._say(_THIS_ANSWER)
        return _OPERATORS.get(text, text)

    # Each phrase returns None, and stays where it is, if the next tokens are something else.

    def _includes(self) -> str | None:
        return self._about_choice((_SELECTED, _OPEN), (_CLOSE,), _INCLUDES)

    def _excludes(self) -> str | None:
        return self._about_choice((_NOT, _OPEN, _SELECTED, _OPEN), (_CLOSE, _CLOSE), _EXCLUDES)

    def _pattern(self) -> str | None:
        return self._about_choice((_REGEX, _OPEN), (_CLOSE,), _MATCHES)

    def _about_choice(self, start: Sequence[_Token], end: Sequence[_Token], message: Message) -> str | None:
        """A function of a question and a text."""
        place = self._place + len(start)
        question = self._question(place)
        if self._next(len(start)) != [*start] or question is None or self._at(place + 1) != _COMMA:
            return None
        kind, value = self._at(place + 2)
        if kind != "text" or self._tokens[place + 3 : place + 3 + len(end)] != [*end]:
            return None
        self._place = place + 3 + len(end)
        name, shown = question
        return self._say(message, question=shown, value=self._value(name, value[1:-1]))

    def _measure(self) -> str | None:
        kind, function = self._at(self._place)
        question = self._question(self._place + 2)
        is_call = self._at(self._place + 1) == _OPEN and self._at(self._place + 3) == _CLOSE
        if kind != "name" or function not in _MEASURES or question is None or not is_call:
            return None
        self._place += 4
        return self._say(_MEASURES[function], question=question[1])

    def _call(self) -> str | None:
        kind, function = self._at(self._place)
        if (
            kind != "name"
            or function not in _CALLS
            or self._tokens[self._place + 1 : self._place + 3] != [_OPEN, _CLOSE]
        ):
            return None
        self._place += 3
        return self._say(_CALLS[function])

    def _comparison(self) -> str | None:
        """A question compared with a text or a number. A choice is shown by its label."""
        question = self._question(self._place)
        (_, operator), (kind, value) = self._at(self._place + 1), self._at(self._place + 2)
        if question is None or operator not in _COMPARISONS or kind not in ("text", "number"):
            return None
        name, shown = question
        text = value[1:-1] if kind == "text" else value
        if not text and operator in ("=", "!="):
            self._place += 3
            return self._say(_UNANSWERED if operator == "=" else _ANSWERED, question=shown)
        if kind == "number" and self._labels.choice(name, text) is None:
            return None
        self._place += 3
        return f"{shown} {_OPERATORS.get(operator, operator)} {self._value(name, text)}"

    def _question(self, place: int) -> tuple[str, str] | None:
        """The name and the label of the question that a token stands for."""
        token = self._at(place)
        if token[0] == "reference":
            name = _name(token[1])
            return name, self._quote(self._labels.question(name))
        if token == ("operator", ".") and not self._in_path(place):
            return self._own_name, self._say(_THIS_ANSWER)
        return None

    def _value(self, question: str, text: str) -> str:
        label = self._labels.choice(question, text)
        return self._quote(text if label is None else label)

    def _at(self, place: int) -> _Token:
        return self._tokens[place] if place < len(self._tokens) else ("", "")

    def _next(self, count: int) -> list[_Token]:
        return self._tokens[self._place : self._place + count]

    def _in_path(self, place: int) -> bool:
        """Whether a dot is part of a path, as in `./age`."""
        return "/" in (self._at(place + 1)[1], self._tokens[place - 1][1] if place else "")

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


def _name(reference: str) -> str:
    return reference[2:-1].strip()


def _join(parts: Sequence[str]) -> str:
    """Words with spaces between them, except around brackets, commas and paths."""
    text = ""
    for part in parts:
        is_tight = not text or part in (")", ",", "]", "/", "::") or text.endswith(("(", "[", "/", "::", "@"))
        text += part if is_tight else f" {part}"
    return text
