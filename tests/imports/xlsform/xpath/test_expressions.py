"""Valid and invalid XPath expressions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.xlsform.xpath.expressions import Expression, References, find_references, parse_expression

READABLE = Expression(is_invalid=False, unknown_functions=())


@pytest.mark.parametrize(
    "text",
    [
        "${age} + 3",
        "concat(${first}, ' ', ${last})",
        "if(${age} >= 18, 'adult', 'child')",
        "selected(${fruit}, 'apple') and not(selected(., \"pear\"))",
        "selected(${fruit},'apple') or(${age}=3)",
        "current()/../name",
        "instance('towns')/*/item[name = ${town}]/label",
        "jr:choice-name(${town}, '${town}')",
        "${child}[position() = 1]/name",
        "indexed-repeat(${name}, ${child}, position(..) - 1)",
        "once(uuid())",
        "round(${weight}, 2)",
        "region = ${region} and (true() or false())",
        "regex(., '^[0-9]{3}$')",
        "“tin” = ${roof}",
        "${last-saved#name}",
        "${a} div ${b} mod 2 * -1",
        "../../house/self::node()",
        "/data/meta/orx:instanceID",
        "today() - date('2020-01-01') >\n 3",
        "1 = 1 = 1",
        "1 < 2 <= 3 != 4",
        "count=${a} and mod = 3 and text() = 'x'",
        "${a}*100div${b}",
        "1.5mod 2 = .5and 1or 0",
        "${a}>5and ${b}",
        "1e5 + a1div",
    ],
)
def test_valid(text: str) -> None:
    assert parse_expression(text) == READABLE


@pytest.mark.parametrize(
    "text",
    [
        "${a} +* 3",
        "concat(${a}",
        "${a} ${b}",
        "${a} == 3",
        "${a} and",
        "= 3",
        "selected(${a} 'x')",
        "'x",
        "{1}a",
        "if(${a},,3)",
        "${a} && 2",
        "${a})",
        "${a} <> 3",
        "${a}b",
        "5mod2",
        "5px",
        "label::English != ''",
        "(" * 60_000,
        "9" * 60_000,
    ],
)
def test_invalid(text: str) -> None:
    assert parse_expression(text).is_invalid


def test_undeclared_prefixes() -> None:
    expression = parse_expression("instance('x')/root/item[1]/fuel:gas + esri:a + jr:b + fuel:oil", frozenset({"esri"}))
    assert expression == Expression(False, (), ("fuel",))


def test_unknown_functions() -> None:
    assert parse_expression("sqroot(4) + sqroot(9) + jr:choise(1)").unknown_functions == ("sqroot", "jr:choise")


def test_references() -> None:
    assert find_references("${a} and ${last-saved#b-c.d}") == References(("a", "b-c.d"), ())
    assert find_references("${a b}, ${} and ${c") == References((), ("${a b}", "${}", "${c"))
    assert find_references("no reference: $5, {x}") == References((), ())


@given(st.text(max_size=80) | st.text("${}()[]'\"+-*/=<>,.:|@ab1 ", max_size=80))
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    parse_expression(text)
    find_references(text)
