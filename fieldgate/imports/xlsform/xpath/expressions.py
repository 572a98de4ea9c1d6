"""Parse XPath expressions in the cells of a form: their references, their functions and their syntax.

Forms use XPath 1.0 with references like `${age}` and many functions that XPath does not have. What is valid is decided
as in JavaRosa, the library of ODK Collect and ODK Validate: where an operator is expected, `or.=9` is `or . = 9`, and
`mod2` is `mod 2`. Where a value is expected, `or.` and `mod2` are names.
"""

import re

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
_DEFAULT_PREFIXES = frozenset({"jr", "orx", "odk"})  # declared in every form
_MAX_NESTED_BRACKETS = 1000  # JavaRosa parses recursively

# Tokens after a value, and tokens anywhere else. `-` and `*` mean something else there, and so do words.
_SYMBOLS = r"(?P<operator> [<>!]= | [=<>+]) | (?P<symbol> \.\.? | //? | [-|@,()\[\]])"
_AFTER_VALUE = re.compile(rf"(?: (?P<word> and | or | div | mod | [-*]) | {_SYMBOLS}) \s*+", re.VERBOSE)
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
_LETTERS = {"value": "v", "name": "n", "axis": "@", "operator": "+", "word": "+", "..": ".", "//": "D"}
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


class Expression(msgspec.Struct, frozen=True):
    """A parsed expression. `is_invalid` means a syntax error."""

    is_invalid: bool
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
    is_valid = _is_valid(text.translate(_STRAIGHT_QUOTES).strip(), functions, used_prefixes)
    unknown = tuple(name for name in functions if name not in KNOWN_FUNCTIONS)
    undeclared = tuple(prefix for prefix in used_prefixes if prefix not in _DEFAULT_PREFIXES | prefixes)
    return Expression(not is_valid, unknown, undeclared)


def _is_valid(text: str, functions: dict[str, None], used_prefixes: dict[str, None]) -> bool:
    """Whether the syntax is valid. Adds the functions and the prefixes of names up to the first mistake."""
    opened, letters = [""], [[""]]
    position = 0
    while position < len(text):
        pattern = _AFTER_VALUE if letters[-1][-1] in _ENDS_OF_VALUES else _ELSEWHERE
        token = pattern.match(text, position)
        if token is None or len(opened) > _MAX_NESTED_BRACKETS:
            return False
        position = token.end()
        kind = token.lastgroup or ""
        word = token[kind]
        if kind == "axis" and word not in AXES:
            return False
        if kind == "name" and ":" in word:
            used_prefixes.setdefault(word.partition(":")[0])
        if kind == "called":
            if word not in NODE_TESTS:
                functions.setdefault(word)
            opened.append("test(" if word in NODE_TESTS else "function(")
            letters.append([""])
        elif word in ("(", "["):
            opened.append(word)
            letters.append([""])
        elif word in (")", "]"):
            closing, content, letter = _BRACKETS[opened.pop()]
            if word != closing or not content.fullmatch("".join(letters.pop())):
                return False
            letters[-1].append(letter)
        else:
            letters[-1].append(_LETTERS.get(kind) or _LETTERS.get(word, word))
    closing, content, _ = _BRACKETS[opened[-1]]
    return not closing and bool(content.fullmatch("".join(letters[-1])))
