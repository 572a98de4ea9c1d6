"""Parse XPath expressions in the cells of a form: their references, their functions and their syntax.

Forms use XPath 1.0 with references like `${age}` and many functions that XPath does not have. What is valid is decided
as in JavaRosa, the library of ODK Collect and ODK Validate: where an operator is expected, `or.=9` is `or . = 9`, and
`mod2` is `mod 2`. Where a value is expected, `or.` and `mod2` are names.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from fieldgate.imports.xlsform.xml_names import NCNAME, QNAME

_XPATH_FUNCTIONS = """
    boolean ceiling concat contains count false floor id lang last local-name name namespace-uri normalize-space not
    number position round starts-with string string-length substring substring-after substring-before sum translate
    true
"""

_XFORMS_FUNCTIONS = """
    abs acos area asin atan atan2 base64-decode boolean-from-string checklist coalesce comment-status cos
    count-non-empty count-selected current date date-time decimal-date-time decimal-time depend digest distance
    enclosed-area ends-with exp exp10 extract-signed format-date format-date-time geofence if indexed-repeat instance
    int intersects join jr:choice-name jr:itext log log10 max min now once pi pow property pulldata random randomize
    regex selected selected-at sin sqrt substr tan today uuid weighted-checklist
"""

_AXES = """
    ancestor ancestor-or-self attribute child descendant descendant-or-self following following-sibling namespace parent
    preceding preceding-sibling self
"""

KNOWN_FUNCTIONS = frozenset((_XPATH_FUNCTIONS + _XFORMS_FUNCTIONS).split())

NODE_TESTS = frozenset({"text", "node", "comment", "processing-instruction"})

AXES = frozenset(_AXES.split())


_REFERENCE = re.compile(r"\$\{([^}]*)(\}?)")
_REFERENCE_NAME = re.compile(rf"(?:last-saved\#)?({NCNAME})")
_STRAIGHT_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
_QUOTES = "'\""
_OPENING = re.compile(r"[(\[]")
_DEFAULT_PREFIXES = frozenset({"jr", "orx", "odk"})  # declared in every form
_MAX_NESTED_BRACKETS = 1000  # JavaRosa parses recursively

# Tokens after a value, and tokens anywhere else. `-` and `*` mean something else there, and so do words.
_SYMBOLS = r"(?P<operator> [<>!]= | [=<>+]) | (?P<symbol> \.\.? | //? | [-|@,()\[\]])"
_AFTER_VALUE = re.compile(
    rf"(?: (?P<word> and | or | div | mod | [-*]) | {_SYMBOLS}) \s*+", re.VERBOSE
)
_ELSEWHERE = re.compile(
    rf"""(?:
        (?P<value> \$\{{[^}}]*\}} | "[^"]*" | '[^']*' | [0-9]++(?:\.[0-9]*+)? | \.[0-9]++ | \${QNAME})
      | (?P<axis> {NCNAME})\s*+::
      | (?P<called> {QNAME})\s*+\(
      | (?P<name> {NCNAME}:\* | {QNAME} | \*)
      | {_SYMBOLS}
    ) \s*+""",
    re.VERBOSE,
)

# The grammar of what is between two brackets. Each token is one letter, and so is a bracket with its content.
_LETTERS = {
    "value": "v",
    "name": "n",
    "axis": "@",
    "operator": "+",
    "word": "+",
    "..": ".",
    "//": "D",
}
_ENDS_OF_VALUES = frozenset("vn.]")
_STEP = r"(?:@?n\]*+|\.)"
_STEPS = rf"{_STEP}(?:[/D]{_STEP})*+"
_PATH = rf"(?:v\]*+(?:[/D]{_STEPS})?+|/(?:{_STEPS})?+|D?{_STEPS})"
_OPERAND = rf"-*+{_PATH}(?:\|{_PATH})*+"
_EXPRESSION = rf"{_OPERAND}(?:\+{_OPERAND})*+"
# For each opening bracket: the closing one, what may be inside, and the letter of the whole.
_BRACKETS = {
    "(": (")", re.compile(_EXPRESSION), "v"),
    "[": ("]", re.compile(_EXPRESSION), "]"),
    "function(": (")", re.compile(rf"(?:{_EXPRESSION}(?:,{_EXPRESSION})*+)?+"), "v"),
    "test(": (")", re.compile("v?"), "n"),
    "": ("", re.compile(_EXPRESSION), ""),
}


class SyntaxMistake(msgspec.Struct, frozen=True):
    """Where an expression cannot be read, counted from 0; its length if it ends too early.

    `missing` is what closes the bracket or the text that begins there and has no end.
    """

    position: int
    missing: str = ""


class Expression(msgspec.Struct, frozen=True):
    """A parsed expression."""

    mistake: SyntaxMistake | None
    unknown_functions: tuple[str, ...]
    undeclared_prefixes: tuple[str, ...] = ()


class References(msgspec.Struct, frozen=True):
    """The names in `${…}`, and references whose text cannot be a name."""

    names: tuple[str, ...]
    malformed: tuple[str, ...]


def find_references(text: str) -> References:
    """All references of a cell, which may be a label or an expression."""
    names: list[str] = []
    malformed: list[str] = []
    for match in _REFERENCE.finditer(text):
        name = _REFERENCE_NAME.fullmatch(match[1]) if match[2] else None
        if name is None:
            malformed.append(match[0])
        else:
            names.append(name[1])
    return References(tuple(names), tuple(malformed))


def parse_expression(text: str, prefixes: frozenset[str] = frozenset()) -> Expression:
    """Parse an expression. `prefixes` are declared by the form in addition to the usual ones."""
    functions: dict[str, None] = {}
    used_prefixes: dict[str, None] = {}
    mistake = _find_mistake(text.translate(_STRAIGHT_QUOTES).strip(), functions, used_prefixes)
    unknown = tuple(name for name in functions if name not in KNOWN_FUNCTIONS)
    undeclared = tuple(
        prefix for prefix in used_prefixes if prefix not in _DEFAULT_PREFIXES | prefixes
    )
    return Expression(mistake, unknown, undeclared)


class _Bracket:
    """An open bracket, or the whole expression: its tokens as letters, with their positions."""

    def __init__(self, kind: str, start: int) -> None:
        self.start = start
        self.closing, self._content, self.letter = _BRACKETS[kind]
        self._letters = [""]
        self._positions: list[int] = []

    def add(self, letter: str, position: int) -> None:
        self._letters.append(letter)
        self._positions.append(position)

    def ends_with_value(self) -> bool:
        return self._letters[-1] in _ENDS_OF_VALUES

    def is_complete(self) -> bool:
        return bool(self._content.fullmatch("".join(self._letters)))

    def find_wrong_token(self) -> int | None:
        """The position of the first token that nothing can follow: a beginning is valid if one more token ends it."""
        counts = range(1, len(self._positions) + 1)
        wrong = bisect_left(counts, True, key=lambda count: not self._can_begin_with(count))
        return self._positions[wrong] if wrong < len(self._positions) else None

    def _can_begin_with(self, count: int) -> bool:
        beginning = "".join(self._letters[: count + 1])
        return any(self._content.fullmatch(beginning + more) for more in ("", "v", "n"))


def _find_mistake(
    text: str, functions: dict[str, None], used_prefixes: dict[str, None]
) -> SyntaxMistake | None:
    """The first mistake. Adds the functions and the prefixes of names up to it."""
    opened = [_Bracket("", 0)]
    position = 0
    while position < len(text):
        start = position
        token = (_AFTER_VALUE if opened[-1].ends_with_value() else _ELSEWHERE).match(text, position)
        if token is None or len(opened) > _MAX_NESTED_BRACKETS:
            is_text = text[start] in _QUOTES and not opened[-1].ends_with_value()
            return _first_mistake(opened, SyntaxMistake(start, text[start] if is_text else ""))
        position = token.end()
        kind = token.lastgroup or ""
        word = token[kind]
        if kind == "axis" and word not in AXES:
            return _first_mistake(opened, SyntaxMistake(start))
        if kind == "name" and ":" in word:
            used_prefixes.setdefault(word.partition(":")[0])
        if kind == "called":
            if word not in NODE_TESTS:
                functions.setdefault(word)
            opened.append(_Bracket("test(" if word in NODE_TESTS else "function(", start))
        elif word in ("(", "["):
            opened.append(_Bracket(word, start))
        elif word in (")", "]"):
            if word != opened[-1].closing or not opened[-1].is_complete():
                return _first_mistake(opened, SyntaxMistake(start))
            closed = opened.pop()
            opened[-1].add(closed.letter, closed.start)
        else:
            opened[-1].add(_LETTERS.get(kind) or _LETTERS.get(word, word), start)
    innermost = opened[-1]
    if innermost.closing:
        bracket = _OPENING.search(text, innermost.start)
        return _first_mistake(
            opened, SyntaxMistake(bracket.start() if bracket else 0, innermost.closing)
        )
    return None if innermost.is_complete() else _first_mistake(opened, SyntaxMistake(len(text)))


def _first_mistake(opened: Iterable[_Bracket], last: SyntaxMistake) -> SyntaxMistake:
    """Brackets are checked when they are closed, so there may be a mistake before the one that was found."""
    wrong = (bracket.find_wrong_token() for bracket in opened)
    return next((SyntaxMistake(position) for position in wrong if position is not None), last)
