"""Valid and invalid XPath expressions."""

import json
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.imports.xlsform.xpath.expressions import (
    Expression,
    References,
    SyntaxMistake,
    find_references,
    parse_expression,
)

READABLE = Expression(mistake=None, unknown_functions=())
ODK_VALIDATE = json.loads((Path(__file__).parent / "odk_validate.json").read_text())


@pytest.mark.parametrize(
    "text",
    [
        "concat(${first}, ' ', ${last})",
        "if(${age} >= 18, 'adult', 'child')",
        "selected(${fruit}, 'apple') and not(selected(., \"pear\"))",
        "selected(${fruit},'apple') or(${age}=3)",
        "current()/../name",
        "instance('towns')/*/item[name = ${town}]/label",
        "jr:choice-name(${town}, '${town}')",
        "${child}[position() = 1]/name",
        "indexed-repeat(${name}, ${child}, position(..) - 1)",
        "region = ${region} and (true() or false())",
        "regex(., '^[0-9]{3}$')",
        "“tin” = ${roof}",
        "${a} div ${b} mod 2 * -1",
        "/data/meta/orx:instanceID",
        "today() - date('2020-01-01') >\n 3",
        "count=${a} and mod = 3 and text() = 'x'",
        "${a}*100div${b}",
        "1.5mod 2 = .5and 1or 0",
        "a1div + 1",
        "हिन्दी = ${हिन्दी}",
        "(" * 900 + "1" + ")" * 900,
        "1" + " + 1" * 20_000,
    ],
)
def test_valid(text: str) -> None:
    assert parse_expression(text) == READABLE


@pytest.mark.parametrize(
    "text",
    [
        "selected(${a} 'x')",
        "{1}a",
        "(" * 60_000,
        "(" * 60_000 + "1" + ")" * 60_000,
    ],
)
def test_invalid(text: str) -> None:
    assert parse_expression(text).mistake


@pytest.mark.parametrize(
    ("text", "position", "missing"),
    [
        ("${a} +* 3", 8, ""),
        ("selected(${a} 'x')", 14, ""),
        ("1 + + 2 = (3", 4, ""),
        ("concat(1 + , 2)", 11, ""),
        ("(1 + 2]", 6, ""),
        ("1)", 1, ""),
        ("concat(${a}, (1", 13, ")"),
        ("concat  (1", 8, ")"),
        ("${a}[1", 4, "]"),
        ("concat('a, 1)", 7, "'"),
        ("concat('l'eau')", 10, ""),
        ("foo::a", 0, ""),
        ("1 +", 3, ""),
        ("${a} = ", 6, ""),
        ("if(${a} = 1, 2, 3))", 18, ""),
        ("$(a) = 1", 0, ""),
        ("", 0, ""),
    ],
)
def test_place_of_mistake(text: str, position: int, missing: str) -> None:
    assert parse_expression(text).mistake == SyntaxMistake(position, missing)


def _products() -> list[str]:
    """Each operator between each pair of operands, with and without spaces."""
    left, operators, right = ODK_VALIDATE["left"], ODK_VALIDATE["operators"], ODK_VALIDATE["right"]
    return ["".join(parts) for parts in product(left, ("", " "), operators, ("", " "), right)]


def test_spaces_around_operators_are_needed_only_where_odk_validate_needs_them() -> None:
    refused = {text for text in _products() if parse_expression(text).mistake}
    assert refused == {
        *ODK_VALIDATE["refused_products"],
        *ODK_VALIDATE["products_with_missing_operator"],
    }


@pytest.mark.parametrize("text", ODK_VALIDATE["accepted"])
def test_accepted_by_odk_validate(text: str) -> None:
    assert not parse_expression(text).mistake


@pytest.mark.parametrize("text", ODK_VALIDATE["refused"])
def test_refused_by_odk_validate(text: str) -> None:
    assert parse_expression(text).mistake


@pytest.mark.parametrize("text", ODK_VALIDATE["missing_operator"])
def test_missing_operator_before_a_reference(text: str) -> None:
    """ODK Validate accepts `${a} ${b}` as `/data/a/data/b`: outside repeats, pyxform writes each as a path."""
    assert parse_expression(text).mistake


def test_undeclared_prefixes() -> None:
    expression = parse_expression(
        "instance('x')/root/item[1]/fuel:gas + esri:a + jr:b + fuel:oil", frozenset({"esri"})
    )
    assert expression == Expression(None, (), ("fuel",))


def test_unknown_functions() -> None:
    assert parse_expression("sqroot(4) + sqroot(9) + jr:choise(1)").unknown_functions == (
        "sqroot",
        "jr:choise",
    )


def test_operators_are_not_functions() -> None:
    assert parse_expression("(1)and(2)or(3) div(4)") == READABLE
    assert parse_expression("and(1)").unknown_functions == ("and",)


def test_references() -> None:
    assert find_references("${a} and ${last-saved#b-c.d}") == References(("a", "b-c.d"), ())
    assert find_references("${a b}, ${} and ${c") == References((), ("${a b}", "${}", "${c"))
    assert find_references("no reference: $5, {x}") == References((), ())


@given(st.text(max_size=80) | st.text("${}()[]'\"+-*/=<>,.:|@ab1 ", max_size=80))
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    parse_expression(text)
    find_references(text)
