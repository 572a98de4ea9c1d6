"""Parse XPath expressions in the cells of a form: their references, their functions and their syntax.

Forms use XPath 1.0 with references like `${age}` and many functions that XPath does not have. An expression is
rewritten, so that each reference is a variable and each function one that the parser knows, and then parsed by
elementpath.
"""

import re

import msgspec
from elementpath import XPath1Parser, XPathToken

from fieldgate.imports.xlsform.xpath.functions import KNOWN_FUNCTIONS, NODE_TESTS_AND_OPERATORS

_TOKEN = re.compile(
    r""""[^"]*" | '[^']*'
      | (?P<reference>\$\{[^}]*\}?)
      | (?P<space>\s++)
      | (?P<number>\d++(?:\.\d*+)?|\.\d++)(?=(?:and|or|div|mod)(?![\w.-]))
      | (?P<word>[^\W\d][\w.-]*+(?::(?!:)[\w.-]++)?)(?P<called>\s*+\()?""",
    re.VERBOSE,
)
_REFERENCE = re.compile(r"\$\{([^}]*)(\}?)")
_NAME = re.compile(r"(?:last-saved\#)?([^\W\d][\w.-]*)")
_STRAIGHT_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})
# Declared in every form.
_NAMESPACES = {
    "jr": "http://openrosa.org/javarosa",
    "orx": "http://openrosa.org/xforms",
    "odk": "http://www.opendatakit.org/xforms",
}
_OTHER_NAMESPACE = "urn:declared-by-the-form"
_CALL = "function-call"
_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")


class _Parser(XPath1Parser):
    """Parses without evaluating: there are no answers to evaluate an expression with."""

    PATH_STEP_SYMBOLS = XPath1Parser.PATH_STEP_SYMBOLS | {_CALL, "("}

    def parse(self, source: str) -> XPathToken:
        return super(XPath1Parser, self).parse(source)


def _parse_comparison(self: XPathToken, left: XPathToken) -> XPathToken:
    """Allow `1 = 1 = 1` as XPath 1.0 does. elementpath follows later versions, which do not."""
    self[:] = left, self.parser.expression(rbp=self.lbp)
    return self


for symbol in _COMPARISONS:
    token = _Parser.symbol_table[symbol]
    _Parser.symbol_table[symbol] = type(
        token.__name__, (token,), {"led": _parse_comparison, "__module__": token.__module__}
    )
_Parser.function(_CALL, nargs=(0, None))
_Parser.tokenizer = _Parser.create_tokenizer(_Parser.symbol_table)


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
        name = _NAME.fullmatch(match[1]) if match[2] else None
        if name is None:
            malformed.append(match[0])
        else:
            names.append(name[1])
    return References(tuple(names), tuple(malformed))


def parse_expression(text: str, prefixes: frozenset[str] = frozenset()) -> Expression:
    """Parse an expression. `prefixes` are declared by the form in addition to the usual ones."""
    functions: list[str] = []
    used_prefixes: dict[str, None] = {}

    def rewrite(part: re.Match[str]) -> str:
        if part["reference"] is not None:
            return "$q "
        if part["space"] is not None:
            return " "
        if part["number"] is not None:
            return f"{part[0]} "  # elementpath reads `2div 3` as a broken number
        if part["called"] is None and ":" in (part["word"] or ""):
            used_prefixes.setdefault(part["word"].partition(":")[0])
        if part["called"] is None or part["word"] in NODE_TESTS_AND_OPERATORS:
            return part[0]
        functions.append(part["word"])
        return f"{_CALL}("

    source = _TOKEN.sub(rewrite, text.translate(_STRAIGHT_QUOTES))
    unknown = tuple(dict.fromkeys(name for name in functions if name not in KNOWN_FUNCTIONS))
    undeclared = tuple(prefix for prefix in used_prefixes if prefix not in _NAMESPACES and prefix not in prefixes)
    return Expression(not _is_parseable(source, prefixes.union(undeclared)), unknown, undeclared)


def _is_parseable(source: str, prefixes: frozenset[str]) -> bool:
    try:
        _Parser(dict.fromkeys(prefixes, _OTHER_NAMESPACE) | _NAMESPACES).parse(source)
    except MemoryError:
        raise
    except Exception:
        # elementpath also lets errors of Python through: ValueError for a number of thousands of digits,
        # RecursionError for a thousand brackets.
        return False
    return True
