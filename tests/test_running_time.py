"""Expressions and parsers of text from outside take time in proportion to its length, whatever it is.

Every regular expression of the two packages is found in their source, and run on texts made from its own parts:
repeated characters, beginnings that never end, spaces, quotes. Times are processor time, and only compared with each
other, at two lengths.
"""

import ast
import importlib
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fieldgate_client.csv_cells import escape_formula, unescape_formula
from fieldgate_client.names import _folded
from fieldgate_client.retries import parse_http_date, parse_rate_limit
from multipart import MultipartSegment, parse_options_header

from fieldgate.accounts.store import username_key
from fieldgate.assets import expression_text
from fieldgate.assets.form_texts import language_code, plain
from fieldgate.assets.store import name_key
from fieldgate.http.request.request_body import part_filename
from fieldgate.i18n.folding import fold_text
from fieldgate.imports.fetch.ssrf_guard import content_disposition_filename
from fieldgate.imports.xlsform.xpath.expressions import find_references, parse_expression

ROOT = Path(__file__).parents[1]
PACKAGES = (ROOT / "fieldgate", ROOT / "client" / "fieldgate_client")

SCANNING = frozenset(
    {"search", "sub", "subn", "split", "findall", "finditer"}
)  # these try at each position
USES = SCANNING | {"match", "fullmatch"}

# Expressions that are used in a way the source does not tell: only at the position of a token.
AT_ONE_POSITION = {
    (
        "fieldgate.assets.expression_text",
        "_pattern",
    ): "where a token begins, in at most 2,000 characters",
    ("fieldgate.http.search_grammar", "_PHRASE"): "a quote that is not closed is an error",
    ("fieldgate.http.search_grammar", "_APOSTROPHE_PHRASE"): "once for each of at most 20 terms",
    ("fieldgate.imports.xlsform.xpath.expressions", "_AFTER_VALUE"): "where a token begins",
    (
        "fieldgate.imports.xlsform.xpath.expressions",
        "_ELSEWHERE",
    ): "where a token begins; no token is an error",
    ("fieldgate.imports.xlsform.xpath.expressions", "_BRACKETS"): "the whole content of a bracket",
}
# Local names in the source of expressions that functions make, with what they can be.
LOCAL_NAMES: dict[str, list[dict[str, Any]]] = {
    "fieldgate.http.application": [{"bare": "/api/v2/assets/{uid}/versions/{version}/"}],
    "fieldgate.assets.expression_text": [
        {"pattern": pattern.pattern}
        for pattern in (
            expression_text._TOKEN,
            expression_text._COMPARISON,
            expression_text._BRACKET,
            expression_text._SLASH,
            *(pattern for pattern, _ in expression_text._PHRASES),
        )
    ],
}


class Expression(NamedTuple):
    """A regular expression in the source."""

    module: str
    line: int
    pattern: re.Pattern[Any]
    uses: frozenset[str]  # names of methods

    def __str__(self) -> str:
        return f"{self.module}:{self.line}"


def module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def find_expressions() -> list[Expression]:
    """Every call of `re`, and every pattern of a schema. Fail for one that cannot be evaluated."""
    trees = {}
    used: dict[
        tuple[str, str], set[str]
    ] = {}  # methods by module and name; public names also by "" and name
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            module = module_name(path, package)
            trees[module] = ast.parse(path.read_text())
            for node in ast.walk(trees[module]):
                assert not (isinstance(node, ast.ImportFrom) and node.module == "re"), (
                    f"{module}: use `re.compile`"
                )
                if isinstance(node, ast.Attribute) and node.attr in USES:
                    name = ast.unparse(node.value).rpartition(".")[2]
                    used.setdefault((module, name), set()).add(node.attr)
                    used.setdefault(("", name), set()).add(node.attr)
    found: list[Expression] = []
    for module, tree in trees.items():
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method in {*USES, "compile"} and ast.unparse(node.func) == f"re.{method}":
                uses = (
                    frozenset({method})
                    if method != "compile"
                    else uses_of(node, module, parents, used)
                )
                found += [
                    Expression(module, node.lineno, pattern, uses)
                    for pattern in evaluate(node, module)
                ]
            for keyword in node.keywords:
                if keyword.arg == "pattern" and isinstance(keyword.value, ast.Constant):
                    pattern = re.compile(str(keyword.value.value))
                    found.append(Expression(module, node.lineno, pattern, frozenset({"search"})))
    return found


def uses_of(
    call: ast.Call,
    module: str,
    parents: Mapping[ast.AST, ast.AST],
    used: Mapping[tuple[str, str], set[str]],
) -> frozenset[str]:
    """The methods that are called on what `re.compile` returned; `search` if that is not known."""
    parent = parents[call]
    if isinstance(parent, ast.Attribute):
        return frozenset({parent.attr})
    node: ast.AST = call
    while not isinstance(node, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.Module):
        node = parents[node]
    name = ""
    if isinstance(node, ast.Assign):
        name = ast.unparse(node.targets[0])
    if isinstance(node, ast.FunctionDef):
        name = node.name
    if (module, name) in AT_ONE_POSITION:
        return frozenset({"match"})
    owner = module if name.startswith("_") else ""
    return frozenset(used.get((owner, name), {"search"}))


def evaluate(call: ast.Call, module: str) -> list[re.Pattern[Any]]:
    """The expression of a call, with its flags."""
    is_compile = ast.unparse(call.func) == "re.compile"
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    flags += call.args[1:2] if is_compile else []
    flags += [
        argument
        for argument in call.args[2:]
        if not is_compile and ast.unparse(argument).startswith("re.")
    ]
    source = ast.Expression(ast.Tuple([call.args[0], *flags], ast.Load()))
    code = compile(ast.fix_missing_locations(source), module, "eval")
    names = vars(importlib.import_module(module))
    patterns = []
    for local_names in LOCAL_NAMES.get(module, [{}]):
        pattern, *given = eval(code, {**names, **local_names})
        patterns.append(re.compile(pattern, *given))
    return patterns


# Texts made from the parts of an expression


REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
CATEGORIES = {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}
PUMPS = " \t\n\"'\\a1;:.=(<$-"  # with any expression
MAX_TEXTS = 300  # of one expression, by chance


def parts_of(pattern: re.Pattern[Any]) -> Any:
    return importlib.import_module("re._parser").parse(pattern.pattern, pattern.flags)


def nested_parts(name: str, value: Any) -> list[Any]:
    """What a part of an expression consists of: one entry for each alternative."""
    if name in REPEATS:
        return [value[2]]
    if name == "SUBPATTERN":
        return [value[3]]
    if name == "ATOMIC_GROUP":
        return [value]
    if name == "BRANCH":
        return list(value[1])
    return []


def characters_of(parts: Any) -> set[str]:
    """Characters that the expression names, and one of each class of characters."""
    found: set[str] = set()
    for code, value in parts:
        name = str(code)
        if name in ("LITERAL", "NOT_LITERAL"):
            found.add(chr(value))
        elif name == "RANGE":
            found.add(chr(value[0]))
        elif name == "CATEGORY":
            found.add(CATEGORIES.get(str(value), "!"))
        elif name == "IN":
            found |= characters_of(value)
        elif name.startswith("ASSERT"):
            found |= characters_of(value[1])
        for nested in nested_parts(name, value):
            found |= characters_of(nested)
    return found


def matching_text(parts: Any) -> str:
    """A short text that the expression matches, or almost; each optional part is there once."""
    text = ""
    for code, value in parts:
        name = str(code)
        if name == "LITERAL":
            text += chr(value)
        elif name in ("ANY", "NOT_LITERAL"):
            text += "b"
        elif name == "IN":
            named = characters_of(value)
            is_negated = str(value[0][0]) == "NEGATE"
            others = [character for character in "b1 -;~" if character not in named]
            text += others[0] if is_negated else max(named)
        elif name in REPEATS:
            text += matching_text(value[2]) * min(max(value[0], 1), 30)
        else:
            text += "".join(matching_text(nested) for nested in nested_parts(name, value)[:1])
    return text


def beginnings(parts: Any, before: str = "") -> set[str]:
    """Texts that match the first parts of the expression, or of a part of it."""
    found = set()
    text = before
    for code, value in parts:
        found.add(text)
        for nested in nested_parts(str(code), value):
            found |= beginnings(nested, text)
        if str(code) in REPEATS:
            found |= beginnings(value[2])
        text += matching_text([(code, value)])
    found.add(text)
    return {text[-60:] for text in found}


class Attack(NamedTuple):
    start: str
    pump: str
    end: str

    def text(self, length: int) -> str:
        return self.start + (self.pump * (length // len(self.pump) + 1))[:length] + self.end


def attacks_on(pattern: re.Pattern[Any]) -> list[Attack]:
    parts = parts_of(pattern)
    own_characters = sorted(characters_of(parts))
    characters = sorted({*own_characters, *PUMPS})
    starts = sorted(beginnings(parts) | {""}, key=len)
    pumps = [*characters, *filter(None, starts)]
    pairs = [first + second for first in characters for second in characters]
    marks = [character for character in own_characters if not character.isalnum()]
    likely = {Attack("", pump, "\0") for pump in pumps}
    likely |= {Attack(start, pump, "\0") for start in starts[:8] for pump in PUMPS}
    likely |= {Attack(start, mark, "\0") for start in starts[:40] for mark in marks[:8]}
    chance = random.Random(0)  # the same each time
    for _ in range(MAX_TEXTS):
        pump = chance.choice(pumps if chance.random() < 0.5 else pairs)
        likely.add(Attack(chance.choice(starts), pump, chance.choice(("", "\0"))))
    return sorted(likely)


# Time


LENGTH = 1000
MAX_RATIO = (
    9  # for four times the length: four if the time is in proportion, sixteen if it is quadratic
)


def processor_time(work: Callable[[], object]) -> int:
    """Nanoseconds."""
    start = time.process_time_ns()
    work()
    return time.process_time_ns() - start


def is_in_proportion(
    work: Callable[[str], object], make_text: Callable[[int], str], length: int = LENGTH
) -> bool:
    """Whether four times the length takes about four times as long: the least of several times of each."""
    short_text = make_text(length)
    long_text = make_text(4 * length)
    short_times = []
    long_times = []
    for _ in range(5):
        short_times.append(processor_time(lambda: work(short_text)))
        long_times.append(processor_time(lambda: work(long_text)))
        if min(long_times) <= MAX_RATIO * min(short_times):
            return True
    return False


def runs_of(expression: Expression) -> Iterator[Callable[[Any], object]]:
    """The ways in which the expression is used."""
    if expression.uses & SCANNING:
        yield lambda text: sum(1 for _ in expression.pattern.finditer(text))
    if "match" in expression.uses:
        yield expression.pattern.match
    if "fullmatch" in expression.uses:
        yield expression.pattern.fullmatch


def slow_texts(expression: Expression, usual_time: int) -> list[Attack]:
    """The texts that take more time the longer they are. What takes not much more than usual is not measured again."""
    is_bytes = isinstance(expression.pattern.pattern, bytes)
    slow = []
    for run in runs_of(expression):
        for attack in attacks_on(expression.pattern):

            def make_text(length: int, attack: Attack = attack) -> Any:
                text = attack.text(length)
                return text.encode("latin-1", "replace") if is_bytes else text

            text = make_text(LENGTH)
            if processor_time(partial(run, text)) > usual_time and not is_in_proportion(
                run, make_text
            ):
                slow.append(attack)
                break
    return slow


def test_every_expression_takes_time_in_proportion_to_the_text() -> None:
    expressions = find_expressions()
    assert len(expressions) > 100
    plain = re.compile("[^x]")
    usual_time = 2 * min(processor_time(lambda: plain.sub("", "a" * LENGTH)) for _ in range(20))
    slow = {
        str(expression): texts
        for expression in expressions
        if (texts := slow_texts(expression, usual_time))
    }
    assert not slow, "these expressions try again and again what they have read"


@pytest.mark.parametrize(
    "source", [r'"(?:\\.|[^"\\])*"', r"(\w+):", r"\(\s*\w\w(?:[-_][^()]*)?\s*\)", r"\$\{[^}]*\}"]
)
def test_expressions_that_scan_again_are_found(source: str) -> None:
    assert slow_texts(Expression("test", 1, re.compile(source), frozenset({"search"})), 0)


def test_exemptions_are_of_expressions_that_exist() -> None:
    for module, name in AT_ONE_POSITION:
        assert hasattr(importlib.import_module(module), name)


def disposition_filename(value: str) -> str | None:
    return part_filename(MultipartSegment([("Content-Disposition", f"form-data; name=a; {value}")]))


PARSERS: tuple[Callable[[str], object], ...] = (
    content_disposition_filename,
    disposition_filename,
    escape_formula,
    find_references,
    fold_text,
    language_code,
    name_key,
    parse_expression,
    parse_http_date,
    parse_options_header,
    plain,
    unescape_formula,
    username_key,
    _folded,
    lambda header: parse_rate_limit({"ratelimit": header}),
)
LENGTH_FOR_PARSERS = 5000  # longer than what they cut
COMBINING = "\u0301\u0316"  # accents above and below, which Unicode sorts
STARTS = (
    "",
    "a",
    'filename="',
    "filename*=utf-8''",
    'attachment; filename="',
    "=?utf-8?q?",
    "${",
    "(",
    "f(",
)
REPEATED = (COMBINING, "=?", "=?utf-8?q?a?= ", "a(", "${", "<a", '";', '\\"', *"\"\\; %a('-1,*_")


@pytest.mark.parametrize("parse", PARSERS)
def test_parsers_take_time_in_proportion_to_the_text(parse: Callable[[str], object]) -> None:
    for start in STARTS:
        for pump in REPEATED:
            attack = Attack(start, pump, "")
            assert is_in_proportion(parse, attack.text, LENGTH_FOR_PARSERS), attack
