"""The parser of the search expression `q`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldgate.assets.search_query import SEARCH_FIELDS, parse_search
from fieldgate.http.search_grammar import (
    MAX_SEARCH_TERMS,
    SearchAnd,
    SearchExpression,
    SearchNot,
    SearchOr,
    SearchSyntaxError,
    SearchTerm,
)
from fieldgate.i18n.messages import Message
from tests.assets.search_expressions import count_terms, expressions, to_text

A, B, C = SearchTerm("a"), SearchTerm("b"), SearchTerm("c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("a", A),
        ("a b c", SearchAnd((A, B, C))),
        ("a AND b c", SearchAnd((A, B, C))),
        ("a OR b", SearchOr((A, B))),
        ("a b OR c", SearchOr((SearchAnd((A, B)), C))),
        ("a AND (b OR c)", SearchAnd((A, SearchOr((B, C))))),
        ("a(b)", SearchTerm("a(b)")),
        ("(a)(b)", SearchAnd((A, B))),
        ("NOT a b", SearchAnd((SearchNot(A), B))),
        ("NOT (a b)", SearchNot(SearchAnd((A, B)))),
        ("NOT NOT a", A),
        ("and or not", SearchAnd((SearchTerm("and"), SearchTerm("or"), SearchTerm("not")))),
        ('"AND"', SearchTerm("AND")),
        ('"a b"', SearchTerm("a b")),
        ("'a b'", SearchTerm("a b")),
        (r'"a \"b\" \\"', SearchTerm('a "b" \\')),
        ("N'Djamena", SearchTerm("N'Djamena")),
        ("'Asir", SearchTerm("'Asir")),
        ("l'eau d'Asir'", SearchAnd((SearchTerm("l'eau"), SearchTerm("d'Asir'")))),
        ('5"', SearchTerm('5"')),
        ("100% _", SearchAnd((SearchTerm("100%"), SearchTerm("_")))),
        ("12:30", SearchTerm("12:30")),
        ("مرحلة:2", SearchTerm("مرحلة:2")),
        (":a", SearchTerm(":a")),
        ("asset_type:survey", SearchTerm("survey", "asset_type")),
        ('name:"a b"', SearchTerm("a b", "name")),
        ("name:AND", SearchTerm("AND", "name")),
        ("tags:subject:fungus", SearchTerm("subject:fungus", "tags")),
        ("name:f(x)", SearchTerm("f(x)", "name")),
        ("NOT asset_type:block a", SearchAnd((SearchNot(SearchTerm("block", "asset_type")), A))),
    ],
)
def test_parse(text: str, expected: SearchExpression | None) -> None:
    assert parse_search(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a AND", "Something is missing at character 6: a word, a phrase in quotes, or a value."),
        ("name:", "Something is missing at character 6: a word, a phrase in quotes, or a value."),
        (
            "tags:(a OR b)",
            "Something is missing at character 6: a word, a phrase in quotes, or a value.",
        ),
        ("AND", "Unexpected AND at character 1. To search for it, put it in quotes."),
        ("a OR OR b", "Unexpected OR at character 6. To search for it, put it in quotes."),
        ("a) b", "Unexpected ) at character 2. To search for it, put it in quotes."),
        ("b (a", "The parenthesis at character 3 is not closed."),
        ('b "a', "The quote at character 3 is not closed."),
        ('name:"a', "The quote at character 6 is not closed."),
        (
            "owner:amina",
            f"There is no search field owner. Fields: {', '.join(SEARCH_FIELDS)}. "
            "Put text that contains a colon in quotes.",
        ),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(SearchSyntaxError) as refused:
        parse_search(text)
    assert str(refused.value.args[0]) == message


@given(expressions)
def test_expressions_survive_writing_and_parsing(expression: SearchExpression) -> None:
    """The parser returns what was written, up to parentheses that do not matter."""
    parsed = parse_search(to_text(expression))
    assert parsed is not None
    assert parsed == expression


ALPHABET = st.sampled_from([*"ab:()'\"\\ \t_é٣", "AND", "OR", "NOT", "name:", "tags:", " "])


@given(st.one_of(st.text(max_size=50), st.lists(ALPHABET, max_size=30).map("".join)))
def test_any_text_is_an_expression_or_a_message(text: str) -> None:
    parsed, reason = None, None
    try:
        parsed = parse_search(text)
    except SearchSyntaxError as error:
        reason = error.args[0]
    assert isinstance(reason, Message) or (parsed is None) == (not text.strip())
    if parsed is not None:
        assert count_terms(parsed) <= MAX_SEARCH_TERMS
        assert parse_search(to_text(parsed)) == parsed
