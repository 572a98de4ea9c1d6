"""Search expressions for tests: generated, written as text, and evaluated on records in Python."""

import random
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from fieldgate.assets.search_query import SEARCH_FIELDS, TIME_FIELDS
from fieldgate.http.search_grammar import (
    MAX_SEARCH_TERMS,
    SearchAnd,
    SearchExpression,
    SearchNot,
    SearchOr,
    SearchTerm,
)
from fieldgate.i18n.folding import fold_text


def count_terms(expression: SearchExpression) -> int:
    match expression:
        case SearchAnd(operands) | SearchOr(operands):
            return sum(map(count_terms, operands))
        case SearchNot(operand):
            return count_terms(operand)
    return 1


def _nested(children: Any) -> Any:
    operands = st.lists(children, min_size=2, max_size=3).map(tuple)
    not_negated = children.filter(
        lambda operand: not isinstance(operand, SearchNot)
    )  # NOT NOT is nothing
    return st.one_of(operands.map(SearchAnd), operands.map(SearchOr), not_negated.map(SearchNot))


TEXT_FIELDS = tuple(
    field for field in SEARCH_FIELDS if field not in (*TIME_FIELDS, "pk")
)  # any value is valid
terms = st.builds(SearchTerm, st.text(max_size=8), st.sampled_from(["", *TEXT_FIELDS]))
expressions = st.recursive(terms, _nested, max_leaves=8).filter(
    lambda expression: count_terms(expression) <= MAX_SEARCH_TERMS
)


def to_text(expression: SearchExpression) -> str:
    """Write an expression with quotes and parentheses everywhere."""
    match expression:
        case SearchAnd(operands):
            return f"({' AND '.join(map(to_text, operands))})"
        case SearchOr(operands):
            return f"({' OR '.join(map(to_text, operands))})"
        case SearchNot(operand):
            return f"NOT {to_text(operand)}"
        case SearchTerm(value, field):
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'{field}:"{quoted}"' if field else f'"{quoted}"'


def matches(expression: SearchExpression, record: Mapping[str, Any]) -> bool:
    """Whether a record of the API, as the caller sees it, matches."""
    match expression:
        case SearchAnd(operands):
            return all(matches(operand, record) for operand in operands)
        case SearchOr(operands):
            return any(matches(operand, record) for operand in operands)
        case SearchNot(operand):
            return not matches(operand, record)
        case SearchTerm(value, field):
            return _term_matches(field, value, record)


def _term_matches(field: str, value: str, record: Mapping[str, Any]) -> bool:
    parent = record["parent"] and record["parent"].rstrip("/").rpartition("/")[2]
    results: dict[str, bool] = {
        "": fold_text(value) in fold_text(record["name"]),
        "name__icontains": fold_text(value) in fold_text(record["name"]),
        "name": fold_case(value) == fold_case(record["name"]),
        "asset_type": value.lower() == record["asset_type"],
        "uid": value == record["uid"],
        "owner__username": fold_case(value) == fold_case(record["owner__username"]),
        "owner__username__icontains": fold_text(value) in fold_text(record["owner__username"]),
        "tags": value in record["tag_string"].split(","),
        "tags__name": value in record["tag_string"].split(","),
        "tags__name__icontains": any(
            fold_text(value) in fold_text(tag) for tag in record["tag_string"].split(",") if tag
        ),
        "parent": parent is None if value == "null" else parent == value,
        "parent__uid": parent is None if value == "null" else parent == value,
    }
    return results[field]


def fold_case(text: str) -> str:
    """Names that differ by more than case are two names, although a search finds both."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def random_expression(
    rng: random.Random, values: Mapping[str, Sequence[str]], depth: int = 0
) -> SearchExpression:
    """A random expression with these values for each field."""
    choice = rng.random()
    if depth < 3 and choice < 0.3:
        return SearchNot(random_expression(rng, values, depth + 1))
    if depth < 3 and choice < 0.7:
        operands = tuple(random_expression(rng, values, depth + 1) for _ in range(2))
        return SearchAnd(operands) if rng.random() < 0.5 else SearchOr(operands)
    field = rng.choice(list(values))
    return SearchTerm(rng.choice(values[field]), field)
