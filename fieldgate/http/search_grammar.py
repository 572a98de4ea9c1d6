"""The search expression `q` of a list, and its parser. Each list has its own fields.

    parse_expression('asset_type:survey AND (water OR NOT tags:"old form")', SearchFields(("asset_type", "tags")))

Terms are a word, a phrase in quotes, or field:value. Terms next to each other must all match, as with AND. NOT binds
tighter than AND, and AND tighter than OR. Operators are upper case. Quotes and parentheses inside a word belong to it.
"""

import operator
import re
from datetime import datetime
from typing import NamedTuple

import msgspec

from fieldgate.http.request.validation import expected_message, parse_timestamp
from fieldgate.i18n.messages import Message, PluralMessage

MAX_SEARCH_CHARS = 1000
MAX_SEARCH_TERMS = 20
MAX_SEARCH_DEPTH = 10  # parentheses

COMPARISONS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
_OPERATORS = ("AND", "OR", "NOT")
_SPACE = re.compile(r"\s*")
_PHRASE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
# An apostrophe starts a phrase only if another one ends it: `'Asir` is a word.
_APOSTROPHE_PHRASE = re.compile(r"'((?:[^'\\]|\\.)*)'(?=[\s)]|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_\[\]-]*):")


class SearchFields(msgspec.Struct, frozen=True):
    """The fields of a list."""

    names: tuple[str, ...]
    times: frozenset[str] = frozenset()  # fields whose values are dates or times
    numbers: frozenset[str] = frozenset()
    others: re.Pattern[str] | None = None  # further fields, which are accepted
    has_words: bool = True  # whether terms without a field are allowed

    def check(self, field: str, value: str) -> None:
        """Raise `SearchSyntaxError` if there is no such field, or if it cannot have this value."""
        if not field and not self.has_words:
            raise SearchSyntaxError(
                Message(
                    "Put a field and a colon before “{value}”. Fields: {fields}.",
                    value=value[:40],
                    fields=self.list(),
                )
            )
        if field and field not in self.names and not (self.others and self.others.fullmatch(field)):
            raise SearchSyntaxError(
                Message(
                    "There is no search field {field}. Fields: {fields}. Put text that contains a colon in quotes.",
                    field=field[:60],
                    fields=self.list(),
                )
            )

    def check_value(self, field: str, value: str) -> None:
        kind = datetime if field in self.times else int if field in self.numbers else None
        try:
            if kind is datetime:
                parse_timestamp(value)
            elif kind is int and not re.fullmatch("[0-9]{1,18}", value):
                raise ValueError(value)
        except ValueError:
            raise SearchSyntaxError(
                Message(
                    "“{value}” is not valid. {expected}",
                    value=value[:40],
                    expected=expected_message(kind),
                )
            ) from None

    def list(self) -> str:
        return ", ".join(self.names)


def time_fields(*names: str) -> tuple[str, ...]:
    """Fields with a comparison: `date_modified__gte:2026-11-15`."""
    return tuple(f"{name}__{comparison}" for name in names for comparison in COMPARISONS)


def quote_phrase(text: str) -> str:
    """A text as a phrase: nothing in it is an operator."""
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


class SearchTerm(msgspec.Struct, frozen=True):
    """A word or phrase to find in names, or a value that a field must have."""

    value: str
    field: str = ""


class SearchNot(msgspec.Struct, frozen=True):
    operand: "SearchExpression"


class SearchAnd(msgspec.Struct, frozen=True):
    operands: "tuple[SearchExpression, ...]"


class SearchOr(msgspec.Struct, frozen=True):
    operands: "tuple[SearchExpression, ...]"


SearchExpression = SearchTerm | SearchNot | SearchAnd | SearchOr


class SearchSyntaxError(ValueError):
    """A search that cannot be parsed, with a message for the caller."""


class _Token(NamedTuple):
    position: int  # of its first character, from 0
    text: str  # an operator or parenthesis; "" for a term and at the end
    term: SearchTerm | None = None


def parse_expression(text: str, fields: SearchFields) -> SearchExpression | None:
    """Parse a search; None if it is blank. Raise `SearchSyntaxError`."""
    tokens = _tokenize(text, fields)
    if len(tokens) == 1:
        return None
    parser = _Parser(tokens)
    expression = parser.parse_or(depth=0)
    if parser.current.text:
        raise _unexpected(parser.current)
    return expression


class _Parser:
    """Recursive descent; `MAX_SEARCH_DEPTH` bounds the recursion."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._index = 0

    @property
    def current(self) -> _Token:
        return self._tokens[self._index]

    def parse_or(self, depth: int) -> SearchExpression:
        operands = [self._parse_and(depth)]
        while self.current.text == "OR":
            self._index += 1
            operands.append(self._parse_and(depth))
        return SearchOr(tuple(operands)) if len(operands) > 1 else operands[0]

    def _parse_and(self, depth: int) -> SearchExpression:
        operands = [self._parse_not(depth)]
        while self.current.term is not None or self.current.text in ("AND", "NOT", "("):
            if self.current.text == "AND":
                self._index += 1
            operands.append(self._parse_not(depth))
        return SearchAnd(tuple(operands)) if len(operands) > 1 else operands[0]

    def _parse_not(self, depth: int) -> SearchExpression:
        is_negated = False
        while self.current.text == "NOT":
            self._index += 1
            is_negated = not is_negated
        operand = self._parse_operand(depth)
        return SearchNot(operand) if is_negated else operand

    def _parse_operand(self, depth: int) -> SearchExpression:
        token = self.current
        if token.term is not None:
            self._index += 1
            return token.term
        if token.text != "(":
            raise _unexpected(token)
        if depth == MAX_SEARCH_DEPTH:
            raise SearchSyntaxError(
                PluralMessage(
                    "Parentheses can be nested at most {count} level deep.",
                    "Parentheses can be nested at most {count} levels deep.",
                    MAX_SEARCH_DEPTH,
                )
            )
        self._index += 1
        expression = self.parse_or(depth + 1)
        if self.current.text != ")":
            raise SearchSyntaxError(
                Message(
                    "The parenthesis at character {position} is not closed.",
                    position=token.position + 1,
                )
            )
        self._index += 1
        return expression


def _tokenize(text: str, fields: SearchFields) -> list[_Token]:
    """Split a search into tokens. The last one marks the end."""
    tokens: list[_Token] = []
    terms = 0
    position = _skip_space(text, 0)
    while position < len(text):
        if text[position] in "()":
            token, position = _Token(position, text[position]), position + 1
        else:
            token, position = _read_word(text, position, fields)
        tokens.append(token)
        terms += token.term is not None
        if terms > MAX_SEARCH_TERMS:
            raise SearchSyntaxError(
                PluralMessage(
                    "Enter at most {count} word.", "Enter at most {count} words.", MAX_SEARCH_TERMS
                )
            )
        position = _skip_space(text, position)
    tokens.append(_Token(len(text), ""))
    return tokens


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _read_word(text: str, start: int, fields: SearchFields) -> tuple[_Token, int]:
    """Read a term or an operator. Return it and the position after it."""
    named = _FIELD.match(text, start)
    field, position = (named[1], named.end()) if named else ("", start)
    phrase = _read_phrase(text, position)
    value, end = phrase or _read_plain(text, position)
    if not field and phrase is None and value in _OPERATORS:
        return _Token(start, value), end
    fields.check(field, value)
    if phrase is None and (not value or value.startswith("(")):  # `field:` alone, or `field:(`
        raise _missing(position)
    fields.check_value(field, value)
    return _Token(start, "", SearchTerm(value, field)), end


def _read_phrase(text: str, start: int) -> tuple[str, int] | None:
    """Read a phrase in quotes; None if there is none."""
    found = (_PHRASE if text.startswith('"', start) else _APOSTROPHE_PHRASE).match(text, start)
    if found:
        return _ESCAPE.sub(r"\1", found[1]), found.end()
    if text.startswith('"', start):
        raise SearchSyntaxError(
            Message("The quote at character {position} is not closed.", position=start + 1)
        )
    return None


def _read_plain(text: str, start: int) -> tuple[str, int]:
    """Read up to a space, or a closing parenthesis that was not opened in between."""
    opened, position = 0, start
    while position < len(text) and not text[position].isspace():
        if text[position] == "(" and text[start:position] in _OPERATORS:  # as in `NOT(a)`
            break
        opened += (text[position] == "(") - (text[position] == ")")
        if opened < 0:
            break
        position += 1
    return text[start:position], position


def _unexpected(token: _Token) -> SearchSyntaxError:
    if not token.text:
        return _missing(token.position)
    return SearchSyntaxError(
        Message(
            "Unexpected {found} at character {position}. To search for it, put it in quotes.",
            found=token.text,
            position=token.position + 1,
        )
    )


def _missing(position: int) -> SearchSyntaxError:
    return SearchSyntaxError(
        Message(
            "Something is missing at character {position}: a word, a phrase in quotes, or a value.",
            position=position + 1,
        )
    )
